"""Owns what JavaScript's strings, arrays and global functions of values give.

Effects on the machine are left to `javascript_library`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import texts, tree
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import index, over, slice_of
from chrono.scan.code.values import (
    ANY,
    Items,
    Table,
    Thing,
    Wild,
    elements,
    has_wild,
    pieces_of,
    text_of,
    truth,
    without_wild,
)

_PYTHON_NAMES = {
    "trim": "strip",
    "trimStart": "lstrip",
    "trimEnd": "rstrip",
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    "toLocaleLowerCase": "lower",
    "startsWith": "startswith",
    "endsWith": "endswith",
    "replaceAll": "replace",
    "padStart": "rjust",
    "padEnd": "ljust",
    "indexOf": "find",
    "toString": "strip",
}


def text_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    """Methods of strings."""
    first, second = args.at(0), args.at(1)
    if name == "concat":
        return text_of([piece for value in (owner, *args.values) for piece in pieces_of(value)])
    if name in ("toString", "valueOf", "normalize", "toWellFormed"):
        return owner
    if name == "replace":
        if isinstance(second, Closure) or not isinstance(first, str) or not isinstance(second, str):
            return _replaced_by_pattern(owner, first, second)
        return texts.text_method(owner, "replace", (first, second, 1))
    if name == "split":
        return _split(owner, first)
    if name in ("slice", "substring", "substr"):
        stop = second
        if name == "substr" and isinstance(first, int) and isinstance(second, int):
            stop = first + second
        return slice_of(owner, first, stop)
    if name in ("charAt", "at", "charCodeAt", "codePointAt"):
        found = index(owner, first)
        if not name.startswith(("charCode", "codePoint")):
            return found
        return ord(found) if isinstance(found, str) and len(found) == 1 else ANY
    if name == "repeat":
        return owner * first if isinstance(owner, str) and isinstance(first, int) and 0 <= first < 1000 else ANY
    if name == "includes":
        return first in owner if isinstance(owner, str) and isinstance(first, str) else ANY
    if name in ("match", "matchAll", "search", "test"):
        return ANY
    if name in ("forEach", "map"):
        return list_method(run, Items(elements(owner)[0]), name, args)
    return texts.text_method(owner, _PYTHON_NAMES.get(name, name), args.values)


def _replaced_by_pattern(owner: Value, pattern: Value, new: Value) -> Value:
    """`x.replace(/y/g, "z")` for a pattern that is a plain text."""
    if isinstance(pattern, Thing) and pattern.kind == "pattern" and isinstance(new, str):
        body = pattern.fields["text"]
        if isinstance(body, str) and not any(c in body for c in "\\^$.|?*+()[]{}"):
            count = -1 if "g" in str(pattern.fields["flags"]) else 1
            return texts.text_method(owner, "replace", (body, new, count))
    return ANY


def _split(owner: Value, separator: Value) -> Value:
    if separator == "" and isinstance(owner, str):
        return Items(list(owner[:4000]))
    if separator is None:
        return Items([owner])
    return texts.text_method(owner, "split", (separator,)) if isinstance(separator, str) else Items((), ANY)


def list_method(run: Machine, owner: Items, name: str, args: Arguments) -> Value:
    """Methods of arrays; those that take a function call it for each element."""
    first = args.at(0)
    if name in (
        "forEach",
        "map",
        "flatMap",
        "some",
        "every",
        "find",
        "findLast",
        "findIndex",
        "sort",
        "filter",
    ):
        return _each(run, owner, name, first)
    if name in ("reduce", "reduceRight"):
        return _reduced(run, owner, args, backwards=name == "reduceRight")
    if name == "then":
        return run.invoke(first, Arguments((owner,), {}))
    if name in ("push", "unshift"):
        for value in args.values:
            owner.values.insert(len(owner.values) if name == "push" else 0, value)
        return ANY
    if name in ("pop", "shift") and owner.more is None and owner.values:
        return owner.values.pop(-1 if name == "pop" else 0)
    if name == "join":
        return texts.join_texts("," if first is None else first, owner)
    if name == "concat":
        values, more = list(owner.values), owner.more
        for value in args.values:
            known, rest = elements(value) if isinstance(value, Items) else ([value], None)
            values += known
            more = rest if more is None else more
        return Items(values, more)
    if name in ("slice", "toSpliced"):
        return slice_of(owner, first, args.at(1))
    if name in ("reverse", "toReversed"):
        owner.values.reverse()
        return owner
    if name in ("flat", "values", "entries", "keys", "toSorted", "fill"):
        flat = [v for value in owner.values for v in (value.values if isinstance(value, Items) else [value])]
        return Items(flat, owner.more)
    if name == "at":
        return index(owner, first)
    if name == "includes":
        told = owner.more is None and isinstance(first, str | int)
        return any(first == v for v in owner.values if isinstance(v, str | int)) if told else ANY
    if name in ("toString",):
        return texts.join_texts(",", owner)
    return ANY if name in ("splice", "indexOf", "length", "lastIndexOf", "catch", "finally") else None


def _each(run: Machine, owner: Items, name: str, function: Value) -> Value:
    results: list[Value] = []
    kept: list[Value] = []
    known = len(owner.values)
    count = 0
    run.loops += 1
    for element in run.rounds(owner):
        result = run.invoke(function, Arguments((element, count, owner), {})) if function is not None else ANY
        results.append(result)
        if name in ("filter", "find", "findLast") and truth(result) is not False:
            kept.append(_narrowed(function, element) if truth(result) is None else element)
        count += 1
    run.loops -= 1
    if name in ("map", "flatMap"):
        flat: list[Value] = []
        for result in results:
            flat += result.values if name == "flatMap" and isinstance(result, Items) else [result]
        complete = owner.more is None and count >= known
        return Items(flat if complete else flat[:-1], None if complete else flat[-1] if flat else ANY)
    if name == "filter":
        if owner.more is not None and kept:
            return Items(kept[:-1], kept[-1])
        return Items(kept, None if owner.more is None and count >= known else ANY)
    if name in ("find", "findLast"):
        return texts.either_of(kept)
    if name == "sort":
        return owner
    return ANY


def _narrowed(function: Value, element: Value) -> Value:
    """What a filter lets through: `f => f.endsWith(".log")` keeps the ending."""
    ending: object = None
    if isinstance(function, Closure) and function.node.expression and function.body:
        call = function.body[0]
        if isinstance(call, tree.Call) and isinstance(call.function, tree.Attribute) and len(call.args) == 1:
            given = call.args[0]
            if call.function.name == "endsWith" and isinstance(given, tree.Const):
                ending = given.value
    pieces = pieces_of(element)
    if isinstance(ending, str) and pieces and pieces[-1] == Wild("*") and not any(c in ending for c in "*?[]/"):
        return text_of((*pieces[:-1], Wild("*" + ending)))
    return without_wild(element) if has_wild(element) else element


def _reduced(run: Machine, owner: Items, args: Arguments, backwards: bool) -> Value:
    values = list(owner.values[:64])
    if backwards:
        values.reverse()
    if len(args.values) > 1:
        values.insert(0, args.values[1])
    if not values:
        return ANY
    result = values[0]
    for value in values[1:]:
        result = run.invoke(args.at(0), Arguments((result, value), {}))
    return ANY if owner.more is not None else result


def static_call(run: Machine, name: str, args: Arguments) -> Value:
    """Global functions and constructors of values; None for others."""
    handler = _STATIC.get(name)
    return None if handler is None else handler(run, args)


def _char_codes(run: Machine, args: Arguments) -> Value:
    codes = [value for value in args.values if isinstance(value, int) and 0 <= value < 0x110000]
    return "".join(map(chr, codes)) if len(codes) == len(args.values) and not args.more else ANY


def _buffer(run: Machine, args: Arguments) -> Value:
    value, encoding = args.at(0), args.at(1)
    if isinstance(value, Items):
        numbers = [v for v in value.values if isinstance(v, int) and 0 <= v < 256]
        return bytes(numbers) if len(numbers) == len(value.values) and value.more is None else ANY
    if encoding in ("base64", "base64url"):
        return over(texts.from_base64, value)
    if encoding == "hex":
        return over(texts.from_hex, value)
    return value.encode("utf-8", "replace") if isinstance(value, str) else value


def _atob(run: Machine, args: Arguments) -> Value:
    return over(lambda v: texts.decode(texts.from_base64(v), "latin-1"), args.at(0))


def _unquoted(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if not isinstance(value, str) or "%" not in value:
        return value
    out = bytearray()
    at = 0
    while at < len(value):
        digits = value[at + 1 : at + 3]
        if value[at] == "%" and len(digits) == 2 and all(c in "0123456789abcdefABCDEF" for c in digits):
            out.append(int(digits, 16))
            at += 3
        else:
            out += value[at].encode("utf-8", "replace")
            at += 1
    return out.decode("utf-8", "replace")


def _parse_int(run: Machine, args: Arguments) -> Value:
    value, base = args.at(0), args.at(1)
    try:
        return int(value[:18], base if isinstance(base, int) else 10) if isinstance(value, str) else value
    except ValueError:
        return ANY


def _keys(run: Machine, args: Arguments) -> Value:
    table = args.at(0)
    if isinstance(table, Table):
        return Items(list(table.entries), ANY if table.open else None)
    return Items(range(len(table.values))) if isinstance(table, Items) else Items((), ANY)


def _table_values(run: Machine, args: Arguments) -> Value:
    table = args.at(0)
    if isinstance(table, Table):
        return Items(list(table.entries.values()), ANY if table.open else None)
    return table if isinstance(table, Items) else Items((), ANY)


def _entries(run: Machine, args: Arguments) -> Value:
    table = args.at(0)
    if isinstance(table, Table):
        rows = [Items([key, value]) for key, value in table.entries.items()]
        return Items(rows, Items([ANY, ANY]) if table.open else None)
    return Items((), Items([ANY, ANY]))


def _assigned(run: Machine, args: Arguments) -> Value:
    merged = Table()
    for value in args.values:
        if isinstance(value, Table):
            merged.entries.update(value.entries)
            merged.open = merged.open or value.open
        else:
            merged.open = True
    return merged


def _array(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, Items | str):
        known, more = elements(value)
        listed = Items(known, more)
        return _each(run, listed, "map", args.at(1)) if args.at(1) is not None else listed
    return Items((), ANY)


def _regex(run: Machine, args: Arguments) -> Value:
    text = args.at(0)
    if not isinstance(text, str):
        return ANY
    body, _, flags = text[1:].rpartition("/")
    return Thing("pattern", text=body, flags=flags)


def _reflect_get(run: Machine, args: Arguments) -> Value:
    name = args.at(1)
    return run.attribute(args.at(0), name) if isinstance(name, str) else ANY


def _reflect_apply(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(2))
    return run.invoke(args.at(0), Arguments(tuple(known), {}, more is not None))


_STATIC: dict[str, Callable[[Machine, Arguments], Value]] = {
    "String.fromCharCode": _char_codes,
    "String.fromCodePoint": _char_codes,
    "String.raw": lambda run, args: args.at(0),
    "String": lambda run, args: over(lambda v: text_of(pieces_of(v)), args.at(0)),
    "Number": _parse_int,
    "parseInt": _parse_int,
    "Buffer.from": _buffer,
    "Buffer": _buffer,
    "Uint8Array": _buffer,
    "Uint8Array.from": _buffer,
    "atob": _atob,
    "unescape": _unquoted,
    "decodeURIComponent": _unquoted,
    "decodeURI": _unquoted,
    "Object.keys": _keys,
    "Object.values": _table_values,
    "Object.entries": _entries,
    "Object.assign": _assigned,
    "Array.from": _array,
    "Array.of": lambda run, args: Items(args.values),
    "Set": _array,
    "Array": lambda run, args: Items(args.values) if len(args.values) != 1 else Items((), ANY),
    "Reflect.get": _reflect_get,
    "Reflect.apply": _reflect_apply,
    "\0regex": _regex,
    "console.log": lambda run, args: ANY,
    "zlib.gunzipSync": lambda run, args: over(texts.inflated, args.at(0)),
    "zlib.inflateSync": lambda run, args: over(texts.inflated, args.at(0)),
    "zlib.inflateRawSync": lambda run, args: over(texts.inflated, args.at(0)),
}

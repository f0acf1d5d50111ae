"""Owns what Ruby's strings, arrays and hashes give, blocks included.

Effects on the machine are left to `ruby_library`.
"""

from __future__ import annotations

from chrono.scan.code import texts
from chrono.scan.code.frames import Arguments, Closure, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import index, over
from chrono.scan.code.values import (
    ANY,
    Bound,
    Items,
    Ref,
    Table,
    pieces_of,
    text_of,
    truth,
    without_wild,
)


def without_block(args: Arguments) -> Arguments:
    """The arguments without the block and without the table of options at the end."""
    values = tuple(v for v in args.values if not isinstance(v, Closure | Table))
    return args._replace(values=values)


def block_of(args: Arguments) -> Value:
    last = args.values[-1] if args.values else None
    return last if isinstance(last, Closure | Bound) or (isinstance(last, Ref) and last.name) else None


def block_value(run: Machine, value: Value) -> Value:
    """`&:unlink` is a block that calls the method, `&File.method(:delete)` one that calls the function."""
    if isinstance(value, str):
        return Bound("\0element", value)
    return value


_SAME_TEXT = frozenset("to_s to_str to_sym dup freeze force_encoding encode unicode_normalize itself b +@".split())


_PYTHON_NAMES = {
    "strip": "strip",
    "chomp": "rstrip",
    "chop": "rstrip",
    "lstrip": "lstrip",
    "rstrip": "rstrip",
    "downcase": "lower",
    "upcase": "upper",
    "capitalize": "capitalize",
    "swapcase": "swapcase",
    "start_with?": "startswith",
    "end_with?": "endswith",
    "delete_prefix": "removeprefix",
    "delete_suffix": "removesuffix",
    "lines": "splitlines",
    "rjust": "rjust",
    "ljust": "ljust",
}


def text_method(run: Machine, owner: Value, name: str, args: Arguments) -> Value:
    first, second = args.at(0), args.at(1)
    if name in _SAME_TEXT:
        return owner.decode("utf-8", "replace") if isinstance(owner, bytes) else owner
    if name in ("gsub", "sub", "tr", "delete", "gsub!", "sub!"):
        return _replaced(owner, name.rstrip("!"), first, second)
    if name == "reverse":
        return owner[::-1] if isinstance(owner, str) else ANY
    if name in ("concat", "<<"):
        return text_of((*pieces_of(owner), *pieces_of(first)))
    if name in ("unpack", "unpack1"):
        if isinstance(owner, str) and isinstance(first, str) and first[:1] == "m":
            found = texts.decode(texts.from_base64(owner), "latin-1")
            return found if name == "unpack1" else Items([found])
        return ANY
    if name in ("chars", "each_char", "bytes"):
        return Items(list(owner[:4000])) if isinstance(owner, str) else Items((), ANY)
    if name == "split":
        known = isinstance(owner, str) and (first is None or isinstance(first, str))
        return texts.text_method(owner, "split", () if first in (None, " ") else (first,)) if known else Items((), ANY)
    if name in ("hex", "to_i", "oct"):
        return _integer(owner, 16 if name == "hex" else first if isinstance(first, int) else 10)
    if name in ("ord",):
        return ord(owner[0]) if isinstance(owner, str) and owner else ANY
    if name in ("each_line", "lines"):
        found = texts.text_method(owner, "splitlines", ())
        return list_method(run, found, "each", args) if args.values and isinstance(found, Items) else found
    if name == "to_proc":
        return block_value(run, owner)
    if owner == "\0element" and args.values:
        element = args.values[0]
        return run.invoke(run.attribute(element, name), args._replace(values=args.values[1:]))
    return texts.text_method(owner, _PYTHON_NAMES.get(name, "\0"), args.values)


def _integer(value: Value, base: int) -> Value:
    try:
        return int(value[:18], base) if isinstance(value, str) else ANY
    except ValueError:
        return ANY


def _replaced(owner: Value, name: str, old: Value, new: Value) -> Value:
    if not isinstance(owner, str) or not isinstance(old, str):
        return ANY
    if name == "delete":
        return "".join(c for c in owner if c not in old)
    if not isinstance(new, str):
        return ANY
    if name == "tr":
        return _translated(owner, old, new)
    if any(c in old for c in "\\^$.|?*+()[]{}"):
        return ANY
    return texts.text_method(owner, "replace", (old, new) if name == "gsub" else (old, new, 1))


def _translated(text: str, old: str, new: str) -> str:
    first, second = _expanded(old), _expanded(new)
    if not second:
        return text
    table = {ord(c): second[min(at, len(second) - 1)] for at, c in reversed(list(enumerate(first)))}
    return text.translate(table)


def _expanded(spec: str) -> str:
    """`a-y` as its letters."""
    out = ""
    at = 0
    while at < len(spec):
        if at + 2 < len(spec) and spec[at + 1] == "-":
            out += "".join(map(chr, range(ord(spec[at]), min(ord(spec[at + 2]), ord(spec[at]) + 512) + 1)))
            at += 3
        else:
            out += spec[at]
            at += 1
    return out


_ITERATORS = frozenset(
    (
        "each map collect each_with_index select filter reject flat_map each_entry find detect any? all? "
        "each_slice inject reduce partition group_by sort_by each_with_object filter_map reverse_each "
        "times max_by min_by none? count"
    ).split()
)


_SAME_LIST = frozenset(
    ("flatten compact uniq sort to_a dup freeze each lazy shuffle entries map take drop + concat reject select").split()
)


def list_method(run: Machine, owner: Items, name: str, args: Arguments) -> Value:
    block = block_of(args)
    if name in _ITERATORS and block is not None:
        return _iterated(run, owner, name, block)
    if name in ("push", "append", "<<", "add", "unshift"):
        owner.values += args.values
        return owner
    if name in ("first", "last", "sample", "min", "max"):
        return index(owner, -1 if name == "last" else 0)
    if name == "join":
        return texts.join_texts("" if args.at(0) is None else args.at(0), owner)
    if name == "pack":
        return _packed(owner, args.at(0))
    if name in ("reverse", "rotate"):
        return Items(owner.values[::-1], owner.more)
    if name in ("-", "difference"):
        return owner
    if name in ("shift", "pop"):
        return (
            owner.values.pop(0 if name == "shift" else -1)
            if owner.values
            else ANY
            if owner.more is None
            else owner.more
        )
    if name in _SAME_LIST:
        values: list[Value] = []
        for value in owner.values:
            values += value.values if isinstance(value, Items) and name == "flatten" else [value]
        return Items(values, owner.more)
    return None


def _iterated(run: Machine, owner: Items, name: str, block: Value) -> Value:
    results: list[Value] = []
    kept: list[Value] = []
    count = 0
    run.loops += 1
    for element in run.rounds(owner):
        given = (element, count) if isinstance(block, Closure) else (element,)
        result = run.invoke(block, Arguments(given, {}))
        count += 1
        results.append(result)
        known = truth(result)
        if known is not (name == "reject"):
            continue_known = known is not None
            kept.append(element if continue_known or _only_dots(block) else without_wild(element))
    run.loops -= 1
    complete = owner.more is None and count >= len(owner.values)
    if name in ("map", "collect", "flat_map", "filter_map"):
        return Items(results if complete else results[:-1], None if complete else results[-1] if results else ANY)
    if name in ("select", "filter", "reject", "find", "detect"):
        if name in ("find", "detect"):
            return texts.either_of(kept)
        return Items(kept if complete else kept[:-1], None if complete else kept[-1] if kept else ANY)
    return owner


def _only_dots(block: Value) -> bool:
    """True of a filter that only takes `.` and `..` out, or tells files from folders."""
    if not isinstance(block, Closure):
        return False
    text = repr(block.body)
    return any(mark in text for mark in ("'.'", "'..'", "file?", "directory?", "exist?"))


def _packed(owner: Items, template: Value) -> Value:
    if not isinstance(template, str) or owner.more is not None:
        return ANY
    first = owner.values[0] if owner.values else None
    if template[:1] == "H":
        found = over(texts.from_hex, first)
        return found.decode("latin-1") if isinstance(found, bytes) else ANY
    if template[:1] in "CUc":
        numbers = [v for v in owner.values if isinstance(v, int) and 0 <= v < 0x110000]
        return "".join(map(chr, numbers)) if len(numbers) == len(owner.values) else ANY
    return ANY


def table_method(run: Machine, owner: Table, name: str, args: Arguments) -> Value:
    block = block_of(args)
    if block is not None and name in (
        "each",
        "each_pair",
        "map",
        "each_value",
        "each_key",
        "select",
        "reject",
    ):
        for key, value in list(owner.entries.items())[:64]:
            given = (value,) if name == "each_value" else (key,) if name == "each_key" else (key, value)
            run.invoke(block, Arguments(given, {}))
        return owner
    if name in ("values", "keys"):
        return Items(list(owner.entries) if name == "keys" else list(owner.entries.values()))
    if name in ("fetch", "dig", "[]"):
        return index(owner, args.at(0))
    return None

"""Owns what Python's built-in functions and the methods of its texts, lists and dicts give.

Effects on the machine are left to `python_library`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import texts
from chrono.scan.code.frames import Arguments, Value
from chrono.scan.code.interpret import Machine
from chrono.scan.code.operators import over
from chrono.scan.code.values import (
    ANY,
    Items,
    Partial,
    Table,
    Thing,
    elements,
    pieces_of,
    text_of,
    without_wild,
)

Handler = Callable[[Machine, Arguments], Value]


def map_call(run: Machine, args: Arguments) -> Value:
    found = Items()
    if len(args.values) > 1:
        for element in run.rounds(args.values[1]):
            found.values.append(run.invoke(args.values[0], Arguments((element,), {})))
    return found


def _filter(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(1))
    for element in run.rounds(args.at(1)):
        if args.at(0) is not None:
            run.invoke(args.at(0), Arguments((element,), {}))
    return Items([without_wild(value) for value in known], None if more is None else without_wild(more))


def _listed(run: Machine, args: Arguments) -> Value:
    if not args.values:
        return Items()
    value = args.values[0]
    if isinstance(value, Thing):
        value = run.library.method(run, value, "__iter__", Arguments((), {})) or ANY
    known, more = elements(value)
    return Items(known, more)


def _reversed(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return Items(known[::-1], more)


def _zip(run: Machine, args: Arguments) -> Value:
    parts = [elements(value) for value in args.values]
    shortest = min((len(known) for known, _ in parts), default=0)
    rows = [Items([known[at] for known, _ in parts]) for at in range(shortest)]
    rest = Items([ANY if more is None else more for _, more in parts])
    return Items(rows, rest if any(more is not None for _, more in parts) else None)


def _enumerate(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return Items([Items([at, value]) for at, value in enumerate(known)], None if more is None else Items([ANY, more]))


def _range(run: Machine, args: Arguments) -> Value:
    bounds = [v for v in args.values if isinstance(v, int)]
    if not bounds or len(bounds) != len(args.values) or len(bounds) > 3 or (len(bounds) == 3 and not bounds[2]):
        return Items((), ANY)
    numbers = range(*bounds)
    return Items(numbers[:256], ANY if len(numbers) > 256 else None)


def _length(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, str | bytes):
        return len(value)
    return len(value.values) if isinstance(value, Items) and value.more is None else ANY


def _text(run: Machine, args: Arguments) -> Value:
    value = args.at(0, "object")
    if isinstance(value, bytes) and (len(args.values) > 1 or args.named):
        return texts.decode(value, "utf-8")
    if isinstance(value, Thing) and value.kind in ("response", "received"):
        return value
    return "" if value is None and not args.values else over(lambda v: text_of(pieces_of(v)), value)


def _integer(run: Machine, args: Arguments) -> Value:
    value, base = args.at(0), args.at(1, "base")
    try:
        if isinstance(value, str | bytes) and len(value) < 40:
            return int(value, base) if isinstance(base, int) else int(value)
        return int(value) if isinstance(value, int | float) else ANY
    except (ValueError, OverflowError):
        return ANY


def _character(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else ANY


def _ordinal(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return ord(value) if isinstance(value, str | bytes) and len(value) == 1 else ANY


def _bytes(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, Items) and value.more is None:
        numbers = [v for v in value.values if isinstance(v, int) and 0 <= v < 256]
        return bytes(numbers) if len(numbers) == len(value.values) else ANY
    return value if isinstance(value, bytes | Thing) else ANY


def bytes_class(name: str, args: Arguments) -> Value:
    return over(texts.from_hex, args.at(0)) if name == "fromhex" else ANY


def _repr(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return repr(value) if isinstance(value, str | bytes | int | float) else ANY


def _next(run: Machine, args: Arguments) -> Value:
    known, more = elements(args.at(0))
    return known[0] if known else ANY if more is None else more


def _partial(run: Machine, args: Arguments) -> Value:
    return Partial(args.at(0), args.values[1:], tuple(args.named.items()))


def _reduce(run: Machine, args: Arguments) -> Value:
    known, _ = elements(args.at(1))
    values = ([args.values[2]] if len(args.values) > 2 else []) + list(known[:100])
    if not values:
        return ANY
    result = values[0]
    for value in values[1:]:
        result = run.invoke(args.at(0), Arguments((result, value), {}))
    return result


def _call_target(run: Machine, args: Arguments) -> Value:
    """`Thread(target=f, args=(…))`: the function runs."""
    target = args.named.get("target")
    if target is None and len(args.values) > 1:
        target = args.values[1]
    known, more = elements(args.named.get("args", Items()))
    keywords = args.named.get("kwargs")
    named = {k: v for k, v in keywords.entries.items() if isinstance(k, str)} if isinstance(keywords, Table) else {}
    if target is not None:
        run.invoke(target, Arguments(tuple(known), named, more is not None))
    return Thing("thread")


def call_first(run: Machine, args: Arguments) -> Value:
    """`atexit.register(f, …)`, `asyncio.to_thread(f, …)`: the function runs with the rest."""
    return run.invoke(args.values[0], args._replace(values=args.values[1:])) if args.values else ANY


def first_call(run: Machine, args: Arguments) -> Value:
    return args.at(0) if args.values else ANY


def _of(function: Callable[[object], object]) -> Handler:
    return lambda run, args: over(lambda v: v if isinstance(v, Thing) else function(v), args.at(0))


def _codec(function: Callable[[object, str], object]) -> Handler:
    def call(run: Machine, args: Arguments) -> Value:
        codec = args.at(1, "encoding")
        return function(args.at(0), codec) if isinstance(codec, str) else ANY

    return call


def _ascii(run: Machine, args: Arguments) -> Value:
    value = args.at(0)
    return texts.encode(value, "base64") if isinstance(value, bytes) else ANY


def text_method(owner: Value, name: str, args: Arguments) -> Value:
    if name == "format" and isinstance(owner, str):
        return over(lambda *given: texts.brace_format(owner, given[: len(args.values)], args.named), *args.values)
    if name == "format_map" and isinstance(owner, str):
        table = args.at(0)
        named = {k: v for k, v in table.entries.items() if isinstance(k, str)} if isinstance(table, Table) else {}
        return texts.brace_format(owner, (), named)
    if name == "translate" and isinstance(owner, str):
        table = args.at(0)
        pairs = {k: v for k, v in table.entries.items() if isinstance(k, int)} if isinstance(table, Table) else None
        return "".join(str(pairs.get(ord(c), c)) for c in owner) if pairs else ANY
    if name == "maketrans":
        first, second = args.at(0), args.at(1)
        known = isinstance(first, str) and isinstance(second, str)
        return Table(dict(zip(map(ord, str(first)), str(second), strict=False))) if known else ANY
    return texts.text_method(owner, name, args.values)


def list_method(run: Machine, owner: Items, name: str, args: Arguments) -> Value:
    if name in ("append", "add", "appendleft") and args.values:
        owner.values.append(args.values[0])
        return ANY
    if name == "insert" and len(args.values) > 1:
        place = args.values[0]
        owner.values.insert(place if isinstance(place, int) else len(owner.values), args.values[1])
        return ANY
    if name in ("extend", "update") and args.values:
        known, more = elements(args.values[0])
        owner.values += known
        owner.more = more if owner.more is None else owner.more
        return ANY
    if name in ("pop", "popleft") and owner.more is None and owner.values and not args.values:
        return owner.values.pop(-1 if name == "pop" else 0)
    if name == "reverse":
        owner.values.reverse()
        return ANY
    if name == "copy":
        return Items(owner.values, owner.more)
    return None if name not in ("remove", "sort", "clear", "discard", "index", "count") else ANY


def table_method(owner: Table, name: str, args: Arguments) -> Value:
    if name == "items":
        rows = [Items([key, value]) for key, value in owner.entries.items()]
        return Items(rows, Items([ANY, ANY]) if owner.open else None)
    if name in ("keys", "values"):
        values = list(owner.entries) if name == "keys" else list(owner.entries.values())
        return Items(values, ANY if owner.open else None)
    if name in ("get", "pop", "setdefault", "__getitem__") and args.values:
        key = args.values[0]
        if isinstance(key, str | int) and key in owner.entries:
            return owner.entries[key]
        if isinstance(key, str | int) and not owner.open:
            return args.at(1)
        return texts.either_of(list(owner.entries.values())) if 0 < len(owner.entries) <= 6 else ANY
    if name == "update" and args.values and isinstance(args.values[0], Table):
        owner.entries.update(args.values[0].entries)
        return ANY
    return None


VALUE_CALLS: dict[str, Handler] = {
    "map": map_call,
    "filter": _filter,
    "list": _listed,
    "tuple": _listed,
    "set": _listed,
    "frozenset": _listed,
    "sorted": _listed,
    "iter": _listed,
    "itertools.chain.from_iterable": first_call,
    "more_itertools.always_iterable": _listed,
    "reversed": _reversed,
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "xrange": _range,
    "len": _length,
    "str": _text,
    "unicode": _text,
    "format": _text,
    "os.fspath": first_call,
    "os.fsdecode": first_call,
    "os.fsencode": first_call,
    "int": _integer,
    "chr": _character,
    "ord": _ordinal,
    "bytes": _bytes,
    "bytearray": _bytes,
    "memoryview": _bytes,
    "repr": _repr,
    "next": _next,
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "reduce": _reduce,
    "threading.Thread": _call_target,
    "threading.Timer": lambda run, args: call_first(run, args._replace(values=args.values[1:])),
    "multiprocessing.Process": _call_target,
    "atexit.register": call_first,
    "asyncio.to_thread": call_first,
    "asyncio.run": first_call,
    "asyncio.gather": lambda run, args: Items(args.values, ANY if args.more else None),
    "asyncio.create_task": first_call,
    "asyncio.wait_for": first_call,
    "shlex.quote": first_call,
    "pipes.quote": first_call,
    "shlex.split": lambda run, args: text_method(args.at(0), "split", Arguments((), {})) or ANY,
    "shlex.join": lambda run, args: texts.join_texts(" ", args.at(0)),
    "typing.cast": lambda run, args: args.at(1),
    "copy.copy": first_call,
    "copy.deepcopy": first_call,
    "textwrap.dedent": first_call,
    "inspect.cleandoc": first_call,
    "sqlalchemy.text": first_call,
    "base64.b64decode": _of(texts.from_base64),
    "base64.standard_b64decode": _of(texts.from_base64),
    "base64.urlsafe_b64decode": _of(texts.from_base64),
    "base64.decodebytes": _of(texts.from_base64),
    "base64.b16decode": _of(texts.from_hex),
    "base64.b64encode": _ascii,
    "binascii.a2b_base64": _of(texts.from_base64),
    "binascii.unhexlify": _of(texts.from_hex),
    "binascii.a2b_hex": _of(texts.from_hex),
    "zlib.decompress": _of(texts.inflated),
    "gzip.decompress": _of(texts.inflated),
    "codecs.decode": _codec(texts.decode),
    "codecs.encode": _codec(texts.encode),
}

"""Owns how texts are formatted, changed and decoded: what `str`, `bytes` and codecs do, in every language's spelling.

Operators are left to `operators`.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable

from chrono.scan.code.values import (
    ANY,
    MAX_TEXT,
    Either,
    Items,
    Table,
    Text,
    Wild,
    alternatives,
    elements,
    joined,
    pieces_of,
    text_of,
)


def percent_format(template: object, given: object) -> object:
    """`template % given`, as Python and sprintf do it; widths and precisions are passed over."""
    values = list(given.values) if isinstance(given, Items) else [given]
    if isinstance(given, Items) and given.more is not None:
        values = []
    named = given.entries if isinstance(given, Table) else {}
    out: list[str | None | Wild] = []
    for piece in pieces_of(template):
        if not isinstance(piece, str):
            out.append(piece)
            continue
        at = 0
        while True:
            percent = piece.find("%", at)
            if percent < 0:
                out.append(piece[at:])
                break
            out.append(piece[at:percent])
            at = percent + 1
            if piece.startswith("%", at):
                out.append("%")
                at += 1
                continue
            value: object = ANY
            if piece.startswith("(", at) and ")" in piece[at:]:
                end = piece.index(")", at)
                value = named.get(piece[at + 1 : end], ANY)
                at = end + 1
            elif values:
                value = values.pop(0)
            while at < len(piece) and piece[at] in "0123456789.+- #*$'":
                at += 1
            letter = piece[at : at + 1]
            at += 1
            out.extend(_converted(value, letter))
    return text_of(out)


def _converted(value: object, letter: str) -> tuple[str | None | Wild, ...]:
    if letter == "c" and isinstance(value, int) and 0 <= value < 0x110000:
        return (chr(value),)
    if letter in "xXo" and letter and isinstance(value, int):
        return (format(value, letter),)
    if letter == "d" and isinstance(value, int | float):
        return (str(int(value)),)
    return pieces_of(value)


def brace_format(template: str, values: tuple[object, ...], named: dict[str, object]) -> object:
    """`template.format(…)`."""
    out: list[str | None | Wild] = []
    at = automatic = 0
    while at < len(template):
        letter = template[at]
        if letter in "{}" and template[at : at + 2] == letter * 2:
            out.append(letter)
            at += 2
        elif letter == "{":
            end = template.find("}", at)
            if end < 0:
                return ANY
            field = template[at + 1 : end].partition(":")[0].partition("!")[0]
            if field == "":
                field = str(automatic)
                automatic += 1
            value: object = named.get(field, ANY)
            if field.isdigit() and len(field) < 4:
                value = values[int(field)] if int(field) < len(values) else ANY
            out.extend(pieces_of(value))
            at = end + 1
        else:
            stop = min((p for p in (template.find("{", at), template.find("}", at)) if p >= 0), default=len(template))
            stop = max(stop, at + 1)
            out.append(template[at:stop])
            at = stop
    return text_of(out)


def join_texts(glue: object, parts: object) -> object:
    """The parts with `glue` between them."""
    values, more = elements(parts)
    if any(isinstance(value, Either) for value in values):
        values = [alternatives(value)[0] if isinstance(value, Either) else value for value in values]
    if isinstance(glue, bytes):
        known = [bytes([v]) if isinstance(v, int) else v for v in values]
        if more is None and all(isinstance(v, bytes) for v in known):
            return glue.join(v for v in known if isinstance(v, bytes))[:MAX_TEXT]
        return ANY
    out: list[str | None | Wild] = []
    for at, value in enumerate(values[:4000]):
        out.extend((*pieces_of(glue), *pieces_of(value)) if at else pieces_of(value))
    if more is not None:
        out.append(None)
    return text_of(out)


def text_method(owner: object, name: str, args: tuple[object, ...]) -> object:
    """What a method of a text gives, by Python's name of it; None where there is no such method."""
    if isinstance(owner, Text):
        return _partial_method(owner, name, args)
    if not isinstance(owner, str | bytes):
        return None
    if name == "join":
        return join_texts(owner, args[0]) if args else ANY
    simple = _METHODS.get(name)
    if simple is None:
        return None
    if any(isinstance(arg, Either) for arg in args) or not all(
        isinstance(a, str | bytes | int) or a is None for a in args
    ):
        if name in ("replace",) and isinstance(owner, str):
            return ANY
        if name in ("startswith", "endswith"):
            return ANY
        return ANY
    try:
        return simple(owner, *args)
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError):
        return ANY


def _partial_method(owner: Text, name: str, args: tuple[object, ...]) -> object:
    """Methods that leave enough of a partly known text standing."""
    if name in (
        "strip",
        "rstrip",
        "lstrip",
        "encode",
        "decode",
        "lower",
        "expandtabs",
        "removesuffix",
        "trim",
    ):
        return owner
    if name == "replace" and len(args) >= 2 and isinstance(args[0], str) and isinstance(args[1], str):
        old, new = args[0], args[1]
        return text_of(piece.replace(old, new) if isinstance(piece, str) and old else piece for piece in owner.pieces)
    if name == "format":
        return ANY
    if name in ("startswith",) and args and isinstance(args[0], str) and isinstance(owner.pieces[0], str):
        if len(owner.pieces[0]) >= len(args[0]):
            return owner.pieces[0].startswith(args[0])
        return ANY
    if name in ("split", "splitlines", "rsplit"):
        return Items((), ANY)
    return ANY if name in _METHODS else None


def _split(owner: str | bytes, *args: object) -> object:
    parts = owner.split(*args)  # type: ignore[arg-type]
    return Items(parts[:4000], None if len(parts) <= 4000 else ANY)


def _lines(owner: str | bytes, *_: object) -> object:
    parts = owner.splitlines()
    return Items(parts[:4000], None if len(parts) <= 4000 else ANY)


def _encode(owner: object, *args: object) -> object:
    encoding = args[0] if args and isinstance(args[0], str) else "utf-8"
    return encode(owner, encoding)


def _decode(owner: object, *args: object) -> object:
    encoding = args[0] if args and isinstance(args[0], str) else "utf-8"
    return decode(owner, encoding)


def encode(value: object, codec: str) -> object:
    """What `codecs.encode` gives for the codecs that hide text."""
    return _coded(value, codec, False)


def decode(value: object, codec: str) -> object:
    """What `codecs.decode` gives for the codecs that hide text."""
    return _coded(value, codec, True)


def _coded(value: object, codec: str, decoding: bool) -> object:
    name = codec.lower().replace("-", "").replace("_", "")
    if name in ("rot13",):
        return rot13(value)
    if name in ("hex", "hexcodec", "base64", "base64codec") and isinstance(value, str | bytes):
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        if name.startswith("hex"):
            return from_hex(data) if decoding else data.hex().encode()
        return from_base64(data) if decoding else binascii.b2a_base64(data)
    if name not in (
        "utf8",
        "ascii",
        "latin1",
        "iso88591",
        "utf16",
        "utf16le",
        "utf16be",
        "unicodeescape",
        "utf32",
        "cp1252",
    ):
        return ANY
    try:
        if decoding and isinstance(value, bytes):
            return value.decode(codec, "replace")
        if not decoding and isinstance(value, str):
            return value.encode(codec, "replace")
    except (LookupError, ValueError):
        return ANY
    return value if isinstance(value, str | Text) else ANY


def rot13(value: object) -> object:
    if not isinstance(value, str):
        return ANY
    out = []
    for letter in value:
        base = ord("a") if "a" <= letter <= "z" else ord("A") if "A" <= letter <= "Z" else 0
        out.append(chr((ord(letter) - base + 13) % 26 + base) if base else letter)
    return "".join(out)


def from_base64(value: object) -> object:
    """Decoded bytes; ANY where it is none."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes) or len(value) > MAX_TEXT:
        return ANY
    bare = value.translate(bytes.maketrans(b"-_", b"+/"), b" \t\r\n").rstrip(b"=")
    try:
        return binascii.a2b_base64(bare + b"=" * (-len(bare) % 4))
    except ValueError:
        return ANY


def from_hex(value: object) -> object:
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        return ANY
    try:
        return binascii.unhexlify(value.translate(None, b" \t\r\n:"))
    except ValueError:
        return ANY


def inflated(value: object) -> object:
    """What zlib, gzip or a raw deflate stream holds, up to a limit."""
    import zlib

    if not isinstance(value, bytes):
        return ANY
    for window in (47, -15):
        machine = zlib.decompressobj(window)
        try:
            return machine.decompress(value, MAX_TEXT)
        except zlib.error:
            continue
    return ANY


def _affix(name: str) -> Callable[..., object]:
    def test(owner: str | bytes, wanted: object, *rest: object) -> object:
        return getattr(owner, name)(wanted, *rest)

    return test


def _plain(name: str) -> Callable[..., object]:
    return lambda owner, *args: getattr(owner, name)(*args)


def _replace(owner: str | bytes, old: object, new: object, *count: object) -> object:
    if isinstance(owner, str) and isinstance(old, str) and isinstance(new, str):
        most = 1 + (owner.count(old) if old else len(owner))
        if len(owner) + most * len(new) > 4 * MAX_TEXT:
            return ANY
    return owner.replace(old, new, *count)  # type: ignore[arg-type]


_METHODS: dict[str, Callable[..., object]] = {
    **{name: _plain(name) for name in ("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "swapcase",
       "find", "index", "count", "removeprefix", "removesuffix", "isdigit", "isalpha", "hex", "casefold", "rfind")},
    "startswith": _affix("startswith"),
    "endswith": _affix("endswith"),
    "replace": _replace,
    "split": _split,
    "rsplit": lambda owner, *args: Items(owner.rsplit(*args)),
    "partition": lambda owner, *args: Items(owner.partition(*args)),
    "rpartition": lambda owner, *args: Items(owner.rpartition(*args)),
    "splitlines": _lines,
    "encode": _encode,
    "decode": _decode,
    "join": lambda owner, *args: ANY,
    "zfill": lambda owner, width: owner.zfill(min(width, 1000)),
    "ljust": lambda owner, width, *fill: owner.ljust(min(width, 1000), *fill),
    "rjust": lambda owner, width, *fill: owner.rjust(min(width, 1000), *fill),
}  # fmt: skip


def either_of(values: list[object]) -> object:
    """All of a few values as one; ANY of none."""
    if not values:
        return ANY
    result = values[0]
    for value in values[1:]:
        result = joined(result, value)
    return result

"""Owns what encodings of .NET make of bytes and texts: base64, character sets, what is packed.

What comes of a value that is not known remembers that it was hidden; whether that matters is left to the rules.
"""

from __future__ import annotations

from binascii import Error as DecodeError
from binascii import a2b_base64, b2a_base64

from chrono.scan.shell.powershell.machine import Machine
from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    Unknown,
    Value,
    fed,
    feeds_of,
    number_of,
    text_of,
)

MAX_INFLATED_BYTES = 500_000
ENCODED = ("base64",)
"""Stands for a program that hides text: what comes of decoding something that is not known."""


def bytes_of(value: Value) -> Value:
    """An array of numbers as bytes, or something unknown from the same source."""
    if isinstance(value, bytes):
        return value
    if type(value) is tuple:
        numbers = [number_of(item) for item in value]
        if all(n is not None and 0 <= n < 256 for n in numbers):
            return bytes(int(n) for n in numbers if n is not None)
    if isinstance(value, int) and 0 <= value < 256:
        return bytes([value])
    return Unknown((*feeds_of(value), *(() if feeds_of(value) else (ENCODED,))))


def decoded(kind: str, value: Value) -> Value:
    raw = bytes_of(value)
    if not isinstance(raw, bytes):
        return fed("\0", feeds_of(raw) or (ENCODED,))
    if "unicode" in kind and "big" in kind:
        codec = "utf-16-be"
    elif "unicode" in kind:
        codec = "utf-16-le"
    elif "utf32" in kind:
        codec = "utf-32-le"
    elif "utf7" in kind:
        codec = "utf-7"
    else:
        codec = "utf-8"
    return raw[:MAX_TEXT_CHARS].decode(codec, "replace").replace("\0", "\ufffd")


def encoded(kind: str, value: Value) -> Value:
    text = text_of(value)
    if "\0" in text:
        return Unknown(feeds_of(value))
    codec = "utf-16-le" if "unicode" in kind else "utf-8"
    return tuple(text.encode(codec, "surrogatepass")[:MAX_ITEMS])


def from_base64(m: Machine, args: tuple[Value, ...]) -> Value:
    text = text_of(args[0]) if args else ""
    if "\0" in text:
        return Unknown((*feeds_of(args[0]), ENCODED))
    try:
        return a2b_base64("".join(text.split()) + "=" * (-len("".join(text.split())) % 4))
    except (DecodeError, ValueError):
        return Unknown((ENCODED,))


def to_base64(m: Machine, args: tuple[Value, ...]) -> Value:
    raw = bytes_of(args[0]) if args else None
    return (
        b2a_base64(raw, newline=False).decode()
        if isinstance(raw, bytes)
        else Unknown(feeds_of(args[0] if args else None))
    )


def inflated(value: Value) -> Value:
    if not isinstance(value, bytes):
        return Unknown((*feeds_of(value), ENCODED))
    import zlib

    for window in (-15, 31, 15):
        try:
            found = zlib.decompressobj(window)
            return found.decompress(value, MAX_INFLATED_BYTES) or Unknown((ENCODED,))
        except zlib.error:
            continue
    return Unknown((ENCODED,))

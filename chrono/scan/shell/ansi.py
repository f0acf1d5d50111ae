"""Owns backslash escapes: those of `$'…'`, of `echo -e` and of `printf`."""

from __future__ import annotations

import re

from chrono.scan.expression import expression
from chrono.scan.shell.values import NUL_BYTE

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI = expression(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|x\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{1,4})"
    r"|U([0-9A-Fa-f]{1,8})|c(.))",
    re.DOTALL,
)
_ECHO = expression(
    r"\\(?:([abeEfnrtv\\])|0([0-7]{0,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(c))"
)
_PRINTF = expression(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8}))"
)


def from_bytes(data: bytes) -> str:
    """Text of bytes, those that are not UTF-8 as surrogate escapes, NUL as NUL_BYTE."""
    return data.decode("utf-8", "surrogateescape").replace("\0", NUL_BYTE)


def to_bytes(text: str) -> bytes:
    """The reverse; other lone surrogates, which cannot come from a machine, become `?`."""
    text = text.replace(NUL_BYTE, "\0")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _char(code: int) -> str:
    """The character of a code point, as bash writes it; none for those that cannot be."""
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return chr(code) if code else NUL_BYTE


def _byte(code: int) -> str:
    if code == 0:
        return NUL_BYTE
    return chr(code) if code < 0x80 else chr(0xDC00 + code)


def _joined(text: str) -> str:
    """Escaped bytes that together are UTF-8 become their character."""
    if any("\udc80" <= char <= "\udcff" for char in text):
        return from_bytes(to_bytes(text))
    return text


def decode_ansi(text: str) -> str:
    """What `$'text'` holds. A NUL ends it, as in bash."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        simple, octal, hexadecimal, braced, short, long, control = match.groups()
        if simple is not None:
            return _SIMPLE[simple]
        if control is not None:
            return _byte(ord(control.upper()) & 0x1F if control != "?" else 0x7F)
        if short or long:
            return _char(int(short or long, 16))
        return _byte((int(octal, 8) if octal is not None else int(hexadecimal or braced, 16)) & 0xFF)

    return _joined(_ANSI.sub(replace, text).split(NUL_BYTE, 1)[0])


def decode_echo(text: str) -> tuple[str, bool]:
    """(what `echo -e text` writes, whether a `\\c` ended the output)."""
    if "\\" not in text:
        return text, False
    out: list[str] = []
    at = 0
    for match in _ECHO.finditer(text):
        out.append(text[at : match.start()])
        at = match.end()
        simple, octal, hexadecimal, short, long, stop = match.groups()
        if stop:
            return _joined("".join(out)), True
        if simple is not None:
            out.append(_SIMPLE[simple])
        elif short or long:
            out.append(_char(int(short or long, 16)))
        else:
            out.append(_byte((int(octal or "0", 8) if octal is not None else int(hexadecimal, 16)) & 0xFF))
    out.append(text[at:])
    return _joined("".join(out)), False


def decode_printf(text: str) -> str:
    """The escapes of a printf format, and of `%b` without a leading zero."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        simple, octal, hexadecimal, short, long = match.groups()
        if simple is not None:
            return _SIMPLE[simple]
        if short or long:
            return _char(int(short or long, 16))
        return _byte((int(octal, 8) if octal is not None else int(hexadecimal, 16)) & 0xFF)

    return _joined(_PRINTF.sub(replace, text))

"""Owns what `echo` and `printf` write for known arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chrono.scan.expression import expression
from chrono.scan.shell.ansi import decode_echo, decode_printf
from chrono.scan.shell.values import MANY_FIELDS, NUL_BYTE, collapse

MAX_CHARS = 100_000
_CONVERSION = expression(
    r"%(?:(%)|([-+ #0']{0,6})(\*|[0-9]{1,9})?(?:\.(\*|[0-9]{1,9})?)?"
    r"(?:\([^)]{0,99}\)T|[hlLqjzt]{0,2}([a-zA-Z])))"
)
_OPTION = expression(r"-[neE]+\Z")


def echo(args: Sequence[str], *, escapes: bool, options: bool = True) -> str:
    """What `echo args` writes. `escapes`: backslashes count unless `-E`; `options`: `-e` and `-E` are known."""
    newline = True
    at = 0
    while at < len(args):
        if args[at] == "-n" or (options and _OPTION.match(args[at])):
            for letter in args[at][1:]:
                newline = newline and letter != "n"
                escapes = letter == "e" if letter in "eE" else escapes
            at += 1
        else:
            break
    text = " ".join("\0" if arg == MANY_FIELDS else arg for arg in args[at:])
    if escapes:
        text, stopped = decode_echo(text)
        newline = newline and not stopped
    return collapse(text + "\n" if newline else text)


def printf(args: Sequence[str]) -> str:
    """What `printf args` writes; unknown runs where arguments or conversions are not known."""
    if args[:1] == ["--"] or args[:1] == ("--",):
        args = args[1:]
    if not args:
        return ""
    form, values = args[0], list(args[1:])
    if "\0" in form:
        return "\0"
    pieces = _pieces(form)
    out: list[str] = []
    size = 0
    taken = 0
    while True:
        before = taken
        for literal, match in pieces:
            if match is None:
                out.append(literal)
            else:
                if taken < len(values) and values[taken] == MANY_FIELDS:
                    out.append("\0")
                    return collapse("".join(out))
                text, taken, stop = _convert(match, values, taken)
                out.append(text)
                if stop:
                    return collapse("".join(out))
            size += len(out[-1])
        if size > MAX_CHARS:
            return collapse("".join(out)[:MAX_CHARS] + "\0")
        if taken >= len(values) or taken == before:
            return collapse("".join(out))


def _pieces(form: str) -> list[tuple[str, re.Match[str] | None]]:
    pieces: list[tuple[str, re.Match[str] | None]] = []
    at = 0
    for match in _CONVERSION.finditer(form):
        if match.start() > at:
            pieces.append((decode_printf(form[at : match.start()]), None))
        pieces.append(("", match))
        at = match.end()
    if at < len(form):
        pieces.append((decode_printf(form[at:]), None))
    return pieces


def _convert(match: re.Match[str], values: list[str], taken: int) -> tuple[str, int, bool]:
    """(text, arguments taken so far, whether `\\c` ended the output)."""
    percent, flags, width, precision, kind = match.groups()
    if percent:
        return "%", taken, False
    sizes: list[int | None] = []
    for size in (width, precision):
        if size == "*":
            text = values[taken] if taken < len(values) else "0"
            taken += 1
            if not text.lstrip("-").isdecimal():
                return "\0", taken + 1, False
            size = text
        sizes.append(int(size) if size and len(size) < 7 else None)
    value = values[taken] if taken < len(values) else None
    taken += 1
    if value is not None and "\0" in value:
        exact = kind == "s" and sizes == [None, None]
        return (value if exact else "\0"), taken, False
    stop = False
    if kind == "s":
        text = value or ""
    elif kind == "b":
        text, stop = decode_echo(re.sub(r"\\([1-7])", r"\\0\1", value or ""))
    elif kind == "q":
        text = value if value and re.fullmatch(r"[\w@%+=:,./-]+", value) else "\0"
    elif kind == "c":
        text = (value or NUL_BYTE)[:1]
    elif kind in tuple("diouxX"):
        text = _integer(value or "0", kind, flags)
    else:
        text = "\0"
    if "\0" in text:
        return "\0", taken, False
    return _padded(text, flags, sizes[0], sizes[1] if kind in ("s", "b") else None, kind), taken, stop


def _integer(value: str, kind: str, flags: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"'):
        number = ord(value[1]) if len(value) > 1 else 0
    else:
        try:
            body = value.lstrip("+-")
            base = 16 if body[:2].lower() == "0x" else 8 if body[:1] == "0" else 10
            number = int(value, base) if len(value) < 25 else 0
        except ValueError:
            return "\0"
    if kind in ("o", "x", "X"):
        return format(number & (1 << 64) - 1, kind)
    return ("+" if "+" in flags and number >= 0 else "") + str(number)


def _padded(text: str, flags: str, width: int | None, precision: int | None, kind: str) -> str:
    if precision is not None:
        text = text[:precision]
    if width is None:
        return text
    width = min(abs(width), MAX_CHARS)
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and kind not in ("s", "b", "c"):
        return text.zfill(width)
    return text.rjust(width)

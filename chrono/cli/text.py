"""Owns text that is safe and fits: escapes what a terminal would obey, measures, wraps and cuts. Pure.

Printing is left to `cli.render`.
"""

from __future__ import annotations

import unicodedata

from chrono.tuples import NamedTuple


class Styled(NamedTuple):
    """Text in one style: "bold", "dim", "red", "green", "yellow" or "cyan"."""

    text: str
    style: str


Part = str | Styled

_JOINERS = frozenset("\u200c\u200d")
"""Invisible, but letters of several scripts and many emoji are written with them."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2028\u2029")


def safe(text: str, *, lines: bool = False) -> str:
    """`text` with every character that a terminal would obey, or that nobody can see, written as an escape.

    That is C0, DEL, C1, format controls (bidi and invisible ones), fillers and line separators; bytes that are not
    UTF-8 (surrogate escapes) become `\\xNN`. `lines`: line feeds and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char, lines) for char in text)


def _escaped(char: str, lines: bool) -> str:
    code = ord(char)
    if lines and char in "\n\t":
        return char
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    hidden = char in _FILLERS or (unicodedata.category(char) in ("Cf", "Cs") and char not in _JOINERS)
    # U+E0000 and on: tags and their like, whether a version of Unicode has given them a meaning or not.
    if hidden or 0xE0000 <= code <= 0xE0FFF:
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return char


def columns(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def cut(text: str, width: int, *, mark: str = "…") -> str:
    """`text` in at most `width` columns, its end replaced by `mark` where it is longer."""
    if columns(text) <= width:
        return text
    room = width - columns(mark)
    kept = []
    for char in text:
        room -= columns(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept).rstrip() + mark if width > 0 else ""


def wrap(text: str, width: int | None, *, indent: int = 0, first: int = 0) -> list[str]:
    """`text` in lines of at most `width` columns (None: one line); words longer than that stay whole.

    `first` columns of the first line are taken already; the others are indented by `indent` blanks.
    """
    if width is None:
        return [text]
    body = text.lstrip(" ")
    lead = " " * (len(text) - len(body))
    rows: list[str] = []
    row, used = "", first + len(lead)
    for word in body.split(" "):
        size = columns(word)
        if row and used + 1 + size > width:
            rows.append(row)
            row, used = " " * indent + word, indent + size
        else:
            row, used = (f"{row} {word}", used + 1 + size) if row else (word, used + size)
    rows.append(row)
    return [lead + rows[0], *rows[1:]]


def one_line(text: str) -> str:
    """`text` with runs of white space, line feeds included, as one blank: for a column of a table."""
    return " ".join(text.split())


def age(seconds: float) -> str:
    """`just now`, `5 min`, `3 h`, `12 d`: a difference in seconds for people. Negative: the clock was set back."""
    if seconds < 0:
        return "in the future"
    if seconds < 10:
        return "just now"
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (48 * 3600, "h", 3600)):
        if seconds < limit:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds // 86400)} d ago"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 file`, `1,204 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(size_bytes: int) -> str:
    """`17 bytes`, `4.6 KiB`, `1.2 GiB`."""
    if size_bytes < 1024:
        return count(size_bytes, "byte")
    value = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            break
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"

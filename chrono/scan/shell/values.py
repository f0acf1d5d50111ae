"""Owns what evaluation computes with: text in which an unknown run is one character, and how texts join.

Inside this room a value is a plain `str` in which U+0000 stands for an unknown run of characters (no shell value can
hold it), NUL_BYTE for a real NUL byte in a stream, and MANY_FIELDS for an unknown number of fields. `to_word` turns
it into the words that leave the room.
"""

from __future__ import annotations

import os

from chrono.scan.command import MANY, Pattern, Word
from chrono.scan.expression import expression

MANY_FIELDS = "\0\0"
NUL_BYTE = "\ud800"
MAX_ALTERNATIVES = 6
MAX_VALUE_CHARS = 1_000_000

_RUNS = expression("\0\0+")
_SURROGATES = expression("[\ud800-\udbff]")


def clean(text: str) -> str:
    """Text from outside without the surrogates that this room uses itself (no machine yields them)."""
    return _SURROGATES.sub("\ufffd", text) if not text.isascii() else text


def collapse(text: str) -> str:
    """Neighbouring unknown runs are one."""
    return _RUNS.sub("\0", text) if MANY_FIELDS in text else text


def to_word(field: str) -> Word:
    """A field as it leaves the room."""
    if NUL_BYTE in field:
        return to_word(field.replace(NUL_BYTE, "\ufffd"))
    if "\0" not in field:
        return field
    if field == MANY_FIELDS:
        return MANY
    pieces: list[str | None] = []
    for at, piece in enumerate(collapse(field).split("\0")):
        if at:
            pieces.append(None)
        if piece:
            pieces.append(piece)
    return Pattern(tuple(pieces))


def from_word(word: Word) -> str:
    """The reverse of `to_word`, for words that come in."""
    if isinstance(word, str):
        return word
    if isinstance(word, Pattern):
        return collapse("".join("\0" if piece is None else piece for piece in word.pieces))
    return MANY_FIELDS


def join_text(values: tuple[str, ...] | list[str]) -> str:
    """One text that stands for all: their common ends around an unknown run."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if MANY_FIELDS in values:
        return MANY_FIELDS
    head = _common_prefix(list(values))
    rest = [value[len(head) :] for value in values]
    tail = _common_prefix([value[::-1] for value in rest])[::-1]
    return collapse(f"{head}\0{tail}")


def _common_prefix(values: list[str]) -> str:
    low, high = min(values), max(values)
    for at, char in enumerate(low):
        if at >= len(high) or char != high[at]:
            return low[:at]
    return low


def join_fields(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """One list of fields that stands for both."""
    if left == right:
        return left
    if len(left) == len(right):
        return tuple(join_text((a, b)) for a, b in zip(left, right, strict=True))
    shared = 0
    while shared < min(len(left), len(right)) and left[shared] == right[shared]:
        shared += 1
    return (*left[:shared], MANY_FIELDS)


def union(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Alternatives of both, at most MAX_ALTERNATIVES: beyond, one text that stands for all."""
    if left == right:
        return left
    both = tuple(dict.fromkeys((*left, *right)))
    return both if len(both) <= MAX_ALTERNATIVES else (join_text(both),)


def base_name(program: str) -> str:
    """The last component of a program's path; "" where it is not known."""
    name = program.rpartition("/")[2]
    return "" if "\0" in name else name


def file_key(cwd: str, path: str) -> str | None:
    """The name under which a file is remembered: its path, also one with a random part (`/tmp/tmp.…` of mktemp)."""
    known = resolve(cwd, path)
    if known is None and path.startswith("/") and path.count("\0") == 1 and path.rpartition("/")[2] != "\0":
        return path
    return known


def resolve(cwd: str, path: str) -> str | None:
    """The absolute path a constant names from `cwd`, else None."""
    if not path or "\0" in path:
        return None
    if path.startswith("/"):
        return os.path.normpath(path)
    if not cwd.startswith("/") or "\0" in cwd:
        return None
    return os.path.normpath(f"{cwd}/{path}")

"""Owns the values that code has while it is read: constants, texts known in part, lists, references, alternatives.

What is done with them is left to `interpret`; which calls exist to each language's library.

A value is a plain str, bytes, int, float, bool or None where it is known, else one of the classes here.
"""

from __future__ import annotations

from collections.abc import Iterable

from chrono.scan.command import MANY, UNKNOWN, Pattern, Word
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ALTERNATIVES = 6
MAX_TEXT = 100_000
MAX_ITEMS = 4_000


class Unknown:
    """Anything at all."""

    def __repr__(self) -> str:
        return "ANY"


class Never:
    """What a call that does not come back gives (`sys.exit()`)."""


ANY = Unknown()
NEVER = Never()


class Wild(NamedTuple):
    """A part of a path that stands for every name in a folder that fits `glob`."""

    glob: str


class Text(NamedTuple):
    """A text known in part; `pieces` are constants, None for what is unknown, Wild for each name of a folder."""

    pieces: tuple[str | None | Wild, ...]


class Either(NamedTuple):
    """One of a few values, depending on a branch that cannot be told."""

    values: tuple[object, ...]


class Ref(NamedTuple):
    """Something of a library by its dotted name (`os.path.join`)."""

    name: str


class Bound(NamedTuple):
    """A method taken from a value (`path.unlink`)."""

    owner: object
    name: str


class Partial(NamedTuple):
    """A function with some arguments given already."""

    function: object
    args: tuple[object, ...]
    named: tuple[tuple[str, object], ...]


class Items:
    """A list; `more` tells what further elements, of unknown number, are like (None: there are none)."""

    __slots__ = ("more", "values")

    def __init__(self, values: Iterable[object] = (), more: object = None) -> None:
        self.values = list(values)
        self.more = more

    def __repr__(self) -> str:
        return f"Items({self.values!r}, {self.more!r})"


class Table:
    """A mapping; `open` where it may have keys that are not known."""

    __slots__ = ("entries", "open")

    def __init__(self, entries: dict[Any, object] | None = None, open: bool = False) -> None:
        self.entries: dict[Any, object] = {} if entries is None else entries
        self.open = open


class Thing:
    """An object of a known kind: "path", "file", "socket", "database", "process", "instance", "class", "app", …"""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, **fields: object) -> None:
        self.kind = kind
        self.fields: dict[str, object] = fields

    def __repr__(self) -> str:
        return f"Thing({self.kind}, {self.fields!r})"


def joined(first: object, second: object) -> object:
    """Either of two values, as one value."""
    if first is second or (type(first) is type(second) and not isinstance(first, Items | Table) and first == second):
        return first
    if first is ANY or second is ANY:
        return ANY
    if first is NEVER or second is NEVER:
        return second if first is NEVER else first
    found: list[object] = []
    for value in (*alternatives(first), *alternatives(second)):
        if not any(value is other or (type(value) is type(other) and value == other) for other in found):
            found.append(value)
    return Either(tuple(found)) if len(found) <= MAX_ALTERNATIVES else ANY


def alternatives(value: object) -> tuple[object, ...]:
    return value.values if isinstance(value, Either) else (value,)


def pieces_of(value: object) -> tuple[str | None | Wild, ...]:
    """A value as the pieces of a text; unknown where it has no text."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Text):
        return value.pieces
    if isinstance(value, Thing) and value.kind == "path":
        return pieces_of(value.fields["text"])
    if isinstance(value, bool) or value is None:
        return (str(value),)
    if isinstance(value, int | float):
        return (str(value),)
    if isinstance(value, bytes):
        return (value.decode("utf-8", "surrogateescape"),)
    if isinstance(value, Thing) and value.kind == "temporary":
        return pieces_of(value.fields["text"])
    return (None,)


def text_of(pieces: Iterable[str | None | Wild]) -> object:
    """Pieces as a value: a plain str where all of it is known. Overlong texts become unknown."""
    held = tuple(pieces)
    try:
        known = "".join(held)  # type: ignore[arg-type]
        return known if len(known) <= MAX_TEXT else ANY
    except TypeError:
        pass  # some of it is not known
    merged: list[str | None | Wild] = []
    size = 0
    for piece in held:
        if isinstance(piece, str):
            size += len(piece)
            if merged and isinstance(merged[-1], str):
                merged[-1] += piece
            elif piece:
                merged.append(piece)
        elif piece is not None or not merged or merged[-1] is not None:
            merged.append(piece)
    if size > MAX_TEXT or len(merged) > 64:
        return ANY
    return ANY if merged == [None] else Text(tuple(merged))


def word_of(value: object) -> Word:
    """A value as a word of a command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, Items):
        return MANY
    pieces = tuple(None if isinstance(piece, Wild) else piece for piece in pieces_of(value))
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(piece for piece in pieces if piece is not None)
    return UNKNOWN if set(pieces) == {None} else Pattern(pieces)


def has_wild(value: object) -> bool:
    return any(isinstance(piece, Wild) for piece in pieces_of(value))


def without_wild(value: object) -> object:
    """The same text where not every name fits any more: what a condition lets through is unknown."""
    if isinstance(value, Either):
        return Either(tuple(without_wild(v) for v in value.values))
    if not has_wild(value):
        return value
    narrowed = text_of(None if isinstance(piece, Wild) else piece for piece in pieces_of(value))
    return Thing("path", text=narrowed) if isinstance(value, Thing) else narrowed


def truth(value: object) -> bool | None:
    """True or False where it can be told, else None."""
    if isinstance(value, str | bytes | int | float) or value is None:
        return bool(value)
    if isinstance(value, Items):
        return True if value.values else None if value.more is not None else False
    if isinstance(value, Table):
        return True if value.entries else None if value.open else False
    if isinstance(value, Text):
        return True if any(isinstance(piece, str) for piece in value.pieces) else None
    if isinstance(value, Bound | Partial | Thing):
        return True
    if isinstance(value, Either):
        found = {truth(v) for v in value.values}
        return found.pop() if len(found) == 1 else None
    return None


def elements(value: object) -> tuple[list[object], object]:
    """What iterating gives: known elements, and what further ones are like (None: there are none)."""
    if isinstance(value, Items):
        return value.values, value.more
    if isinstance(value, str):
        return list(value[:MAX_ITEMS]), None if len(value) <= MAX_ITEMS else ANY
    if isinstance(value, bytes):
        return list(value[:MAX_ITEMS]), None if len(value) <= MAX_ITEMS else ANY
    if isinstance(value, Table):
        return list(value.entries), ANY if value.open else None
    if isinstance(value, Either):
        values: list[object] = []
        more: object = None
        for option in value.values:
            found, rest = elements(option)
            values += found
            more = rest if more is None else more
        return values[:MAX_ITEMS], more
    return [], ANY


def table_of(value: Items) -> Table:
    """A flat list of keys and values as a table."""
    keys, values = value.values[::2], value.values[1::2]
    return Table(
        dict(zip((k if isinstance(k, str | int) else str(k) for k in keys), values, strict=False)),
        value.more is not None,
    )

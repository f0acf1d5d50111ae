"""Owns the values that PowerShell text computes with: constants, things known in part, things from outside.

A text is a str in which NUL stands for an unknown run, as in `shell.values`. What operators and methods make of
values is left to `operators` and `library`.
"""

from __future__ import annotations

from collections.abc import Iterable

from chrono.scan.command import Word
from chrono.scan.shell.powershell.syntax import Block
from chrono.scan.shell.values import collapse, join_text, to_word
from chrono.tuples import NamedTuple

Argv = tuple[Word, ...]
Feeds = tuple[Argv, ...]

MAX_CHOICES = 6
MAX_ITEMS = 4_096
MAX_TEXT_CHARS = 1_000_000


class Unknown(NamedTuple):
    """A value that is not known; `feeds` are the commands it comes from."""

    feeds: Feeds = ()


class Fed(str):
    """A text with the commands that it, or its unknown parts, come from."""

    __slots__ = ("feeds",)
    feeds: Feeds


class Thing(NamedTuple):
    """An object: "item" (of a file system; `name` is its path), "object" (of a .NET or COM type), "wmi" (of a class),
    "type", "bytes" and others that `library` knows."""

    kind: str
    name: str = ""
    fields: tuple[tuple[str, object], ...] = ()
    feeds: Feeds = ()

    def field(self, name: str) -> object:
        return next((value for key, value in self.fields if key == name), None)


class Choice(NamedTuple):
    """One of several values, at most MAX_CHOICES."""

    options: tuple[object, ...]


class Closure(NamedTuple):
    """A script block as a value."""

    block: Block


UNKNOWN = Unknown()
Value = object
"""None, bool, int, float, str, a tuple of values (an array), a dict, or one of the classes above."""


def fed(text: str, feeds: Feeds) -> str:
    """`text` with the commands it comes from."""
    if not feeds:
        return text
    marked = Fed(text)
    marked.feeds = feeds
    return marked


def feeds_of(value: Value, depth: int = 0) -> Feeds:
    """The commands that a value comes from."""
    if isinstance(value, Unknown | Thing | Fed):
        return value.feeds
    if depth < 4 and type(value) is tuple:
        return tuple(dict.fromkeys(f for item in value[:64] for f in feeds_of(item, depth + 1)))
    if depth < 4 and isinstance(value, dict):
        return tuple(dict.fromkeys(f for item in list(value.values())[:64] for f in feeds_of(item, depth + 1)))
    if depth < 4 and isinstance(value, Choice):
        return tuple(dict.fromkeys(f for item in value.options for f in feeds_of(item, depth + 1)))
    return ()


def text_of(value: Value) -> str:
    """A value as text."""
    kind = type(value)
    if kind is str or kind is Fed:
        return value  # type: ignore[return-value]
    if value is None:
        return ""
    if kind is bool:
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if kind is tuple:
        return concat([piece for item in value for piece in (" ", text_of(item))][1:])  # type: ignore[attr-defined]
    if isinstance(value, Choice):
        return fed(join_text([text_of(option) for option in value.options]), feeds_of(value))
    if isinstance(value, Thing):
        return fed(value.name if value.kind in ("item", "type") else "\0", value.feeds)
    if isinstance(value, Closure):
        return value.block.source
    return fed("\0", feeds_of(value))


def concat(parts: Iterable[str]) -> str:
    """One text of several, with the commands all come from."""
    found = list(parts)
    text = "".join(found)
    if "\0" in text:
        text = collapse(text)
    feeds = tuple(dict.fromkeys(f for part in found if type(part) is Fed for f in part.feeds))
    return fed(text[:MAX_TEXT_CHARS], feeds)


def elements_of(value: Value) -> tuple[Value, ...]:
    """What a pipeline or a loop gets of a value, one by one."""
    if value is None:
        return ()
    if type(value) is tuple:
        return value
    return (value,)


def array_of(found: list[Value]) -> Value:
    """The value that an output stands for: nothing, the one thing, or an array."""
    if not found:
        return None
    return found[0] if len(found) == 1 else tuple(found[:MAX_ITEMS])


def is_known(value: Value) -> bool:
    """Whether nothing of a value is unknown."""
    if isinstance(value, str):
        return "\0" not in value
    if type(value) is tuple:
        return all(is_known(item) for item in value)
    return value is None or isinstance(value, bool | int | float)


def either(left: Value, right: Value) -> Value:
    """A value that is one or the other."""
    if type(left) is type(right) and left == right:
        return left
    options: list[Value] = []
    for value in (left, right):
        for option in value.options if isinstance(value, Choice) else (value,):
            if not any(type(option) is type(other) and option == other for other in options):
                options.append(option)
    if len(options) > MAX_CHOICES:
        return Unknown(tuple(dict.fromkeys(f for option in options for f in feeds_of(option))))
    return Choice(tuple(options))


def options_of(value: Value) -> tuple[Value, ...]:
    """The values that a value may be."""
    return value.options if isinstance(value, Choice) else (value,)


def truth(value: Value) -> bool | None:
    """Whether a value counts as true, None where that is not known."""
    if value is None:
        return False
    if isinstance(value, bool | int | float):
        return bool(value)
    if isinstance(value, str):
        return (True if value.strip("\0") else None) if "\0" in value else value != ""
    if type(value) is tuple:
        if len(value) == 1:
            return truth(value[0])
        return bool(value)
    if isinstance(value, Choice):
        found = {truth(option) for option in value.options}
        return found.pop() if len(found) == 1 else None
    return None


def words_of(value: Value) -> tuple[Word, ...]:
    """The arguments that a program gets of a value."""
    if type(value) is tuple:
        return tuple(word for item in value for word in words_of(item))
    return (to_word(str(text_of(value))),)


def number_of(value: Value) -> int | float | None:
    """A value as a number, None where it is none."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if value is None:
        return 0
    if isinstance(value, str):
        text = value.strip().lower()
        if len(text) > 40:
            return None
        try:
            return int(text, 16) if text.startswith("0x") else int(text)
        except ValueError:
            pass
        try:
            found = float(text)
        except ValueError:
            return None
        return found if found == found and abs(found) != float("inf") else None
    return None

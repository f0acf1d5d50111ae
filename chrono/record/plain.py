"""Owns the quick way of a value that is plain JSON already and holds no secret: it is copied, in one loop.

It either proves that of the whole value or leaves the value to the walk of `record.serialise`, which comes to the same
JSON for what is plain (a test compares them). What a secret is says `record.redact`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from chrono.tuples import NamedTuple

MAX_INT: Final = 2**63
MAX_DEPTH: Final = 60
MOST_MEMBERS: Final = 10_000
"""More are left to the walk, which looks at long lists of numbers as a whole; a cycle is found out by then."""

_CONTAINERS: Final = frozenset({dict, list})
_ASIS: Final = frozenset({bool, type(None)})


class Copied(NamedTuple):
    """A copy that shares no container with what it was made of, and how many members it has at all depths."""

    json: Any
    members: int


def plain_copy(
    value: dict[str, Any] | list[Any],
    names: set[str],
    texts: set[str],
    clean: Callable[[str], str],
    most: int = MOST_MEMBERS,
    depth: int = 0,
) -> Copied | None:
    """`value` copied; None where one of its members needs a closer look, where there are more than `most`, and where
    they lie deeper than MAX_DEPTH, of which `depth` is used.

    `names` are those of members known to be plain, `texts` those known to hold no secret and to have a UTF-8 form;
    `clean` judges any other text, by answering with the same object. Raises what a dict does that is changed meanwhile.
    """
    whole = value.copy()
    level: list[Any] = [whole]
    left = most
    for _ in range(depth, MAX_DEPTH):
        below: list[Any] = []
        for held in level:
            left -= len(held)
            if left < 0:
                return None
            is_object = type(held) is dict
            if is_object and not names.issuperset(held):
                return None
            for place, item in held.items() if is_object else enumerate(held):
                if is_object and type(place) is not str:
                    return None
                kind = type(item)
                if kind is str:
                    if item not in texts and (clean(item) is not item or not has_utf8(item)):
                        return None
                elif kind in _CONTAINERS:
                    held[place] = item = item.copy()
                    below.append(item)
                elif kind is int:
                    if not -MAX_INT <= item < MAX_INT:
                        return None
                elif kind not in _ASIS and (kind is not float or not isfinite(item)):
                    return None
        if not below:
            return Copied(whole, most - left)
        level = below
    return None


def has_utf8(text: str) -> bool:
    """Whether `text` can be written in UTF-8: it holds no half of a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

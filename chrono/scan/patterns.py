"""Owns searching with the regular expressions of rules, and the bound on what one search may take.

`re` goes back and forth without a limit of its own and lets nobody else run meanwhile, so how often it could is worked
out before. Which patterns a rule may have is decided by `rulepack.regex`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]  # the parser of `re`, which has no public name
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from chrono.scan.command import LimitReached

MOST_STEPS = 1 << 26
"""A second or two, where each step is one of a group; a hundredth of that where it is one of a character."""

_ENDLESS = 1 << 62
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, getattr(sre, "POSSESSIVE_REPEAT", None))
_LOOKS = (sre.ASSERT, sre.ASSERT_NOT)


def found(pattern: str, text: str) -> bool:
    """Whether `pattern` is found in `text`. Raises LimitReached where that could take longer than anybody waits."""
    if steps(pattern, len(text)) > MOST_STEPS:
        raise LimitReached(f"a rule's pattern could take too long on an argument of {len(text)} characters")
    return re.search(pattern, text) is not None


def steps(pattern: str, size: int) -> int:
    """No search of `pattern` in a text of `size` characters takes more; a count of starts and ways from there on."""
    items, anchored = _parsed(pattern)
    return min((1 if anchored else size + 1) * _ways(items, size), _ENDLESS)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> tuple[list[Any], bool]:
    tree = _parser.parse(pattern)
    items = list(tree)
    starts = (
        [sre.AT_BEGINNING_STRING] if tree.state.flags & re.MULTILINE else [sre.AT_BEGINNING_STRING, sre.AT_BEGINNING]
    )
    anchored = bool(items) and items[0][0] == sre.AT and items[0][1] in starts
    if items and items[-1][0] in _REPEATS:  # nothing behind it asks for another length
        low, _, inner = items[-1][1]
        items[-1] = (sre.MAX_REPEAT, (low, low, inner))
    return items, anchored


def _ways(items: Any, size: int) -> int:
    """In how many ways the items, one after the other, can be matched from one place on."""
    total = 1
    for kind, value in items:
        total = min(total * _ways_of(kind, value, size), _ENDLESS)
    return total


def _ways_of(kind: Any, value: Any, size: int) -> int:
    if kind in _REPEATS:
        low, high, inner = value
        return _repeated(_ways(inner, size), min(int(low), size), min(int(high), size))
    if kind == sre.BRANCH:
        return sum(_ways(branch, size) for branch in value[1])
    if kind == sre.SUBPATTERN:
        return _ways(value[3], size)
    if kind in _LOOKS:
        return _ways(value[1], size)
    if kind == getattr(sre, "ATOMIC_GROUP", None):
        return _ways(value, size)
    if kind in (sre.GROUPREF, sre.GROUPREF_EXISTS):
        return _ENDLESS
    return 1


def _repeated(ways: int, low: int, high: int) -> int:
    """Of something that can be matched in `ways`, `low` to `high` times."""
    if ways == 1:
        return high - low + 1
    if high > 62:
        return _ENDLESS
    total: int = sum(ways**times for times in range(low, high + 1))
    return min(total, _ENDLESS)

"""Owns brace expansion: `{a,b}` and `{1..9}`, on the parts of a word, before anything else is expanded."""

from __future__ import annotations

import re
from itertools import pairwise

from chrono.scan.expression import expression
from chrono.scan.shell.syntax import Param, Part, Text, Word
from chrono.scan.shell.values import MANY_FIELDS

MAX_WORDS = 1000

_NUMBERS = expression(r"(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})(?:\.\.(-?[0-9]{1,18}))?\Z")
_LETTERS = expression(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]{1,9}))?\Z")

Unit = str | Part
"""An unquoted character, or a part that braces cannot see into."""


class _TooMany(Exception):
    pass


def may_expand(word: Word) -> bool:
    """Whether braces can matter in a word (cheap, never misses)."""
    opened = False
    inside = False
    for part in word.parts:
        if type(part) is Text and not part.quoted:
            text = part.text
            opened = opened or "{" in text
            inside = inside or (opened and ("," in text or ".." in text))
            if inside and "}" in text:
                return True
    return False


def expand_braces(word: Word) -> tuple[Word, ...]:
    """The words that one word stands for. More than MAX_WORDS: one word that is an unknown number of fields."""
    units: list[Unit] = []
    for part in word.parts:
        if type(part) is Text and not part.quoted:
            units.extend(part.text)
        else:
            units.append(part)
    try:
        results = _Braces(units).expand(0, len(units), 0)
    except _TooMany:
        return (Word((Text(MANY_FIELDS, False),), word.start, word.end),)
    return tuple(_word(result, word) for result in results)


def _word(units: list[Unit], origin: Word) -> Word:
    parts: list[Part] = []
    run: list[str] = []
    for unit in units:
        if isinstance(unit, str):
            last = parts[-1] if parts and not run else None
            if isinstance(last, Param) and last.bare and (unit == "_" or (unit.isascii() and unit.isalnum())):
                # Braces are expanded before names are read: `$x{1,2}` is `$x1 $x2`.
                parts[-1] = last._replace(name=last.name + unit)
                continue
            run.append(unit)
            continue
        if run:
            parts.append(Text("".join(run), False))
            run = []
        parts.append(unit)
    if run:
        parts.append(Text("".join(run), False))
    return Word(tuple(parts), origin.start, origin.end)


class _Braces:
    """Where each brace closes and where its commas are, in one pass: no text costs more than its length."""

    def __init__(self, units: list[Unit]) -> None:
        self.units = units
        self.close: dict[int, int] = {}
        self.commas: dict[int, list[int]] = {}
        stack: list[int] = []
        for at, unit in enumerate(units):
            if unit == "{":
                stack.append(at)
            elif unit == "," and stack:
                self.commas.setdefault(stack[-1], []).append(at)
            elif unit == "}" and stack:
                self.close[stack.pop()] = at

    def expand(self, low: int, high: int, depth: int) -> list[list[Unit]]:
        if depth > 40:
            raise _TooMany
        results: list[list[Unit]] = [[]]
        at = literal = low
        while at < high:
            close = self.close.get(at, high) if self.units[at] == "{" else high
            choices = self._choices(at, close, depth) if close < high else None
            if choices is None:
                at += 1
                continue
            head = self.units[literal:at]
            if len(results) * len(choices) > MAX_WORDS:
                raise _TooMany
            results = [[*result, *head, *choice] for result in results for choice in choices]
            at = literal = close + 1
        tail = self.units[literal:high]
        return [[*result, *tail] for result in results] if tail else results

    def _choices(self, start: int, close: int, depth: int) -> list[list[Unit]] | None:
        commas = self.commas.get(start)
        if commas is None:
            return _sequence(self.units[start + 1 : close])
        edges = [start, *commas, close]
        choices: list[list[Unit]] = []
        for left, right in pairwise(edges):
            choices.extend(self.expand(left + 1, right, depth + 1))
            if len(choices) > MAX_WORDS:
                raise _TooMany
        return choices


def _sequence(units: list[Unit]) -> list[list[Unit]] | None:
    if len(units) > 64 or not all(isinstance(unit, str) for unit in units):
        return None
    text = "".join(unit for unit in units if isinstance(unit, str))
    match = _NUMBERS.match(text)
    if match is not None:
        first, last = int(match[1]), int(match[2])
        padded = any(re.match(r"-?0[0-9]", end) for end in (match[1], match[2]))
        width = max(len(match[1]), len(match[2])) if padded else 0
        return [list(f"{value:0{width}d}") for value in _range(first, last, match[3])]
    match = _LETTERS.match(text)
    if match is not None:
        return [[chr(value)] for value in _range(ord(match[1]), ord(match[2]), match[3])]
    return None


def _range(first: int, last: int, step_text: str | None) -> range:
    step = abs(int(step_text or "1")) or 1
    if abs(last - first) // step >= MAX_WORDS:
        raise _TooMany
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)

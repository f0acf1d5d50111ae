"""Owns a program's own arguments as values, in every language's spelling (`sys.argv`, `process.argv`, `$argv`)."""

from __future__ import annotations

from chrono.scan.code.values import ANY, Items, Ref, Text
from chrono.scan.command import UNKNOWN, Many, Pattern, Word

MORE = Ref("\0more")
"""Stands at the end where further arguments of unknown number follow."""


def argument_values(name: str, args: tuple[Word, ...]) -> tuple[object, ...]:
    """`sys.argv` (or its like) as values; an unknown number of further arguments ends with MANY's own mark."""
    values: list[object] = [name]
    for word in args:
        if isinstance(word, Many):
            return (*values, MORE)
        values.append(
            Text(word.pieces)
            if isinstance(word, Pattern) and word != UNKNOWN
            else word
            if isinstance(word, str)
            else ANY
        )
    return tuple(values)


def argument_list(values: tuple[object, ...]) -> Items:
    known = [value for value in values if value is not MORE]
    return Items(known, ANY if len(known) < len(values) else None)

"""Owns what operators and indexing do to values: constants fold, texts known in part stay known in part.

Methods and formats of texts are left to `texts`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code.texts import percent_format
from chrono.scan.code.values import (
    ANY,
    MAX_ITEMS,
    MAX_TEXT,
    Either,
    Items,
    Table,
    Text,
    Thing,
    alternatives,
    joined,
    pieces_of,
    text_of,
    word_of,
)
from chrono.scan.command import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def over(function: Callable[..., object], *values: object) -> object:
    """The function's result, over all alternatives of its arguments."""
    for value in values:
        if isinstance(value, Either):
            break
    else:
        return function(*values)
    combined: list[list[object]] = [[]]
    for value in values:
        options = alternatives(value)
        if len(combined) * len(options) > 12:
            return ANY
        combined = [[*before, option] for before in combined for option in options]
    result = function(*combined[0])
    for chosen in combined[1:]:
        result = joined(result, function(*chosen))
    return result


def binary(op: str, left: object, right: object) -> object:
    """`left op right`. "text+" joins as texts whatever the operands are; "+" as the operands ask for."""
    return over(lambda a, b: _binary(op, a, b), left, right)


def join_path(base: object, *parts: object) -> object:
    """The parts of a path, joined: an absolute part starts anew."""
    result = base
    for part in parts:
        result = over(_join_two, result, part)
    return result


def _join_two(base: object, part: object) -> object:
    if isinstance(base, str) and isinstance(part, str) and len(base) + len(part) < MAX_TEXT:
        if part[:1] == "/" or base in ("", "."):
            return part
        if part in ("", "."):
            return base
        return f"{base}{part}" if base.endswith("/") else f"{base}/{part}"
    pieces = pieces_of(part)
    first = pieces[0] if pieces else ""
    if isinstance(first, str) and first.startswith("/"):
        return text_of(pieces)
    before = pieces_of(base)
    last = before[-1] if before else ""
    if before == ("",) or before == (".",) or not before:
        return text_of(pieces)
    if pieces in (("",), (".",)):
        return text_of(before)
    slash = "" if isinstance(last, str) and last.endswith("/") else "/"
    return text_of((*before, slash, *pieces))


def _binary(op: str, left: object, right: object) -> object:
    if op == "text+":
        return text_of((*pieces_of(left), *pieces_of(right)))
    if op == "+":
        return _plus(left, right)
    if op in ("==", "!=", "===", "!=="):
        return _compared(op, left, right)
    if op == "/" and any(isinstance(v, Thing) and v.kind == "path" for v in (left, right)):
        return Thing("path", text=join_path(left, right))
    if op == "%" and isinstance(left, str | Text):
        return percent_format(left, right)
    if op == "*":
        return _times(left, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _arithmetic(op, left, right)
    if op in ("<", ">", "<=", ">=") and isinstance(left, str) and isinstance(right, str):
        return _ordered(op, left, right)
    if op in ("in", "not in"):
        return _contains(op, left, right)
    if op == "|" and isinstance(left, Table) and isinstance(right, Table):
        return Table({**left.entries, **right.entries}, left.open or right.open)
    return ANY


def _plus(left: object, right: object) -> object:
    if isinstance(left, bool) or isinstance(right, bool):
        return (
            text_of((*pieces_of(left), *pieces_of(right))) if isinstance(left, str) or isinstance(right, str) else ANY
        )
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _arithmetic("+", left, right)
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right if len(left) + len(right) <= MAX_TEXT else ANY
    if isinstance(left, Items) and isinstance(right, Items):
        more = left.more if right.more is None else right.more
        return Items((left.values + right.values)[:MAX_ITEMS], more)
    if isinstance(left, Items) or isinstance(right, Items):
        known = left if isinstance(left, Items) else right
        return Items(known.values if known is left else (), ANY) if isinstance(known, Items) else ANY
    if any(isinstance(v, str | Text) for v in (left, right)):
        return text_of((*pieces_of(left), *pieces_of(right)))
    return ANY


def _compared(op: str, left: object, right: object) -> object:
    constants = str | bytes | int | float
    known = all(isinstance(v, constants) or v is None for v in (left, right))
    if known:
        return (left == right) == (op in ("==", "==="))
    return ANY


def _times(left: object, right: object) -> object:
    if isinstance(left, int) and not isinstance(right, int | float):
        left, right = right, left
    if isinstance(left, str | bytes) and isinstance(right, int):
        return left * right if len(left) * max(right, 0) <= MAX_TEXT else ANY
    if isinstance(left, Items) and isinstance(right, int):
        return Items(left.values * min(max(right, 0), MAX_ITEMS // max(len(left.values), 1)), left.more)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _arithmetic("*", left, right)
    return ANY


def _arithmetic(op: str, left: int | float, right: int | float) -> object:
    """Arithmetic on numbers of reasonable size."""
    if abs(left) > 1e15 or abs(right) > 1e15:
        return ANY
    if op in ("<", ">", "<=", ">="):
        return _ordered(op, left, right)
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if right and op == "/":
        return left / right
    if right and op in ("//", "%"):
        return left // right if op == "//" else left % right
    if isinstance(left, int) and isinstance(right, int):
        bits: dict[str, Callable[[int, int], int]] = {
            "|": int.__or__,
            "&": int.__and__,
            "^": int.__xor__,
            ">>": lambda a, b: a >> b if 0 <= b < 64 else 0,
            "<<": lambda a, b: a << b if 0 <= b < 64 else 0,
            "**": lambda a, b: a**b if abs(a) < 1000 and 0 <= b < 10 else 0,
        }
        return bits[op](left, right) if op in bits else ANY
    return ANY


def _ordered(op: str, left: object, right: object) -> bool:
    less = left < right  # type: ignore[operator]
    if op == "<":
        return bool(less)
    if op == ">=":
        return not less
    equal = left == right
    return bool(less or equal) if op == "<=" else not (less or equal)


def _contains(op: str, left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return (left in right) == (op == "in")
    if isinstance(right, Items) and right.more is None and isinstance(left, str | int | bytes):
        if all(isinstance(value, str | int | bytes) or value is None for value in right.values):
            return (left in right.values) == (op == "in")
    elif isinstance(right, Table) and not right.open and isinstance(left, str | int):
        return (left in right.entries) == (op == "in")
    return ANY


def index(owner: object, key: object) -> object:
    """`owner[key]`."""
    return over(_index, owner, key)


def _index(owner: object, key: object) -> object:
    if isinstance(owner, Items):
        if isinstance(key, int) and (owner.more is None or key >= 0) and -len(owner.values) <= key < len(owner.values):
            return owner.values[key]
        if owner.more is None and not isinstance(key, int) and owner.values:
            result = owner.values[0]
            for value in owner.values[1:50]:
                result = joined(result, value)
            return result
        return ANY if owner.more is None else owner.more
    if isinstance(owner, str | bytes) and isinstance(key, int) and -len(owner) <= key < len(owner):
        return owner[key]
    if isinstance(owner, Table):
        if isinstance(key, str | int | float | bytes) and key in owner.entries:
            return owner.entries[key]
        if not isinstance(key, str | int | float | bytes) and owner.entries and len(owner.entries) <= 6:
            values = list(owner.entries.values())
            result = values[0]
            for value in values[1:]:
                result = joined(result, value)
            return result
    return ANY


def slice_of(owner: object, start: object = None, stop: object = None, step: object = None) -> object:
    """`owner[start:stop:step]`."""
    bounds = (start, stop, step)
    if any(not (bound is None or isinstance(bound, int)) for bound in bounds) or step == 0:
        return ANY
    part: Any = slice(*bounds)
    if isinstance(owner, str | bytes):
        return owner[part]
    if isinstance(owner, Items):
        return Items(owner.values[part], owner.more)
    if isinstance(owner, Text) and bounds == (None, None, -1):
        return ANY
    return ANY if word_of(owner) == UNKNOWN or not isinstance(owner, Text) else text_of((None,))

"""Owns what PowerShell's operators make of values: sums, formats, splits, joins, replacements, comparisons.

Methods are left to `library`. An operator on something unknown yields something unknown from the same source.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.shell.powershell.values import (
    MAX_ITEMS,
    MAX_TEXT_CHARS,
    Choice,
    Thing,
    Unknown,
    Value,
    concat,
    elements_of,
    fed,
    feeds_of,
    is_known,
    number_of,
    options_of,
    text_of,
)

MAX_PATTERN_CHARS = 200
MAX_SUBJECT_CHARS = 20_000
_FORMAT_ITEM = re.compile(r"\{\{|\}\}|\{(\d+)(?:,(-?\d+))?(?::([^{}]*))?\}")
_NESTED = re.compile(r"[+*}][^()]*\)[+*{]")


def unknown_of(*values: Value) -> Unknown:
    """Something unknown that comes from what these come from."""
    return Unknown(tuple(dict.fromkeys(f for value in values for f in feeds_of(value))))


def binary(op: str, left: Value, right: Value) -> Value:
    """The value of `left op right`, except `-and`, `-or`, `-xor` and `??`."""
    if isinstance(left, Choice) or isinstance(right, Choice):
        return _each(op, left, right)
    found = _BINARY.get(op)
    return found(left, right) if found else unknown_of(left, right)


def _each(op: str, left: Value, right: Value) -> Value:
    from chrono.scan.shell.powershell.values import either

    results = [binary(op, one, other) for one in options_of(left) for other in options_of(right)][:12]
    joined = results[0]
    for result in results[1:]:
        joined = either(joined, result)
    return joined


def add(left: Value, right: Value) -> Value:
    """`left + right`: a longer array, a longer text or a sum, by what stands on the left."""
    if type(left) is tuple:
        return (*left, *elements_of(right))[:MAX_ITEMS]
    if isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    if isinstance(left, str):
        if len(left) > MAX_TEXT_CHARS // 4:
            return unknown_of(left, right)
        return concat([left, text_of(right)])
    if left is None:
        return right
    one, other = number_of(left), number_of(right)
    if one is not None and other is not None and not isinstance(left, Thing):
        return one + other
    if (isinstance(left, Unknown) and isinstance(right, str)) or isinstance(left, Thing):
        return concat([text_of(left), text_of(right)])
    return unknown_of(left, right)


def _arithmetic(work: Callable[[int | float, int | float], int | float]) -> Callable[[Value, Value], Value]:
    def run(left: Value, right: Value) -> Value:
        one, other = number_of(left), number_of(right)
        if one is None or other is None or abs(one) > 1e18 or abs(other) > 1e18:
            return unknown_of(left, right)
        try:
            return work(one, other)
        except (ArithmeticError, ValueError, TypeError):
            return unknown_of(left, right)

    return run


def _times(left: Value, right: Value) -> Value:
    count = number_of(right)
    if isinstance(left, str) and count is not None:
        return fed(left * max(0, min(int(count), MAX_TEXT_CHARS // max(1, len(left)))), feeds_of(left))
    if type(left) is tuple and count is not None:
        return (left * max(0, min(int(count), MAX_ITEMS // max(1, len(left)))))[:MAX_ITEMS]
    return _arithmetic(lambda a, b: a * b)(left, right)


def _divide(one: int | float, other: int | float) -> int | float:
    found = one / other
    return int(found) if found.is_integer() else found


def _shift_left(one: int | float, other: int | float) -> int:
    return int(one) << min(int(other), 64) if other >= 0 else 0


def _range(left: Value, right: Value) -> Value:
    one, other = number_of(left), number_of(right)
    if isinstance(left, str) and isinstance(right, str) and len(left) == len(right) == 1 and one is None:
        first, last = ord(left), ord(right)
        step = 1 if last >= first else -1
        return tuple(chr(code) for code in range(first, last + step, step))[:MAX_ITEMS]
    if one is None or other is None or abs(other - one) > MAX_ITEMS:
        return unknown_of(left, right)
    step = 1 if other >= one else -1
    return tuple(range(int(one), int(other) + step, step))


def text_format(left: Value, right: Value) -> Value:
    """`'{0} {1}' -f a, b`."""
    template = text_of(left)
    values = elements_of(right) if type(right) is tuple else (right,)
    parts: list[str] = []
    last = 0
    for found in _FORMAT_ITEM.finditer(template[:MAX_SUBJECT_CHARS]):
        parts.append(template[last : found.start()])
        last = found.end()
        if found.group(1) is None:
            parts.append(found.group()[0])
            continue
        at = int(found.group(1)[:6])
        parts.append(_formatted(values[at], found.group(3)) if at < len(values) else "\0")
    parts.append(template[last:])
    return fed(
        concat(parts),
        tuple(dict.fromkeys((*feeds_of(left), *feeds_of(right)))) if "\0" in template else feeds_of(right),
    )


def _formatted(value: Value, how: str | None) -> str:
    number = number_of(value) if how and not isinstance(value, str) else None
    if how and number is not None:
        letter, digits = how[:1].lower(), how[1:]
        width = int(digits) if digits.isdigit() and len(digits) < 3 else 0
        if letter == "x":
            text = f"{int(number):0{width}x}"
            return text.upper() if how[0] == "X" else text
        if letter == "d":
            return f"{int(number):0{width}d}"
    return text_of(value)


def join(left: Value, right: Value) -> Value:
    """`list -join sign`."""
    sign = text_of(right)
    parts: list[str] = []
    for at, item in enumerate(elements_of(left)):
        if at:
            parts.append(sign)
        parts.append(text_of(item))
    return concat(parts)


def usable_pattern(pattern: str) -> bool:
    """Whether a pattern of regular expressions is known and cannot take long."""
    return len(pattern) <= MAX_PATTERN_CHARS and "\0" not in pattern and _NESTED.search(pattern) is None


def _compiled(pattern: str) -> re.Pattern[str] | None:
    if not usable_pattern(pattern):
        return None
    try:
        return re.compile(pattern.replace("(?<", "(?P<") if re.search(r"\(\?<[A-Za-z]", pattern) else pattern, re.I)
    except (re.error, RecursionError, OverflowError):
        return None


def split(left: Value, right: Value) -> Value:
    """`text -split pattern`; without a pattern at blanks."""
    rule = elements_of(right) if type(right) is tuple else (right,)
    pattern = text_of(rule[0]) if rule else ""
    out: list[Value] = []
    for item in elements_of(left):
        text = text_of(item)
        compiled = _compiled(pattern) if pattern != "" else None
        if "\0" in text or len(text) > MAX_SUBJECT_CHARS or (compiled is None and pattern != ""):
            return unknown_of(left, right)
        if compiled is None:
            out.extend(["", *text, ""] if right == "" else text.split())
        else:
            out.extend(piece for piece in compiled.split(text) if piece is not None)
    return tuple(out[:MAX_ITEMS])


def replace(left: Value, right: Value) -> Value:
    """`text -replace pattern, other`."""
    rule = elements_of(right) if type(right) is tuple else (right,)
    pattern = text_of(rule[0]) if rule else ""
    other = text_of(rule[1]) if len(rule) > 1 else ""
    compiled = _compiled(pattern)
    out: list[Value] = []
    for item in elements_of(left):
        text = text_of(item)
        if compiled is None or len(text) > MAX_SUBJECT_CHARS:
            return unknown_of(left, right)
        template = re.sub(r"\\", r"\\\\", other)
        template = re.sub(
            r"\$(\d|\{\w+\}|&)", lambda m: "\\g<0>" if m.group(1) == "&" else f"\\g<{m.group(1).strip('{}')}>", template
        )
        try:
            out.append(fed(compiled.sub(template, text), tuple(dict.fromkeys((*feeds_of(item), *feeds_of(right))))))
        except (re.error, IndexError):
            return unknown_of(left, right)
    if type(left) is tuple:
        return tuple(out)
    return out[0] if out else None


def like(pattern: str, text: str) -> bool | None:
    """Whether a text fits a wildcard pattern; None where that is not known."""
    if "\0" in pattern or "\0" in text or len(text) > MAX_SUBJECT_CHARS:
        return None
    from chrono.scan.paths import glob_match

    return glob_match(pattern.lower(), text.lower())


def _compare(test: Callable[[Value, Value], bool | None]) -> Callable[[Value, Value], Value]:
    def run(left: Value, right: Value) -> Value:
        if type(left) is tuple:
            found = [(item, test(item, right)) for item in left]
            if any(answer is None for _, answer in found):
                return unknown_of(left, right)
            return tuple(item for item, answer in found if answer)
        answer = test(left, right)
        return unknown_of(left, right) if answer is None else answer

    return run


def _equal(left: Value, right: Value) -> bool | None:
    if isinstance(left, bool | int | float) and not isinstance(right, str):
        other = number_of(right)
        return None if other is None or not is_known(right) else number_of(left) == other
    if not is_known(left) or not is_known(right):
        if left is None or right is None:
            return None
        return None
    if left is None or right is None:
        return left is None and right is None
    return text_of(left).lower() == text_of(right).lower()


def _order(test: Callable[[float | str, float | str], bool]) -> Callable[[Value, Value], bool | None]:
    def run(left: Value, right: Value) -> bool | None:
        one, other = number_of(left), number_of(right)
        if one is not None and other is not None and is_known(left) and is_known(right):
            return test(one, other)
        if isinstance(left, str) and is_known(left) and is_known(right):
            return test(left.lower(), text_of(right).lower())
        return None

    return run


def _matches(left: Value, right: Value) -> bool | None:
    text = text_of(left)
    compiled = _compiled(text_of(right))
    if compiled is None or "\0" in text or len(text) > MAX_SUBJECT_CHARS:
        return None
    return compiled.search(text) is not None


def _contains(left: Value, right: Value) -> bool | None:
    found = [_equal(item, right) for item in elements_of(left)]
    if any(found):
        return True
    return None if None in found else False


def _not(test: Callable[[Value, Value], bool | None]) -> Callable[[Value, Value], bool | None]:
    def run(left: Value, right: Value) -> bool | None:
        answer = test(left, right)
        return None if answer is None else not answer

    return run


def _alike(left: Value, right: Value) -> bool | None:
    return like(text_of(right), text_of(left))


def _single(test: Callable[[Value, Value], bool | None]) -> Callable[[Value, Value], Value]:
    def run(left: Value, right: Value) -> Value:
        answer = test(left, right)
        return unknown_of(left, right) if answer is None else answer

    return run


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": add,
    "-": _arithmetic(lambda a, b: a - b),
    "*": _times,
    "/": _arithmetic(_divide),
    "%": _arithmetic(lambda a, b: a % b),
    "band": _arithmetic(lambda a, b: int(a) & int(b)),
    "bor": _arithmetic(lambda a, b: int(a) | int(b)),
    "bxor": _arithmetic(lambda a, b: int(a) ^ int(b)),
    "shl": _arithmetic(_shift_left),
    "shr": _arithmetic(lambda a, b: int(a) >> min(max(int(b), 0), 64)),
    "..": _range,
    "f": text_format,
    "join": join,
    "split": split,
    "replace": replace,
    "eq": _compare(_equal),
    "ne": _compare(_not(_equal)),
    "gt": _compare(_order(lambda a, b: a > b)),  # type: ignore[operator]
    "ge": _compare(_order(lambda a, b: a >= b)),  # type: ignore[operator]
    "lt": _compare(_order(lambda a, b: a < b)),  # type: ignore[operator]
    "le": _compare(_order(lambda a, b: a <= b)),  # type: ignore[operator]
    "like": _compare(_alike),
    "notlike": _compare(_not(_alike)),
    "match": _compare(_matches),
    "notmatch": _compare(_not(_matches)),
    "contains": _single(_contains),
    "notcontains": _single(_not(_contains)),
    "in": _single(lambda a, b: _contains(b, a)),
    "notin": _single(_not(lambda a, b: _contains(b, a))),
}

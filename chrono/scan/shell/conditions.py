"""Owns what `test`, `[` and `[[` decide: True, False, or None where the text alone does not tell.

Questions about files are always None: by the time the command runs the answer may be another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chrono.scan.shell import expand, globs
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.state import Array, State
from chrono.scan.shell.syntax import Test
from chrono.scan.shell.values import MANY_FIELDS

_NUMERIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_BINARY = frozenset(("=", "==", "!=", "<", ">", "-nt", "-ot", "-ef", *_NUMERIC))
MAX_SUBJECT = 400


def decide_test(args: Sequence[str]) -> bool | None:
    """`test args`, without the closing bracket."""
    if MANY_FIELDS in args or len(args) > 200:
        return None
    return _Classic(list(args)).decide()


class _Classic:
    """The grammar of `test`: POSIX rules by the number of arguments, else precedence."""

    def __init__(self, args: list[str]) -> None:
        self.args = args
        self.at = 0
        self.depth = 0

    def decide(self) -> bool | None:
        args = self.args
        if not args:
            return False
        if len(args) == 1:
            return _filled(args[0])
        if len(args) == 2:
            if args[0] == "!":
                return _not(_filled(args[1]))
            return _unary(args[0], args[1])
        if len(args) == 3 and args[1] in _BINARY:
            return _binary(args[1], args[0], args[2])
        value = self.either()
        return value if self.at >= len(args) else None

    def either(self) -> bool | None:
        value = self.both()
        while self.at < len(self.args) and self.args[self.at] == "-o":
            self.at += 1
            value = _or(value, self.both())
        return value

    def both(self) -> bool | None:
        value = self.single()
        while self.at < len(self.args) and self.args[self.at] == "-a":
            self.at += 1
            value = _and(value, self.single())
        return value

    def single(self) -> bool | None:
        left = self.args[self.at :]
        self.depth += 1
        if not left or self.depth > 60:
            self.at = len(self.args) + 1
            return None
        if left[0] == "!" and len(left) > 1:
            self.at += 1
            return _not(self.single())
        if left[0] == "(" and len(left) > 2:
            self.at += 1
            value = self.either()
            self.at += 1
            return value
        if len(left) > 2 and left[1] in _BINARY:
            self.at += 3
            return _binary(left[1], left[0], left[2])
        if len(left) > 1 and len(left[0]) == 2 and left[0][0] == "-" and left[0] not in ("-a", "-o"):
            self.at += 2
            return _unary(left[0], left[1])
        self.at += 1
        return _filled(left[0])


def _filled(text: str) -> bool | None:
    if "\0" in text:
        return True if text.strip("\0") else None
    return text != ""


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    return _not(_and(_not(left), _not(right)))


def _unary(op: str, operand: str) -> bool | None:
    if op == "-n":
        return _filled(operand)
    if op == "-z":
        return _not(_filled(operand))
    return None


def _binary(op: str, left: str, right: str) -> bool | None:
    unknown = "\0" in left or "\0" in right
    if op in _NUMERIC:
        try:
            return None if unknown or max(len(left), len(right)) > 20 else _compare(op, int(left), int(right))
        except ValueError:
            return False
    if op in ("=", "==", "!="):
        same = globs.matches(globs.quote(right), left)
        return same if op != "!=" else _not(same)
    if op in ("<", ">"):
        return None if unknown else left < right if op == "<" else left > right
    return None


def _compare(op: str, left: int, right: int) -> bool:
    return {
        "-eq": left == right,
        "-ne": left != right,
        "-lt": left < right,
        "-le": left <= right,
        "-gt": left > right,
        "-ge": left >= right,
    }[op]


def decide_conditional(m: Machine, test: Test, state: State) -> bool | None:
    """`[[ … ]]`: substitutions inside are run."""
    op = test.op
    if op in ("&&", "||"):
        value = decide_conditional(m, test.tests[0], state)
        for following in test.tests[1:]:
            if value is (op == "||"):
                return value
            other = decide_conditional(m, following, state)
            value = _and(value, other) if op == "&&" else _or(value, other)
        return value
    if op == "!":
        return _not(decide_conditional(m, test.tests[0], state))
    left = expand.text(m, test.words[0], state)
    if op == "":
        return _filled(left)
    if len(test.words) == 1:
        return _unary_conditional(op, left, state)
    if op in ("==", "=", "!="):
        same = globs.matches(expand.pattern(m, test.words[1], state), left)
        return same if op != "!=" else _not(same)
    if op == "=~":
        return _regex(m, left, expand.regex_source(m, test.words[1], state), state)
    right = expand.text(m, test.words[1], state)
    if op in _NUMERIC:
        return _arithmetic(m, op, left, right, state)
    return _binary(op, left, right)


def _unary_conditional(op: str, operand: str, state: State) -> bool | None:
    if op == "-v":
        values = state.vars.get(operand)
        return None if values is None or len(values) > 1 else values[0] is not None
    return _unary(op, operand)


def _arithmetic(m: Machine, op: str, left: str, right: str, state: State) -> bool | None:
    try:
        one = arithmetic(m, left, state)
        two = arithmetic(m, right, state)
    except (Failed, ValueError, OverflowError):
        return False
    return None if one is None or two is None else _compare(op, one, two)


_POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def compile_ere(source: str) -> re.Pattern[str] | None:
    """A POSIX extended expression; None where Python reads it differently or matching it could take long."""
    if len(source) > 200 or re.search(r"\)[*+{]|\\[A-Za-z0-9<>]|\(\?|[*+}][+?]", source):
        return None
    translated = re.sub(r"\[:([a-z]+):\]", lambda found: _POSIX.get(found[1], ""), source)
    if translated.count("*") + translated.count("+") > 4:
        return None
    try:
        return re.compile(translated)
    except (re.error, OverflowError, RecursionError):
        return None


def _regex(m: Machine, subject: str, pieces: tuple[tuple[str, bool], ...], state: State) -> bool | None:
    source = "".join(re.escape(text) if quoted else text for text, quoted in pieces)
    unknown = "\0" in subject or "\0" in source or len(subject) > MAX_SUBJECT
    compiled = None if unknown else compile_ere(source)
    if compiled is None:
        state.set("BASH_REMATCH", Array(("0",), (MANY_FIELDS,)))
        return None
    found = compiled.search(subject)
    if found is None:
        return False
    groups = (found.group(), *(group or "" for group in found.groups()))
    state.set("BASH_REMATCH", Array(tuple(str(at) for at in range(len(groups))), groups))
    return True

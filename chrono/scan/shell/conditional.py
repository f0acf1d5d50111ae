"""Owns reading `[[ … ]]`; what it decides is left to `conditions`."""

from __future__ import annotations

from chrono.scan.expression import expression
from chrono.scan.shell.lexer import Reader, skip_blanks, skip_newlines
from chrono.scan.shell.syntax import Part, Test, Text, Word
from chrono.scan.shell.words import read_special, read_word

_EDGE = r"(?=[ \t\n()]|\Z)"
_CLOSE = expression(r"\]\](?=[ \t\n;&|()<>]|\Z)")
_UNARY = expression(rf"-[a-zA-Z]{_EDGE}")
_BINARY = expression(rf"(?:==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)){_EDGE}")
_REGEX_RUN = expression(r"[^ \t\n\"'`$\\\0()]+")


def read_conditional(r: Reader) -> Test:
    """From behind `[[` to behind `]]`."""
    test = _or(r)
    skip_newlines(r)
    match = _CLOSE.match(r.text, r.pos, r.end)
    if match is None:
        raise r.unparsed("[[ is not closed")
    r.pos = match.end()
    return test


def _or(r: Reader) -> Test:
    tests = [_and(r)]
    while True:
        skip_newlines(r)
        if not r.ahead("||"):
            return tests[0] if len(tests) == 1 else Test("||", tuple(tests))
        r.pos += 2
        tests.append(_and(r))


def _and(r: Reader) -> Test:
    tests = [_primary(r)]
    while True:
        skip_newlines(r)
        if not r.ahead("&&"):
            return tests[0] if len(tests) == 1 else Test("&&", tuple(tests))
        r.pos += 2
        tests.append(_primary(r))


def _primary(r: Reader) -> Test:
    skip_newlines(r)
    r.budget.spend(1)
    if r.ahead("!") and r.text[r.pos + 1 : r.pos + 2] in (" ", "\t", "\n", "("):
        r.pos += 1
        r.budget.enter()
        test = Test("!", (_primary(r),))
        r.budget.leave()
        return test
    if r.ahead("("):
        r.pos += 1
        r.budget.enter()
        test = _or(r)
        r.budget.leave()
        skip_newlines(r)
        if not r.ahead(")"):
            raise r.unparsed("a ( in [[ is not closed")
        r.pos += 1
        return test
    unary = _UNARY.match(r.text, r.pos, r.end)
    if unary is not None:
        start = r.pos
        r.pos = unary.end()
        skip_blanks(r)
        if not _CLOSE.match(r.text, r.pos, r.end) and not _BINARY.match(r.text, r.pos, r.end):
            return Test(unary.group(), (), (_operand(r),))
        r.pos = start
    left = _operand(r)
    skip_blanks(r)
    match = _BINARY.match(r.text, r.pos, r.end)
    if match is None:
        return Test("", (), (left,))
    r.pos = match.end()
    skip_blanks(r)
    right = _regex(r) if match.group() == "=~" else _operand(r)
    return Test(match.group(), (), (left, right))


def _operand(r: Reader) -> Word:
    if _CLOSE.match(r.text, r.pos, r.end):
        raise r.unparsed("[[ lacks a word")
    word = read_word(r)
    if word is None:
        raise r.unparsed("[[ is not understood")
    return word


def _regex(r: Reader) -> Word:
    """The right side of `=~`: parentheses, `|`, `<`, `>` and `&` belong to it, blanks inside parentheses too."""
    start, depth = r.pos, 0
    parts: list[Part] = []
    while r.pos < r.end:
        char = r.text[r.pos]
        if char in " \t\n" and depth == 0:
            break
        if char == ")" and depth == 0:
            break
        r.budget.spend(1)
        match = _REGEX_RUN.match(r.text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), False))
            r.pos = match.end()
        elif char in " \t\n()":
            depth += (char == "(") - (char == ")")
            parts.append(Text(char, False))
            r.pos += 1
        else:
            read_special(r, parts, char)
    if not parts:
        raise r.unparsed("=~ lacks an expression")
    return Word(tuple(parts), *(r.fixed or (start, r.pos)))

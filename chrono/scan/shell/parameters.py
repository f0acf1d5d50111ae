"""Owns reading `${…}`: names, subscripts, operators and the words behind them.

Quotes and substitutions inside are read by `words`, which passes its readers in (words hold parameters and the
reverse).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.expression import expression
from chrono.scan.shell.lexer import Reader
from chrono.scan.shell.syntax import Param, Part, Process, Quoted, Subst, Text, Word
from chrono.tuples import NamedTuple

_NAME = expression(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR = expression(r":[-=?+]|[-=?+]|##|#|%%|%|//|/#|/%|/|\^\^|\^|,,|,|@|:")
_DEFAULTS = frozenset((":-", "-", ":=", "=", ":?", "?", ":+", "+"))
_TRANSFORM = expression(r"[A-Za-z]+")
BRACE = frozenset(("}",))
PAREN = frozenset((")",))


class Readers(NamedTuple):
    """The readers of `words` that are needed here."""

    double: Callable[[Reader], Quoted]
    special: Callable[[Reader, list[Part], str], None]
    quoted: Callable[[Reader, str], Part]
    body: Callable[[Reader, frozenset[str], str], Subst]


def read_braced(r: Reader, readers: Readers, *, quoted: bool) -> Param | Subst:
    """From the `{` of `${…}` to behind its `}`."""
    start = r.pos
    r.pos += 1
    following = r.peek()
    if following and following in " \t\n|":
        r.pos += following == "|"
        return readers.body(r, BRACE, "}")
    part = _known_form(r, readers, quoted)
    if part is not None and r.ahead("}"):
        r.pos += 1
        return part
    r.pos = start + 1
    argument = _argument(r, readers, "}", quoted=False)
    if not r.ahead("}"):
        raise r.unparsed("a ${ is not closed")
    r.pos += 1
    return Param("", op="bad", arg=argument)


def _known_form(r: Reader, readers: Readers, quoted: bool) -> Param | None:
    text = r.text
    if text.startswith("#", r.pos, r.end) and not text.startswith("#}", r.pos, r.end):
        length = _length(r, readers)
        if length is not None:
            return length
    indirect = text.startswith("!", r.pos, r.end) and text[r.pos + 1 : r.pos + 2] not in ("}", "")
    if indirect:
        r.pos += 1
    while r.ahead("\\\n"):
        r.pos += 2
    match = _NAME.match(text, r.pos, r.end)
    if match is None:
        return None
    r.pos = match.end()
    name = match.group()
    if indirect and (r.ahead("*}") or r.ahead("@}")):
        index = text[r.pos]
        r.pos += 1
        return Param(name, index, True, "names")
    index_word: Word | str | None = None
    if r.ahead("["):
        index_word = _index(r, readers)
        if index_word is None:
            return None
    if r.ahead("}"):
        return Param(name, index_word, indirect)
    operator = _OPERATOR.match(text, r.pos, r.end)
    if operator is None:
        return None
    r.pos = operator.end()
    return _operation(r, readers, Param(name, index_word, indirect, operator.group()), quoted)


def _length(r: Reader, readers: Readers) -> Param | None:
    """`${#name}`; None, position untouched, where the `#` is the parameter itself."""
    start = r.pos
    match = _NAME.match(r.text, r.pos + 1, r.end)
    if match is not None:
        r.pos = match.end()
        index = _index(r, readers) if r.ahead("[") else None
        if r.ahead("}"):
            return Param(match.group(), index, False, "len")
    r.pos = start
    return None


def _index(r: Reader, readers: Readers) -> Word | str | None:
    for char in "@*":
        if r.ahead(f"[{char}]"):
            r.pos += 3
            return char
    return read_subscript(r, readers)


def _operation(r: Reader, readers: Readers, param: Param, quoted: bool) -> Param:
    op = param.op
    if op in _DEFAULTS:
        return param._replace(arg=_argument(r, readers, "}", quoted=quoted))
    if op == "@":
        match = _TRANSFORM.match(r.text, r.pos, r.end)
        start = r.pos
        letter = match.group() if match else ""
        r.pos += len(letter)
        return param._replace(arg=r.word((Text(letter, True),), start, letter))
    if op in ("/", "//", "/#", "/%"):
        pattern = _argument(r, readers, "/}", quoted=False)
        replacement = None
        if r.ahead("/"):
            r.pos += 1
            replacement = _argument(r, readers, "}", quoted=False)
        return param._replace(arg=pattern, arg2=replacement)
    if op == ":":
        offset = _argument(r, readers, ":}", quoted=False)
        length = None
        if r.ahead(":"):
            r.pos += 1
            length = _argument(r, readers, "}", quoted=False)
        return param._replace(arg=offset, arg2=length)
    return param._replace(arg=_argument(r, readers, "}", quoted=False))


_RUNS = {stops: expression(rf"[^{re.escape(stops)}'\"\\$`\0<>]+") for stops in ("}", "/}", ":}")}
_QUOTED_RUN = expression(r"[^}\"\\$`\0]+")


def _argument(r: Reader, readers: Readers, stops: str, *, quoted: bool) -> Word:
    """The word behind an operator, up to one of `stops`. `quoted`: the rules of double quotes hold inside."""
    start = r.pos
    parts: list[Part] = []
    run = _QUOTED_RUN if quoted else _RUNS[stops]
    text = r.text
    while r.pos < r.end:
        match = run.match(text, r.pos, r.end)
        if match is not None:
            parts.append(Text(match.group(), quoted))
            r.pos = match.end()
            continue
        char = text[r.pos]
        if char in stops:
            break
        r.budget.spend(1)
        if char in "<>":
            parts.append(_angle(r, readers))
        elif quoted and char == "\\":
            following = text[r.pos + 1 : r.pos + 2] if r.pos + 1 < r.end else ""
            r.pos += 1 + len(following)
            if following != "\n":
                keep = "" if following and following in '$`"\\}' else "\\"
                parts.append(Text(keep + following, True))
        elif quoted and char == "\0":
            r.pos += 1
            parts.append(Text("\0", True))
        elif quoted and char in "$`":
            parts.append(readers.quoted(r, char))
        else:
            readers.special(r, parts, char)
    return Word(tuple(parts), *(r.fixed or (start, r.pos)))


def _angle(r: Reader, readers: Readers) -> Part:
    char = r.text[r.pos]
    if r.text.startswith("(", r.pos + 1, r.end):
        r.pos += 2
        return Process(char, readers.body(r, PAREN, ")").body)
    r.pos += 1
    return Text(char, False)


def read_subscript(r: Reader, readers: Readers) -> Word | None:
    """`[…]` with what expands inside; None, position untouched, where it does not close on this line or is empty."""
    start = r.pos
    r.pos += 1
    parts: list[Part] = []
    depth = 0
    r.budget.enter()
    while r.pos < r.end:
        char = r.text[r.pos]
        if char == "\n" or (char == "]" and depth == 0):
            break
        r.budget.spend(1)
        if char in "$`\\\"'\0":
            readers.special(r, parts, char)
        else:
            depth += (char == "[") - (char == "]")
            parts.append(Text(char, True))
            r.pos += 1
    r.budget.leave()
    if not r.ahead("]") or r.pos == start + 1:
        r.pos = start
        return None
    r.pos += 1
    return Word(tuple(parts), *(r.fixed or (start, r.pos)))

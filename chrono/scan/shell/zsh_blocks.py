"""Owns the short forms of zsh's compound commands (zshmisc, sections Complex Commands and Alternate Forms).

What bash reads too is left to `parser`, whose readers are handed in (`Grammar`): blocks hold commands and the reverse.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.expression import expression
from chrono.scan.shell.lexer import Reader, skip_blanks, skip_newlines
from chrono.scan.shell.syntax import Body, For, Function, Group, Item, Node, Simple, Text, Word
from chrono.tuples import NamedTuple

_EDGE = r"(?=[ \t\n;&|()<>]|\Z)"
_NO_NAME = expression(r"\([ \t]*\)(?=[ \t\n{(])")
_ALWAYS = expression(r"always[ \t\n]*(?=\{)")
_END = expression(rf"end{_EDGE}")
_NAME = expression(rf"(?!in{_EDGE})[A-Za-z_][A-Za-z0-9_]*{_EDGE}")
_BRACE = frozenset(("}",))
_ANONYMOUS = "(anonymous)"


class Grammar(NamedTuple):
    """The readers of `parser` that blocks need."""

    body: Callable[[Reader, frozenset[str]], Body]
    item: Callable[[Reader], Item]
    and_or: Callable[[Reader], Node]
    command: Callable[[Reader], Node]
    words: Callable[[Reader], tuple[Word, ...]]


def braced(r: Reader, grammar: Grammar) -> Body:
    """`{ … }`."""
    if not r.ahead("{"):
        raise r.unparsed("{ is missing")
    r.pos += 1
    body = grammar.body(r, _BRACE)
    if not r.ahead("}"):
        raise r.unparsed("} is missing")
    r.pos += 1
    return body


def block(r: Reader, grammar: Grammar) -> Body:
    """What a condition or a loop holds where neither `then` nor `do` stands: a block, or one command."""
    skip_newlines(r)
    return braced(r, grammar) if r.ahead("{") else (Item(grammar.and_or(r), False),)


def stands_here(r: Reader) -> bool:
    """Whether a block or a command follows without any separator, as behind `if [[ … ]]`."""
    skip_blanks(r)
    return r.pos < r.end and r.text[r.pos] not in "\n;&|)}"


def more_names(r: Reader) -> list[str]:
    """`for a b in …` takes several values in each round."""
    names: list[str] = []
    while (match := _NAME.match(r.text, r.pos, r.end)) is not None:
        names.append(match.group())
        r.pos = match.end()
        skip_blanks(r)
    return names


def for_each_name(name: str, names: list[str], words: tuple[Word, ...] | None, body: Body) -> Node:
    """One loop inside the other: every name may have every value, whichever of them it really gets."""
    for other in reversed(names):
        body = (Item(For(other, words, body, False), False),)
    return For(name, words, body, False)


def foreach_body(r: Reader, grammar: Grammar) -> Body:
    """Behind `foreach NAME (WORDS)`, up to `end`."""
    items: list[Item] = []
    while True:
        skip_newlines(r)
        if r.pos >= r.end:
            raise r.unparsed("end is missing")
        if (match := _END.match(r.text, r.pos, r.end)) is not None:
            r.pos = match.end()
            return tuple(items)
        items.append(grammar.item(r))


def with_always(r: Reader, grammar: Grammar, body: Body) -> Node:
    """`{ … } always { … }`: the second block runs however the first one ends."""
    skip_blanks(r)
    match = _ALWAYS.match(r.text, r.pos, r.end)
    if match is None:
        return Group(body)
    r.pos = match.end()
    return Group((Item(Group(body), False), Item(Group(braced(r, grammar)), False)))


def has_no_name(r: Reader) -> bool:
    """Whether `()` stands here, taken if so: a function that runs at once."""
    match = _NO_NAME.match(r.text, r.pos, r.end)
    if match is not None:
        r.pos = match.end()
    return match is not None


def anonymous(r: Reader, grammar: Grammar) -> Node:
    """The body of a function without a name, and the words that it is called with."""
    skip_newlines(r)
    start = r.pos
    body = grammar.command(r)
    skip_blanks(r)
    place = r.fixed or (start, r.pos)
    name = Word((Text(_ANONYMOUS, False),), *place, _ANONYMOUS)
    call = Simple((), (name, *grammar.words(r)), (), *place)
    return Group((Item(Function(_ANONYMOUS, body), False), Item(call, False)))

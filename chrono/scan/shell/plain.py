"""Owns words without anything special in them, commands of such words, and texts that are one of these, as most are.

Every other text is left to `parser`, which reads the same of these; what runs to `evaluate`.
"""

from __future__ import annotations

from chrono.scan.expression import expression
from chrono.scan.shell.lexer import Reader
from chrono.scan.shell.syntax import Simple, Text, Word
from chrono.tuples import NamedTuple

PLAIN = r"[^ \t\n|&;()<>\"'`$\\\0*?\[{~#][^ \t\n|&;()<>\"'`$\\\0*?\[{~]*"
"""A word without anything special in it, in no shell and at no place but the first."""

FIRST = PLAIN.replace("~", "~=")
"""The same where an assignment could stand."""

BLANKS = expression(r"[ \t]+")
"""Not what `str.split` splits at: to a shell, other spaces are letters."""

_PLAIN_COMMAND = expression(rf"({FIRST}(?:[ \t]+{PLAIN})*)[ \t]*(?=[\n;|)]|&(?!>)|\Z)")
_ONE_COMMAND = expression(rf"[ \t\n]*({FIRST}(?:[ \t]+{PLAIN})*)[ \t\n]*\Z")
_RESERVED = frozenset(
    "if then elif else fi while until for foreach select do done case esac function coproc time ! }".split()
)
"""Words of the grammar; the others of it are made of signs that no plain word holds."""
DECLARES = frozenset(("declare", "typeset", "local", "export", "readonly"))
PREFIXES = frozenset(("builtin", "command"))
_NOT_PLAIN = _RESERVED | DECLARES | PREFIXES
"""First words that mean something to the grammar."""
_DIALECTS = ("bash", "dash")
MAX_CHARS = 4_000
"""Far from every limit on words."""


_new = tuple.__new__
"""What the constructors of values come to, for those that there are many of."""


class PlainCommand(NamedTuple):
    """Its words, and where they stand in the text."""

    argv: tuple[str, ...]
    start: int
    end: int


def plain_command(text: str, dialect: str) -> PlainCommand | None:
    """The one command of a text, where nothing in it is a word of the shell's own grammar; else None."""
    if len(text) > MAX_CHARS or dialect not in _DIALECTS:
        return None
    match = _ONE_COMMAND.match(text)
    if match is None:
        return None
    argv = tuple(BLANKS.split(match[1]))
    if argv[0] in _RESERVED:
        return None
    return PlainCommand(argv, *match.span(1))


def read_plain_command(r: Reader) -> Simple | None:
    """A command that stands whole where a text goes on, as most do, taken; None where another one does, or a part."""
    if r.dialect == "zsh":
        return None
    match = _PLAIN_COMMAND.match(r.text, r.pos, r.end)
    if match is None:
        return None
    texts = BLANKS.split(match[1])
    if texts[0] in _NOT_PLAIN:
        return None
    r.budget.spend(3)
    r.budget.work += len(texts)
    start, last = match.span(1)
    r.pos = match.end()
    if r.fixed is not None:
        start, last = r.fixed
        words = [_new(Word, ((_new(Text, (text, False)),), start, last, text)) for text in texts]
        return Simple((), tuple(words), (), start, last)
    words, end = [], start
    for text in texts:
        at = r.text.find(text, end)
        end = at + len(text)
        words.append(_new(Word, ((_new(Text, (text, False)),), at, end, text)))
    return Simple((), tuple(words), (), start, last)

"""Owns words without anything special in them, and texts that are one command of such words, as most are.

Every other text is left to `parser`, which takes these words as well; what runs to `evaluate`.
"""

from __future__ import annotations

from chrono.scan.expression import expression
from chrono.tuples import NamedTuple

PLAIN = r"[^ \t\n|&;()<>\"'`$\\\0*?\[{~#][^ \t\n|&;()<>\"'`$\\\0*?\[{~]*"
"""A word without anything special in it, in no shell and at no place but the first."""

FIRST = PLAIN.replace("~", "~=")
"""The same where an assignment could stand."""

BLANKS = expression(r"[ \t]+")
"""Not what `str.split` splits at: to a shell, other spaces are letters."""

_ONE_COMMAND = expression(rf"[ \t\n]*({FIRST}(?:[ \t]+{PLAIN})*)[ \t\n]*\Z")
RESERVED = frozenset(
    "if then elif else fi while until for foreach select do done case esac function coproc time ! }".split()
)
"""Words of the grammar; the others of it are made of signs that no plain word holds."""
_DIALECTS = ("bash", "dash")
MAX_CHARS = 4_000
"""Far from every limit on words."""


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
    if argv[0] in RESERVED:
        return None
    return PlainCommand(argv, *match.span(1))

"""Owns what the lexers share: one pattern of tokens, the walk over a source, here-documents that wait for their line.

Which tokens a language has is left to its lexer; quotes and escapes are left to `strings`.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.code.curly import MAX_TOKENS, Token
from chrono.scan.code.strings import MAX_PARTS, escaped, heredoc
from chrono.scan.command import LimitReached
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

Expression = Callable[[list[Token]], tree.Node]
"""Reads the tokens of an expression inside a string."""

_patterns: dict[str, re.Pattern[str]] = {}


def token_pattern(kinds: str, operators: str) -> re.Pattern[str]:
    """Matches one token anywhere: `kinds` in their order, else an operator ("op"), else one letter ("other")."""
    found = _patterns.get(kinds)
    if found is None:
        import re

        ops = "|".join(re.escape(op) for op in sorted(operators.split(), key=len, reverse=True))
        found = _patterns[kinds] = re.compile(rf"{kinds}|(?P<op>{ops})|(?P<other>.)", re.DOTALL)
    return found


class Waiting(NamedTuple):
    """A here-document whose body starts on the next line; `place` is the index of its token."""

    place: int
    tag: str
    indented: bool
    literal: bool


class Lexer:
    """Walks over a source; a subclass says what a token is and what stands inside its strings."""

    SIGILS = ""
    """The letters that an expression inside a double-quoted text can start with."""

    def __init__(self, source: str, read: Expression, line: int = 1) -> None:
        self.source = source
        self.read = read
        self.at = 0
        self.line = line
        self.found: list[Token] = []
        self.waiting: list[Waiting] = []

    def interpolated(self, text: str, line: int) -> tuple[tree.Node, ...]:
        """A double-quoted text as its parts: constants and the expressions between them."""
        parts: list[tree.Node] = []
        start = at = 0
        while at < len(text):
            letter = text[at]
            inserted = self.inserted(text, at, line) if letter in self.SIGILS else None
            if inserted is None:
                at += 2 if letter == "\\" else 1
                continue
            if len(parts) > MAX_PARTS:
                return (*parts, tree.Name("\0unread"))
            node, end = inserted
            parts += (tree.Const(escaped(text[start:at])), node)
            start = at = end
        parts.append(tree.Const(escaped(text[start:])))
        return tuple(parts)

    def inserted(self, text: str, at: int, line: int) -> tuple[tree.Node, int] | None:
        """The expression that stands at `at` inside a double-quoted text, and its end; None where none does."""
        raise NotImplementedError

    def take(self, pattern: re.Pattern[str]) -> tuple[str, str, int]:
        """Kind, text and end of the token here. Raises LimitReached where too many came before it."""
        if len(self.found) > MAX_TOKENS:
            raise LimitReached("it is too long to be read to its end")
        got = pattern.match(self.source, self.at)
        assert got is not None and got.lastgroup is not None, '"other" takes any letter'
        return got.lastgroup, got.group(), got.end()

    def skip_to(self, end: int) -> None:
        self.line += self.source.count("\n", self.at, end)
        self.at = end

    def add(
        self, kind: str, value: str, end: int, spaced: bool = False, parts: tuple[tree.Node, ...] | None = None
    ) -> None:
        self.found.append(Token(kind, value, self.line, parts, spaced))
        self.skip_to(end)

    def letters_end(self, at: int) -> int:
        """The end of the letters that start at `at`: the flags of a regular expression."""
        while at < len(self.source) and self.source[at].isalpha():
            at += 1
        return at

    def word_end(self, at: int) -> int:
        while at < len(self.source) and (self.source[at].isalnum() or self.source[at] == "_"):
            at += 1
        return at

    def read_waiting(self) -> None:
        """Takes the bodies of the here-documents that the line before has opened."""
        for place, tag, indented, literal in self.waiting:
            body, self.at = heredoc(self.source, self.at, tag, indented)
            token = self.found[place]
            parts = (tree.Const(body),) if literal else self.interpolated(body, token.line)
            self.found[place] = token._replace(parts=parts)
            self.line += body.count("\n") + 1
        self.waiting = []

    def skip_block(self, end_line: str) -> None:
        """Passes over a comment of several lines, to behind the `end_line` that ends it."""
        end = self.source.find("\n" + end_line, self.at)
        self.skip_to(len(self.source) if end < 0 else end + len(end_line) + 1)

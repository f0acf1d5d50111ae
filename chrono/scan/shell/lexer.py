"""Owns reading characters: position, blanks, comments, line ends with their here-documents, and the limits.

Words are left to `words`, commands to `parser`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.command import LimitReached, Unparsed
from chrono.scan.expression import expression
from chrono.scan.shell.syntax import Body, Heredoc, Text, Word

MAX_DEPTH = 60
MAX_CODE_CHARS = 64 * 1024
MAX_TEXT_CHARS = 1_000_000
MAX_WORK = 10_000
"""Words, parts of words and (four each) redirections, three more for a command. The densest script that systems ship
takes 5,600 in 38 KB; as dense, the 64 KB of code that are read at all take 9,600. What takes more is refused, so that
no text is worth waiting for."""

_BLANK = expression(r"[ \t]*(?:\\\n[ \t]*)*(?:#[^\n]*)?")
_LINE = expression(r"[^\n]*\n?")
_TABS = expression(r"^\t+", re.MULTILINE)


class Budget:
    """What all readers of one evaluation have used so far."""

    __slots__ = ("depth", "work")

    def __init__(self) -> None:
        self.depth = 0
        self.work = 0

    def spend(self, amount: int) -> None:
        self.work += amount
        if self.work > MAX_WORK:
            raise LimitReached("the text holds more words than are looked at")

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LimitReached(f"the text is nested more than {MAX_DEPTH} deep")

    def leave(self) -> None:
        self.depth -= 1


class Reader:
    """A position in a text.

    `dialect` is "bash", "dash" or "zsh". `fixed` holds the offsets to report for text that is not part of the
    outermost one as it stands. `read_body` reads commands up to a closer: the parser puts itself in, because words
    hold commands.
    """

    __slots__ = (
        "budget",
        "data_chars",
        "dialect",
        "end",
        "fixed",
        "not_arithmetic",
        "pending",
        "pos",
        "read_body",
        "read_parts",
        "substitutions",
        "text",
    )

    def __init__(
        self,
        text: str,
        dialect: str,
        budget: Budget,
        read_body: Callable[[Reader, frozenset[str]], Body],
        read_parts: Callable[[Reader], Word],
        fixed: tuple[int, int] | None = None,
    ) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.dialect = dialect
        self.budget = budget
        self.fixed = fixed
        self.pending: list[Heredoc] = []
        self.not_arithmetic: set[int] = set()
        self.data_chars = 0
        self.substitutions = 0
        self.read_body = read_body
        self.read_parts = read_parts

    def peek(self) -> str:
        return self.text[self.pos] if self.pos < self.end else ""

    def ahead(self, text: str) -> bool:
        return self.text.startswith(text, self.pos, self.end)

    def unparsed(self, why: str) -> Unparsed:
        return Unparsed(why, self.pos)

    def inner(self, text: str, start: int, end: int) -> Reader:
        """A reader over a text made from [start, end) of this one."""
        return Reader(text, self.dialect, self.budget, self.read_body, self.read_parts, self.fixed or (start, end))

    def word(self, parts: tuple[Text, ...] | list[Text], start: int, plain: str | None = None) -> Word:
        first, last = self.fixed or (start, self.pos)
        return Word(tuple(parts), first, last, plain)


def skip_blanks(r: Reader) -> None:
    """Blanks, continued lines and a comment."""
    if r.pos >= r.end or r.text[r.pos] not in " \t\\#":
        return
    match = _BLANK.match(r.text, r.pos, r.end)
    assert match is not None
    r.pos = match.end()


def following(r: Reader) -> str:
    """The character behind blanks, continued lines and a comment; "" at the end."""
    if r.pos >= r.end:
        return ""
    char = r.text[r.pos]
    if char not in " \t\\#":
        return char
    skip_blanks(r)
    return r.text[r.pos] if r.pos < r.end else ""


def skip_newlines(r: Reader) -> None:
    """Blanks, comments and line ends, taking the bodies of here-documents at each."""
    while following(r) == "\n":
        line_end(r)


def line_end(r: Reader) -> None:
    """One newline, and the bodies that follow it."""
    r.pos += 1
    if r.pending:
        pending, r.pending = r.pending, []
        for heredoc in pending:
            _read_heredoc(r, heredoc)
    if r.pos - r.data_chars > MAX_CODE_CHARS:
        raise LimitReached(f"the text is longer than {MAX_CODE_CHARS // 1024} KB")


def _read_heredoc(r: Reader, heredoc: Heredoc) -> None:
    start = r.pos
    stop, after = _find_delimiter(r, heredoc)
    body = r.text[start:stop]
    r.pos = after
    if heredoc.strip:
        body = _TABS.sub("", body)
    if heredoc.quoted:
        r.data_chars += len(body)
        heredoc.body = r.word((Text(body, True),), start, body)
        return
    reader = r.inner(body, start, stop)
    r.budget.enter()
    heredoc.body = r.read_parts(reader)
    r.budget.leave()


def _find_delimiter(r: Reader, heredoc: Heredoc) -> tuple[int, int]:
    """(where the body ends, where reading goes on). Without a delimiter the body reaches to the end, as in bash."""
    wanted = heredoc.delimiter
    position = r.pos
    if not heredoc.strip and not heredoc.quoted and "\\\n" in r.text[r.pos : r.end]:
        return _find_unquoted(r, wanted)
    if not heredoc.strip and not r.substitutions and "\n" not in wanted:
        return _find_line(r, wanted)
    while position < r.end:
        match = _LINE.match(r.text, position, r.end)
        assert match is not None
        line = match.group()
        bare = line[:-1] if line.endswith("\n") else line
        if heredoc.strip:
            bare = bare.lstrip("\t")
        if bare == wanted:
            return position, match.end()
        if r.substitutions and bare.startswith(wanted + ")"):
            # bash ends a body at `EOF)` where the `)` closes the substitution around it.
            return position, position + line.index(wanted) + len(wanted)
        if not line:
            break
        position = match.end()
    return r.end, r.end


def _find_line(r: Reader, wanted: str) -> tuple[int, int]:
    """As above where the delimiter is a whole line as it stands."""
    text, end = r.text, r.end
    at = text.find(wanted, r.pos, end)
    while at >= 0:
        stop = at + len(wanted)
        if (at == r.pos or text[at - 1] == "\n") and (stop >= end or text[stop] == "\n"):
            return at, min(stop + 1, end)
        at = text.find(wanted, at + 1, end)
    return end, end


def _find_unquoted(r: Reader, wanted: str) -> tuple[int, int]:
    """As above where a line that ends in a backslash is joined with the next before it is compared."""
    position = r.pos
    joined = False
    while position < r.end:
        stop = r.text.find("\n", position, r.end)
        line = r.text[position : stop if stop >= 0 else r.end]
        after = stop + 1 if stop >= 0 else r.end
        if not joined and line == wanted:
            return position, after
        backslashes = len(line) - len(line.rstrip("\\"))
        joined = backslashes % 2 == 1
        position = after
    return r.end, r.end

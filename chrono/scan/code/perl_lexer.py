"""Owns the tokens of Perl: strings, regular expressions, here-documents, comments.

What they mean together is left to `perl_reader`, which is handed in to read the expressions inside strings.
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.scan.code import tree
from chrono.scan.code.curly import MAX_TOKENS, Token
from chrono.scan.code.effects import TooMuch
from chrono.scan.code.strings import MAX_PARTS, delimited, escaped, heredoc, raw, variable_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OPERATORS = (
    "<=> **= ||= &&= //= ... <<= >>= -> ++ -- ** =~ !~ == != <= >= && || // .. :: += -= *= /= .= %= "
    "x= &= |= ^= << >> => { } ( ) [ ] ; , < > + - * / % . & | ^ ! ~ ? : = \\"
).split()


_QUOTES = frozenset("q qq qw qx m qr s tr y".split())


_BEFORE_OPERAND = frozenset(
    (
        "return and or not if unless while until split grep map join push unshift print die x lt gt le ge eq ne cmp "
        "when"
    ).split()
)


KNOWN_LIST = frozenset(
    (
        "print printf say die warn system exec unlink rename open opendir mkdir push unshift splice join "
        "split sprintf reverse sort map grep return chmod chown utime kill symlink link truncate rmtree "
        "remove_tree mkpath make_path move copy mv cp find finddepth pack unpack binmode bless wait "
        "waitpid index rindex substr lines use no croak confess carp qx dircopy fcopy rmove path remove"
    ).split()
)


_pattern: Any = None


def _matcher() -> Any:
    global _pattern
    if _pattern is None:
        import re

        ops = "|".join(re.escape(op) for op in sorted(_OPERATORS, key=len, reverse=True))
        _pattern = re.compile(
            r"(?P<newline>\n)|(?P<space>[ \t\r\f]+)|(?P<comment>\#[^\n]*)"
            r"|(?P<variable>\$\#\{?\$?\w+\}?|[$@%&]\$*(?:::)?[A-Za-z_]\w*(?:::\w+)*|\$\$*\d+|\$[&`'+!@/\\,;.0-9_$]"
            r"|[$@%]\^\w|[$@%&]\$*(?=\{))"
            r"|(?P<number>0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?\d+)?)"
            r"|(?P<name>[A-Za-z_]\w*(?:(?:::|')[A-Za-z_]\w*)*(?:::)?)"
            rf"|(?P<quote>[\"'`])|(?P<op>{ops})|(?P<other>.)",
            re.DOTALL,
        )
    return _pattern


Expression = Callable[[list[Token]], tree.Node]
"""Reads the tokens of an expression inside a string."""


class Lexer:
    def __init__(self, source: str, read: Expression, line: int = 1) -> None:
        self.source = source
        self.read = read
        self.at = 0
        self.line = line
        self.found: list[Token] = []
        self.waiting: list[tuple[int, str, bool, bool]] = []

    def tokens(self) -> list[Token]:
        source, match = self.source, _matcher().match
        self._after_line()
        spaced = False
        while self.at < len(source):
            if len(self.found) > MAX_TOKENS:
                raise TooMuch("it is too long to be read to its end")
            got = match(source, self.at)
            kind, text = got.lastgroup, got.group()
            if kind == "newline":
                self.at = got.end()
                self.line += 1
                if not self.waiting:
                    start = self.at
                    while source.startswith("\n", self.at):
                        self.at += 1
                    self.line += self.at - start
                self._after_line()
                spaced = True
            elif kind in ("space", "comment"):
                self.at = got.end()
                spaced = True
            elif kind == "name" and text in ("__END__", "__DATA__"):
                break
            else:
                self._token(kind, text, got.end(), spaced)
                spaced = False
        return self.found

    def _after_line(self) -> None:
        for place, tag, indented, literal in self.waiting:
            body, self.at = heredoc(self.source, self.at, tag, indented)
            token = self.found[place]
            parts = (tree.Const(body),) if literal else interpolated(body, token.line, self.read)
            self.found[place] = token._replace(parts=parts)
            self.line += body.count("\n") + 1
        self.waiting = []
        if self.source.startswith("=", self.at) and self.source[self.at + 1 : self.at + 2].isalpha():
            end = self.source.find("\n=cut", self.at)
            stop = len(self.source) if end < 0 else end + 5
            self.line += self.source.count("\n", self.at, stop)
            self.at = stop

    def _add(self, kind: str, value: str, end: int, spaced: bool, parts: tuple[tree.Node, ...] | None = None) -> None:
        self.found.append(Token(kind, value, self.line, parts, spaced))
        self.line += self.source.count("\n", self.at, end)
        self.at = end

    def _token(self, kind: str, text: str, end: int, spaced: bool) -> None:
        if kind == "quote":
            inside, end = delimited(self.source, self.at)
            self._quoted({"'": "q", '"': "qq", "`": "qx"}[text], inside, end, spaced, text)
        elif kind == "name" and text in _QUOTES and self._quote_follows(end):
            self._quote_like(text, end, spaced)
        elif kind == "op" and text in ("/", "//", "/=", "?") and text[0] == "/" and self._operand_expected():
            _, stop = delimited(self.source, self.at)
            while stop < len(self.source) and self.source[stop].isalpha():
                stop += 1
            self._add("regex", self.source[self.at : stop], stop, spaced)
        elif kind == "op" and text in ("<<", "<") and self._heredoc(end, spaced):
            return
        elif kind == "op" and text == "<" and self._operand_expected() and ">" in self.source[end : end + 200]:
            inside, stop = delimited(self.source, self.at)
            self._add("glob", inside, stop, spaced, interpolated(inside, self.line, self.read))
        elif kind == "other":
            self.at = end
        else:
            self._add(kind, text, end, spaced)

    def _quote_follows(self, end: int) -> bool:
        rest = self.source[end : end + 40].lstrip()
        before = self.found[-1].value if self.found else ""
        if not rest or (before in ("->", "{") and rest[0] == "}") or before in ("->", "sub"):
            return False
        if rest[0] == "=" and (rest[1:2] in (">", "=") or rest[1:2] == " "):
            return False
        if rest[0] in ",;)":
            return False
        return not (rest[0].isalnum() or rest[0] == "_" or (rest[0] == "#" and self.source[end : end + 1] != "#"))

    def _quote_like(self, word: str, end: int, spaced: bool) -> None:
        start = end
        while start < len(self.source) and self.source[start].isspace():
            start += 1
        mark = self.source[start]
        inside, stop = delimited(self.source, start)
        if word in ("s", "tr", "y"):
            second = stop - 1
            if mark in "([{<":
                second = stop
                while second < len(self.source) and self.source[second].isspace():
                    second += 1
            replacement, stop = delimited(self.source, second)
            flags = stop
            while stop < len(self.source) and self.source[stop].isalpha():
                stop += 1
            kind = "s" if word == "s" else "tr"
            parts = (tree.Const(inside), tree.Const(replacement), tree.Const(self.source[flags:stop]))
            self._add("change", kind, stop, spaced, parts)
            return
        if word in ("m", "qr"):
            while stop < len(self.source) and self.source[stop].isalpha():
                stop += 1
            self._add("regex", inside, stop, spaced)
            return
        self._quoted(word, inside, stop, spaced, mark)

    def _quoted(self, word: str, inside: str, end: int, spaced: bool, mark: str) -> None:
        if word == "qw":
            self._add("words", inside, end, spaced)
        elif word == "q":
            self._add("string", raw(inside, mark), end, spaced)
        elif word == "qx" and mark == "'":
            self._add("shell", "", end, spaced, (tree.Const(inside),))
        else:
            self._add(
                "shell" if word == "qx" else "string",
                "",
                end,
                spaced,
                interpolated(inside, self.line, self.read),
            )

    def _operand_expected(self) -> bool:
        if not self.found:
            return True
        last = self.found[-1]
        if last.kind == "op":
            return last.value not in (")", "]", "}")
        return last.kind == "name" and (last.value in _BEFORE_OPERAND or last.value in KNOWN_LIST)

    def _heredoc(self, end: int, spaced: bool) -> bool:
        source = self.source
        if not source.startswith("<<", self.at):
            return False
        place = self.at + 2
        indented = source.startswith("~", place)
        place += indented
        quote = source[place : place + 1]
        if quote in ("'", '"') and quote:
            tag, stop = delimited(source, place)
        else:
            stop = place
            while stop < len(source) and (source[stop].isalnum() or source[stop] == "_"):
                stop += 1
            tag = source[place:stop]
            if not tag or tag[0].isdigit():
                return False
        self.waiting.append((len(self.found), tag, indented, quote == "'"))
        self._add("string", "", stop, spaced, (tree.Const(""),))
        return True


def interpolated(text: str, line: int, read: Expression) -> tuple[tree.Node, ...]:
    """A double-quoted text as its parts: constants, variables with their indexes, `@{[ … ]}`."""
    parts: list[tree.Node] = []
    start = at = 0
    while at < len(text):
        if len(parts) > MAX_PARTS:
            return (*parts, tree.Name("\0unread"))
        letter = text[at]
        if letter == "\\":
            at += 2
            continue
        following = text[at + 1 : at + 2]
        if letter in "$@" and (
            following.isalpha() or following in "_{$:" or (letter == "$" and following in "&0123456789")
        ):
            end = variable_end(text, at, arrows=True, methods=False)
            if end <= at + 1:
                at += 1
                continue
            parts.append(tree.Const(escaped(text[start:at])))
            variable = text[at:end]
            if variable[1:2] == "{" and variable.endswith("}") and variable[2:-1].replace("_", "").isalnum():
                variable = variable[0] + variable[2:-1]
            value = read(Lexer(variable, read, line).tokens())
            parts.append(tree.Call(tree.Name("join"), (tree.Const(" "), value), (), 0) if letter == "@" else value)
            start = at = end
        else:
            at += 1
    parts.append(tree.Const(escaped(text[start:])))
    return tuple(parts)

"""Owns splitting one logical line of cmd.exe into commands: quotes, carets, `&`, `|`, parentheses, `if`, `for`.

Variables are left to `expansion`, running to `interpret`.
"""

from __future__ import annotations

import re

from chrono.scan.command import LimitReached, Unparsed
from chrono.tuples import NamedTuple

MAX_DEPTH = 40
MAX_NODES = 8_000
MAX_GROUPS = 1_000

_BLANK = " \t\r\f\v,;=\xa0"
_WORD = re.compile(r"[A-Za-z]+")
_SIGN = re.compile(r'[\n"^()]')
_LAST_WORD = re.compile(r"\w{1,5}")
_CONDITION = re.compile(r"(?:^|[&|(@])\s{0,9}(?:else\s{1,9})?(?:if|for)\b", re.I)


class Redirect(NamedTuple):
    """`op` is `>`, `>>` or `<`; `handle` the digit in front; `target` as written, quotes and all."""

    op: str
    handle: int
    target: str


class Simple(NamedTuple):
    """One command as written, carets taken away, redirections apart."""

    text: str
    redirects: tuple[Redirect, ...]
    span: tuple[int, int]


class Joined(NamedTuple):
    """`left op right`, where op is `&`, `&&`, `||` or `|`."""

    left: object
    op: str
    right: object


class Group(NamedTuple):
    """`( … )` with redirections behind."""

    body: tuple[object, ...]
    redirects: tuple[Redirect, ...]


class If(NamedTuple):
    """`if test yes else no`; the test as written."""

    test: str
    yes: object
    no: object


class For(NamedTuple):
    """`for mode options %variable in (source) do body`."""

    mode: str
    options: str
    variable: str
    source: str
    body: object


class Label(NamedTuple):
    """`:name`."""

    name: str


def logical_line(text: str, at: int) -> int:
    """Where the logical line that begins at `at` ends: behind its newline, parentheses and carets heeded."""
    depth = seen = 0
    quoted = False
    begin = at
    end = len(text)
    while True:
        found = _SIGN.search(text, at)
        if found is None:
            return end
        at = found.end()
        char = found.group()
        if char == "\n":
            quoted = False
            if depth <= 0:
                return at
            begin = at
        elif char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char == "^":
            at += 2 if text.startswith("\r\n", at) else 1
        elif char == "(":
            seen += 1
            if seen > MAX_GROUPS:
                raise LimitReached("it has more groups than can be checked")
            if _opens(text[max(begin, at - 121) : at - 1]):
                depth += 1
        elif depth:
            depth -= 1


def _opens(before: str) -> bool:
    """Whether a parenthesis behind this text begins a group (or a list of `for`): it stands where a command may."""
    before = before.rstrip(" \t\r@")
    if not before or before[-1] in "&|(\n":
        return True
    word = _LAST_WORD.match(before[::-1])
    if word is not None and word.group().lower() in ("od", "ni", "esle"):
        return True
    return _CONDITION.search(before) is not None


class Parser:
    """Reads one logical line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.at = 0
        self.depth = 0
        self.nodes = 0

    def line(self) -> tuple[object, ...]:
        """All commands of the line."""
        body = self._body(False)
        if self.at < self.end:
            # A closing parenthesis too many ends what cmd.exe reads; what follows would not run, but may be meant.
            self.at += 1
            body = (*body, *self.line())
        return body

    def _count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise LimitReached("it has more parts than can be checked")

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LimitReached("it is nested too deeply to be checked")

    def _blanks(self, lines: bool = False) -> None:
        signs = _BLANK + "@" + ("\n" if lines else "")
        while self.at < self.end and self.text[self.at] in signs:
            self.at += 1

    def _body(self, inside: bool) -> tuple[object, ...]:
        found: list[object] = []
        while True:
            while self.at < self.end and (self.text[self.at] in _BLANK or self.text[self.at] in "\n@&"):
                self.at += 1
            if self.at >= self.end:
                if inside:
                    raise Unparsed("a parenthesis is not closed", self.at)
                return tuple(found)
            if self.text[self.at] == ")":
                if inside:
                    self.at += 1
                return tuple(found)
            found.append(self._chain(inside))
            self._count()

    def _chain(self, inside: bool) -> object:
        left = self._command(inside)
        while True:
            self._blanks()
            two = self.text[self.at : self.at + 2]
            op = two if two in ("&&", "||") else two[:1] if two[:1] in ("|", "&") else ""
            if not op:
                return left
            self.at += len(op)
            self._blanks(lines=True)
            if self.at >= self.end or self.text[self.at] == ")":
                return left
            right = self._command(inside)
            left = Joined(left, op, right)
            self._count()

    def _command(self, inside: bool) -> object:
        self._blanks()
        if self.at >= self.end:
            return Simple("", (), (self.at, self.at))
        char = self.text[self.at]
        if char == "(":
            self._enter()
            self.at += 1
            body = self._body(True)
            self.depth -= 1
            return Group(body, self._redirects())
        if char == ":":
            end = self._line_end()
            name = self.text[self.at + 1 : end].strip()
            self.at = end
            return Label(name.split()[0].lower() if name and name[0] != ":" and name.split() else "")
        found = _WORD.match(self.text, self.at)
        word = found.group().lower() if found else ""
        following = self.text[found.end() : found.end() + 1] if found else ""
        if found and word == "rem" and (following == "" or following in _BLANK + "\n./"):
            self.at = self._line_end()
            return Group((), ())
        if found and word in ("if", "for") and (following == "" or following in _BLANK + "/("):
            begin = self.at
            self.at = found.end()
            self._enter()
            answer = self._if(inside) if word == "if" else self._for(inside)
            self.depth -= 1
            if answer is not None:
                return answer
            self.at = begin
        return self._simple(inside)

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return self.end if end < 0 else end

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while True:
            before = self.at
            self._blanks()
            one = self._redirect()
            if one is None:
                self.at = before
                return tuple(found)
            if one.target:
                found.append(one)

    def _redirect(self) -> Redirect | None:
        found = re.compile(r"(\d?)(>>|>|<)(?:&(\d))?").match(self.text, self.at)
        if found is None:
            return None
        self._count()
        self.at = found.end()
        handle = int(found.group(1) or (0 if found.group(2) == "<" else 1))
        if found.group(3):
            return Redirect(found.group(2), handle, "")
        self._blanks()
        return Redirect(found.group(2), handle, self._raw_word())

    def _raw_word(self) -> str:
        """A word as written, quotes and all, carets taken away."""
        pieces: list[str] = []
        quoted = False
        while self.at < self.end:
            char = self.text[self.at]
            if char == "\n":
                break
            if char == '"':
                quoted = not quoted
            elif not quoted:
                if char in _BLANK or char in "&|<>)":
                    break
                if char == "^":
                    self.at += 1
                    char = self.text[self.at : self.at + 1]
            pieces.append(char)
            self.at += 1
        return "".join(pieces)

    def _simple(self, inside: bool) -> Simple:
        begin = self.at
        pieces: list[str] = []
        redirects: list[Redirect] = []
        quoted = False
        text = self.text
        while self.at < self.end:
            char = text[self.at]
            if char == "\n":
                break
            if char == '"':
                quoted = not quoted
            elif not quoted:
                if char in "&|" or (char == ")" and inside):
                    break
                if char == "^":
                    self.at += 1
                    if text.startswith("\r\n", self.at):
                        self.at += 1
                    char = text[self.at : self.at + 1]
                    if char != "\n":
                        pieces.append(char)
                    self.at += 1
                    continue
                if char in "<>" or (
                    char.isdigit()
                    and text[self.at + 1 : self.at + 2] in ("<", ">")
                    and (not pieces or pieces[-1][-1:] in _BLANK)
                ):
                    one = self._redirect()
                    if one is not None:
                        if one.target:
                            redirects.append(one)
                        pieces.append(" ")
                        continue
            pieces.append(char)
            self.at += 1
        return Simple("".join(pieces).strip(" \t\r"), tuple(redirects), (begin, self.at))

    # --- if and for ---------------------------------------------------------------------------------------------------

    def _if(self, inside: bool) -> object:
        test: list[str] = []
        while True:
            self._blanks()
            word = self._test_word()
            lower = word.lower()
            test.append(word)
            if lower in ("/i", "not"):
                continue
            if lower in ("exist", "defined", "errorlevel", "cmdextversion"):
                self._blanks()
                test.append(self._test_word())
            else:
                self._comparison(test)
            break
        yes = self._branch(inside)
        no: object = None
        before = self.at
        self._blanks(lines=inside)
        found = _WORD.match(self.text, self.at)
        if found and found.group().lower() == "else":
            self.at = found.end()
            no = self._branch(inside)
        else:
            self.at = before
        return If(" ".join(test), yes, no)

    def _test_word(self) -> str:
        pieces: list[str] = []
        quoted = False
        while self.at < self.end:
            char = self.text[self.at]
            if char == "\n" or (not quoted and (char in " \t" or self.text.startswith("==", self.at))):
                break
            if not quoted and char == "(" and pieces and '"' in pieces:
                break
            if char == '"':
                quoted = not quoted
            pieces.append(char)
            self.at += 1
        return "".join(pieces)

    def _comparison(self, test: list[str]) -> None:
        self._blanks_only()
        if self.text.startswith("==", self.at):
            self.at += 2
            test.append("==")
        else:
            found = re.compile(r"(?:equ|neq|lss|leq|gtr|geq)\b", re.I).match(self.text, self.at)
            if found is None:
                return
            test.append(found.group())
            self.at = found.end()
        self._blanks_only()
        test.append(self._test_word())

    def _blanks_only(self) -> None:
        while self.at < self.end and self.text[self.at] in " \t":
            self.at += 1

    def _branch(self, inside: bool) -> object:
        """The command of an `if`, `else` or `for`; a single one takes along what `&` and `|` join to it."""
        self._blanks()
        if self.text[self.at : self.at + 1] == "(":
            return self._command(inside)
        return self._chain(inside)

    def _for(self, inside: bool) -> object | None:
        mode = options = ""
        while True:
            self._blanks()
            if self.text[self.at : self.at + 1] == "/":
                letter = self.text[self.at + 1 : self.at + 2].lower()
                mode += letter
                self.at += 2
                continue
            if self.text[self.at : self.at + 1] == "%":
                break
            if not mode or self.at >= self.end:
                return None
            word = self._raw_word()
            if not word:
                return None
            options = f"{options} {word}".strip()
        found = re.compile(r"%{1,2}(\S)\s+in\s*\(", re.I).match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        source = self._list()
        self._blanks(lines=True)
        word_match = _WORD.match(self.text, self.at)
        if word_match is None or word_match.group().lower() != "do":
            return None
        self.at = word_match.end()
        return For(mode, options, found.group(1), source, self._branch(inside))

    def _list(self) -> str:
        """What stands in the parentheses behind `in`."""
        begin = self.at
        quote = ""
        depth = 1
        while self.at < self.end:
            char = self.text[self.at]
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'`":
                quote = char if char == '"' or self.text[begin : self.at].strip() == "" else ""
            elif char == "^":
                self.at += 1
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    self.at += 1
                    return self.text[begin : self.at - 1].strip()
            self.at += 1
        raise Unparsed("a list is not closed", begin)

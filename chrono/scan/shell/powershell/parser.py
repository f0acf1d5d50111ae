"""Owns reading PowerShell statements into the tree of `syntax`.

Pipelines and commands are left to `pipelines`, expressions to `expressions`, what the tree does to `interpret`.
"""

from __future__ import annotations

import re

from chrono.scan.command import LimitReached
from chrono.scan.shell.powershell.lexer import DASHES, DOUBLE, MAX_CODE_CHARS, SINGLE
from chrono.scan.shell.powershell.pipelines import STOP, Pipelines
from chrono.scan.shell.powershell.syntax import (
    Block,
    Body,
    Call,
    Foreach,
    Function,
    If,
    Leave,
    Loop,
    Params,
    Pipeline,
    Switch,
    Text,
    Try,
)

_WORD = re.compile(r"[A-Za-z_]\w*(?![\w.\\/:-])")
_NAME = re.compile(r"[^\s(){};|,]+")
_LABEL = re.compile(r":[A-Za-z_]\w*")
_WHOLE = (Params, If, Foreach, Loop, Function, Switch, Try)
"""Statements that end by themselves: a `&` behind one begins the next command."""
_LEAVES = ("return", "throw", "exit", "break", "continue")
_BLOCKS = ("begin", "process", "end", "dynamicparam", "clean", "trap", "data", "inlinescript", "parallel", "sequence")


def parse(text: str) -> tuple[object, ...]:
    """The statements of a text. Raises Unparsed and LimitReached of `lexer`."""
    if len(text) > MAX_CODE_CHARS:
        raise LimitReached(f"it is longer than {MAX_CODE_CHARS} characters")
    return Parser(text.removeprefix("\ufeff")).body_until("")


class Parser(Pipelines):
    """Reads one text."""

    def body_until(self, close: str) -> tuple[object, ...]:
        body: list[object] = []
        while True:
            self.separators()
            if self.at >= self.end:
                if close:
                    raise self.fail(f"'{close}' is missing")
                return tuple(body)
            if close and self.text[self.at] == close:
                self.at += 1
                return tuple(body)
            before = self.at
            body.append(self.statement())
            self.count()
            if self.at == before:
                raise self.fail(f"'{self.peek()}' is not expected here")
            self._between(body)

    def _between(self, body: list[object]) -> None:
        """Reads `&&`, `||` and the pipelines behind them, and a `&` that lets the one before run beside."""
        while True:
            self.blanks()
            two = self.peek(2)
            if two in ("&&", "||"):
                self.at += 2
                self.lines()
                right = self.statement()
                if isinstance(right, Pipeline):
                    right = right._replace(after="success" if two == "&&" else "failure")
                body.append(right)
            elif two[:1] == "&" and not isinstance(body[-1], _WHOLE):
                self.at += 1
                return
            else:
                return

    def substatement(self) -> object:
        self.enter()
        found = self.statement()
        self.leave()
        return found

    def table_value(self) -> object:
        return self.substatement()

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> object:
        """One statement; the place stands on its first sign."""
        char = self.peek()
        if char == ":" and (label := _LABEL.match(self.text, self.at)):
            self.at = label.end()
            self.lines()
            char = self.peek()
        if char == "[" and self._skips_attribute():
            return self.statement()
        if char.isalpha():
            found = _WORD.match(self.text, self.at)
            if found:
                word = found.group().lower()
                reader = _STATEMENTS.get(word)
                if reader is not None:
                    before = self.at
                    self.at = found.end()
                    self.blanks()
                    answer = reader(self, word)
                    if answer is not None:
                        return answer
                    self.at = before
        return self.pipeline()

    def _skips_attribute(self) -> bool:
        """`[CmdletBinding()]` in front of `param`."""
        found = re.compile(r"\[\w+\s*\([^()]*\)\]").match(self.text, self.at)
        if found is None or self.text.startswith("::", found.end()):
            return False
        self.at = found.end()
        self.lines()
        return True

    def block(self) -> Block:
        if self.peek() != "{":
            raise self.fail("'{' is missing")
        self.enter()
        begin = self.at
        self.at += 1
        body = self.body_until("}")
        self.leave()
        params: tuple[tuple[str, object], ...] = ()
        if body and isinstance(body[0], Params):
            params, body = body[0].params, body[1:]
        return Block(body, params, self.text[begin + 1 : self.at - 1])

    def _body(self) -> tuple[object, ...]:
        self.lines()
        return self.block().body

    def _condition(self) -> object:
        self.lines()
        if self.peek() != "(":
            raise self.fail("'(' is missing")
        return self.paren()

    def _if(self, word: str) -> object:
        clauses = [(self._condition(), self._body())]
        otherwise: tuple[object, ...] = ()
        while True:
            before = self.at
            self.lines()
            found = _WORD.match(self.text, self.at)
            name = found.group().lower() if found else ""
            if found and name == "elseif":
                self.at = found.end()
                clauses.append((self._condition(), self._body()))
            elif found and name == "else":
                self.at = found.end()
                otherwise = self._body()
                break
            else:
                self.at = before
                break
        return If(tuple(clauses), otherwise)

    def _while(self, word: str) -> object:
        test = self._condition()
        return Loop("while", None, test, None, self._body())

    def _do(self, word: str) -> object | None:
        if self.peek() not in ("{", "\n", "\r"):
            return None
        body = self._body()
        self.lines()
        found = _WORD.match(self.text, self.at)
        if found is None or found.group().lower() not in ("while", "until"):
            raise self.fail("'while' is missing")
        self.at = found.end()
        return Loop(f"do {found.group().lower()}", None, self._condition(), None, body)

    def _for(self, word: str) -> object:
        if self.peek() != "(":
            raise self.fail("'(' is missing")
        self.enter()
        self.at += 1
        parts: list[object] = []
        for close in (";", ";", ")"):
            self.lines()
            part: object = None
            if self.peek() not in (close, ")"):
                part = self.statement()
                self.lines()
                while self.peek() == ",":
                    self.at += 1
                    self.lines()
                    self.statement()
                    self.lines()
            parts.append(part)
            if self.peek() == close:
                self.at += 1
            elif self.peek() != ")":
                raise self.fail(f"'{close}' is missing")
        if self.text[self.at - 1] != ")":
            if self.peek() != ")":
                raise self.fail("')' is missing")
            self.at += 1
        self.leave()
        return Loop("for", parts[0], parts[1], parts[2], self._body())

    def _foreach(self, word: str) -> object | None:
        while self.peek() in DASHES and self.peek():
            self.bare_word()
            self.blanks()
        if self.peek() != "(":
            return None
        self.enter()
        self.at += 1
        self.lines()
        variable = self.variable()
        self.lines()
        found = _WORD.match(self.text, self.at)
        if variable is None or found is None or found.group().lower() != "in":
            raise self.fail("'in' is missing")
        self.at = found.end()
        self.lines()
        source = self.statement()
        self.lines()
        if self.peek() != ")":
            raise self.fail("')' is missing")
        self.at += 1
        self.leave()
        return Foreach(variable.name, source, self._body())

    def _switch(self, word: str) -> object:
        mode = ""
        while self.peek() and self.peek() in DASHES:
            written = self.bare_word()
            name = str(written.value).lower() if isinstance(written, Text) else ""
            mode = name.lstrip(DASHES) if name[1:2] in ("r", "w", "f") else mode
            self.blanks()
            if name[1:2] == "f" and self.peek() != "(":
                self._argument()
                self.blanks()
        source: object = None
        if self.peek() == "(":
            source = self.paren()
        self.lines()
        if self.peek() != "{":
            raise self.fail("'{' is missing")
        self.enter()
        self.at += 1
        clauses: list[tuple[object, tuple[object, ...]]] = []
        self.separators()
        while self.peek() != "}":
            if self.at >= self.end:
                raise self.fail("a brace is not closed")
            pattern: object = self.block() if self.peek() == "{" else self._argument()
            if isinstance(pattern, Text) and pattern.bare and str(pattern.value).lower() == "default":
                pattern = None
            clauses.append((pattern, self._body()))
            self.separators()
        self.at += 1
        self.leave()
        return Switch(source, tuple(clauses), mode)

    def _try(self, word: str) -> object:
        body = self._body()
        catches: list[tuple[object, ...]] = []
        last: tuple[object, ...] = ()
        while True:
            before = self.at
            self.lines()
            found = _WORD.match(self.text, self.at)
            name = found.group().lower() if found else ""
            if found and name == "catch":
                self.at = found.end()
                self.lines()
                while self.peek() == "[" and self.type_name() is not None:
                    self.lines()
                    if self.peek() == ",":
                        self.at += 1
                        self.lines()
                catches.append(self._body())
            elif found and name == "finally":
                self.at = found.end()
                last = self._body()
            else:
                self.at = before
                return Try(body, tuple(catches), last)

    def _function(self, word: str) -> object | None:
        found = _NAME.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        name = found.group().lower().removeprefix("global:").removeprefix("script:")
        self.lines()
        params: tuple[tuple[str, object], ...] = ()
        if self.peek() == "(":
            params = self._parameters()
            self.lines()
        if self.peek() != "{":
            return None
        block = self.block()
        return Function(name, block._replace(params=params) if params else block)

    def _param(self, word: str) -> object | None:
        self.lines()
        return Params(self._parameters()) if self.peek() == "(" else None

    def _parameters(self) -> tuple[tuple[str, object], ...]:
        """`( [type]$name = default, … )`; the place stands on the parenthesis."""
        self.enter()
        self.at += 1
        found: list[tuple[str, object]] = []
        self.lines()
        while self.peek() != ")":
            if self.at >= self.end:
                raise self.fail("a parenthesis is not closed")
            if self.peek() == ",":
                self.at += 1
            elif self.peek() == "[":
                self._bracket()
            else:
                variable = self.variable()
                if variable is None:
                    raise self.fail("the name of a parameter is missing")
                self.lines()
                default: object = None
                if self.peek() == "=":
                    self.at += 1
                    self.lines()
                    default = self.operand(1, in_list=True)
                found.append((variable.name, default))
            self.count()
            self.lines()
        self.at += 1
        self.leave()
        return tuple(found)

    def _bracket(self) -> None:
        """Skips a type or an attribute with all that stands in it."""
        depth = 0
        while self.at < self.end:
            char = self.text[self.at]
            if char in SINGLE:
                self.single()
                continue
            if char in DOUBLE:
                self.double()
                continue
            if char == "#":
                self.lines()
                continue
            depth += (char == "[") - (char == "]")
            self.at += 1
            if depth == 0:
                return
        raise self.fail("a bracket is not closed")

    def _leave(self, word: str) -> object:
        if self.peek() in STOP or self.at >= self.end or self.peek() == "\r":
            return Leave(word, None)
        if word in ("break", "continue"):
            self.bare_word()
            return Leave(word, None)
        return Leave(word, self.substatement())

    def _named_block(self, word: str) -> object | None:
        if word == "trap":
            self.lines()
            self.type_name()
        if word == "data" and self.peek() != "{":
            before = self.at
            self.bare_word() if self.peek() not in ("", "\n", ";", "|") else None
            self.blanks()
            if self.peek() != "{":
                self.at = before
                return None
        self.lines()
        return Body(word, self.block().body) if self.peek() == "{" else None

    def _using(self, word: str) -> object:
        end = self.text.find("\n", self.at)
        rest = self.text[self.at : self.end if end < 0 else end].split(";")[0]
        begin = self.at
        self.at += len(rest)
        kind, _, name = rest.strip().partition(" ")
        if kind.lower() != "module":
            return Body("using", ())
        name = name.strip().strip("'\"")
        return Pipeline((Call("", (Text("Import-Module"), Text(name)), (), (begin, self.at)),))

    def _class(self, word: str) -> object | None:
        """The methods of a class, each as a function `type.method`."""
        named = _NAME.match(self.text, self.at)
        brace = self.text.find("{", self.at)
        if named is None or brace < 0 or "\n\n" in self.text[self.at : brace] or ";" in self.text[self.at : brace]:
            return None
        self.enter()
        self.at = brace + 1
        name = named.group().lower()
        methods: list[object] = []
        while True:
            self.separators()
            if self.at >= self.end:
                raise self.fail("a brace is not closed")
            char = self.peek()
            if char == "}":
                self.at += 1
                break
            if char == "[":
                self._bracket()
            elif char == "$":
                self.variable()
            elif char == "=":
                self.at += 1
                self.lines()
                self.expression()
            elif (found := re.compile(r"(\w+)\s*\(").match(self.text, self.at)) and word == "class":
                self.at = found.end() - 1
                params = self._parameters()
                self.lines()
                while self.peek() not in ("{", ""):
                    self.at += 1
                methods.append(Function(f"{name}.{found.group(1).lower()}", self.block()._replace(params=params)))
            else:
                self.at += 1
            self.count()
        self.leave()
        return Body("class", tuple(methods))


_STATEMENTS = {
    "if": Parser._if,
    "while": Parser._while,
    "do": Parser._do,
    "for": Parser._for,
    "foreach": Parser._foreach,
    "switch": Parser._switch,
    "try": Parser._try,
    "function": Parser._function,
    "filter": Parser._function,
    "workflow": Parser._function,
    "configuration": Parser._function,
    "param": Parser._param,
    "using": Parser._using,
    "class": Parser._class,
    "enum": Parser._class,
    **dict.fromkeys(_LEAVES, Parser._leave),
    **dict.fromkeys(_BLOCKS, Parser._named_block),
}

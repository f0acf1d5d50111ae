"""Owns reading PowerShell pipelines: expressions and commands joined by `|`, assignments, arguments, redirections.

Statements are left to `parser`, expressions to `expressions`.
"""

from __future__ import annotations

import re

from chrono.scan.shell.powershell.expressions import Expressions
from chrono.scan.shell.powershell.lexer import DASHES, DOUBLE, SINGLE, joined
from chrono.scan.shell.powershell.syntax import (
    Array,
    Assign,
    Call,
    Cast,
    Index,
    Member,
    Mixed,
    Pipeline,
    Redirection,
    Text,
    Value,
    Variable,
)

_ASSIGNS = re.compile(r"(\?\?=|[+\-*/%]?=)(?!=)")
_REDIRECT = re.compile(r"([1-6*]?)(>>|>)(?:&([12]))?")
_ENDS_WORD = " \t\r\n;|&(){},<>"
STOP = frozenset(";\n|&)}")


class Pipelines(Expressions):
    """Reads pipelines; the statements inside them are read by the class that inherits."""

    def statement(self) -> object:
        """One statement; the place stands on its first sign."""
        raise NotImplementedError

    def pipeline(self) -> object:
        """A pipeline or an assignment."""
        self.enter()
        elements: list[object] = []
        while True:
            element = self._element()
            if not elements and isinstance(element, Value):
                self.blanks()
                op = _ASSIGNS.match(self.text, self.at)
                if op and self._may_be_set(element.inner):
                    self.at = op.end()
                    self.lines()
                    value = self.statement()
                    self.leave()
                    return Assign(element.inner, op.group(1), value)
            elements.append(element)
            self.blanks()
            if self.peek() != "|" or self.peek(2) == "||":
                if self._goes_on_below():
                    continue
                break
            self.at += 1
            self.lines()
        self.leave()
        return Pipeline(tuple(elements))

    def _goes_on_below(self) -> bool:
        """PowerShell 7: a line may begin with the `|` that joins it to the one above."""
        if self.peek() not in ("\n", "\r"):
            return False
        before = self.at
        self.lines()
        if self.peek() == "|" and self.peek(2) != "||":
            self.at += 1
            self.lines()
            return True
        self.at = before
        return False

    def _may_be_set(self, target: object) -> bool:
        if isinstance(target, Array):
            return all(self._may_be_set(item) for item in target.items)
        if isinstance(target, Cast):
            return self._may_be_set(target.inner)
        return isinstance(target, Variable | Index) or (isinstance(target, Member) and target.args is None)

    def _element(self) -> object:
        begin = self.at
        if self._is_expression():
            inner = self.expression()
            redirects: list[Redirection] = []
            self.blanks()
            while (found := self._redirection()) is not None:
                redirects.extend(found)
                self.blanks()
            return Value(inner, tuple(redirects), (begin, self.at))
        return self._call()

    def _is_expression(self) -> bool:
        text, at = self.text, self.at
        char = text[at : at + 1]
        if char == "":
            raise self.fail("something is missing at the end")
        if char in "$([{!,":
            return True
        if char == "@":
            return True
        if char in SINGLE or char in DOUBLE:
            return True
        if char.isdigit() or (char == "." and text[at + 1 : at + 2].isdigit()):
            before = self.at
            number = self.number(strict=True)
            if number is None and re.compile(r"\d+\.\.").match(text, at):
                return True
            self.at = before
            return number is not None
        if char in DASHES or char == "+":
            return (
                re.compile(r"[+\-\u2013-\u2015](?:[\d.$(+-]|(?:not|bnot|join|[ci]?split)\b)", re.I).match(text, at)
                is not None
            )
        return False

    def _call(self) -> object:
        begin = self.at
        operator = ""
        char = self.peek()
        if char == "&" or (char == "." and self._dots()):
            operator = char
            self.at += 1
            self.lines() if operator == "&" else self.blanks()
        words: list[object] = []
        redirects: list[Redirection] = []
        while self.at < self.end:
            self.blanks()
            char = self.peek()
            if char == "" or char in STOP or char == "\r":
                if char == "&" and not words:
                    raise self.fail("'&' is not expected here")
                break
            found = self._redirection()
            if found is not None:
                redirects.extend(found)
                continue
            if char == "," and words:
                # A comma that begins a word makes a list of the words around it.
                self.at += 1
                self.lines()
                following = self._argument()
                last = words.pop()
                items = last.items if isinstance(last, Array) else (last,)
                words.append(Array((*items, *(following.items if isinstance(following, Array) else (following,)))))
                continue
            word = self._argument(first=not words)
            words.append(word)
            self.count()
            if isinstance(word, Text) and word.value == "--%" and word.bare:
                words.append(self._verbatim())
                break
        if not words and not redirects:
            raise self.fail(f"'{self.peek()}' is not expected here" if self.peek() else "a command is missing")
        return Call(operator, tuple(words), tuple(redirects), (begin, self.at))

    def _dots(self) -> bool:
        following = self.text[self.at + 1 : self.at + 2]
        return following in (" ", "\t", "{", "(", "$", "'", '"') and following != ""

    def _verbatim(self) -> Text:
        stop = re.compile(r"[\n|]").search(self.text, self.at)
        end = stop.start() if stop else self.end
        rest = self.text[self.at : end].strip()
        self.at = end
        return Text(rest)

    def _redirection(self) -> tuple[Redirection, ...] | None:
        char = self.peek()
        if char == "<":
            self.at += 1
            self.blanks()
            return (Redirection("<", "0", self._argument()),)
        if char != ">" and not (char and char in "123456*" and self.text[self.at + 1 : self.at + 2] == ">"):
            return None
        found = _REDIRECT.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        if found.group(3):
            return ()
        self.blanks()
        return (Redirection(found.group(2), found.group(1) or "1", self._argument()),)

    # --- arguments ----------------------------------------------------------------------------------------------------

    def _argument(self, *, first: bool = False) -> object:
        """One argument, with the list that commas make of it."""
        item = self._item(first)
        if first:
            return item
        before = self.at
        self.blanks()
        if self.peek() != ",":
            self.at = before
            return item
        items = [item]
        while self.peek() == ",":
            self.at += 1
            self.lines()
            if self.at >= self.end or self.peek() in STOP:
                break
            items.append(self._item(False))
            self.count()
            before = self.at
            self.blanks()
        self.at = before
        return Array(tuple(items))

    def _item(self, first: bool) -> object:
        char = self.peek()
        if char == "{":
            return self.block()
        if char == "(":
            return self._postfix(self.paren())
        if char == "@" and self.peek(2) in ("@(", "@{"):
            return self._postfix(self.at_sign())
        if char == "@":
            found = self.here_string() or self.variable()
            return found if found is not None else self._bare()
        if char in SINGLE:
            return self._quoted(self.single())
        if char in DOUBLE:
            return self._quoted(self.double())
        if char == "$":
            begin = self.at
            if self.peek(2) == "$(":
                node: object = self.substitution()
            else:
                variable = self.variable()
                if variable is None:
                    return self._bare()
                node = variable
            node = self._postfix(node)
            if self.at >= self.end or self.text[self.at] in _ENDS_WORD:
                return node
            self.at = begin
        return self._bare()

    def _quoted(self, found: object) -> object:
        if self.peek() in (".", "["):
            return self._postfix(found)
        return found

    def _bare(self) -> object:
        begin = self.at
        word = self.bare_word()
        while self.peek() == "{" and self.text[self.at - 1] == "@":
            close = self.text.find("}", self.at)
            if close < 0:
                break
            tail = self.text[self.at : close + 1]
            self.at = close + 1
            word = joined([*(word.parts if isinstance(word, Mixed) else (str(word.value),)), tail], bare=True)
            if self.at < self.end and self.text[self.at] not in _ENDS_WORD:
                rest = self.bare_word()
                parts = rest.parts if isinstance(rest, Mixed) else (str(rest.value),)
                word = joined([*(word.parts if isinstance(word, Mixed) else (str(word.value),)), *parts], bare=True)
        if (
            self.text[begin] in DASHES
            and self.text[self.at - 1] == ":"
            and self.peek()
            and (self.peek() in "($@{[" or self.peek() in SINGLE or self.peek() in DOUBLE)
        ):
            # `-Name:(value)`
            value = self._item(False)
            parts = word.parts if isinstance(word, Mixed) else (word.value,)
            return Mixed((*parts, value), True)
        return word

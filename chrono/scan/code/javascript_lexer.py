"""Owns the tokens of JavaScript and TypeScript: strings, templates, regular expressions, comments.

What they mean together is left to `javascript_reader`, which is handed in to read the expressions inside strings.
"""

from __future__ import annotations

from chrono.scan.code import tree
from chrono.scan.code.curly import MAX_TOKENS, Token
from chrono.scan.code.lexer import Expression, token_pattern
from chrono.scan.command import LimitReached

_OPERATORS = (
    ">>>= ... === !== **= <<= >>= >>> &&= ||= ??= => == != <= >= && || ?? ?. ++ -- += -= *= /= %= &= |= ^= << >> ** "
    "{ } ( ) [ ] ; , < > + - * / % & | ^ ! ~ ? : = . @ #"
)


_BEFORE_REGEX = frozenset(
    ("return typeof case in of delete void throw new instanceof do else await yield default extends").split()
)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


_KINDS = (
    r"(?P<space>[ \t\r\f\v\u00a0\ufeff]+)|(?P<newline>\n+)|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z)|<!--[^\n]*)"
    r"|(?P<name>#?(?:[A-Za-z_$\u0080-\U0010ffff]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})"
    r"(?:[\w$\u0080-\U0010ffff]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})*)"
    r"|(?P<number>0[xX][\da-fA-F_]+n?|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][+-]?\d+)?n?)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?)"
    r"|(?P<template>`)"
)


def unescaped(text: str) -> str:
    """A string literal's content with its escapes replaced."""
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter != "\\" or at + 1 >= len(text):
            out.append(letter)
            at += 1
            continue
        following = text[at + 1]
        at += 2
        digits, width = "", 0
        if following == "x":
            digits, width = text[at : at + 2], 2
        elif following == "u" and text.startswith("{", at):
            end = text.find("}", at)
            digits, width = (text[at + 1 : end], end - at + 1) if end > 0 else ("", 0)
        elif following == "u":
            digits, width = text[at : at + 4], 4
        elif following in "01234567":
            stop = at
            while stop < len(text) and stop < at + 2 and text[stop] in "01234567":
                stop += 1
            out.append(chr(int(following + text[at:stop], 8)))
            at = stop
            continue
        if width:
            try:
                out.append(chr(int(digits, 16)))
            except (ValueError, OverflowError):
                out.append("?")
            at += width
        else:
            out.append(_ESCAPES.get(following, following))
    return "".join(out)


class JavaScriptLexer:
    def __init__(self, source: str, read: Expression) -> None:
        self.source = source
        self.read = read
        self.at = 0
        self.line = 1
        self.match = token_pattern(_KINDS, _OPERATORS).match

    def tokens(self, nested: bool = False) -> list[Token]:
        """All tokens; where `nested`, up to the `}` that ends an expression in a template."""
        found: list[Token] = []
        depth = 0
        spaced = False
        source, match = self.source, self.match
        while self.at < len(source):
            if len(found) > MAX_TOKENS:
                raise LimitReached("it is too long to be read to its end")
            got = match(source, self.at)
            assert got is not None, "'other' takes any letter"
            kind = got.lastgroup
            text = got.group()
            if kind in ("space", "newline", "comment"):
                self.line += text.count("\n")
                self.at = got.end()
                spaced = True
                continue
            if kind == "op" and text[0] == "/" and _regex_may_follow(found):
                found.append(Token("regex", self._regex(), self.line, None, spaced))
            elif kind == "template":
                found.append(Token("string", "", self.line, self._template(), spaced))
            else:
                self.at = got.end()
                if kind == "op":
                    if nested and text == "}" and depth == 0:
                        return found
                    depth += (text == "{") - (text == "}")
                    found.append(Token("op", text, self.line, None, spaced))
                elif kind == "string":
                    closed = len(text) > 1 and text[-1] == text[0]
                    found.append(
                        Token("string", unescaped(text[1:-1] if closed else text[1:]), self.line, None, spaced)
                    )
                    self.line += text.count("\n")
                elif kind == "name":
                    found.append(_name(text, self.line, spaced))
                elif kind == "number":
                    found.append(Token("number", text, self.line, None, spaced))
            spaced = False
        return found

    def _regex(self) -> str:
        source = self.source
        start = at = self.at
        at += 1
        in_class = False
        while at < len(source) and source[at] != "\n":
            letter = source[at]
            if letter == "\\":
                at += 1
            elif letter == "[":
                in_class = True
            elif letter == "]":
                in_class = False
            elif letter == "/" and not in_class:
                at += 1
                break
            at += 1
        while at < len(source) and (source[at].isalpha()):
            at += 1
        self.at = max(at, start + 1)
        return source[start : self.at]

    def _template(self) -> tuple[tree.Node, ...]:
        source = self.source
        parts: list[tree.Node] = []
        self.at += 1
        start = self.at
        while self.at < len(source):
            letter = source[self.at]
            if letter == "\\":
                self.at += 2
            elif letter == "`":
                break
            elif letter == "$" and source.startswith("${", self.at):
                parts.append(tree.Const(unescaped(source[start : self.at])))
                self.line += source.count("\n", start, self.at)
                self.at += 2
                parts.append(self.read(self.tokens(nested=True)))
                start = self.at
            else:
                self.at += 1
        parts.append(tree.Const(unescaped(source[start : min(self.at, len(source))])))
        self.line += source.count("\n", start, self.at)
        self.at += 1
        return tuple(parts)


def _name(text: str, line: int, spaced: bool) -> Token:
    return Token("name", unescaped(text) if "\\" in text else text, line, None, spaced)


def _regex_may_follow(found: list[Token]) -> bool:
    if not found:
        return True
    last = found[-1]
    if last.kind == "name":
        return last.value in _BEFORE_REGEX
    if last.kind == "op":
        return last.value not in (")", "]", "}", "++", "--")
    return False

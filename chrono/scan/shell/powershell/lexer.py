"""Owns reading single tokens of PowerShell: blanks and comments, strings, variables, numbers, bare words.

Statements and expressions are left to `parser` and `expressions`.
"""

from __future__ import annotations

import re

from chrono.scan.command import LimitReached, Unparsed
from chrono.scan.shell.powershell.syntax import Mixed, Text, Variable

MAX_CODE_CHARS = 65_536
MAX_DEPTH = 40
MAX_NODES = 12_000

DASHES = "-\u2013\u2014\u2015"
SINGLE = "'\u2018\u2019\u201a\u201b"
DOUBLE = '"\u201c\u201d\u201e'

_BLANKS = re.compile(r"(?:[ \t\r\f\v\x85\xa0\u2000-\u200a\u202f\u205f\u3000]+|`\r?\n|<#[\s\S]*?#>)+")
_BLANKS_AND_LINES = re.compile(r"(?:[\s\x85\xa0]+|`\r?\n|<#[\s\S]*?#>|#[^\n]*|;)+")
_LINES = re.compile(r"(?:[\s\x85\xa0]+|`\r?\n|<#[\s\S]*?#>|#[^\n]*)+")
_VARIABLE = re.compile(r"[@$](?:\{((?:[^}`]|`.)+)\}|((?:[A-Za-z_]\w*:(?=[\w?])(?!:))?[\w?]+|[$^]))")
_PLAIN_DOUBLE = re.compile('[^"\u201c\u201d\u201e$`]+')
_PLAIN_SINGLE = re.compile("[^'\u2018\u2019\u201a\u201b]+")
_NUMBER = re.compile(
    r"(0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)(u?[lysdn]?)(kb|mb|gb|tb|pb)?(?![\w\\/.:-])", re.I
)
_NUMBER_OPEN = re.compile(
    r"(0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)(u?[lysdn]?)(kb|mb|gb|tb|pb)?(?![A-Za-z_])", re.I
)
_HERE = re.compile(r"@(['\"\u2018-\u201e])[ \t]*\r?\n")
_BARE = re.compile(r"[^\s\x85\xa0;|&(){},'\"\u2018-\u201e`$<>]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\ufffd"}
_UNITS = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50}


class Lexer:
    """A place in a text, and how to read what stands there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.at = 0
        self.depth = 0
        self.nodes = 0

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LimitReached("it is nested too deeply to be checked")

    def leave(self) -> None:
        self.depth -= 1

    def count(self) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise LimitReached("it has more parts than can be checked")

    def fail(self, why: str) -> Unparsed:
        return Unparsed(why, self.at)

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def blanks(self) -> None:
        """Skips blanks, joined lines, block comments, and a comment up to its line's end."""
        text, at = self.text, self.at
        if at < self.end and (text[at] in " \t`<#\r" or ord(text[at]) > 127 or text[at] in "\f\v"):
            found = _BLANKS.match(text, at)
            if found:
                self.at = found.end()
            if self.peek() == "#":
                self.at = self._line_end()

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return self.end if end < 0 else end

    def lines(self) -> None:
        """Skips blanks, comments and line ends."""
        found = _LINES.match(self.text, self.at)
        if found:
            self.at = found.end()

    def separators(self) -> None:
        """Skips everything between two statements."""
        found = _BLANKS_AND_LINES.match(self.text, self.at)
        if found:
            self.at = found.end()

    # --- strings ------------------------------------------------------------------------------------------------------

    def single(self) -> Text:
        """A text in single quotes; the place stands on the quote."""
        self.at += 1
        pieces: list[str] = []
        while self.at < self.end:
            found = _PLAIN_SINGLE.match(self.text, self.at)
            if found:
                pieces.append(found.group())
                self.at = found.end()
                continue
            self.at += 1
            if self.at < self.end and self.text[self.at] in SINGLE:
                pieces.append("'")
                self.at += 1
                continue
            return Text("".join(pieces))
        raise self.fail("a quote is not closed")

    def double(self) -> Text | Mixed:
        """A text in double quotes; the place stands on the quote."""
        self.at += 1
        parts: list[object] = []
        while self.at < self.end:
            found = _PLAIN_DOUBLE.match(self.text, self.at)
            if found:
                parts.append(found.group())
                self.at = found.end()
                continue
            char = self.text[self.at]
            if char in DOUBLE:
                self.at += 1
                if self.at < self.end and self.text[self.at] in DOUBLE:
                    parts.append('"')
                    self.at += 1
                    continue
                return joined(parts)
            parts.append(self.escape() if char == "`" else self.dollar())
        raise self.fail("a quote is not closed")

    def escape(self) -> str:
        """What a backtick makes of the character after it."""
        self.at += 1
        char = self.peek()
        if char == "u" and self.text[self.at + 1 : self.at + 2] == "{":
            close = self.text.find("}", self.at)
            if 0 < close - self.at < 12:
                digits = self.text[self.at + 2 : close]
                self.at = close + 1
                try:
                    return chr(int(digits, 16))
                except (ValueError, OverflowError):
                    raise self.fail("an escape is not understood") from None
        self.at += 1
        if char == "\r" and self.peek() == "\n":
            self.at += 1
            return ""
        if char == "\n":
            return ""
        return _ESCAPES.get(char, char)

    def dollar(self) -> object:
        """`$name`, `${name}` or `$( … )` in a text; a `$` alone is itself."""
        self.count()
        if self.text.startswith("$(", self.at):
            return self.substitution()
        found = _VARIABLE.match(self.text, self.at)
        if found is None:
            self.at += 1
            return "$"
        self.at = found.end()
        return Variable((found.group(1) or found.group(2)).lower())

    def substitution(self) -> object:
        """`$( … )`; the room's parser knows statements."""
        raise NotImplementedError

    def here_string(self) -> Text | Mixed | None:
        """`@'…'@` or `@"…"@` over several lines, None where none begins here."""
        found = _HERE.match(self.text, self.at)
        if found is None:
            return None
        quote = found.group(1)
        kinds = SINGLE if quote in SINGLE else DOUBLE
        begin = found.end()
        close = re.compile(f"\\r?\\n[{kinds}]@").search(self.text, begin - 1)
        if close is None:
            raise self.fail("a here-string is not closed")
        if quote in SINGLE:
            self.at = close.end()
            return Text(self.text[begin : max(begin, close.start())])
        inner_end = max(begin, close.start())
        self.at = begin
        parts: list[object] = []
        while self.at < inner_end:
            char = self.text[self.at]
            if char == "`":
                parts.append(self.escape())
            elif char == "$":
                parts.append(self.dollar())
            else:
                stop = min(
                    (p for p in (self.text.find("$", self.at), self.text.find("`", self.at)) if p >= 0),
                    default=inner_end,
                )
                stop = min(stop, inner_end)
                parts.append(self.text[self.at : stop])
                self.at = stop
        self.at = max(close.end(), self.at)
        return joined(parts)

    # --- words --------------------------------------------------------------------------------------------------------

    def variable(self) -> Variable | None:
        """`$name`, `${name}` or `@name` (a splat), None where none stands here."""
        found = _VARIABLE.match(self.text, self.at)
        if found is None:
            return None
        splat = self.text[self.at] == "@"
        self.at = found.end()
        return Variable((found.group(1) or found.group(2)).lower(), splat)

    def number(self, strict: bool) -> Text | None:
        """A number; `strict` where a longer word (`7z`, `1.2.3`) may begin with one."""
        found = (_NUMBER if strict else _NUMBER_OPEN).match(self.text, self.at)
        if found is None:
            return None
        if not strict and self.text.startswith("..", found.start(1) + len(found.group(1).split(".")[0])):
            found = re.compile(r"(\d+)()()").match(self.text, self.at) or found
        digits, _, unit = found.groups()
        self.at = found.end()
        value: int | float
        if digits[:2].lower() == "0x":
            value = int(digits, 16)
        else:
            value = float(digits) if set(digits) & set(".eE") else int(digits[:40])
        if unit:
            value *= _UNITS[unit.lower()]
        return Text(value)

    def bare_word(self) -> Text | Mixed:
        """A word without quotes around it, up to a blank or a sign that ends it; quotes may stand inside."""
        parts: list[object] = []
        while self.at < self.end:
            found = _BARE.match(self.text, self.at)
            if found:
                parts.append(found.group())
                self.at = found.end()
                continue
            char = self.text[self.at]
            if char == "`":
                if self.text[self.at + 1 : self.at + 2] in ("\n", "\r", ""):
                    break
                # Windows PowerShell 5 knows no escape sign `e.
                parts.append(self.escape().replace("\x1b", "e"))
            elif char == "$":
                parts.append(self.dollar())
            elif char in SINGLE and parts:
                parts.append(self.single().value)
            elif char in DOUBLE and parts:
                inner = self.double()
                parts.extend(inner.parts if isinstance(inner, Mixed) else (inner.value,))
            else:
                break
        if not parts:
            raise self.fail(f"'{self.peek()}' is not expected here")
        return joined(parts, bare=True)


def joined(parts: list[object], *, bare: bool = False) -> Text | Mixed:
    """One text of constant and other parts."""
    merged: list[object] = []
    run: list[str] = []
    for part in parts:
        if isinstance(part, str):
            run.append(part)
            continue
        if run:
            merged.append("".join(run))
            run = []
        merged.append(part)
    if not merged:
        return Text("".join(run), bare)
    if run:
        merged.append("".join(run))
    return Mixed(tuple(merged), bare)

"""Owns a fast reader for the plain part of YAML: block and flow collections and one-line scalars.

It never guesses: whatever it does not know for certain (block scalars, anchors, tags, folded lines, odd numbers, every
mistake) is left to `yamlfile`, which hands it to the full parser. That one needs two seconds for what this reads in a
tenth of one; a test compares the two.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
Lines = dict[Path, int]

MAX_DEPTH = 30

# Characters that the full parser treats specially or refuses: tabs, other line ends, controls, byte order marks.
_ODD = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LINE = re.compile(r"^( *)(?=[^ \n#])", re.M)
_QUOTED = re.compile(r""""([^"\\\n]*(?:\\[\\"nt/][^"\\\n]*)*)"|'([^'\n]*(?:''[^'\n]*)*)'""")
_PLAIN_KEY = r"[A-Za-z_/.][A-Za-z0-9_.\-/]*(?: [A-Za-z0-9_.\-/]+)*"
_KEY = re.compile(rf"""(?:{_QUOTED.pattern}|({_PLAIN_KEY})):(?= |\n|\Z)""")
_PLAIN = re.compile(r"(?:[A-Za-z0-9_./\\$^(+~;]|-(?=[^ \n]))(?:[^\n#:]+|(?<! )#|:+(?=[^\n: ]))*")
_FLOW_PLAIN = re.compile(r"(?:[A-Za-z0-9_./\\$^(+~;]|-(?=[^ \n,\[\]{}]))[^\n#:,\[\]{}\"']*")
_FLOW_KEY = re.compile(rf"(?:{_QUOTED.pattern}|({_PLAIN_KEY})):(?=[ \n])")
_REST = re.compile(r" *(?:(?<= )#[^\n]*)?(?=\n|\Z)")
_BLANK = re.compile(r"(?: |\n|(?<=[ \n])#[^\n]*)*")
_NUMBER = re.compile(r"[-+.]*(?:[0-9_]|inf|nan)", re.I)
_INTEGER = re.compile(r"(?:0|[1-9][0-9]{0,15})\Z")
_NEVER_NUMBER = re.compile(r"[g-mp-wyG-MP-WY/*$(),;%@!?=~]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"\\": "\\", '"': '"', "n": "\n", "t": "\t", "/": "/"}
_WORDS: dict[str, object] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~"), None),
}


class NotPlain(Exception):
    """The text is more than this reader knows; not that it is wrong."""


def read(text: str) -> tuple[object, Lines]:
    """The value of a document and the 1-based line of each path in it, as `yamlfile.load` gives them.

    Raises NotPlain.
    """
    if _ODD.search(text) is not None:
        raise NotPlain
    reader = _Reader(text)
    if not reader.starts:
        raise NotPlain
    reader.lines[()] = reader.numbers[0]
    value, at = reader.block(0, (), 0)
    if at != len(reader.starts):
        raise NotPlain
    return value, reader.lines


class _Reader:
    """Reads one text; `starts`, `indents` and `numbers` are of the lines that hold something."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: Lines = {}
        self.starts: list[int] = []
        self.indents: list[int] = []
        self.numbers: list[int] = []
        number, seen = 1, 0
        for found in _LINE.finditer(text):
            start = found.end()
            number += text.count("\n", seen, start)
            seen = start
            self.starts.append(start)
            self.indents.append(start - found.start())
            self.numbers.append(number)

    def block(self, at: int, path: Path, depth: int) -> tuple[object, int]:
        """The collection whose first line is `at`, and the line behind it."""
        if depth > MAX_DEPTH:
            raise NotPlain
        if self._is_item(at):
            return self._sequence(at, path, depth)
        return self._mapping(at, path, depth)

    def _is_item(self, at: int) -> bool:
        start = self.starts[at]
        return self.text[start] == "-" and self.text[start + 1 : start + 2] in (" ", "\n", "")

    def _mapping(self, at: int, path: Path, depth: int) -> tuple[object, int]:
        indent = self.indents[at]
        found: dict[str, object] = {}
        while at < len(self.starts) and self.indents[at] == indent and not self._is_item(at):
            matched = _KEY.match(self.text, self.starts[at])
            if matched is None:
                raise NotPlain
            key = _key(matched)
            if key in found:
                raise NotPlain
            here = (*path, key)
            self.lines[here] = self.numbers[at]
            found[key], at = self._value(at, matched.end(), here, indent, depth, in_mapping=True)
        if at < len(self.starts) and self.indents[at] > indent:
            raise NotPlain
        return found, at

    def _sequence(self, at: int, path: Path, depth: int) -> tuple[object, int]:
        indent = self.indents[at]
        found: list[object] = []
        while at < len(self.starts) and self.indents[at] == indent and self._is_item(at):
            here = (*path, len(found))
            start = self.starts[at] + 1
            content = _skip_spaces(self.text, start)
            self.lines[here] = self.numbers[at]
            if self._is_collection(content):
                # `- key: value`: the line goes on as the first one of a collection further in.
                self.indents[at] += content - self.starts[at]
                self.starts[at] = content
                value, at = self.block(at, here, depth + 1)
            else:
                value, at = self._value(at, start, here, indent, depth, in_mapping=False)
            found.append(value)
        if at < len(self.starts) and self.indents[at] > indent:
            raise NotPlain
        return found, at

    def _is_collection(self, content: int) -> bool:
        text = self.text
        if text[content : content + 1] == "-" and text[content + 1 : content + 2] in (" ", "\n", ""):
            return True
        return _KEY.match(text, content) is not None

    def _value(
        self, at: int, start: int, path: Path, indent: int, depth: int, *, in_mapping: bool
    ) -> tuple[object, int]:
        """What stands behind `key:` or `-` at `start` on line `at`, and the line behind it."""
        text = self.text
        if _REST.match(text, start) is not None:
            after = at + 1
            if after < len(self.starts):
                deeper = self.indents[after] > indent
                if deeper or (in_mapping and self.indents[after] == indent and self._is_item(after)):
                    if not in_mapping:
                        self.lines[path] = self.numbers[after]
                    if deeper and text[self.starts[after]] in "[{":
                        return self._scalar_or_flow(after, self.starts[after], path, indent, depth)
                    return self.block(after, path, depth + 1)
            return None, after
        return self._scalar_or_flow(at, _skip_spaces(text, start), path, indent, depth)

    def _scalar_or_flow(self, at: int, begin: int, path: Path, indent: int, depth: int) -> tuple[object, int]:
        """What begins at `begin` on line `at` and ends with a line, and the line behind it."""
        text = self.text
        char = text[begin]
        last = at
        if char in "[{":
            value, end, line = self._flow(begin, self.numbers[at], path, depth + 1)
            while last + 1 < len(self.starts) and self.starts[last + 1] < end:
                last += 1
                if self.indents[last] <= indent:
                    raise NotPlain
            if line != self.numbers[last]:
                raise NotPlain
        elif char in "\"'":
            matched = _QUOTED.match(text, begin)
            if matched is None:
                raise NotPlain
            value, end = _quoted(matched), matched.end()
        else:
            matched = _PLAIN.match(text, begin)
            if matched is None:
                raise NotPlain
            value, end = _plain(matched.group().rstrip(" ")), matched.end()
            if text[end - 1] == " ":
                end -= 1
        if _REST.match(text, end) is None:
            raise NotPlain
        if last + 1 < len(self.starts) and self.indents[last + 1] > indent:
            raise NotPlain
        return value, last + 1

    def _flow(self, at: int, line: int, path: Path, depth: int) -> tuple[object, int, int]:
        """The flow collection or scalar at `at`: its value, where it ends, and on which line."""
        text = self.text
        char = text[at : at + 1]
        if char == "[":
            return self._flow_sequence(at + 1, line, path, depth)
        if char == "{":
            return self._flow_mapping(at + 1, line, path, depth)
        if char in ('"', "'"):
            matched = _QUOTED.match(text, at)
            if matched is None:
                raise NotPlain
            return _quoted(matched), matched.end(), line
        matched = _FLOW_PLAIN.match(text, at)
        if matched is None:
            raise NotPlain
        return _plain(matched.group().rstrip(" ")), matched.end(), line

    def _flow_sequence(self, at: int, line: int, path: Path, depth: int) -> tuple[object, int, int]:
        if depth > MAX_DEPTH:
            raise NotPlain
        found: list[object] = []
        while True:
            at, line = self._blank(at, line)
            if self.text[at : at + 1] == "]":
                return found, at + 1, line
            here = (*path, len(found))
            self.lines[here] = line
            value, at, line = self._flow(at, line, here, depth + 1)
            found.append(value)
            at, line = self._separator(at, line, "]")

    def _flow_mapping(self, at: int, line: int, path: Path, depth: int) -> tuple[object, int, int]:
        if depth > MAX_DEPTH:
            raise NotPlain
        found: dict[str, object] = {}
        while True:
            at, line = self._blank(at, line)
            if self.text[at : at + 1] == "}":
                return found, at + 1, line
            matched = _FLOW_KEY.match(self.text, at)
            if matched is None:
                raise NotPlain
            key = _key(matched)
            if key in found:
                raise NotPlain
            here = (*path, key)
            self.lines[here] = line
            at, line = self._blank(matched.end(), line)
            value, at, line = self._flow(at, line, here, depth + 1)
            found[key] = value
            at, line = self._separator(at, line, "}")

    def _separator(self, at: int, line: int, closing: str) -> tuple[int, int]:
        """Behind the comma, or at the closing bracket."""
        at, line = self._blank(at, line)
        char = self.text[at : at + 1]
        if char == ",":
            return at + 1, line
        if char != closing:
            raise NotPlain
        return at, line

    def _blank(self, at: int, line: int) -> tuple[int, int]:
        matched = _BLANK.match(self.text, at)
        end = matched.end() if matched is not None else at
        return end, line + self.text.count("\n", at, end) if end != at else line


def _skip_spaces(text: str, at: int) -> int:
    while text[at : at + 1] == " ":
        at += 1
    return at


def _key(matched: re.Match[str]) -> str:
    plain = matched.group(3)
    return plain if plain is not None else _quoted(matched)


def _quoted(matched: re.Match[str]) -> str:
    double = matched.group(1)
    if double is None:
        return matched.group(2).replace("''", "'")
    return _ESCAPE.sub(lambda m: _ESCAPES[m.group(1)], double) if "\\" in double else double


def _plain(text: str) -> object:
    """The value of a scalar without quotes, by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.match(text) is not None:
        if _INTEGER.match(text) is not None:
            return int(text)
        if _NEVER_NUMBER.search(text) is None:
            raise NotPlain
    return text

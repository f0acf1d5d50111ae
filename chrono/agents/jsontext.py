"""Owns changing a JSON text in place: strict reading with positions, insertion and removal that leave all else alone.

What is written into which settings file is left to the adapters. Strict as RFC 8259: clients whose reader is strict
drop a whole file over one comment, and nobody notices that its hooks are gone.
"""

from __future__ import annotations

import json
import re

from chrono.tuples import NamedTuple

MAX_DEPTH = 100

_SPACE = re.compile(r"[ \t\n\r]*")
_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\n\r]+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_LITERALS = {"true": True, "false": False, "null": None}


class NotJson(ValueError):
    """Text that is not strict JSON; `line` and `column` are 1-based."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {why}")
        self.line = line
        self.column = column


class Node(NamedTuple):
    """One value of the text, at characters [start, end). `scalar` for strings, numbers, true, false, null.

    `children` of an object or array in order; `keys` of an object beside them; `starts` where each child begins, for
    a member at its key.
    """

    kind: str
    start: int
    end: int
    scalar: object = None
    children: tuple[Node, ...] = ()
    keys: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def get(self, key: str) -> Node | None:
        """The member called `key` of an object, else None."""
        if self.kind != "object" or key not in self.keys:
            return None
        return self.children[self.keys.index(key)]

    def text(self) -> str | None:
        """The value of a string, else None."""
        return self.scalar if isinstance(self.scalar, str) else None


def read(text: str, *, comments: bool = False) -> Node:
    """The value of `text`. Raises NotJson, also for a duplicate key: which of the two counts is anyone's guess.

    `comments`: the client whose file it is reads over `//` and `/* */`; a trailing comma is an error all the same.
    """
    reader = _Reader(text, _SPACE_AND_COMMENTS if comments else _SPACE)
    node = reader.value(reader.skip(0), 0)
    end = reader.skip(node.end)
    if end != len(text):
        raise reader.error("a comment" if text[end] == "/" else "something after the end", end)
    return node


def insert_member(text: str, parent: Node, key: str, value: object, depth: int) -> str:
    """`text` with member `key` at the end of object `parent`, which lies `depth` containers deep."""
    return _insert(text, parent, json.dumps(key, ensure_ascii=False) + ": ", value, depth)


def append_item(text: str, parent: Node, value: object, depth: int) -> str:
    """`text` with `value` at the end of array `parent`, which lies `depth` containers deep."""
    return _insert(text, parent, "", value, depth)


def remove_child(text: str, parent: Node, index: int) -> str:
    """`text` without child `index` of `parent`, and without the comma that belonged to it."""
    child = parent.children[index]
    if index > 0:
        return text[: parent.children[index - 1].end] + text[child.end :]
    if len(parent.children) > 1:
        return text[: parent.starts[0]] + text[parent.starts[1] :]
    return text[: parent.start + 1] + text[parent.end - 1 :]


def _insert(text: str, parent: Node, label: str, value: object, depth: int) -> str:
    body = text[parent.start : parent.end]
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent_unit(text)
    if parent.children and "\n" not in body:
        piece = ", " + label + json.dumps(value, ensure_ascii=False)
        at = parent.children[-1].end
        return text[:at] + piece + text[at:]
    inner = newline + unit * (depth + 1)
    raw = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", inner)
    if parent.children:
        at = parent.children[-1].end
        return text[:at] + "," + inner + label + raw + text[at:]
    outer = newline + unit * depth
    comment = text[parent.start + 1 : parent.end - 1].rstrip()
    return text[: parent.start + 1] + comment + inner + label + raw + outer + text[parent.end - 1 :]


def _indent_unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match.group(1) if match else "  "


class _Reader:
    """One pass over the text."""

    def __init__(self, text: str, space: re.Pattern[str]) -> None:
        self._text = text
        self._space = space

    def skip(self, at: int) -> int:
        match = self._space.match(self._text, at)
        return match.end() if match else at

    def error(self, why: str, at: int) -> NotJson:
        before = self._text[:at]
        return NotJson(why, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)

    def value(self, at: int, depth: int) -> Node:
        text = self._text
        if at >= len(text):
            raise self.error("the text ends too early", at)
        if depth > MAX_DEPTH:
            raise self.error("nested too deeply", at)
        char = text[at]
        if char in "{[":
            return self._container(at, depth, "object" if char == "{" else "array")
        if char == '"':
            return self._string(at)
        number = _NUMBER.match(text, at)
        if number:
            return Node("number", at, number.end(), json.loads(number.group()))
        for word, scalar in _LITERALS.items():
            if text.startswith(word, at):
                return Node("literal", at, at + len(word), scalar)
        raise self.error("a comment" if char == "/" else f"{char!r} where a value is expected", at)

    def _string(self, at: int) -> Node:
        match = _STRING.match(self._text, at)
        if match is None:
            raise self.error("a string that does not end, or holds a bare control character", at)
        return Node("string", at, match.end(), json.loads(match.group()))

    def _container(self, start: int, depth: int, kind: str) -> Node:
        text = self._text
        close = "}" if kind == "object" else "]"
        children: list[Node] = []
        keys: list[str] = []
        starts: list[int] = []
        at = self.skip(start + 1)
        while not text.startswith(close, at):
            starts.append(at)
            if kind == "object":
                at = self._key(at, keys)
            child = self.value(at, depth + 1)
            children.append(child)
            at = self.skip(child.end)
            if text.startswith(",", at):
                comma, at = at, self.skip(at + 1)
                if text.startswith(close, at):
                    raise self.error("a trailing comma", comma)
            elif not text.startswith(close, at):
                what = "a comment" if text.startswith("/", at) else f"no `,` or `{close}`"
                raise self.error(what, at)
        return Node(kind, start, at + 1, None, tuple(children), tuple(keys), tuple(starts))

    def _key(self, at: int, keys: list[str]) -> int:
        text = self._text
        if not text.startswith('"', at):
            raise self.error("a comment" if text.startswith("/", at) else "no key in double quotes", at)
        node = self._string(at)
        key = str(node.scalar)
        if key in keys:
            raise self.error(f"the key {key!r} a second time", at)
        keys.append(key)
        colon = self.skip(node.end)
        if not text.startswith(":", colon):
            raise self.error("no `:` after a key", colon)
        return self.skip(colon + 1)

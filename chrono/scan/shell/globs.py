"""Owns shell patterns: matching, removing and replacing, on constants, in bounded time.

A pattern is a `str` in which a backslash quotes the next character. Where the answer would cost too much, or the value
is not known, it is None. File names are left to `files`.
"""

from __future__ import annotations

import re

from chrono.scan.expression import expression

MAX_CHARS = 4096
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "cntrl": r"\x01-\x1f\x7f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e", "word": r"\w",
}  # fmt: skip
_POSIX = expression(r"\[:([a-z]+):\]")
_cache: dict[str, re.Pattern[str] | None] = {}


def quote(text: str) -> str:
    """Text as a pattern that matches itself."""
    return re.sub(r"([\\*?\[\]!@+()|^-])", r"\\\1", text)


def has_magic(pattern: str) -> bool:
    return any(char in pattern for char in "*?[")


def _compiled(pattern: str) -> re.Pattern[str] | None:
    if pattern not in _cache:
        if len(_cache) > 500:
            _cache.clear()
        try:
            _cache[pattern] = re.compile(_Translator(pattern).translate(), re.DOTALL)
        except (re.error, _Unsupported, RecursionError, OverflowError):
            _cache[pattern] = None
    return _cache[pattern]


class _Unsupported(Exception):
    pass


class _Translator:
    """Pattern -> regular expression."""

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_CHARS:
            raise _Unsupported
        self.pattern = pattern
        self.at = 0

    def translate(self, stops: str = "", depth: int = 0) -> str:
        out: list[str] = []
        if depth > 8:
            raise _Unsupported
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char in stops:
                break
            self.at += 1
            if char in "?*+@!" and self.pattern.startswith("(", self.at):
                out.append(self._group(char, depth))
            elif char == "*":
                if not out or out[-1] != ".*":
                    out.append(".*")
            elif char == "?":
                out.append(".")
            elif char == "[":
                out.append(self._bracket())
            elif char == "\\" and self.at < len(self.pattern):
                out.append(re.escape(self.pattern[self.at]))
                self.at += 1
            else:
                out.append(re.escape(char))
        return "".join(out)

    def _group(self, kind: str, depth: int) -> str:
        self.at += 1
        branches = [self.translate("|)", depth + 1)]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            branches.append(self.translate("|)", depth + 1))
        if not self.pattern.startswith(")", self.at):
            raise _Unsupported
        self.at += 1
        inner = "|".join(branches)
        if kind == "!":
            # Exact only where the group is all that is left, which is how it is used.
            if self.at < len(self.pattern):
                raise _Unsupported
            return f"(?!(?:{inner})\\Z).*"
        return f"(?:{inner})" + {"?": "?", "*": "*", "+": "+", "@": ""}[kind]

    def _bracket(self) -> str:
        end = self.at
        if self.pattern.startswith(("!", "^"), end):
            end += 1
        if self.pattern.startswith("]", end):
            end += 1
        while end < len(self.pattern) and self.pattern[end] != "]":
            posix = _POSIX.match(self.pattern, end)
            end = posix.end() if posix else end + (2 if self.pattern[end] == "\\" else 1)
        if end >= len(self.pattern):
            return r"\["
        body = self.pattern[self.at : end]
        self.at = end + 1
        negated = body.startswith(("!", "^"))
        body = body[1:] if negated else body
        out: list[str] = []
        for piece in re.finditer(r"\[:([a-z]+):\]|\\(.)|(.)", body, re.DOTALL):
            name, quoted, char = piece.groups()
            if name:
                out.append(_CLASSES.get(name, ""))
            elif quoted:
                out.append(re.escape(quoted))
            else:
                out.append("\\" + char if char in "[\\^&~|" else char)
        return f"[{'^' if negated else ''}{''.join(out)}]"


def _affordable(pattern: str, value: str, rounds: int = 0) -> bool:
    """Whether a backtracking match is cheap: length to the power of the stars, times the places it starts at."""
    if "\0" in pattern or "\0" in value:
        return False
    stars = pattern.count("*") + pattern.count("+(") + rounds
    if "*(" in pattern or "+(" in pattern:
        return len(value) <= 20 and stars <= 3
    cost = 1
    for _ in range(stars):
        cost *= max(len(value), 1)
        if cost > 2_000_000:
            return False
    return True


def matches(pattern: str, value: str) -> bool | None:
    """Whether the whole value matches; None where that is not known."""
    if "\0" in pattern or "\0" in value:
        return _may_match(pattern, value)
    if not _affordable(pattern, value):
        return None
    compiled = _compiled(pattern)
    return None if compiled is None else compiled.fullmatch(value) is not None


def _may_match(pattern: str, value: str) -> bool | None:
    """With unknown runs: a lone `*` matches all, and known ends that differ exclude a match."""
    if pattern and not pattern.strip("*"):
        return True
    if "\0" in pattern or pattern == value:
        return None
    head, tail = value[: value.index("\0")], value[value.rindex("\0") + 1 :]
    literal = re.match(r"[^\\*?\[+@!(]*", pattern)
    start = literal.group() if literal else ""
    whole = len(start) == len(pattern)
    shared = min(len(start), len(head))
    if start[:shared] != head[:shared] or (whole and (len(head) + len(tail) > len(start))):
        return False
    if whole and not start.endswith(tail):
        return False
    return None


def remove(pattern: str, value: str, op: str) -> str | None:
    """`${value#pattern}` and its kin (`#`, `##`, `%`, `%%`)."""
    if not _affordable(pattern, value, 1) or len(value) > MAX_CHARS:
        return None
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    size = len(value)
    if op in ("#", "##"):
        order = range(size + 1) if op == "#" else range(size, -1, -1)
        for end in order:
            if compiled.fullmatch(value, 0, end):
                return value[end:]
        return value
    order = range(size, -1, -1) if op == "%" else range(size + 1)
    for start in order:
        if compiled.fullmatch(value, start):
            return value[:start]
    return value


def replace(pattern: str, value: str, replacement: str, op: str) -> str | None:
    """`${value/pattern/replacement}` and its kin (`/`, `//`, `/#`, `/%`)."""
    if not pattern:
        return {"/#": replacement + value, "/%": value + replacement}.get(op, value)
    if not _affordable(pattern, value, 1) or len(value) > 16 * MAX_CHARS:
        return None
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    if op == "/#":
        found = compiled.match(value)
        return replacement + value[found.end() :] if found else value
    if op == "/%":
        for start in range(len(value) + 1):
            if compiled.fullmatch(value, start):
                return value[:start] + replacement
        return value
    if op == "/":
        return compiled.sub(lambda _: replacement, value, count=1)
    out: list[str] = []
    at = 0
    for found in compiled.finditer(value):
        if found.end() > found.start():
            out += (value[at : found.start()], replacement)
            at = found.end()
    return "".join((*out, value[at:]))


def change_case(pattern: str, value: str, op: str) -> str | None:
    """`${value^pattern}` and its kin (`^`, `^^`, `,`, `,,`)."""
    if "\0" in value or "\0" in pattern:
        return None
    change = str.upper if op[0] == "^" else str.lower
    compiled = _compiled(pattern) if pattern else None
    if pattern and compiled is None:
        return None

    def convert(char: str) -> str:
        changed = change(char) if compiled is None or compiled.fullmatch(char) else char
        return changed if len(changed) == 1 else char

    if len(op) == 2:
        return "".join(map(convert, value))
    return convert(value[0]) + value[1:] if value else value

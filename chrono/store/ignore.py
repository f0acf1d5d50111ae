"""Owns gitignore syntax: parsing patterns and asking whether a path matches (git: gitignore(5), wildmatch.c).

Reading the files and walking the tree are left to `store.scanning`. Everything is bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.tuples import NamedTuple

_SPECIAL = frozenset(b"*?[\\")
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


class Pattern(NamedTuple):
    """One line. `matches` is asked with the name where `by_name`, else with the path below the file's folder."""

    matches: Callable[[bytes], object]
    negated: bool
    folders_only: bool
    by_name: bool


class Patterns(NamedTuple):
    """The patterns of one file, in order; the last that fits decides."""

    items: tuple[Pattern, ...]

    def decides(self, path: bytes, *, is_folder: bool) -> bool | None:
        """True: ignored; False: taken back by `!`; None: no pattern fits. `path` is below the file's folder."""
        name = path.rpartition(b"/")[2]
        for pattern in reversed(self.items):
            if pattern.folders_only and not is_folder:
                continue
            if pattern.matches(name if pattern.by_name else path):
                return not pattern.negated
        return None


NOTHING = Patterns(())


def parse(data: bytes) -> Patterns:
    """Parses the content of a `.gitignore` or `.chronoignore`. Never fails: what git takes for no match is none."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    lines = data.split(b"\n")
    found = []
    for position, line in enumerate(lines):
        if position < len(lines) - 1 and line.endswith(b"\r"):
            line = line[:-1]
        pattern = _parse_line(line)
        if pattern is not None:
            found.append(pattern)
    return Patterns(tuple(found))


def ignored(path: bytes, *, is_folder: bool, files: Callable[[bytes], Patterns]) -> bool:
    """Whether git would ignore `path` (relative to the root): a folder that is ignored takes its content along.

    `files(folder)` are the patterns that stand in a folder, b"" for the root. The nearest file is asked first.
    """
    names = path.split(b"/")
    for depth in range(1, len(names) + 1):
        folder = is_folder or depth < len(names)
        for level in range(depth - 1, -1, -1):
            base = b"/".join(names[:level])
            answer = files(base).decides(b"/".join(names[level:depth]), is_folder=folder)
            if answer is not None:
                if answer:
                    return True
                break
    return False


def _parse_line(line: bytes) -> Pattern | None:
    if not line or line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith(b"!")
    if negated:
        line = line[1:]
    folders_only = line.endswith(b"/")
    if folders_only:
        line = line[:-1]
    by_name = b"/" not in line
    if line.startswith(b"/"):
        line = line[1:]
    if not line:
        return None
    return Pattern(_matcher(line, pathname=not by_name), negated, folders_only, by_name)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Git's rule: spaces at the end go, unless a backslash stands before them."""
    keep = 0
    position = 0
    while position < len(line):
        if line[position] == 0x5C:
            position += 2
            keep = min(position, len(line))
            continue
        position += 1
        if line[position - 1] != 0x20:
            keep = position
    return line[:keep]


def _matcher(pattern: bytes, *, pathname: bool) -> Callable[[bytes], object]:
    """A function that says whether the whole of a text fits `pattern`."""
    literal = 0
    while literal < len(pattern) and pattern[literal] not in _SPECIAL:
        literal += 1
    if literal == len(pattern):
        return pattern.__eq__
    # Git compares the literal start by itself, so that "**" behind it counts as if at the start of the pattern.
    head = re.escape(pattern[:literal]) if pathname else b""
    expression = _translate(pattern[literal:] if pathname else pattern, pathname)
    if expression is None:
        return _never
    return re.compile(head + expression, re.DOTALL).fullmatch


def _never(_: bytes) -> bool:
    return False


def _translate(pattern: bytes, pathname: bool) -> bytes | None:
    """The regular expression for a wildmatch pattern, None where it can match nothing."""
    out = bytearray()
    position = 0
    one = b"[^/]" if pathname else b"."
    while position < len(pattern):
        char = pattern[position]
        if char == 0x2A:
            position = _translate_stars(pattern, position, out, pathname)
        elif char == 0x3F:
            out += one
            position += 1
        elif char == 0x5B:
            bracket = _translate_bracket(pattern, position, pathname)
            if bracket is None:
                return None
            expression, position = bracket
            out += expression
        elif char == 0x5C:
            if position + 1 == len(pattern):
                return None
            out += re.escape(pattern[position + 1 : position + 2])
            position += 2
        else:
            out += re.escape(pattern[position : position + 1])
            position += 1
    return bytes(out)


def _translate_stars(pattern: bytes, position: int, out: bytearray, pathname: bool) -> int:
    end = position
    while end < len(pattern) and pattern[end] == 0x2A:
        end += 1
    rest = pattern[end : end + 2]
    whole_part = (position == 0 or pattern[position - 1] == 0x2F) and (rest[:1] in (b"", b"/") or rest == b"\\/")
    if not pathname:
        out += b".*"
    elif end - position == 1 or not whole_part:
        out += b"[^/]*"
    elif rest[:1] == b"/":
        out += b"(?:.*/)?"
        end += 1
    else:
        out += b".*"
    return end


def _translate_bracket(pattern: bytes, start: int, pathname: bool) -> tuple[bytes, int] | None:
    """The class that begins at `start` and where it ends; None where it is not closed or names no known class."""
    position = start + 1
    negated = pattern[position : position + 1] in (b"!", b"^")
    if negated:
        position += 1
    members = bytearray()
    first = True
    previous: int | None = None
    while True:
        if position >= len(pattern):
            return None
        char = pattern[position]
        if char == 0x5D and not first:
            break
        first = False
        if char == 0x5B and pattern[position + 1 : position + 2] == b":":
            close = pattern.find(b"]", position + 2)
            if close < 0:
                return None
            if close > position + 2 and pattern[close - 1] == 0x3A:
                name = pattern[position + 2 : close - 1]
                if name not in _CLASSES:
                    return None
                members += _CLASSES[name]
                position = close + 1
                previous = None
                continue
        if char == 0x2D and previous is not None and pattern[position + 1 : position + 2] not in (b"", b"]"):
            position += 1
            high = pattern[position]
            if high == 0x5C:
                position += 1
                if position >= len(pattern):
                    return None
                high = pattern[position]
            if previous <= high:
                members += _member(previous) + b"-" + _member(high)
            previous = None
            position += 1
            continue
        if char == 0x5C:
            position += 1
            if position >= len(pattern):
                return None
            char = pattern[position]
        members += _member(char)
        previous = char
        position += 1
    if not members:
        body = b"." if negated else b"(?!)"
    else:
        body = b"[" + (b"^" if negated else b"") + bytes(members) + b"]"
    return (b"(?!/)" + body if pathname else body), position + 1


def _member(char: int) -> bytes:
    return b"\\x%02x" % char

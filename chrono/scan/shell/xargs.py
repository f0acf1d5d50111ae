"""Owns `xargs`: which commands it starts for a known input, and for an unknown one."""

from __future__ import annotations

import re

from chrono.scan.expression import expression
from chrono.scan.shell.ansi import decode_printf
from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS, NUL_BYTE

MAX_COMMANDS = 24
_VALUES = "adEILnPs"
_LONG = frozenset(("--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars",
                   "--process-slot-var"))  # fmt: skip
_TOKEN = expression(r"(?:\"([^\"\n]*)\"|'([^'\n]*)'|\\(.)|([^\s\"'\\]+))", re.DOTALL)


class _Options:
    def __init__(self) -> None:
        self.delimiter = ""
        self.replace = ""
        self.per_command = 0
        self.lines = 0
        self.file = ""
        self.skip_empty = False


def xargs(argv: Argv, state: State) -> list[Inner]:
    """What `xargs` starts, its own standard input taken up."""
    options, command = _read(argv)
    if not command:
        command = ("echo",)
    text = None if options.file else state.stdin
    if options.replace:
        return [_inner(argv) for argv in _replaced(command, options, text)]
    if text is None:
        return [_inner((*command, MANY_FIELDS))]
    if options.lines:
        groups = [_tokens(line, "") for line in text.split("\n") if line.strip()]
        size = options.lines
        groups = [[t for g in groups[at : at + size] for t in g] for at in range(0, len(groups), size)]
    else:
        tokens = _tokens(text, options.delimiter)
        size = options.per_command or len(tokens) or 1
        groups = [tokens[at : at + size] for at in range(0, len(tokens), size)]
    if not groups and not options.skip_empty:
        groups = [[]]
    if len(groups) > MAX_COMMANDS:
        groups = [*groups[: MAX_COMMANDS - 1], [MANY_FIELDS]]
    return [_inner((*command, *group)) for group in groups]


def _inner(argv: Argv) -> Inner:
    return Inner(argv=argv, label="xargs", stdin="")


def _read(argv: Argv) -> tuple[_Options, Argv]:
    options = _Options()
    at = 1
    while at < len(argv):
        word = argv[at]
        if word == "--":
            at += 1
            break
        if len(word) < 2 or word[0] != "-" or word == MANY_FIELDS:
            break
        at += 1
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if not equals and name in _LONG and at < len(argv):
                value = argv[at]
                at += 1
            _set_long(options, name, value)
            continue
        at = _cluster(options, word, argv, at)
    return options, argv[at:]


def _set_long(options: _Options, name: str, value: str) -> None:
    if name == "--null":
        options.delimiter = NUL_BYTE
    elif name == "--no-run-if-empty":
        options.skip_empty = True
    elif name == "--delimiter":
        options.delimiter = decode_printf(value)
    elif name == "--replace":
        options.replace = value or "{}"
    elif name == "--max-args":
        options.per_command = _number(value)
    elif name == "--max-lines":
        options.lines = _number(value or "1")
    elif name == "--arg-file":
        options.file = value


def _cluster(options: _Options, word: str, argv: Argv, at: int) -> int:
    """Letters of one word; answers the place to go on."""
    for place, letter in enumerate(word[1:], 2):
        rest = word[place:]
        if letter == "i":
            options.replace = rest or "{}"
            break
        if letter in ("e", "l"):
            options.lines = _number(rest or "1") if letter == "l" else options.lines
            break
        if letter in _VALUES:
            if not rest:
                rest = argv[at] if at < len(argv) else ""
                at += 1
            _set_short(options, letter, rest)
            break
        if letter == "0":
            options.delimiter = NUL_BYTE
        elif letter == "r":
            options.skip_empty = True
        elif letter == "J":
            options.replace = rest or (argv[at] if at < len(argv) else "")
            at += not rest
            break
    return at


def _set_short(options: _Options, letter: str, value: str) -> None:
    if letter == "d":
        options.delimiter = decode_printf(value)[:1]
    elif letter == "I":
        options.replace = value
    elif letter == "n":
        options.per_command = _number(value)
    elif letter == "L":
        options.lines = _number(value)
    elif letter == "a":
        options.file = value


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 0


def _tokens(text: str, delimiter: str) -> list[str]:
    """The arguments in a text; an unknown run among blanks may be any number of them."""
    if delimiter:
        parts = text.split(delimiter)
        if parts[-1] == "":
            parts.pop()
        return [MANY_FIELDS if part == "\0" else part for part in parts]
    out: list[str] = []
    at = 0
    current: list[str] = []
    have = False
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in " \t\n\r\v\f" and have:
                out.append("".join(current))
                current, have = [], False
            at += 1
            continue
        double, single, escaped, plain = match.groups()
        piece = next(value for value in (double, single, escaped, plain) if value is not None)
        current.append(piece)
        have = True
        at = match.end()
    if have:
        out.append("".join(current))
    return [MANY_FIELDS if word == "\0" else word for word in out]


def _replaced(command: Argv, options: _Options, text: str | None) -> list[Argv]:
    """-I: one command a line, blanks in front of the line gone, the mark replaced everywhere."""
    if text is None:
        items = ["\0"]
    elif options.delimiter:
        items = text.split(options.delimiter)
        items = items[:-1] if items[-1] == "" else items
    else:
        items = [_unquoted(line.lstrip(" \t")) for line in text.split("\n") if line.strip()]
    if len(items) > MAX_COMMANDS:
        items = [*items[: MAX_COMMANDS - 1], "\0"]
    return [tuple(word.replace(options.replace, item) for word in command) for item in items]


def _unquoted(line: str) -> str:
    return re.sub(r"\"([^\"]*)\"|'([^']*)'|\\(.)", lambda m: next(g for g in m.groups() if g is not None), line)

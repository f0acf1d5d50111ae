"""Owns builtins that set variables and parameters: declare and its kin, read, mapfile, set, shift, unset, let, getopts.

The other builtins are left to `builtins`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.expression import expression
from chrono.scan.shell import assignments
from chrono.scan.shell.arithmetic import Failed
from chrono.scan.shell.calculate import arithmetic
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.parameter_values import ifs_of
from chrono.scan.shell.printing import printf
from chrono.scan.shell.state import (
    UNKNOWN_ARRAY,
    UNKNOWN_STATUS,
    UNKNOWN_VALUE,
    Argv,
    Array,
    State,
)
from chrono.scan.shell.values import MANY_FIELDS, NUL_BYTE

_ASSIGNED = expression(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?=)(.*)\Z", re.DOTALL)


def declare(m: Machine, argv: Argv, state: State) -> None:
    """`declare`, `typeset`, `local`, `export`, `readonly`."""
    name = argv[0]
    letters = ""
    at = 1
    while at < len(argv) and re.fullmatch(r"[-+][A-Za-z]+|--", argv[at]):
        letters += argv[at][1:] if argv[at][0] == "-" else ""
        at += 1
    state.status = 0
    if "f" in letters or "F" in letters:
        for function in argv[at:]:
            if name == "export" or "x" in letters:
                state.export(f"{function}()")
        return
    exports = (name == "export" and "n" not in letters) or ("x" in letters and name != "export")
    local = name == "local" or (name in ("declare", "typeset") and bool(m.calls) and "g" not in letters)
    for word in argv[at:]:
        _declare(m, word, letters, state, local=local, exports=exports)
        if exports:
            assignments.run_held(m, word.partition("=")[0], state)


def _declare(m: Machine, word: str, letters: str, state: State, *, local: bool, exports: bool) -> None:
    match = _ASSIGNED.match(word)
    name = match[1] if match else word
    if not name.isidentifier():
        return
    if local and state.saved is not None:
        state.saved.setdefault(name, state.vars.get(name) or ())
        if match is None:
            state.set(name, None)
    marks = "".join(letter for letter in letters if letter in "aAilunr")
    if marks:
        state.own()
        state.marks[name] = state.marks.get(name, "") + marks
    if match is None and name not in state.vars and ("a" in letters or "A" in letters):
        state.set(name, Array((), (), "A" in letters))
    if match is not None:
        assignment = m.declared.get(word)
        if assignment is not None:
            assignments.assign(m, assignment, state)
        elif match[2]:
            state.set(name, UNKNOWN_ARRAY)
        else:
            assignments.set_text(m, name, None, match[4], state, append=match[3] == "+=")
    if exports:
        state.export(name)


def unset(m: Machine, argv: Argv, state: State) -> None:
    functions = argv[1:2] == ("-f",)
    state.own()
    for name in argv[1:]:
        if name.startswith("-"):
            continue
        if functions or (name not in state.vars and name in state.funcs):
            state.funcs.pop(name, None)
            continue
        base, bracket, rest = name.partition("[")
        if bracket:
            _unset_element(base, rest.removesuffix("]"), state)
        elif name.isidentifier():
            state.set(name, None)
    state.status = 0


def _unset_element(name: str, key: str, state: State) -> None:
    value = state.get(name)[0]
    if isinstance(value, Array) and "\0" not in key:
        kept = [(k, v) for k, v in zip(value.keys, value.values, strict=True) if k != key]
        state.set(name, Array(tuple(k for k, _ in kept), tuple(v for _, v in kept), value.associative))


def set_options(m: Machine, argv: Argv, state: State) -> None:
    """`set`: options, and the positional parameters behind `--` or the first word that is none."""
    at = 1
    state.status = 0
    while at < len(argv):
        word = argv[at]
        if word in ("--", "-"):
            _set_parameters(m, argv[at + 1 :], state)
            return
        if len(word) < 2 or word[0] not in "-+" or word == MANY_FIELDS:
            _set_parameters(m, argv[at:], state)
            return
        at += 1
        for letter in word[1:]:
            option = letter
            if letter == "o":
                option = {"errexit": "e", "noglob": "f", "nounset": "u", "noexec": "n"}.get(
                    argv[at] if at < len(argv) else "", argv[at] if at < len(argv) else ""
                )
                at += 1
            state.options = state.options | {option} if word[0] == "-" else state.options - {option}


def _set_parameters(m: Machine, params: Argv, state: State) -> None:
    state.params = params
    state.came_from("@", tuple(m.sources))


def shift(m: Machine, argv: Argv, state: State) -> None:
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdecimal() and len(argv[1]) < 6 else 1
    state.status = 0
    if (len(argv) > 1 and "\0" in argv[1]) or MANY_FIELDS in state.params[:count]:
        state.params = (MANY_FIELDS,)
    elif count > len(state.params):
        state.status = 1
    else:
        state.params = state.params[count:]


def let(m: Machine, argv: Argv, state: State) -> None:
    value: int | None = 0
    for word in argv[1:]:
        try:
            value = arithmetic(m, word, state)
        except (Failed, ValueError, OverflowError):
            value = 0
    state.status = UNKNOWN_STATUS if value is None else int(value == 0)


def getopts(m: Machine, argv: Argv, state: State) -> None:
    """Which option comes next is not followed: every branch behind it is looked at."""
    if len(argv) > 2 and argv[2].isidentifier():
        state.set(argv[2], "\0")
    state.set("OPTARG", "\0")
    state.set("OPTIND", "\0")
    state.status = 1 if not state.params and len(argv) == 3 else UNKNOWN_STATUS


class _ReadOptions:
    def __init__(self, argv: Argv) -> None:
        self.raw = False
        self.array = ""
        self.delimiter = "\n"
        self.chars = 0
        self.exact = False
        self.fd = ""
        at = 1
        while at < len(argv) and len(argv[at]) > 1 and argv[at][0] == "-" and argv[at] != MANY_FIELDS:
            word = argv[at]
            at += 1
            if word == "--":
                break
            for place, letter in enumerate(word[1:], 2):
                if letter not in "adinNptuk":
                    self.raw = self.raw or letter == "r"
                    continue
                value = word[place:]
                if not value:
                    value = argv[at] if at < len(argv) else ""
                    at += 1
                self._set(letter, value)
                break
        self.names = argv[at:]

    def _set(self, letter: str, value: str) -> None:
        if letter == "a":
            self.array = value
        elif letter == "d":
            self.delimiter = value[:1] or NUL_BYTE
        elif letter in "nN":
            self.chars = int(value) if value.isdecimal() and len(value) < 7 else 0
            self.exact = letter == "N"
        elif letter == "u":
            self.fd = value


def read(m: Machine, argv: Argv, state: State) -> None:
    """`read`: takes a line of the standard input where it is known."""
    options = _ReadOptions(argv)
    names = options.names or (() if options.array else ("REPLY",))
    if state.stdin is None or options.fd not in ("", "0"):
        for name in names:
            if name.isidentifier():
                state.put(name, UNKNOWN_VALUE)
                state.came_from(name, state.feeds)
        if options.array:
            state.set(options.array, UNKNOWN_ARRAY)
            state.came_from(options.array, state.feeds)
        state.status = UNKNOWN_STATUS
        return
    line, status = _take_line(state, options)
    ifs = ifs_of(m, state)
    ifs = " \t\n" if ifs is None else ifs
    if options.array:
        values = tuple(_split_read(line, ifs, 0))
        state.set(options.array, Array(tuple(str(at) for at in range(len(values))), values))
    elif options.names:
        values = tuple(_split_read(line, ifs, len(names)))
        for at, name in enumerate(names):
            if name.isidentifier():
                state.set(name, values[at] if at < len(values) else "")
    else:
        state.set("REPLY", line)
    for name in (*names, options.array):
        if name:
            state.came_from(name, state.feeds)
    state.status = status


def _take_line(state: State, options: _ReadOptions) -> tuple[str, int]:
    """(line, status); the rest stays in the state's input."""
    text = state.stdin or ""
    if options.chars:
        line, state.stdin = text[: options.chars], text[options.chars :]
        return line, 0 if len(line) == options.chars else 1
    at = 0
    out: list[str] = []
    while at < len(text):
        char = text[at]
        at += 1
        if char == options.delimiter:
            state.stdin = text[at:]
            line = "".join(out)
            return line, UNKNOWN_STATUS if line == "\0" else 0
        if char == "\\" and not options.raw and at < len(text):
            out.append("" if text[at] == "\n" else text[at])
            at += 1
        else:
            out.append(char)
    line = "".join(out)
    if "\0" in line:
        # The unknown run may hold more lines.
        state.stdin = "\0"
        return line, UNKNOWN_STATUS
    state.stdin = ""
    return line, 1


def _split_read(line: str, ifs: str, count: int) -> list[str]:
    """Words of a line; with `count`, the last one takes the rest."""
    blanks = "".join(char for char in ifs if char in " \t\n")
    line = line.strip(blanks) if blanks else line
    out: list[str] = []
    at = 0
    while at < len(line):
        if count and len(out) == count - 1:
            rest = line[at:]
            hard_end = rest[:-1] if rest[-1:] in ifs and rest[-1:] not in blanks and rest else rest
            out.append(hard_end if not any(char in ifs for char in hard_end) else rest)
            return out
        start = at
        while at < len(line) and line[at] not in ifs:
            at += 1
        out.append(line[start:at])
        while at < len(line) and line[at] in blanks:
            at += 1
        if at < len(line) and line[at] in ifs:
            at += 1
            while at < len(line) and line[at] in blanks:
                at += 1
    return out


def mapfile(m: Machine, argv: Argv, state: State) -> None:
    """`mapfile`, `readarray`."""
    strip, delimiter = False, "\n"
    at = 1
    while at < len(argv) and argv[at].startswith("-") and len(argv[at]) > 1:
        word = argv[at]
        at += 1
        for place, letter in enumerate(word[1:], 2):
            strip = strip or letter == "t"
            if letter in "dnOsuCc":
                value = word[place:]
                if not value:
                    value = argv[at] if at < len(argv) else ""
                    at += 1
                delimiter = (value[:1] or NUL_BYTE) if letter == "d" else delimiter
                break
    name = argv[at] if at < len(argv) else "MAPFILE"
    state.status = 0
    if state.stdin is None:
        state.set(name, UNKNOWN_ARRAY)
        state.came_from(name, state.feeds)
        return
    parts = state.stdin.split(delimiter)
    ended = parts[-1] == ""
    if ended:
        parts.pop()
    values = tuple(
        MANY_FIELDS if part == "\0" else part if strip or (not ended and at == len(parts) - 1) else part + delimiter
        for at, part in enumerate(parts)
    )
    state.set(name, Array(tuple(str(at) for at in range(len(values))), values))
    state.came_from(name, state.feeds)
    state.stdin = ""


def print_format(m: Machine, argv: Argv, state: State) -> None:
    """`printf`, also into a variable."""
    state.status = 0
    if argv[1:2] == ("-v",) and len(argv) > 3:
        text = printf(argv[3:])
        name, bracket, _ = argv[2].partition("[")
        state.set(name, UNKNOWN_ARRAY if bracket else text)
    elif state.outs is not None:
        state.write(printf(argv[1:]))


VARIABLES: dict[str, Callable[[Machine, Argv, State], None]] = {
    "declare": declare,
    "typeset": declare,
    "local": declare,
    "export": declare,
    "readonly": declare,
    "integer": declare,
    "unset": unset,
    "set": set_options,
    "shift": shift,
    "let": let,
    "getopts": getopts,
    "read": read,
    "mapfile": mapfile,
    "readarray": mapfile,
    "printf": print_format,
}

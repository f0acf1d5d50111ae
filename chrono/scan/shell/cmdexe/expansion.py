"""Owns cmd.exe's variables in a text: `%NAME%`, `%NAME:a=b%`, `%NAME:~1,2%`, `%1`, `!NAME!`, and loop variables.

Splitting the text into commands is left to `parser`, setting variables to `interpret`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chrono.scan.shell.values import collapse
from chrono.scan.shell.windows_host import environment_of
from chrono.scan.world import World

MAX_LINE_CHARS = 65_536
LATE = "\x02"
"""Stands around the name of a variable that is looked up when the command runs: the line itself may set it."""

_PERCENT = re.compile(
    r"%%|%\*|%~?([fdpnxsatz]*)(?:\$\w+:)?(\d)|%([^%:\s\"&|<>^!=]{1,64}(?:\([^%)]{0,20}\))?)(?::(~[^%]*|[^%=]+=[^%]*))?%"
)
_LATE = re.compile(f"{LATE}([^{LATE}]*){LATE}")
_DELAYED = re.compile(r"!([^!:\s\"&|<>^=]{1,64})(?::(~[^!]*|[^!=]+=[^!]*))?!")


def usual_value(world: World, name: str, cwd: str) -> str | None:
    """A variable that cmd.exe itself or Windows always sets, or that the environment has; None for any other."""
    found = environment_of(world, name)
    if found is not None:
        return found
    lower = name.lower()
    if lower == "cd":
        return cwd
    if lower == "errorlevel":
        return "0"
    return "\0" if lower in ("random", "date", "time", "computername") else None


def percent(text: str, value: Callable[[str], str | None], args: tuple[str, ...] | None) -> str:
    """The text with its `%…%` in place of names; `args` are those of a script (`%0` first), None on a command line.

    A variable that nobody has set yet is left for `late`.
    """
    if "%" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        whole = found.group()
        if whole == "%%":
            return "%" if args is not None else whole
        if whole == "%*" or found.group(2):
            if args is None:
                return whole
            if whole == "%*":
                return " ".join(args[1:])
            place = int(found.group(2))
            if place < len(args):
                return part_of(args[place].strip('"'), found.group(1) or "") if "~" in whole else args[place]
            return "" if "\0" not in args else "\0"
        name, change = found.group(3), found.group(4)
        known = value(name)
        if known is None:
            return f"{LATE}{name}:{change}{LATE}" if change else f"{LATE}{name}{LATE}"
        return changed(known, change)

    out = _PERCENT.sub(one, text)
    return out[:MAX_LINE_CHARS]


def late(text: str, value: Callable[[str], str | None], delayed: bool, *, keep: bool = False) -> str:
    """The text with variables looked up that were left, and with `!NAME!` where that is on or the name is known.

    `keep`: what nobody has set stays as it is written, as on a command line; else it is unknown.
    """
    if LATE in text:

        def one(found: re.Match[str]) -> str:
            name, _, change = found.group(1).partition(":")
            known = value(name)
            if known is None:
                return f"%{found.group(1)}%" if keep else "\0"
            return changed(known, change or None)

        text = collapse(_LATE.sub(one, text).replace(LATE, ""))
    if "!" in text:

        def other(found: re.Match[str]) -> str:
            known = value(found.group(1))
            if known is None:
                return "\0" if delayed else found.group()
            return changed(known, found.group(2))

        text = _DELAYED.sub(other, text)
    return text[:MAX_LINE_CHARS]


def changed(text: str, change: str | None) -> str:
    """`:~start,length` and `:old=new` of a variable's value."""
    if not change:
        return text
    if "\0" in text:
        return "\0"
    if change.startswith("~"):
        first, _, second = change[1:].partition(",")
        try:
            start = int(first or 0)
            length = int(second) if second.strip() else None
        except ValueError:
            return "\0"
        start = max(0, len(text) + start) if start < 0 else start
        if length is None:
            return text[start:]
        return text[start:length] if length < 0 else text[start : start + length]
    old, _, new = change.partition("=")
    if old.startswith("*"):
        at = text.lower().find(old[1:].lower())
        return text if at < 0 or len(old) < 2 else new + text[at + len(old) - 1 :]
    return re.sub(re.escape(old), lambda _: new, text, flags=re.I) if old else text


def part_of(path: str, letters: str) -> str:
    """`%~nx1` and their like: parts of a path."""
    letters = letters.lower()
    if not letters or "\0" in path:
        return path
    plain = path.replace("\\", "/")
    above, sign, last = plain.rpartition("/")
    stem, dot, ending = last.rpartition(".")
    if not dot:
        stem, ending = last, ""
    if letters == "dp":
        return f"{above}/" if sign else "./"
    if "f" in letters or "d" in letters or "p" in letters:
        return path
    out = (stem if "n" in letters else "") + (dot + ending if "x" in letters else "")
    return out or path


def _one_loop(text: str, letter: str, value: str) -> str:
    def one(found: re.Match[str]) -> str:
        return part_of(value.strip('"'), found.group(1)[1:]) if found.group(1) else value

    # On a command line `%%i` is an error, but what was meant is plain.
    return re.sub(f"%{{1,2}}(~[fdpnxsatz]*)?{re.escape(letter)}", one, text)


def with_loop_variables(text: str, values: dict[str, str]) -> str:
    """The text with `%i`, `%~fi` of the loops around it in place."""
    if "%" not in text or not values:
        return text
    for letter, value in values.items():
        if letter in text:
            text = _one_loop(text, letter, value)
    return collapse(text)[:MAX_LINE_CHARS]

"""Owns how the own options of a program that starts another one are read, and how the rest is handed on.

Which programs those are is told by `wrappers`, `elsewhere` and `sinks`.
"""

from __future__ import annotations

from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv
from chrono.scan.shell.values import MANY_FIELDS
from chrono.tuples import NamedTuple


class Options(NamedTuple):
    """How a wrapper's own options are read.

    `short` and `long`: options that take a value. `skip`: operands in front of the command. `assigns`: `NAME=value`
    words in front of the command belong to it. `remote`: what it starts runs somewhere else. `chdir`: the option that
    names the folder it starts in.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    remote: bool = False
    chdir: str = ""


def long_names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def operands(argv: Argv, options: Options) -> tuple[Argv, dict[str, str]]:
    """(words from the first operand on, values of options by letter or long name)."""
    values: dict[str, str] = {}
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
            if equals:
                values[name] = value
            elif name in options.long and at < len(argv):
                values[name] = argv[at]
                at += 1
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in options.short:
                if place < len(word):
                    values[letter] = word[place:]
                elif at < len(argv):
                    values[letter] = argv[at]
                    at += 1
                break
            values.setdefault(letter, "")
    return argv[at:], values


def as_list(
    argv: Argv, label: str, assigns: list[tuple[str, str]], cwd: str | None = None, *, remote: bool = False
) -> list[Inner]:
    if not argv:
        return []
    return [Inner(argv=argv, label=label, assigns=tuple(assigns), cwd=cwd, remote=remote)]


def joined(words: Argv) -> str:
    return " ".join("\0" if word == MANY_FIELDS else word for word in words)

"""Owns `find`: the programs it starts, and the names it gives them."""

from __future__ import annotations

from itertools import pairwise

from chrono.scan.shell.machine import Inner
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS, collapse, resolve
from chrono.tuples import NamedTuple

_LEADING = frozenset(("-H", "-L", "-P", "-E", "-X", "-x", "-s"))
_EXECS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


class Found(NamedTuple):
    """What the tests in front of an action say about the names: the depths, and the pieces of a `-name`."""

    least: int = 0
    most: int | None = None
    name: str = ""
    other: bool = False


def find_starts(argv: Argv, state: State) -> list[Inner]:
    """The commands after -exec, -execdir, -ok and -okdir, once for each start and depth that tells them apart."""
    starts, at = _starts(argv)
    out: list[Inner] = []
    found = _depths(argv)
    while at < len(argv):
        word = argv[at]
        at += 1
        if word in _EXECS:
            command, at, many = _command(argv, at)
            if command:
                out += _runs(word, command, starts, found, many, state)
        else:
            found, at = _test(found, argv, word, at)
    return out[:24]


def find_names(argv: Argv) -> list[str]:
    """The names that `find argv` prints: unknown runs stand for what is not told by its tests."""
    starts, at = _starts(argv)
    names: dict[str, None] = {}
    for tests in _branches(argv[at:]):
        found, at = _depths(argv), 0
        while at < len(tests):
            found, at = _test(found, tests, tests[at], at + 1)
        names.update(dict.fromkeys(name for start in starts for name in _names(start, found)))
    return list(names)


def _branches(tests: Argv) -> list[Argv]:
    """The tests on each side of every `-o`; all of them together where there are so many that it cannot matter."""
    ends = [at for at, word in enumerate(tests) if word in ("-o", "-or")]
    if not ends or len(ends) > 24 or any(word in ("(", ",") for word in tests):
        return [tests]
    return [tests[before + 1 : end] for before, end in pairwise((-1, *ends, len(tests)))]


def _starts(argv: Argv) -> tuple[list[str], int]:
    """(where it starts, place of the first test)."""
    at = 1
    while at < len(argv) and (argv[at] in _LEADING or argv[at].startswith(("-D", "-O"))):
        at += 2 if argv[at] == "-D" else 1
    first = at
    while at < len(argv) and not argv[at].startswith(("-", "(", "!", ",")):
        at += 1
    return list(argv[first:at]) or ["."], at


def _test(found: Found, argv: Argv, word: str, at: int) -> tuple[Found, int]:
    """One test; answers the place behind it."""
    if word in ("-name", "-iname") and at < len(argv):
        return _named(found, word, argv[at]), at + 1
    if word in ("-o", "-or", ",", "!", "-not"):
        return found._replace(name="", other=True), at
    if word == "-type" and at < len(argv):
        # A start that is a plain file is rare; what a test for files finds lies below.
        least = max(found.least, 1) if argv[at] == "f" else found.least
        return found._replace(least=least), at + 1
    return found, at


def _depths(argv: Argv) -> Found:
    least, most = 0, None
    for word, value in pairwise(argv):
        if word == "-mindepth" and value.isdecimal():
            least = int(value)
        elif word == "-maxdepth" and value.isdecimal():
            most = int(value)
    return Found(least, most)


def _named(found: Found, test: str, pattern: str) -> Found:
    """The known pieces of the names that a pattern lets through; with `-o` or `!` around nothing is known."""
    if found.other or found.name:
        return found._replace(name="\0", other=True)
    pieces = pattern.replace("?", "*").split("*")
    literal = test == "-name" and "[" not in pattern and "\\" not in pattern
    return found._replace(name="\0".join(pieces) if literal else "\0")


def _command(argv: Argv, at: int) -> tuple[Argv, int, bool]:
    """(words up to `;` or `{} +`, place behind, whether it takes many names at once)."""
    start = at
    while at < len(argv):
        if argv[at] == ";":
            return argv[start:at], at + 1, False
        if argv[at] == "+" and at > start and argv[at - 1] == "{}":
            return argv[start:at], at + 1, True
        at += 1
    return argv[start:at], at, False


def _runs(action: str, command: Argv, starts: list[str], found: Found, many: bool, state: State) -> list[Inner]:
    in_folder = action in ("-execdir", "-okdir")
    names = [name for start in starts for name in _names(start, found)]
    label = f"find {action}"
    if in_folder:
        out = []
        for name in names:
            folder, _, base = name.rstrip("/").rpartition("/")
            base = base if "\0" not in folder and base else base or "\0"
            shown = "/" if name == "/" else f"./{base}"
            inside = folder or ("/" if name.startswith("/") else ".")
            cwd = resolve(state.cwds[0], inside) or "\0"
            out.append(Inner(argv=_filled(command, shown), label=label, cwd=cwd))
        return out
    if many:
        first = command[: command.index("{}")]
        return [Inner(argv=(*first, *names, *command[len(first) + 1 :]), label=label)]
    return [Inner(argv=_filled(command, name), label=label) for name in names]


def _names(start: str, found: Found) -> list[str]:
    """The start itself where it can be found, and what lies below it."""
    if start == MANY_FIELDS:
        return [MANY_FIELDS]
    folder = start if start.endswith("/") else start + "/"
    if not found.name:
        own = [start] if found.least == 0 else []
        return own if found.most == 0 else [*own, f"{folder}\0"]
    base = start.rstrip("/").rpartition("/")[2]
    own = [start] if found.least == 0 and found.name in (base, "\0") else []
    if found.most == 0:
        return own
    between = "" if found.most == 1 else "\0"
    return [*own, collapse(f"{folder}{between}{found.name}")]


def _filled(command: Argv, name: str) -> Argv:
    if name == MANY_FIELDS:
        return tuple(MANY_FIELDS if word == "{}" else word.replace("{}", "\0") for word in command)
    return tuple(word.replace("{}", name) for word in command)

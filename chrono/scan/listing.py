"""Owns what a listing program finds: the words that `find` or `ls` hands on to `xargs`, `-exec` or `-delete`.

Deleting them is left to `scan.touch`, what they are to `scan.paths`.
"""

from __future__ import annotations

from collections.abc import Iterator

from chrono.scan.command import Command, Many, Pattern, Word
from chrono.scan.options import parse, program_names
from chrono.scan.rule import Options

_FILTERS = frozenset("grep egrep fgrep rg head tail sort shuf uniq tr sed awk cut tac tee cat xargs parallel".split())
_GIT_LISTS = frozenset(["ls-files", "diff", "status", "show", "diff-tree", "grep", "ls-tree", "log"])
_GIT: Options = ("gnu", (("", frozenset(["-C", "-c", "--git-dir", "--work-tree"])),))
_LS: Options = ("gnu", (("", frozenset(["-I", "-w", "--ignore", "--hide", "--sort", "--time"])),))
_GREP: Options = (
    "gnu",
    (("", frozenset("-e -f -m -A -B -C --include --exclude --exclude-dir -g -t --type --glob".split())),),
)


def listed_words(command: Command) -> tuple[Word, ...] | None:
    """The words that a pipe hands to xargs, as far as its source tells them; None where it does not."""
    source = _source(command)
    if source is None:
        return None
    name, argv = source
    if name in ("find", "gfind"):
        return tuple(find_words(Command(argv)))
    if name == "ls":
        words = parse(argv, _LS).words
        starred = tuple(word for word in words if isinstance(word, str) and "*" in word)
        return starred or ("*",)
    if name in ("fd", "fdfind"):
        return (Pattern(("./", None)),)
    if name in ("grep", "egrep", "rg", "ag", "ack"):
        words = parse(argv, _GREP).words[1:] or (".",)
        return tuple(Pattern((f"{word.rstrip('/')}/", None)) if isinstance(word, str) else word for word in words)
    return None


def git_listed_words(command: Command) -> tuple[Word, ...]:
    """The path specs of a `git ls-files` that a pipe hands to xargs."""
    source = _source(command)
    words = parse(source[1], _GIT).words if source is not None and source[0] == "git" else ()
    return words[1:] if words[:1] == ("ls-files",) else ()


def lists_worktree(command: Command) -> bool:
    """Whether the words come from git, which names files of its work tree only."""
    source = _source(command)
    if source is None or source[0] != "git":
        return False
    words = parse(source[1], _GIT).words
    return bool(words) and words[0] in _GIT_LISTS


def _source(command: Command) -> tuple[str, tuple[Word, ...]] | None:
    """The program at the beginning of a pipe that the words come from."""
    upstream = command.upstream
    for place in range(len(upstream) - 1, -1, -1):
        argv = upstream[place]
        if not argv:
            continue
        names = program_names(argv[0])
        name = names[-1] if names else ""
        if name in _FILTERS and (place > 0 or name not in ("grep", "egrep", "rg")):
            continue
        return name, argv
    return None


def find_words(command: Command) -> Iterator[Word]:
    """The paths that a `find` comes upon, one word for each start and name filter."""
    args = command.argv[1:]
    starts: list[Word] = []
    at = 0
    while at < len(args) and (args[at] in ("-H", "-L", "-P") or _begins(args[at], "-O")):
        at += 1
    while at < len(args) and not (isinstance(args[at], str) and str(args[at])[:1] in ("-", "(", "!")):
        starts.append(args[at])
        at += 1
    tests = args[at:]
    if _only_empty(tests):
        return
    if "-delete" in tests:
        # Tests behind it come too late.
        tests = tests[: tests.index("-delete")]
    names, paths = _filters(tests)
    for start in starts or ["."]:
        if start == "":
            continue  # "No such file or directory"
        if isinstance(start, Many):
            yield start
        elif names:
            for name in names:
                yield _below(start, name)
        elif paths:
            yield from paths
        elif _value(tests, "-maxdepth") == "0" or isinstance(start, Pattern):
            yield start
        elif _value(tests, "-mindepth") not in (None, "0"):
            yield f"{start.rstrip('/')}/*"
        else:
            yield start


_OR = ("-o", "-or", ",")


def _only_empty(tests: tuple[Word, ...]) -> bool:
    """Whether nothing is found that holds anything."""
    if "-empty" not in tests or any(test in _OR for test in tests):
        return False
    at = tests.index("-empty")
    return at == 0 or tests[at - 1] not in ("!", "-not")


def _filters(tests: tuple[Word, ...]) -> tuple[list[str], list[Word]]:
    """Names and paths that everything found has one of; empty where something else is found too."""
    names: list[str] = []
    paths: list[Word] = []
    branches = 1
    negated = False
    for at, test in enumerate(tests):
        if test in ("!", "-not"):
            negated = True
            continue
        if test in _OR:
            branches += 1
        value = tests[at + 1] if at + 1 < len(tests) else None
        if test in ("-name", "-iname") and not negated and isinstance(value, str) and value.strip("*") != "":
            names.append(value)
        elif test in ("-path", "-wholename", "-ipath") and not negated and isinstance(value, str):
            fixed = _fixed(value)
            if fixed.strip("./") != "":
                paths.append(Pattern((fixed, None)) if fixed != value else value)
        negated = False
    if names and len(names) + len(paths) < branches:
        return [], []
    if paths and not names and len(paths) < branches:
        return [], []
    return names, paths


def _fixed(pattern: str) -> str:
    for at, char in enumerate(pattern):
        if char in "*?[":
            return pattern[:at]
    return pattern


def _below(start: str | Pattern, name: str) -> Word:
    """Something below a folder with a name that fits a pattern."""
    tail = name
    for at in range(len(name) - 1, -1, -1):
        if name[at] in "*?]":
            tail = name[at + 1 :]
            break
    if tail == name:
        tail = "/" + name
    pieces = start.pieces if isinstance(start, Pattern) else (f"{start.rstrip('/')}/",)
    return Pattern((*pieces, None, tail) if tail else (*pieces, None))


def _value(tests: tuple[Word, ...], flag: str) -> str | None:
    if flag in tests:
        at = tests.index(flag)
        value = tests[at + 1] if at + 1 < len(tests) else None
        return value if isinstance(value, str) else None
    return None


def _begins(word: Word, text: str) -> bool:
    return isinstance(word, str) and word.startswith(text)

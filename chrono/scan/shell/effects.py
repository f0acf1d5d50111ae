"""Owns what programs do to files whose content the text may use later: copies, moves, downloads, edits in place."""

from __future__ import annotations

import re

from chrono.scan.expression import expression
from chrono.scan.shell.machine import Machine
from chrono.scan.shell.shells import STDIN_NAMES
from chrono.scan.shell.state import Argv, State
from chrono.scan.shell.values import MANY_FIELDS

PROGRAMS = frozenset(
    ("cp", "mv", "ln", "install", "curl", "wget", "sed", "gsed", "perl", "git", "mkdir", "dd"),
)  # fmt: skip
"""Those that `on_files` knows."""


def on_files(m: Machine, name: str, argv: Argv, state: State) -> None:
    """Remembers what the program leaves in files, where that matters for what runs later."""
    if name in ("cp", "mv", "ln", "install"):
        _copy(m, name, argv, state)
    elif name in ("curl", "wget"):
        _download(m, name, argv, state)
    elif name in ("sed", "gsed") and any(word.startswith(("-i", "--in-place")) for word in argv):
        _edit(m, [word for word in argv[1:] if not word.startswith(("-i", "--in-place"))], state)
    elif name == "perl" and argv[1:2] and re.fullmatch(r"-[pi]{2}(\.\w+)?e?", argv[1]):
        _edit(m, ["-E", *(word for word in argv[2:] if word != "-e")], state)
    elif name == "git" and argv[1:2] == ("mv",):
        _copy(m, name, argv[1:], state)
    elif name in ("mkdir", "git"):
        for word in _new_folders(name, argv):
            key = m.key_of(word, state)
            if key is not None and _can_be_made(m, key):
                m.made.add(key)
    elif name == "dd":
        for word in argv[1:]:
            if word.startswith("of="):
                m.write_file(word[3:], state.stdin if not any(w.startswith("if=") for w in argv) else None, state)


def _new_folders(name: str, argv: Argv) -> Argv:
    """The folders that `mkdir`, `git init`, `git clone` and `git worktree add` are told to make."""
    words = tuple(word for at, word in enumerate(argv[1:], 1) if word[:1] != "-" and argv[at - 1] not in ("-m", "-b"))
    if name == "mkdir":
        return words
    if words[:1] == ("init",):
        return words[1:]
    if words[:1] == ("clone",) and len(words) > 1:
        return words[2:] or (words[1].rstrip("/").rpartition("/")[2].removesuffix(".git"),)
    return words[2:3] if words[:2] == ("worktree", "add") else ()


def _can_be_made(m: Machine, path: str) -> bool:
    """Whether making a folder there succeeds as far as can be told: below scratch folders or where the text runs."""
    if "\0" in path or not path.startswith(("/tmp/", "/var/tmp/", m.world.cwd.rstrip("/") + "/")):
        return False
    while path != "/":
        found = m.world.lstat(path)
        if found is not None:
            return found.kind == "dir"
        path = path.rpartition("/")[0] or "/"
    return True


_WITH_WORD = frozenset(("-m", "--mode", "-o", "--owner", "-g", "--group", "-S", "--suffix"))


def _copy(m: Machine, name: str, argv: Argv, state: State) -> None:
    words = [word for at, word in enumerate(argv) if at and not (name == "install" and argv[at - 1] in _WITH_WORD)]
    operands = [word for word in words if not word.startswith("-")]
    if len(operands) != 2 or MANY_FIELDS in operands:
        return
    source, target = operands
    if source in STDIN_NAMES:
        m.write_file(target, state.stdin, state)
        return
    key = m.key_of(source, state)
    if target.endswith("/"):
        target += source.rpartition("/")[2]
    if key is None or key not in m.files:
        place = m.key_of(target, state)
        if key is not None and place is not None and "\0" not in key + place:
            m.copies[place] = m.copies.get(key, key)
        return
    m.write_file(target, m.files[key], state)
    sources = m.file_sources.get(key)
    target_key = m.key_of(target, state)
    if sources and target_key is not None:
        m.file_sources[target_key] = sources


def _download(m: Machine, name: str, argv: Argv, state: State) -> None:
    """The file a download is written to holds something unknown that came from that program."""
    target = ""
    flag = "-O" if name == "wget" else "-o"
    for at, word in enumerate(argv[1:], 1):
        if word in (flag, "--output", "--output-document") and at + 1 < len(argv):
            target = argv[at + 1]
        elif word.startswith(("--output=", "--output-document=")):
            target = word.partition("=")[2]
        elif word.startswith("-") and not word.startswith("--") and len(word) > 2 and flag[1] in word[1:]:
            rest = word[word.index(flag[1]) + 1 :]
            target = rest or (argv[at + 1] if at + 1 < len(argv) else "")
    if not target and (
        name == "wget"
        or any(w in ("-O", "--remote-name") or (w[:1] == "-" and w[1:2] != "-" and "O" in w) for w in argv[1:])
    ):
        urls = [word for word in argv[1:] if "/" in word and not word.startswith("-")]
        target = urls[-1].rstrip("/").rpartition("/")[2].partition("?")[0] if urls else ""
    if not target or target == "-" or "\0" in target:
        return
    m.write_file(target, None, state)
    key = m.key_of(target, state)
    if key is not None:
        m.file_sources[key] = (argv,)


# Files that something starts: what an edit leaves in them may be run later in the same text.
_STARTED = expression(
    r"(?:\A|/)(?:package\.json|deno\.jsonc?|composer\.json|[Mm]akefile|GNUmakefile|[Jj]ustfile|Taskfile\.ya?ml|[^/]+\."
    r"(?:sh|bash|zsh|py|[cm]?[jt]s|rb|pl|php|mk|ps1))\Z"
)


def _edit(m: Machine, words: list[str], state: State) -> None:
    """`sed -i` on a file that the text has written, or on one that can be started."""
    for word in words:
        key = m.key_of(word, state)
        if key is not None and (m.files.get(key) is not None or (key not in m.files and _STARTED.search(word))):
            from chrono.scan.shell.programs import output_of

            text = output_of(m, "sed", words, state.copy())
            if text != "\0" or key in m.files:
                m.write_file(word, None if text == "\0" else text, state)

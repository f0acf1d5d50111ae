"""Owns which files of a tree can be run, and the command that runs each: for checks of scripts before anyone does.

Judging the commands is left to `workspace.assess`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator

from chrono.scan.follow.scripts import ENDINGS, language_of_first_line
from chrono.tuples import NamedTuple

MAX_FILES = 2_000
MAX_FILE_BYTES = 1_000_000
_FOREIGN = frozenset(
    (".git", ".chrono", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", "site-packages",
     ".mypy_cache", ".ruff_cache", ".pytest_cache", "dist", "build", "target", ".next", "vendor")
)  # fmt: skip
_RUNNERS = {
    "sh": "sh", "bash": "bash", "zsh": "zsh", "python": "python", "javascript": "node", "ruby": "ruby", "perl": "perl",
    "php": "php", "powershell": "pwsh -File", "cmd": "cmd /c",
}  # fmt: skip
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)\s*:(?![:=])", re.M)


class Runnable(NamedTuple):
    """One way to run `file`. `path` is that relative to the root, `/`-separated; `command` is to be run in `folder`."""

    path: str
    command: str
    file: str
    folder: str


def runnables(root: str) -> Iterator[Runnable]:
    """Every way to run the files below `root`, or the file `root`, in order of their names.

    Scripts by their ending or first line, scripts of package.json, targets of makefiles and justfiles. Folders of
    other people's code are left out, so are links. At most MAX_FILES files.
    """
    base = os.path.realpath(root)
    files = [base] if os.path.isfile(base) else _files(base)
    top = os.path.dirname(base) if os.path.isfile(base) else base
    for number, path in enumerate(files):
        if number >= MAX_FILES:
            return
        yield from _of_file(path, os.path.relpath(path, top).replace(os.sep, "/"))


def _files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _FOREIGN)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path):
                yield path


def _of_file(path: str, shown: str) -> Iterator[Runnable]:
    folder, name = os.path.split(path)
    if name == "package.json":
        yield from (Runnable(shown, f"npm run {shlex.quote(script)}", path, folder) for script in _scripts(path))
        return
    if name.lower() in ("makefile", "gnumakefile", "justfile"):
        program = "just" if name.lower() == "justfile" else "make"
        targets = dict.fromkeys(_TARGET.findall(_beginning(path, MAX_FILE_BYTES)))
        yield from (Runnable(shown, f"{program} {shlex.quote(target)}", path, folder) for target in targets)
        return
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    language = language_of_first_line(_beginning(path, 256)) or ENDINGS.get(ending)
    if language in _RUNNERS:
        yield Runnable(shown, f"{_RUNNERS[language]} {shlex.quote('./' + name)}", path, folder)


def _beginning(path: str, most_bytes: int) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def _scripts(path: str) -> list[str]:
    try:
        document = json.loads(_beginning(path, MAX_FILE_BYTES))
    except ValueError:
        return []
    scripts = document.get("scripts") if isinstance(document, dict) else None
    return [name for name in scripts if isinstance(name, str)] if isinstance(scripts, dict) else []

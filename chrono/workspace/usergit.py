"""Owns questions to the user's own git repository, asked of the git program: where it is, its hooks, its settings.

What is staged is read by `workspace.staged`, what is pushed by `workspace.pushed`. The hidden repository is never asked
in this way, and neither is a repository that nobody works in: git is only run where its user has just run it, or asks
for it by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

WAIT_S = 60.0

_PLACES = (
    "GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE "
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH GIT_EDITOR GIT_REFLOG_ACTION"
).split()
"""What git tells its hooks about the operation under way; outside of it these would answer for the wrong repository."""

_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.external=", "-c", "color.ui=false")


class NoGit(ChronoError):
    """There is no git program, no git repository here, or git refuses to answer."""


class HooksPath(NamedTuple):
    """`core.hooksPath`: its value, and what set it: "local", "worktree", "global", "system" or "command"."""

    value: str
    scope: str


class UserRepo(NamedTuple):
    """A git repository with a work tree. `hooks` is the folder that git reads hooks from; both absolute.

    `linked`: this work tree is a linked one of `git worktree`.
    """

    top: str
    hooks: str
    linked: bool
    hooks_path: HooksPath | None


def find(start: str, environ: Mapping[str, str]) -> UserRepo:
    """The repository around folder `start`. Raises NoGit."""
    calm = outside(environ)
    top = _line(ask(["rev-parse", "--show-toplevel"], start, calm))
    if not top:
        raise NoGit(f"{start} is in no work tree of a git repository")
    folders = ask(["rev-parse", "--git-path", "hooks", "--git-dir", "--git-common-dir"], top, calm)
    hooks, git_dir, common = (os.path.normpath(os.path.join(top, _text(line))) for line in folders.splitlines())
    return UserRepo(top, hooks, git_dir != common, _hooks_path(top, calm))


def outside(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what git tells a hook about the operation under way."""
    return {name: value for name, value in environ.items() if name not in _PLACES}


def setting(repo: UserRepo, name: str, environ: Mapping[str, str]) -> str | None:
    """One setting of git's configuration, None where it is not set."""
    try:
        return _line(ask(["config", "--get", name], repo.top, outside(environ))) or None
    except NoGit:
        return None


def configured_hooks(repo: UserRepo, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """(name, event) of the hooks that stand in git's configuration (git 2.54 and later run them beside the files)."""
    try:
        data = ask(["config", "-z", "--get-regexp", r"^hook\..*\.event$"], repo.top, outside(environ))
    except NoGit:
        return ()
    found = []
    for item in data.split(b"\0"):
        key, newline, event = _text(item).partition("\n")
        if newline:
            found.append((key.removeprefix("hook.").removesuffix(".event"), event))
    return tuple(found)


def ask(arguments: list[str], folder: str, environ: Mapping[str, str], *, given: bytes = b"") -> bytes:
    """What git prints. Nothing is fetched, no pager, editor, file watcher or helper is started. Raises NoGit."""
    program = shutil.which("git", path=environ.get("PATH", os.defpath))
    if program is None:
        raise NoGit("there is no git program on PATH", "install git")
    calm = {**environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *_QUIET, *arguments],
            cwd=folder,
            env=calm,
            input=given,
            capture_output=True,
            timeout=WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoGit(f"git gave no answer: {error}") from None
    if done.returncode != 0:
        said = _text(done.stderr.strip()).splitlines()
        if said and said[0].startswith("fatal: not a git repository"):
            raise NoGit(f"no git repository at or above {folder}", "chrono git is about your own repository: git init")
        raise NoGit(f"git {arguments[0]} failed: {said[0] if said else f'status {done.returncode}'}")
    return done.stdout


def _hooks_path(top: str, environ: Mapping[str, str]) -> HooksPath | None:
    try:
        found = ask(["config", "--show-scope", "-z", "--get", "core.hooksPath"], top, environ)
    except NoGit:
        return None
    scope, _, value = _text(found).rstrip("\0").partition("\0")
    return HooksPath(value, scope)


def _line(data: bytes) -> str:
    return _text(data.rstrip(b"\r\n"))


def _text(data: bytes) -> str:
    return os.fsdecode(data)

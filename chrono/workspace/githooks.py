"""Owns chrono's hooks in the user's own git repository: where they go, what stands there, putting them in and out.

What a hook says once it runs is left to `workspace.staged`, `workspace.pushed` and `guard.commits`. Which folder git
reads hooks from is told by `workspace.usergit`; other tools' files are added to only where a person agreed.
"""

from __future__ import annotations

import os
import shlex
import stat

from chrono.errors import ChronoError, Conflict
from chrono.files import atomic_write
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple
from chrono.workspace.usergit import UserRepo

HOOKS = ("pre-commit", "pre-merge-commit", "post-commit", "post-checkout", "post-merge", "pre-push")
"""Before commits and before merges, since git runs no pre-commit hook for a merge that it commits by itself."""
TRAILER_HOOK = "commit-msg"
"""Only where a person wants commits to name their savepoint."""

MARK = "# chrono-hook v1"
CHAINED = ".chrono-chained"
BLOCKED = 43
"""What `chrono git hook` leaves with where it refuses. Anything else is a failure of ours, which locks nobody out."""

_MAX_BYTES = 1_000_000
_LEFTHOOK = tuple(f"{dot}lefthook.{end}" for dot in ("", ".") for end in ("yml", "yaml", "toml", "json", "jsonc"))
_PRE_COMMIT = (".pre-commit-config.yaml", ".pre-commit-config.yml")


class HookChange(NamedTuple):
    """One hook file. `before` and `after` None: no file. `moved`: (from, to) of a stranger's hook, done first.

    `shared`: the file is part of the project, so others get the change too.
    """

    name: str
    path: str
    before: bytes | None
    after: bytes | None
    mode: int
    moved: tuple[str, str] | None = None
    shared: bool = False

    @property
    def changes(self) -> bool:
        return self.before != self.after or self.moved is not None


class HooksPlan(NamedTuple):
    """What is to be changed. `manager`: whose the hooks are: "git", "folder", "husky", "lefthook" or "pre-commit".

    `snippet`: (file, text) that a person adds to another tool's configuration; then nothing is written.
    """

    repo: UserRepo
    manager: str
    files: tuple[HookChange, ...]
    snippet: tuple[str, str] | None = None

    @property
    def changes(self) -> tuple[HookChange, ...]:
        return tuple(one for one in self.files if one.changes)

    @property
    def shared(self) -> bool:
        return any(one.shared for one in self.changes)


class HookState(NamedTuple):
    """One hook as found. `owner`: "chrono", "other" or "nobody"; `chained`: the hook that chrono's runs first."""

    name: str
    path: str
    owner: str
    chained: str | None


def plan_install(repo: UserRepo, interpreter: str, *, trailer: bool = False, force: bool = False) -> HooksPlan:
    """The plan that puts chrono's hooks in, run by `interpreter`. Raises ChronoError, Conflict; nothing is written."""
    manager = manager_of(repo)
    if manager in ("lefthook", "pre-commit") and not force:
        return HooksPlan(repo, manager, (), _snippet(manager, _config_of(repo, manager), trailer))
    if manager == "global" and not force:
        assert repo.hooks_path is not None
        raise ChronoError(
            f"core.hooksPath is set to {repo.hooks_path.value} for every repository ({repo.hooks_path.scope} settings)",
            "chrono's hooks would run in all of them; if that is meant: chrono git install-hook --force",
        )
    names = (*HOOKS, TRAILER_HOOK) if trailer else HOOKS
    if manager == "husky":
        return HooksPlan(repo, manager, tuple(_husky_line(repo, name) for name in names))
    inside = _within(repo.hooks, repo.top) and repo.hooks_path is not None
    files = tuple(_own_file(repo, name, interpreter, shared=inside) for name in names)
    return HooksPlan(repo, "folder" if manager in ("folder", "global") else "git", files)


def plan_uninstall(repo: UserRepo) -> HooksPlan:
    """The plan that takes chrono's hooks out and brings back what stood there before. Raises ChronoError."""
    files = []
    for name in (*HOOKS, TRAILER_HOOK):
        found = _without_own_file(repo, name)
        if found is not None:
            files.append(found)
        line = _without_husky_line(repo, name)
        if line is not None:
            files.append(line)
    return HooksPlan(repo, manager_of(repo), tuple(files))


def apply(plan: HooksPlan) -> None:
    """Does what the plan says. Raises Conflict where a file changed since, OSError."""
    for one in plan.changes:
        if _read(one.path)[0] != one.before:
            raise Conflict(f"{one.path} changed meanwhile", "run the command again")
    for one in plan.changes:
        os.makedirs(os.path.dirname(one.path), exist_ok=True)
        if one.moved is not None:
            os.rename(*one.moved)
        if one.after is not None:
            if one.moved is None or one.moved[1] != one.path:
                atomic_write(one.path, one.after, mode=one.mode)
        elif one.moved is None:
            os.unlink(one.path)


def states(repo: UserRepo) -> tuple[HookState, ...]:
    """What stands for each event that chrono listens to. Never raises for a hook that cannot be read."""
    found = []
    husky = _husky_folder(repo)
    for name in (*HOOKS, TRAILER_HOOK):
        path = os.path.join(husky or repo.hooks, name)
        try:
            data = _read(path)[0]
        except ChronoError:
            data = b""
        owner = "nobody" if data is None else "chrono" if MARK.encode() in data else "other"
        chained = path + CHAINED if owner == "chrono" and os.path.lexists(path + CHAINED) else None
        found.append(HookState(name, path, owner, chained))
    return tuple(found)


def manager_of(repo: UserRepo) -> str:
    """Whose the repository's hooks are: "git", "folder", "global", "husky", "lefthook" or "pre-commit"."""
    if _config_of(repo, "lefthook"):
        return "lefthook"
    if repo.hooks_path is None:
        return "git"
    if _husky_folder(repo):
        return "husky"
    if _config_of(repo, "pre-commit"):
        return "pre-commit"
    return "folder" if repo.hooks_path.scope in ("local", "worktree") else "global"


def remember(home: HomeLayout, repo: UserRepo) -> None:
    """Notes that this repository has chrono's hooks, for `chrono uninstall`."""
    _note(home, {*remembered(home), repo.top})


def forget(home: HomeLayout, repo: UserRepo) -> None:
    """Drops what `remember` noted."""
    _note(home, {*remembered(home)} - {repo.top})


def remembered(home: HomeLayout) -> tuple[str, ...]:
    """The work trees whose repositories got chrono's hooks."""
    try:
        with open(home.git_hooks, "rb") as file:
            return tuple(os.fsdecode(line) for line in file.read(_MAX_BYTES).split(b"\0") if line)
    except OSError:
        return ()


def _note(home: HomeLayout, tops: set[str]) -> None:
    atomic_write(home.git_hooks, b"".join(os.fsencode(top) + b"\0" for top in sorted(tops)))


def _own_file(repo: UserRepo, name: str, interpreter: str, *, shared: bool) -> HookChange:
    path = os.path.join(repo.hooks, name)
    after = _wrapper(name, interpreter)
    before, mode = _read(path)
    if before is None or MARK.encode() in before:
        return HookChange(name, path, before, after, 0o755, shared=shared)
    chained = path + CHAINED
    if os.path.lexists(chained):
        raise Conflict(f"{chained} exists already, and {path} is not chrono's", "look at both; move one of them away")
    return HookChange(name, path, before, after, mode | 0o111, (path, chained), shared)


def _without_own_file(repo: UserRepo, name: str) -> HookChange | None:
    path = os.path.join(repo.hooks, name)
    before, mode = _read(path)
    if before is None or not before.startswith(b"#!") or MARK.encode() not in before.split(b"\n")[1][:80]:
        return None
    chained = path + CHAINED
    if os.path.lexists(chained):
        return HookChange(name, path, before, _read(chained)[0], mode, (chained, path))
    return HookChange(name, path, before, None, mode)


def _wrapper(name: str, interpreter: str) -> bytes:
    """A POSIX script: the hook that stood here first, with the same arguments and input, then chrono's."""
    if "\n" in interpreter:
        raise ChronoError(f"the path of Python has a line break: {interpreter!r}", "install chrono elsewhere")
    python = shlex.quote(interpreter)
    feed = "printf '%s' \"${refs:+$refs\n}\" | " if name == "pre-push" else ""
    lines = [
        "#!/bin/sh",
        f"{MARK}: `chrono git install-hook` wrote this file, `chrono git uninstall` takes it out.",
        f'old="${{0%/*}}/{name}{CHAINED}"',
        *(["refs=$(cat)"] if feed else []),
        f'[ ! -x "$old" ] || {feed}"$old" "$@" || exit $?',
        f"if [ -x {python} ]; then",
        f'    {feed}{python} -I -m chrono git hook {name} "$@"',
        "elif command -v chrono >/dev/null 2>&1; then",
        f'    {feed}chrono git hook {name} "$@"',
        "else",
        "    echo 'chrono: the program is not there any more; install it again' >&2",
        "    false",
        "fi",
        "case $? in",
        "0) ;;",
        f"{BLOCKED}) exit 1 ;;",
        "*)",
        f"    echo 'chrono: {name} was not checked; to refuse then: git config chrono.strict true' >&2",
        # A safety tool that is broken must not lock people out of their own commits, unless they want it to.
        '    [ "$(git config --type=bool chrono.strict 2>/dev/null)" != true ] || exit 1',
        "    ;;",
        "esac",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _line_of(name: str) -> str:
    """One line for a script that others own and share: it does nothing where chrono is not installed."""
    call = f'chrono git hook {name} "$@" || [ $? -ne {BLOCKED} ]'
    return f"if command -v chrono >/dev/null 2>&1; then {call}; fi {MARK}\n"


def _husky_line(repo: UserRepo, name: str) -> HookChange:
    folder = _husky_folder(repo)
    assert folder is not None
    path = os.path.join(folder, name)
    before, mode = _read(path)
    if before is not None and MARK.encode() in before:
        return HookChange(name, path, before, before, mode, shared=True)
    text = before if before is not None else b"#!/usr/bin/env sh\n"
    end = b"" if text.endswith(b"\n") or not text else b"\n"
    mode = mode if before is not None else 0o755
    return HookChange(name, path, before, text + end + _line_of(name).encode("ascii"), mode, shared=True)


def _without_husky_line(repo: UserRepo, name: str) -> HookChange | None:
    folder = _husky_folder(repo)
    if folder is None:
        return None
    path = os.path.join(folder, name)
    before, mode = _read(path)
    line = _line_of(name).encode("ascii")
    if before is None or line not in before:
        return None
    after = before.replace(line, b"")
    return HookChange(name, path, before, None if after == b"#!/usr/bin/env sh\n" else after, mode, shared=True)


def _husky_folder(repo: UserRepo) -> str | None:
    """The folder of a husky project's own scripts; husky 9 points git to a folder `_` inside of it."""
    if repo.hooks_path is None:
        return None
    folder = os.path.dirname(repo.hooks) if os.path.basename(repo.hooks) == "_" else repo.hooks
    return folder if os.path.basename(folder) == ".husky" else None


def _config_of(repo: UserRepo, tool: str) -> str:
    """The configuration file of another tool that manages hooks, "" where there is none."""
    names = _LEFTHOOK if tool == "lefthook" else _PRE_COMMIT
    return next((name for name in names if os.path.isfile(os.path.join(repo.top, name))), "")


def _snippet(manager: str, file: str, trailer: bool) -> tuple[str, str]:
    names = (*HOOKS, TRAILER_HOOK) if trailer else HOOKS
    if manager == "lefthook":
        parts = []
        for name in names:
            arguments = {"pre-push": " {1} {2}", "post-checkout": " {1} {2} {3}", "post-merge": " {1}"}.get(name, "")
            arguments = " {1}" if name == TRAILER_HOOK else arguments
            stdin = "      use_stdin: true\n" if name == "pre-push" else ""
            run = f"chrono git hook {name}{arguments} || [ $? -ne {BLOCKED} ]"
            parts.append(f"{name}:\n  commands:\n    chrono:\n      run: {run}\n{stdin}")
        return file, "".join(parts)
    parts = ["- repo: local\n  hooks:\n"]
    for name in names:
        parts.append(
            f"    - id: chrono-{name}\n      name: chrono\n      language: system\n      always_run: true\n"
            f"      entry: sh -c 'chrono git hook {name} \"$@\" || [ $? -ne {BLOCKED} ]' chrono\n"
            f"      pass_filenames: {'true' if name == TRAILER_HOOK else 'false'}\n      stages: [{name}]\n"
        )
    return file, "".join(parts)


def _read(path: str) -> tuple[bytes | None, int]:
    """(bytes or None, mode) of a hook; a link is followed to read. Raises ChronoError for what is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if os.path.islink(path):
            raise ChronoError(f"{path} is a link to nothing", "remove it") from None
        return None, 0o755
    except OSError as error:
        raise ChronoError(f"{path} cannot be read: {error.strerror}") from None
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ChronoError(f"{path} is not a file", "look at it; move it away")
        return file.read(_MAX_BYTES), stat.S_IMODE(found.st_mode)


def _within(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep)

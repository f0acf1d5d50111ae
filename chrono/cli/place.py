"""Owns where a verb works: the current folder, the project around it, and paths as a person types them.

Opening a project is left to `workspace.project`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chrono.cli.render import Screen
from chrono.errors import ChronoError, NoSuchSavepoint, PolicyError, UsageError

if TYPE_CHECKING:
    from chrono.audit.log import AuditLog
    from chrono.policy.model import Policy
    from chrono.workspace.project import Workspace


def here() -> str:
    """The current folder, absolute. Raises ChronoError where somebody deleted it."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise ChronoError("the current folder does not exist any more", "go into another one: cd …") from None


def workspace(screen: Screen) -> Workspace:
    """The project around the current folder. Raises NoWorkspace."""
    from chrono.workspace.project import Workspace

    return Workspace.open(here(), screen.environ)


@contextmanager
def records(screen: Screen) -> Iterator[AuditLog]:
    """The log that records what concerns the whole home: that of the project around here, else the machine's.

    Raises Denied in a strange project, KeyRefused, AuditUnverifiable.
    """
    from chrono.audit.keys import settings
    from chrono.audit.log import create
    from chrono.audit.place import machine_place
    from chrono.clock import SystemClock
    from chrono.layout import find_project
    from chrono.workspace.actors import actor
    from chrono.workspace.config import ensure_home, home_layout

    home = home_layout(screen.environ)
    ensure_home(home)
    if find_project(os.path.realpath(here())) is not None:
        ws = workspace(screen)
        ws.require_own()
        log = ws.log
    else:
        by = actor(screen.environ)
        log = create(machine_place(home), home, settings(screen.environ), SystemClock(), by, timeout_s=5.0)
    try:
        yield log
    finally:
        log.close()


def readable_policy(ws: Workspace) -> Policy | None:
    """The policy that holds, None where it is broken: verbs that only look go on without it."""
    try:
        return ws.policy()
    except PolicyError:
        return None


def in_project(root: str, typed: str) -> str:
    """`typed`, a path meant from the current folder, as a project path: relative to `root`, "/"-separated.

    "" is the whole project. Links on the way to the current folder are resolved, the path itself is not: it may be a
    link, or gone. Raises UsageError for a path outside.
    """
    path = os.path.normpath(os.path.join(os.path.realpath(here()), typed))
    relative = os.path.relpath(path, root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        raise UsageError(f"{typed} lies outside the project {root}")
    return "" if relative == os.curdir else relative.replace(os.sep, "/")


def write_out(path: str, data: bytes) -> None:
    """Writes what a person asked to have in file `path`. Raises ChronoError."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ChronoError(f"{path} cannot be written: {error.strerror}") from None


def savepoints_and_paths(ws: Workspace, words: Sequence[str], *, most: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(savepoints, paths): up to `most` leading words that name savepoints, the rest are paths in the project.

    No paths means all of them. Raises NoSuchSavepoint for a word that is neither, UsageError for a path outside.
    """
    targets: list[str] = []
    for word in words[:most]:
        try:
            ws.store.resolve(word)
        except NoSuchSavepoint:
            if not _is_path(ws, word):
                if len(words) == 1:
                    raise
                raise NoSuchSavepoint(f"'{word}' is neither a savepoint nor a path", "run chrono log") from None
            break
        targets.append(word)
    paths = []
    for word in words[len(targets) :]:
        path = in_project(ws.root, word)
        if not _is_path(ws, word):
            raise NoSuchSavepoint(f"'{word}' is neither a savepoint nor a path", "run chrono log")
        paths.append(path)
    return tuple(targets), () if "" in paths else tuple(paths)


def _is_path(ws: Workspace, typed: str) -> bool:
    """Whether `typed` names something in the project, now or in a savepoint that is still there."""
    from chrono.workspace.history import newest

    try:
        path = in_project(ws.root, typed)
    except UsageError:
        return False
    if not path or os.path.lexists(os.path.join(ws.root, path)):
        return True
    commit = newest(ws)
    if commit is not None and ws.store.entries(commit, (path,)) != (None,):
        return True
    return any(ws.store.entries(one.id, (path,)) != (None,) for one in ws.store.history())

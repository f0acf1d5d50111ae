"""Owns what recording learns of a project's files: the savepoint that holds them at a moment.

`record.files` asks through the entry-point group `chrono.savepoint_sources`; nothing here knows spans or traces.
"""

from __future__ import annotations

import os
import threading

from chrono.layout import find_project
from chrono.tuples import NamedTuple
from chrono.workspace.actors import actor
from chrono.workspace.config import environment
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save


class Point(NamedTuple):
    """A savepoint by its commit, and the tree it holds; both ids in hexadecimal. `folder` is the one that was asked
    for, below the project's root and with "/"; "." for the root."""

    savepoint: str
    tree: str
    folder: str


class ProjectSource:
    """Takes savepoints of the project around `folder`. Threads may share it: they wait for each other."""

    def __init__(self, folder: str) -> None:
        self._environ = environment()
        self._ws = Workspace.open(folder, self._environ)
        self._folder = os.path.relpath(os.path.realpath(folder), self._ws.root).replace(os.sep, "/")
        self._lock = threading.Lock()

    def take(self, note: str, trailers: tuple[tuple[str, str], ...] = ()) -> Point:
        """The savepoint that holds the files as they are now; a new one where they have changed.

        Raises Denied in a project that is not this home's, Locked, StoreError.
        """
        with self._lock:
            by = actor(self._environ, source="sdk")
            commit = save(self._ws, "auto", note, by, trailers=trailers).commit
            return Point(commit, self._ws.store.content(commit).tree, self._folder)


class _Projects:
    """The source `default`: of the project at or above a folder."""

    api_version = 1

    def __call__(self, folder: str) -> ProjectSource | None:
        """None where there is no project."""
        return ProjectSource(folder) if find_project(os.path.realpath(folder)) is not None else None


source = _Projects()

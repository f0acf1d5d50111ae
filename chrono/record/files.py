"""Owns the facts about files on a span: which savepoint held them when it began, and when it ended.

On request (setting `record_files`) and inside a chrono project. Taking savepoints is left to what is registered as
`default` in the entry-point group `chrono.savepoint_sources`; this room knows no store.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from chrono.errors import ChronoError
from chrono.plugins import PluginGroup
from chrono.record.hooks import log
from chrono.record.session import RecordingSession
from chrono.tuples import NamedTuple

SOURCES = PluginGroup("chrono.savepoint_sources", api_version=1)
BEFORE, AFTER = "before", "after"


class Point(Protocol):
    """A moment of the files: ids in hexadecimal."""

    @property
    def savepoint(self) -> str: ...

    @property
    def tree(self) -> str: ...

    @property
    def folder(self) -> str:
        """Where the program was, below the project's root, with "/"."""
        ...


class SavepointSource(Protocol):
    """Takes savepoints of one project; threads may share it."""

    def take(self, note: str, trailers: tuple[tuple[str, str], ...] = ()) -> Point:
        """The savepoint that holds the files as they are now."""
        ...


class NoFiles(ChronoError):
    """A recording that names no savepoint."""


class Files(NamedTuple):
    """What a span says of the files; None where it does not."""

    savepoint_before: str | None
    savepoint_after: str | None
    folder: str | None


_lock = threading.Lock()
_sources: dict[tuple[int, str], SavepointSource | None] = {}


def note_files(session: RecordingSession, moment: str) -> None:
    """Put the facts of now into the span's metadata. Never raises: what cannot be saved is logged."""
    try:
        source = _source(os.getcwd())
        if source is None:
            return
        point = source.take(
            f"{moment} span {session.span_id} of {session.service}",
            (("Chrono-Trace", session.trace_id), ("Chrono-Span", session.span_id)),
        )
        session.metadata[f"chrono.savepoint.{moment}"] = point.savepoint
        session.metadata[f"chrono.tree.{moment}"] = point.tree
        session.metadata.setdefault("chrono.folder", point.folder)
    except Exception:
        log.warning("the files could not be saved %s span %s", moment, session.span_id, exc_info=True)


def files_of(span: Mapping[str, Any]) -> Files:
    """The facts of a recorded span. Other recorders' spans have none."""
    metadata = span.get("metadata") or {}
    names = (f"chrono.savepoint.{BEFORE}", f"chrono.savepoint.{AFTER}", "chrono.folder")
    return Files(*(value if isinstance(value := metadata.get(name), str) else None for name in names))


def first_files(spans: Iterable[Mapping[str, Any]]) -> tuple[str, Files]:
    """What the first of `spans` that says it says of the files, and the savepoint when it began. Raises NoFiles."""
    for span in spans:
        files = files_of(span)
        if files.savepoint_before is not None:
            return files.savepoint_before, files
    raise NoFiles(
        "the recording does not say how the files were",
        "record with CHRONO_RECORD_RECORD_FILES=on, inside a chrono project",
    )


def _source(folder: str) -> SavepointSource | None:
    """One a folder and process: what is open must not be shared with a forked child."""
    key = (os.getpid(), folder)
    with _lock:
        if key not in _sources:
            of_folder = cast("Any", SOURCES.load("default"))
            _sources[key] = of_folder(folder)
        return _sources[key]

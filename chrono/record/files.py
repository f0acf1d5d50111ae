"""Owns the facts about files on a span: which savepoint held them when it began, and when it ended.

On request (setting `record_files`) and inside a chrono project. Taking savepoints is left to what is registered as
`default` in the entry-point group `chrono.savepoint_sources`; this room knows no store.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Protocol, cast

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


class SavepointSource(Protocol):
    """Takes savepoints of one project; threads may share it."""

    def take(self, note: str, trailers: tuple[tuple[str, str], ...] = ()) -> Point:
        """The savepoint that holds the files as they are now."""
        ...


class Files(NamedTuple):
    """What a span says of the files; None where it does not."""

    savepoint_before: str | None
    savepoint_after: str | None


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
    except Exception:
        log.warning("the files could not be saved %s span %s", moment, session.span_id, exc_info=True)


def files_of(span: Mapping[str, Any]) -> Files:
    """The facts of a recorded span. Other recorders' spans have none."""
    metadata = span.get("metadata") or {}
    before, after = (metadata.get(f"chrono.savepoint.{moment}") for moment in (BEFORE, AFTER))
    return Files(before if isinstance(before, str) else None, after if isinstance(after, str) else None)


def _source(folder: str) -> SavepointSource | None:
    """One a folder and process: what is open must not be shared with a forked child."""
    key = (os.getpid(), folder)
    with _lock:
        if key not in _sources:
            of_folder = cast("Any", SOURCES.load("default"))
            _sources[key] = of_folder(folder)
        return _sources[key]

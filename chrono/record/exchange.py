"""Owns one trace as one file, in and out, and fetching one from a control plane.

The store's own files are left to `record.local` and `record.reading`; docs/formats/trace-v1.md describes this file.
"""

from __future__ import annotations

import json
import os
import urllib.parse
from typing import Any

from chrono.errors import ChronoError
from chrono.files import atomic_write, own_folder
from chrono.record import frames
from chrono.record.local import StoreWriter
from chrono.record.plane import HttpPlane
from chrono.record.reading import NoSuchTrace, StoredTrace, files_path, read_trace
from chrono.record.shapes import TRACE_ID, misshapen
from chrono.tuples import NamedTuple

FORMAT = "chrono-trace/1"
MOST_BYTES = 1 << 30
"""Of one exported file."""


class NotATrace(ChronoError):
    """A file or an answer that holds no trace."""


class Imported(NamedTuple):
    """What an import wrote, and what the store had already."""

    trace_id: str
    written: int
    known: int


def exported(trace: StoredTrace) -> bytes:
    """The trace as one JSON file; the same trace gives the same bytes."""
    value = {"format": FORMAT, "trace": trace.trace, "spans": trace.spans, "envelopes": trace.envelopes}
    if trace.files is not None:
        value["files"] = trace.files
    # ASCII: a lone surrogate stays what it was, and any tool reads it
    return json.dumps(value, indent=1).encode() + b"\n"


def load(path: str) -> StoredTrace:
    """The trace in an exported file. Raises NotATrace, OSError."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise NotATrace(f"{path} has more than {MOST_BYTES >> 20} MiB")
    return parsed(data)


def parsed(data: bytes) -> StoredTrace:
    """The trace in an exported file, or in what a control plane answers for its envelopes. Raises NotATrace."""
    try:
        value = json.loads(data)
        if not isinstance(value, dict):
            raise TypeError
        said = value.get("format", FORMAT)
        if said != FORMAT:
            raise NotATrace(f"the file is of format {said}, not {FORMAT}", "a newer chrono may have written it")
        envelopes = tuple(value["envelopes"])
        spans = tuple(value.get("spans") or ())
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NotATrace(f"this is no exported trace: {error!r}", "write one with: chrono trace export TRACE") from None
    return _one_trace(value.get("trace"), spans, envelopes, value.get("files"))


def _one_trace(trace: Any, spans: tuple[Any, ...], envelopes: tuple[Any, ...], files: Any = None) -> StoredTrace:
    """What came from elsewhere, once it is sure that every reader here can take it. Raises NotATrace."""
    announced = () if trace is None else (trace,)
    for kind, records in ((frames.TRACE, announced), (frames.SPAN, spans), (frames.ENVELOPE, envelopes)):
        for record in records:
            wrong = misshapen(kind, record)
            if wrong is not None:
                raise NotATrace(f"this is no exported trace: {wrong} is missing, or not what it must be")
    ids = {record["trace_id"] for record in (*announced, *spans, *envelopes)}
    if len(ids) != 1:
        raise NotATrace(f"the file holds {len(ids)} traces, not one")
    trace_id = ids.pop()
    if not TRACE_ID.fullmatch(trace_id):
        raise NotATrace(f"{trace_id[:40]!r} is no id of a trace: 32 hex digits")
    if not isinstance(files, dict | None):
        raise NotATrace("this is no exported trace: files is not what it must be")
    return StoredTrace(trace_id, trace, spans, envelopes, files=files)


def fetched(plane: HttpPlane, trace_id: str) -> StoredTrace:
    """A trace as a control plane has it. Raises ControlPlaneError, NotATrace."""
    path = f"/v1/traces/{urllib.parse.quote(trace_id, safe='')}"
    try:
        trace = dict(plane.read(path))
        spans = tuple(trace.pop("spans", ()))
        envelopes = tuple(plane.read(path + "/envelopes")["envelopes"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NotATrace(f"the control plane's answer is no trace: {error!r}") from None
    for derived in ("span_count", "envelope_count"):
        trace.pop(derived, None)
    return _one_trace(trace, spans, envelopes)


def import_trace(folder: str, trace: StoredTrace) -> Imported:
    """Writes what the store in `folder` does not have of `trace`; a closed record is never replaced.

    What is imported is meant for no plane. Raises OSError, StoreUnwritable.
    """
    try:
        known = read_trace(folder, trace.trace_id)
    except NoSuchTrace:
        known = StoredTrace(trace.trace_id, None, (), ())
    new: list[tuple[bytes, Any]] = []
    if trace.trace is not None and known.trace is None:
        new.append((frames.TRACE, trace.trace))
    closed = {one["span_id"] for one in known.spans if one["state"] == "closed"}
    opened = {one["span_id"] for one in known.spans}
    for span in trace.spans:
        is_open = span["state"] != "closed"
        if span["span_id"] not in (opened if is_open else closed):
            new.append((frames.OPEN_SPAN if is_open else frames.SPAN, span))
    closed = {one["envelope_id"] for one in known.envelopes if one["envelope_status"]["state"] == "closed"}
    opened = {one["envelope_id"] for one in known.envelopes}
    for envelope in trace.envelopes:
        is_open = envelope["envelope_status"]["state"] != "closed"
        if envelope["envelope_id"] not in (opened if is_open else closed):
            new.append((frames.OPEN_ENVELOPE if is_open else frames.ENVELOPE, envelope))
    writer = StoreWriter(folder)
    try:
        for kind, value in new:
            writer.append(kind, trace.trace_id, value)
        writer.sync()
    finally:
        writer.close()
    if trace.files is not None:
        _keep_files(folder, trace.trace_id, trace.files)
    total = len(trace.spans) + len(trace.envelopes) + (trace.trace is not None)
    return Imported(trace.trace_id, len(new), total - len(new))


def _keep_files(folder: str, trace_id: str, files: Any) -> None:
    """Beside the store; the first that came stay."""
    path = files_path(folder, trace_id)
    if os.path.exists(path):
        return
    own_folder(os.path.dirname(path))
    atomic_write(path, json.dumps(files).encode())

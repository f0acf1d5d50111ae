"""Owns one trace as one file, in and out, and fetching one from a control plane.

The store's own files are left to `record.local` and `record.reading`; docs/formats/trace-v1.md describes this file.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from chrono.errors import ChronoError
from chrono.record import frames
from chrono.record.local import StoreWriter
from chrono.record.plane import HttpPlane
from chrono.record.reading import NoSuchTrace, StoredTrace, in_order, read_trace
from chrono.tuples import NamedTuple

FORMAT = "chrono-trace/1"


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
    # ASCII: a lone surrogate stays what it was, and any tool reads it
    return json.dumps(value, indent=1).encode() + b"\n"


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
        trace = value.get("trace")
        ids = {one["trace_id"] for one in (*envelopes, *spans, *([trace] if trace else []))}
        for one in envelopes:
            in_order(one), one["envelope_id"], one["span_id"]
        for span in spans:
            span["span_id"], span["state"]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotATrace(f"this is no exported trace: {error!r}", "write one with: chrono trace export TRACE") from None
    if len(ids) != 1:
        raise NotATrace(f"the file holds {len(ids)} traces, not one")
    return StoredTrace(ids.pop(), trace, spans, envelopes)


def fetched(plane: HttpPlane, trace_id: str) -> StoredTrace:
    """A trace as a control plane has it. Raises ControlPlaneError."""
    path = f"/v1/traces/{urllib.parse.quote(trace_id, safe='')}"
    trace = plane.read(path)
    spans = tuple(trace.pop("spans", ()))
    for derived in ("span_count", "envelope_count"):
        trace.pop(derived, None)
    return StoredTrace(trace_id, trace, spans, tuple(plane.read(path + "/envelopes")["envelopes"]))


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
    total = len(trace.spans) + len(trace.envelopes) + (trace.trace is not None)
    return Imported(trace.trace_id, len(new), total - len(new))

"""Owns the traces of a store: which there are, and everything of one. Readers need no lock and disturb no writer.

One file's records are left to `record.storefile`, what is known of a file without reading it again to `record.index`,
files of traces to `record.exchange`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from chrono.errors import ChronoError
from chrono.record import frames
from chrono.record.frames import Damage, Frame
from chrono.record.index import Held, TraceFacts, held, names_with, readable
from chrono.record.storefile import StoreFile
from chrono.tuples import NamedTuple

FILES_FOLDER = "files"

Json = Any
"""A JSON value; of a record as it was written, unknown members too."""


class NoSuchTrace(ChronoError):
    """A trace id, or its beginning, that names none or several."""


class Wanted(NamedTuple):
    """Which traces are asked for; None asks nothing. `name` is part of the trace's name or id, any case; `status` is
    open, success or failure; `service` is one of its spans'; times are RFC 3339 texts, `since` included, `before` not.
    """

    name: str | None = None
    status: str | None = None
    service: str | None = None
    since: str | None = None
    before: str | None = None
    label: tuple[str, str] | None = None


class Summary(NamedTuple):
    """A trace in a list. `status`: failure where a span failed, open where one is, else success. Times are the
    recorded texts, None where nothing is known; `size_bytes` is what its own records take."""

    trace_id: str
    name: str | None
    labels: dict[str, str]
    status: str
    services: tuple[str, ...]
    started_at: str | None
    ended_at: str | None
    span_count: int
    envelope_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """All that the store has of one trace: `trace` (None where it was never announced), spans and envelopes in the
    order of their start, each in its newest state; `damaged` records that could not be read. `files`: the savepoint
    that came with the trace, as it is written in an exported file (`workspace.parcels`); of a stored one `with_files`
    reads it."""

    trace_id: str
    trace: Json | None
    spans: tuple[Json, ...]
    envelopes: tuple[Json, ...]
    damaged: int = 0
    files: Json | None = None


def summaries(folder: str) -> list[Summary]:
    """All traces of the store in `folder`, newest start first. O(bytes of the files that `record.index` does not know
    yet), without reading the bodies of envelopes. Raises OSError."""
    listed = [_summary(trace_id, one) for trace_id, one in held(folder).items()]
    return sorted(listed, key=lambda one: (one.started_at or "", one.trace_id), reverse=True)


def chosen(listed: Iterable[Summary], wanted: Wanted) -> list[Summary]:
    """Those of `listed` that are `wanted`."""
    return [one for one in listed if _fits(one, wanted)]


def trace_id_of(folder: str, beginning: str) -> str:
    """The whole id of the one trace whose id begins so. Raises NoSuchTrace, OSError."""
    wanted = beginning.lower()
    ids = [trace_id for trace_id in held(folder) if trace_id.startswith(wanted)]
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise NoSuchTrace(f"no trace {beginning} in {folder}", "list them: chrono trace list")
    raise NoSuchTrace(f"{len(ids)} traces begin with {beginning}", "give more of the id")


def read_trace(folder: str, trace_id: str) -> StoredTrace:
    """Everything of one trace. Raises NoSuchTrace, OSError."""
    wanted = trace_id.encode()
    trace: Json | None = None
    spans: dict[str, Json] = {}
    envelopes: dict[str, Json] = {}
    damaged, seen = 0, False
    for file, record in _records(folder, trace_id):
        if isinstance(record, Damage) or record.trace_id != wanted:
            continue
        seen = True
        value = readable(file, record)
        if value is None:
            damaged += 1
        elif record.kind == frames.TRACE:
            trace = trace or value
        elif record.kind in (frames.SPAN, frames.OPEN_SPAN):
            if record.kind == frames.SPAN or value["span_id"] not in spans:
                spans[value["span_id"]] = value
        elif record.kind == frames.ENVELOPE or value["envelope_id"] not in envelopes:
            envelopes[value["envelope_id"]] = value
    if not seen:
        raise NoSuchTrace(f"no trace {trace_id} in {folder}", "list them: chrono trace list")
    return StoredTrace(
        trace_id,
        trace,
        tuple(sorted(spans.values(), key=lambda one: str(one.get("started_at", "")))),
        tuple(sorted(envelopes.values(), key=in_order)),
        damaged,
    )


def files_path(folder: str, trace_id: str) -> str:
    """Where the files that came with a trace lie."""
    return os.path.join(folder, FILES_FOLDER, trace_id + ".json")


def with_files(folder: str, trace: StoredTrace) -> StoredTrace:
    """The trace with the files that came with it, where some did and a reader can take them. Raises OSError."""
    try:
        with open(files_path(folder, trace.trace_id), "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, ValueError, RecursionError):
        return trace
    return replace(trace, files=value) if isinstance(value, dict) else trace


def in_order(envelope: Json) -> tuple[str, int]:
    """The sort key of envelopes: start, then the order in which the span began them."""
    sequence = (envelope.get("metadata") or {}).get("chronicle.sequence")
    return str(envelope["envelope_status"].get("started_at", "")), sequence if isinstance(sequence, int) else 1 << 60


def _records(folder: str, trace_id: str) -> Iterator[tuple[StoreFile, Frame | Damage]]:
    """All records of the files that may hold the trace."""
    for name in names_with(folder, trace_id):
        try:
            with StoreFile(os.path.join(folder, name)) as file:
                file.header()
                for record in file.records(0):
                    yield file, record
        except FileNotFoundError:
            continue  # pruned meanwhile


def _summary(trace_id: str, one: Held) -> Summary:
    spans = one.spans.values()
    states = {span.status for span in spans}
    trace = one.trace or TraceFacts(None, {}, None)
    return Summary(
        trace_id,
        trace.name,
        trace.labels,
        "failure" if "failure" in states else "open" if "open" in states or not states else "success",
        tuple(sorted({span.service for span in spans})),
        min((span.started_at for span in spans if span.started_at), default=trace.started_at),
        max((span.ended_at for span in spans if span.ended_at), default=None),
        len(spans),
        max(one.closed, len(one.opened)),
        one.size_bytes,
    )


def _fits(one: Summary, wanted: Wanted) -> bool:
    if wanted.name is not None:
        text = wanted.name.lower()
        if text not in (one.name or "").lower() and not one.trace_id.startswith(text):
            return False
    if wanted.status is not None and one.status != wanted.status:
        return False
    if wanted.service is not None and wanted.service not in one.services:
        return False
    if wanted.label is not None and one.labels.get(wanted.label[0]) != wanted.label[1]:
        return False
    start = one.started_at or ""
    return not (wanted.since is not None and start < wanted.since) and not (
        wanted.before is not None and start >= wanted.before
    )

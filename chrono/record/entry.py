"""Owns what the recorder writes: one tuple a trace, span or envelope, and their JSON (wire) form.

The models of the same shape, for readers, are `trace.entities`; where entries go is a Sink (`record.sink`).
"""

from __future__ import annotations

import json
import time
from typing import Any, TypeAlias

from chrono.tuples import NamedTuple

Json: TypeAlias = Any
"""JSON as Python holds it: None, bool, int, float, str, list, dict with text keys."""

JsonObject: TypeAlias = dict[str, Any]

SCHEMA_VERSION = "0.2"  # as trace.fields; repeated so that writing does not import pydantic (a test compares)


class TraceEntry(NamedTuple):
    """A trace as its root announces it: labels and name, no state of its own. Times in ns since the epoch."""

    trace_id: str
    name: str | None
    metadata: dict[str, str]
    started_at_ns: int


class SpanEntry(NamedTuple):
    """A span, written open at its start and again when closed (`ended_at_ns` and `status` are then set)."""

    trace_id: str
    span_id: str
    parent_envelope_id: str | None
    service: str
    started_at_ns: int
    ended_at_ns: int | None
    status: str | None
    metadata: JsonObject


class EnvelopeEntry(NamedTuple):
    """One crossing; open (`ended_at_ns`, `status` and `output` None) only with `emit_open`, then again when closed.

    `input` and `output` are objects in wire shape: {"raw": …} for a tool, the canonical members and "raw" for a model.
    """

    trace_id: str
    span_id: str
    envelope_id: str
    parent_envelope_id: str | None
    name: str
    kind: str
    attempt: int
    retry_of: str | None
    started_at_ns: int
    ended_at_ns: int | None
    status: str | None
    input: JsonObject
    output: JsonObject | None
    metadata: JsonObject


Entry: TypeAlias = TraceEntry | SpanEntry | EnvelopeEntry


def wire(entry: Entry) -> JsonObject:
    """The entry's JSON object; null members are left out, `input`, `output` and `metadata` are the entry's own."""
    if isinstance(entry, EnvelopeEntry):
        return _envelope(entry)
    if isinstance(entry, SpanEntry):
        return _span(entry)
    value: JsonObject = {"schema_version": SCHEMA_VERSION, "trace_id": entry.trace_id}
    if entry.name is not None:
        value["name"] = entry.name
    value["metadata"] = entry.metadata
    value["attributes"] = {}
    value["state"] = "open"
    value["started_at"] = utc(entry.started_at_ns)
    return value


def encode(entry: Entry) -> bytes:
    """The wire form as UTF-8 JSON without white space. Never raises for what `serialise.to_json` made.

    A lone surrogate has no UTF-8 form and stays an escape, which every JSON reader takes.
    """
    value = wire(entry)
    try:
        return _ENCODE(value).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=repr).encode("ascii")


def utc(at_ns: int) -> str:
    """RFC 3339 in UTC with microseconds and `Z`. The text of the second is kept: most calls are in the last one."""
    global _second
    seconds, rest_ns = divmod(at_ns, 1_000_000_000)
    last = _second
    if last[0] != seconds:
        last = _second = (seconds, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)))
    return f"{last[1]}.{rest_ns // 1000:06d}Z"


_second: tuple[int, str] = (-1, "")
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, default=repr).encode


def _status(started_at_ns: int, ended_at_ns: int | None, status: str | None) -> JsonObject:
    if ended_at_ns is None:
        return {"state": "open", "started_at": utc(started_at_ns)}
    return {"state": "closed", "status": status, "started_at": utc(started_at_ns), "ended_at": utc(ended_at_ns)}


def _span(entry: SpanEntry) -> JsonObject:
    value: JsonObject = {"schema_version": SCHEMA_VERSION, "trace_id": entry.trace_id, "span_id": entry.span_id}
    if entry.parent_envelope_id is not None:
        value["parent_envelope_id"] = entry.parent_envelope_id
    value["service"] = entry.service
    value.update(_status(entry.started_at_ns, entry.ended_at_ns, entry.status))
    value["metadata"] = entry.metadata
    return value


def _envelope(entry: EnvelopeEntry) -> JsonObject:
    value: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "envelope_id": entry.envelope_id,
        "span_id": entry.span_id,
        "trace_id": entry.trace_id,
    }
    if entry.parent_envelope_id is not None:
        value["parent_envelope_id"] = entry.parent_envelope_id
    value["name"] = entry.name
    value["kind"] = entry.kind
    value["attempt"] = entry.attempt
    value["links"] = [] if entry.retry_of is None else [{"type": "retry_of", "envelope_id": entry.retry_of}]
    value["envelope_status"] = _status(entry.started_at_ns, entry.ended_at_ns, entry.status)
    value["input"] = entry.input
    if entry.output is not None:
        value["output"] = entry.output
    value["metadata"] = entry.metadata
    return value

"""Owns a recording as replay sees it: the envelopes of one or more spans, checked, in order, each knowing its caller.

It may be anybody's file, so nothing of it is trusted to have a type. Matching calls to it is left to `record.matching`,
making values of it to `record.answers`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, Final

from chrono.errors import ChronoError
from chrono.record.entry import EnvelopeEntry, Json, JsonObject, wire
from chrono.tuples import NamedTuple

_LAST: Final = 1 << 60


class BadRecording(ChronoError, ValueError):
    """What should be replayed is no recording."""


class Recorded(NamedTuple):
    """One recorded call. `given` are its arguments by name, {} where they were not kept; `number` counts the calls of
    its name in the span from 1; times are seconds since the epoch; `output` is None while it was open."""

    envelope_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    number: int
    sequence: int
    given: JsonObject
    output: JsonObject | None
    metadata: JsonObject
    started_s: float
    ended_s: float

    @property
    def notes(self) -> JsonObject:
        """Types by side ("input", "output", "chunks"), as `record.serialise` wrote them."""
        found = self.metadata.get("chrono.types")
        return found if isinstance(found, dict) else {}

    @property
    def patched(self) -> frozenset[str]:
        """The arguments that a hook had changed: replay asks no hook, so they say nothing about the caller."""
        found = self.metadata.get("chrono.patched")
        return frozenset(map(str, found)) if isinstance(found, list) else frozenset()

    @property
    def error(self) -> JsonObject | None:
        """{type, message} of a failed call."""
        found = (self.output or {}).get("error")
        return found if isinstance(found, dict) else None


class RecordedSpan(NamedTuple):
    """One span of a recording and its calls in the order in which they began."""

    trace_id: str
    span_id: str
    service: str | None
    ambient: bool
    calls: tuple[Recorded, ...]
    metadata: JsonObject


class Recording(NamedTuple):
    """`spans` in the order in which they began; `masked`: some result holds a redacted value."""

    trace_id: str
    spans: tuple[RecordedSpan, ...]
    masked: bool

    @property
    def calls(self) -> tuple[Recorded, ...]:
        return tuple(call for span in self.spans for call in span.calls)


def recording_of(envelopes: Iterable[Any], spans: Iterable[Any] = (), trace_id: str | None = None) -> Recording:
    """Read envelopes and, where there are some, their spans: models, entries or their JSON objects. Raises BadRecording
    for what has no id, name or span."""
    known = {one["span_id"]: one for one in map(_object, spans) if isinstance(one.get("span_id"), str)}
    found: dict[str, list[Recorded]] = {span_id: [] for span_id in known}
    closed: dict[str, Recorded] = {}
    traces = []
    for one in envelopes:
        value = _object(one)
        call = _recorded(value)
        traces.append(value.get("trace_id"))
        before = closed.get(call.envelope_id)
        if before is None or before.output is None:  # an open one is replaced by its close
            closed[call.envelope_id] = call
    for call in closed.values():
        found.setdefault(call.span_id, []).append(call)
    if trace_id is None:
        trace_id = next((one for one in traces if isinstance(one, str)), None) or "0" * 32
    read = [_span(trace_id, span_id, known.get(span_id, {}), calls) for span_id, calls in found.items()]
    starts = {one.span_id: _start(one, known.get(one.span_id, {})) for one in read}
    read.sort(key=lambda one: starts[one.span_id])
    return Recording(trace_id, tuple(read), any(map(_masked, closed.values())))


def _masked(call: Recorded) -> bool:
    results = [notes for side, notes in call.notes.items() if side != "input"]
    return any("redacted" in str(note) for notes in results for note in _every(notes))


def _every(notes: Any) -> Iterable[Any]:
    return notes.values() if isinstance(notes, dict) else ()


def _object(one: Any) -> JsonObject:
    if isinstance(one, EnvelopeEntry):
        return wire(one)
    if hasattr(one, "model_dump"):
        one = one.model_dump(mode="json", exclude_none=True)
    if not isinstance(one, dict):
        raise BadRecording(f"an envelope is an object, not {type(one).__name__}")
    return one


def _recorded(value: JsonObject) -> Recorded:
    texts = [value.get(name) for name in ("envelope_id", "span_id", "name")]
    if not all(isinstance(text, str) and text for text in texts):
        raise BadRecording("an envelope has no id, span or name", "write a file with: chrono trace export TRACE")
    metadata, given, output = (_dict(value.get(name)) for name in ("metadata", "input", "output"))
    status = _dict(value.get("envelope_status"))
    started_s = _seconds(status.get("started_at"), 0.0)
    parent = value.get("parent_envelope_id")
    return Recorded(
        str(value["envelope_id"]),
        str(value["span_id"]),
        parent if isinstance(parent, str) else None,
        str(value["name"]),
        str(value.get("kind", "tool")),
        _whole(metadata.get("chronicle.invocation_index")),
        _whole(metadata.get("chronicle.sequence")),
        _dict(given.get("raw")),
        output if isinstance(value.get("output"), dict) else None,
        metadata,
        started_s,
        _seconds(status.get("ended_at"), started_s),
    )


def _span(trace_id: str, span_id: str, span: JsonObject, calls: list[Recorded]) -> RecordedSpan:
    calls.sort(key=lambda one: (one.sequence, one.started_s, one.number))
    service = span.get("service")
    metadata = _dict(span.get("metadata"))
    return RecordedSpan(
        trace_id,
        span_id,
        service if isinstance(service, str) else None,
        metadata.get("chrono.ambient") is True,
        tuple(calls),
        metadata,
    )


def _start(span: RecordedSpan, value: JsonObject) -> float:
    return _seconds(value.get("started_at"), span.calls[0].started_s if span.calls else 0.0)


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _LAST


def _seconds(text: Json, default: float) -> float:
    if not isinstance(text, str):
        return default
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return default

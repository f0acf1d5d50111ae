"""Claims about what the recorder writes: the models of `trace` read it."""

from __future__ import annotations

import json

from chrono.record import entry as entries
from chrono.record.entry import EnvelopeEntry, SpanEntry, TraceEntry, encode, utc
from chrono.trace.entities import Envelope, Span, Trace
from chrono.trace.fields import SCHEMA_VERSION

AT = 1_790_000_000_123_456_789
TRACE_ID, SPAN_ID, ENVELOPE_ID = "ab" * 16, "12" * 8, "34" * 8


def envelope(**changes: object) -> EnvelopeEntry:
    whole = EnvelopeEntry(
        TRACE_ID, SPAN_ID, ENVELOPE_ID, "56" * 8, "search", "tool", 2, "78" * 8, AT, AT + 1000, "success",
        {"raw": {"q": "é\u2028"}}, {"raw": None}, {"chronicle.sequence": 1},
    )  # fmt: skip
    return whole._replace(**changes)  # type: ignore[arg-type]


def test_the_models_read_every_entry_and_keep_every_member() -> None:
    for entry, model in (
        (TraceEntry(TRACE_ID, "n", {"session_id": "s"}, AT), Trace),
        (TraceEntry(TRACE_ID, None, {}, AT), Trace),
        (SpanEntry(TRACE_ID, SPAN_ID, None, "agent", AT, None, None, {}), Span),
        (SpanEntry(TRACE_ID, SPAN_ID, "56" * 8, "agent", AT, AT, "failure", {"a": [1]}), Span),
        (envelope(), Envelope),
        (envelope(ended_at_ns=None, status=None, output=None, parent_envelope_id=None, retry_of=None), Envelope),
        (envelope(kind="llm", input={"model": "m", "messages": [], "raw": {}}, output={"content": []}), Envelope),
    ):
        read = model.model_validate_json(encode(entry))
        assert not read.model_extra
        assert read.to_wire() == model.model_validate_json(read.to_wire()).to_wire()


def test_the_schema_version_is_the_models() -> None:
    assert entries.SCHEMA_VERSION == SCHEMA_VERSION


def test_a_time_has_microseconds_and_a_zone() -> None:
    assert utc(AT) == "2026-09-21T14:13:20.123456Z"
    assert utc(AT + 1_000_000_000) == "2026-09-21T14:13:21.123456Z"


def test_a_lone_surrogate_does_not_lose_the_entry() -> None:
    assert json.loads(encode(envelope(output={"raw": "a\udc80"})))["output"]["raw"] == "a\udc80"

"""Claims about Trace, Span and Envelope: what is refused, what is kept, how they look on the wire."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from chrono.trace.entities import Envelope, Span, Trace

TRACE_ID = "ab" * 16
NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
CLOSED = {"state": "closed", "status": "success", "started_at": NOW, "ended_at": NOW}


def envelope(**changes: Any) -> Envelope:
    fields: dict[str, Any] = {
        "envelope_id": "12" * 8,
        "span_id": "34" * 8,
        "trace_id": TRACE_ID,
        "name": "search",
        "kind": "tool",
        "envelope_status": CLOSED,
        "input": {"raw": {"query": None}},
        "output": {"raw": [1, None]},
    }
    return Envelope.model_validate(fields | changes)


def test_nulls_of_models_are_left_out_and_nulls_of_free_json_are_kept() -> None:
    wire = json.loads(envelope().to_wire())
    assert "parent_envelope_id" not in wire
    assert wire["input"] == {"raw": {"query": None}}
    assert wire["output"] == {"raw": [1, None]}
    assert wire["envelope_status"]["started_at"] == "2026-05-01T12:00:00Z"


def test_what_is_read_is_what_was_written() -> None:
    first = envelope()
    assert Envelope.model_validate_json(first.to_wire()) == first


def test_unknown_fields_are_kept_at_every_level() -> None:
    wire = json.loads(envelope(newer={"a": 1}, output={"raw": 1, "cost": 5}).to_wire())
    assert wire["newer"] == {"a": 1}
    assert wire["output"]["cost"] == 5


@pytest.mark.parametrize(
    ("kind", "side", "shape"),
    [
        ("tool", "input", {"model": "m", "messages": [], "raw": {}}),
        ("tool", "output", {"content": [], "raw": None}),
        ("llm", "input", {"raw": {}}),
    ],
)
def test_the_shape_of_another_kind_is_refused(kind: str, side: str, shape: dict[str, Any]) -> None:
    right = {"input": {"model": "m", "messages": [], "raw": {}}, "output": {"content": []}} if kind == "llm" else {}
    with pytest.raises(ValidationError):
        envelope(**{"kind": kind, **right, side: shape})


def test_a_closed_envelope_has_an_output() -> None:
    with pytest.raises(ValidationError, match="an output is required"):
        envelope(output=None)


@pytest.mark.parametrize(
    "status",
    [
        {"state": "open", "status": "success", "started_at": NOW},
        {"state": "open", "started_at": NOW, "ended_at": NOW},
        {"state": "closed", "status": "success", "started_at": NOW},
        {"state": "closed", "started_at": NOW, "ended_at": NOW},
        {"state": "closed", "status": "success", "started_at": NOW, "ended_at": NOW - timedelta(seconds=1)},
        {"state": "open", "started_at": datetime(2026, 5, 1)},
    ],
)
def test_a_state_that_contradicts_itself_is_refused(status: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        envelope(envelope_status=status)
    with pytest.raises(ValidationError):
        Span.model_validate({"trace_id": TRACE_ID, "span_id": "12" * 8, "service": "s", **status})


@pytest.mark.parametrize("trace_id", ["0" * 32, "AB" * 16, "ab" * 8, "", "g" * 32, "ab" * 16 + "\n"])
def test_a_trace_id_is_32_lower_case_hex_and_not_zero(trace_id: str) -> None:
    with pytest.raises(ValidationError):
        Trace(trace_id=trace_id, state="open")


@pytest.mark.parametrize("key", ["a-b", "A", "a..b", "", ".a", "a.b.", "a\n"])
def test_a_metadata_key_is_lower_case_words_with_dots(key: str) -> None:
    with pytest.raises(ValidationError):
        Trace(trace_id=TRACE_ID, state="open", metadata={key: "x"})


def test_assignment_is_checked() -> None:
    trace = Trace(trace_id=TRACE_ID, state="open")
    with pytest.raises(ValidationError):
        trace.trace_id = "x"


def test_a_model_is_named_with_its_source_or_not_at_all() -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "raw": {}}
    for output in ({"model": "m"}, {"model_source": "served"}):
        with pytest.raises(ValidationError, match="both or neither"):
            envelope(kind="llm", input=asked, output=output)
    assert envelope(kind="llm", input=asked, output={"model": "m", "model_source": "served"}).output


def test_links_and_attempts_have_their_rules() -> None:
    assert envelope(attempt=2, links=[{"type": "retry_of", "envelope_id": "ab" * 8}]).links[0].envelope_id == "ab" * 8
    for changes in (
        {"attempt": 0},
        {"links": [{"type": "retry_of", "envelope_id": "bad"}]},
        {"links": [{"type": "x"}]},
    ):
        with pytest.raises(ValidationError):
            envelope(**changes)

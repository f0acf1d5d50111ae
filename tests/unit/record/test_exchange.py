"""One trace as one file: out, in again, the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chrono.record import frames
from chrono.record.exchange import NotATrace, exported, import_trace, parsed
from chrono.record.local import StoreWriter
from chrono.record.reading import read_trace, summaries
from tests.unit.record.test_delivery import TRACE, envelope, sink_to
from tests.unit.record.test_reading import two_traces


def test_what_is_exported_comes_back_the_same_on_another_machine(tmp_path: Path) -> None:
    two_traces(tmp_path / "here")
    sink = sink_to(None, tmp_path / "here")
    sink.put_envelope(envelope(7, output={"raw": "\ud800 é", "error": None}, metadata={"own.key": [1.5, None]}))
    sink.close()
    there = str(tmp_path / "there")
    data = exported(read_trace(str(tmp_path / "here"), TRACE))
    assert import_trace(there, parsed(data)).written == 5
    assert read_trace(there, TRACE) == read_trace(str(tmp_path / "here"), TRACE)
    assert exported(read_trace(there, TRACE)) == data


def test_a_second_import_writes_nothing(tmp_path: Path) -> None:
    two_traces(tmp_path / "here")
    trace = read_trace(str(tmp_path / "here"), TRACE)
    import_trace(str(tmp_path / "there"), trace)
    again = import_trace(str(tmp_path / "there"), trace)
    assert (again.written, again.known) == (0, 4)


def test_an_open_record_is_replaced_by_the_closed_one_that_is_imported(tmp_path: Path) -> None:
    sink = sink_to(None, tmp_path)
    sink.put_envelope(envelope(1, ended_at_ns=None, status=None, output=None))
    sink.close()
    two_traces(tmp_path / "other")
    import_trace(str(tmp_path), read_trace(str(tmp_path / "other"), TRACE))
    assert {one["envelope_status"]["state"] for one in read_trace(str(tmp_path), TRACE).envelopes} == {"closed"}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"\xff", b'{"format":"chrono-trace/9","envelopes":[]}', b'{"envelopes":[]}',
     b'{"envelopes":[1]}', b'{"envelopes":[{"trace_id":"a"}]}', b'{"envelopes":{}, "spans":[{}]}'],
)  # fmt: skip
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    with pytest.raises(NotATrace):
        parsed(data)


def hostile(member: str, value: object) -> bytes:
    """An exported trace with one member of its last envelope, span or itself replaced."""
    part, _, name = member.partition(".")
    trace: dict[str, Any] = {
        "trace": {"trace_id": TRACE, "name": "n", "metadata": {}},
        "spans": [{"trace_id": TRACE, "span_id": "a", "service": "s", "state": "open"}],
        "envelopes": [
            {"trace_id": TRACE, "span_id": "a", "envelope_id": "b", "kind": "tool", "name": "n",
             "envelope_status": {"state": "open"}, "input": {"raw": 1}}
        ],
    }  # fmt: skip
    if not name:
        return json.dumps({**trace, part: value}).encode()
    held = trace[part] if part == "trace" else trace[part][-1]
    *way, last = name.split(".")
    for step in way:
        held = held.setdefault(step, {})
    held[last] = value
    return json.dumps(trace).encode()


@pytest.mark.parametrize("value", [5, [1], True])
@pytest.mark.parametrize(
    "member",
    ["trace", "trace.name", "trace.metadata", "trace.started_at", "spans", "spans.trace_id", "spans.service",
     "spans.status", "spans.ended_at", "envelopes", "envelopes.trace_id", "envelopes.envelope_id", "envelopes.kind",
     "envelopes.name", "envelopes.input", "envelopes.output", "envelopes.output.error", "envelopes.metadata",
     "envelopes.envelope_status", "envelopes.envelope_status.state", "envelopes.envelope_status.started_at"],
)  # fmt: skip
def test_a_trace_that_no_reader_could_show_is_not_taken_in(member: str, value: object) -> None:
    with pytest.raises(NotATrace):
        parsed(hostile(member, value))


def test_what_is_nested_without_end_and_ids_that_are_none_are_refused() -> None:
    for data in (b"[" * 100_000, hostile("envelopes", None).replace(b"null", b"[" * 100_000)):
        with pytest.raises(NotATrace):
            parsed(data)
    for given in ("../../x", "a\0b", TRACE.upper(), TRACE + "0", ""):
        with pytest.raises(NotATrace):
            parsed(hostile("trace", None).replace(TRACE.encode(), json.dumps(given)[1:-1].encode()))


def test_records_of_another_shape_in_a_store_count_as_damaged(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    good = json.loads(hostile("trace", None))["envelopes"][0]
    values: list[Any] = [good, {**good, "envelope_id": 5}, [good]]
    for value in values:
        writer.append(frames.ENVELOPE, TRACE, value)
    writer.append(frames.SPAN, TRACE, {"span_id": "a"})
    writer.close()
    found = read_trace(str(tmp_path), TRACE)
    assert (len(found.envelopes), found.damaged) == (1, 3)
    assert summaries(str(tmp_path))[0].services == ()

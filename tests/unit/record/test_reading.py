"""Readers: every trace and all of it, while its writer writes, and across files."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.record.entry import SpanEntry, TraceEntry
from chrono.record.reading import NoSuchTrace, Wanted, chosen, read_trace, summaries, trace_id_of
from chrono.record.storefile import file_names
from tests.unit.record.test_delivery import AT, SPAN, TRACE, envelope, sink_to, span

OTHER = "ef" * 16


def two_traces(folder: Path) -> None:
    sink = sink_to(None, folder)
    sink.put_trace(TraceEntry(TRACE, "book a table", {"user_id": "u1"}, AT))
    sink.put_span(span(ended=False))
    sink.put_envelope(envelope(1, ended_at_ns=None, status=None, output=None))
    sink.put_envelope(envelope(0))
    sink.put_envelope(envelope(1))
    sink.put_span(span())
    sink.close()
    sink.put_span(SpanEntry(OTHER, SPAN, None, "billing", AT + 10**9, AT + 2 * 10**9, "failure", {}))
    sink.put_envelope(envelope(2, trace_id=OTHER, output={"raw": "x" * 9000}))
    sink.close()


def test_traces_are_listed_newest_first_with_what_is_known_of_them(tmp_path: Path) -> None:
    two_traces(tmp_path)
    assert len(file_names(str(tmp_path))) == 2
    newest, oldest = summaries(str(tmp_path))
    assert (newest.trace_id, newest.name, newest.status, newest.services) == (OTHER, None, "failure", ("billing",))
    assert (oldest.name, oldest.labels, oldest.status) == ("book a table", {"user_id": "u1"}, "success")
    assert (oldest.span_count, oldest.envelope_count) == (1, 2)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), [OTHER, TRACE]),
        (Wanted(name="BOOK"), [TRACE]),
        (Wanted(name="efef"), [OTHER]),
        (Wanted(status="failure"), [OTHER]),
        (Wanted(service="agent"), [TRACE]),
        (Wanted(label=("user_id", "u1")), [TRACE]),
        (Wanted(label=("user_id", "u2")), []),
        (Wanted(since="2026-09-21T14:13:21"), [OTHER]),
        (Wanted(before="2026-09-21T14:13:21"), [TRACE]),
    ],
)
def test_a_list_is_narrowed_by_what_is_asked(tmp_path: Path, wanted: Wanted, found: list[str]) -> None:
    two_traces(tmp_path)
    assert [one.trace_id for one in chosen(summaries(str(tmp_path)), wanted)] == found


def test_all_of_a_trace_is_read_each_in_its_newest_state(tmp_path: Path) -> None:
    two_traces(tmp_path)
    trace = read_trace(str(tmp_path), TRACE)
    assert trace.trace["name"] == "book a table"
    assert [one["state"] for one in trace.spans] == ["closed"]
    assert [one["name"] for one in trace.envelopes] == ["tool-0", "tool-1"]
    assert {one["envelope_status"]["state"] for one in trace.envelopes} == {"closed"}
    assert read_trace(str(tmp_path), OTHER).envelopes[0]["output"] == {"raw": "x" * 9000}


def test_a_process_that_died_leaves_its_trace_open(tmp_path: Path) -> None:
    sink = sink_to(None, tmp_path)
    sink.put_span(span(ended=False))
    sink.put_envelope(envelope(0))
    (listed,) = summaries(str(tmp_path))
    assert (listed.status, listed.envelope_count, listed.ended_at) == ("open", 1, None)
    sink.close()


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(tmp_path: Path) -> None:
    two_traces(tmp_path)
    assert trace_id_of(str(tmp_path), "AB") == TRACE
    with pytest.raises(NoSuchTrace, match="no trace 00"):
        trace_id_of(str(tmp_path), "00")
    with pytest.raises(NoSuchTrace, match="2 traces"):
        trace_id_of(str(tmp_path), "")


def test_a_damaged_piece_costs_its_own_record_only(tmp_path: Path) -> None:
    sink = sink_to(None, tmp_path)
    for number in range(3):
        sink.put_envelope(envelope(number, output={"raw": str(number) * 50_000}))
    sink.close()
    (path,) = tmp_path.glob("*.trace")
    path.write_bytes(path.read_bytes().replace(b"1" * 50_000, b"1" * 49_999 + b"2"))
    trace = read_trace(str(tmp_path), TRACE)
    assert [one["name"] for one in trace.envelopes] == ["tool-0", "tool-2"]
    assert trace.damaged == 1


def test_an_empty_or_missing_store_has_no_traces(tmp_path: Path) -> None:
    assert summaries(str(tmp_path)) == summaries(str(tmp_path / "none")) == []

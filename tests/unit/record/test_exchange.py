"""One trace as one file: out, in again, the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.record.exchange import NotATrace, exported, import_trace, parsed
from chrono.record.reading import read_trace
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

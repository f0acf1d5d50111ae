"""The index of a store: a list reads no file twice that has not changed, and believes no index over a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.record import index
from chrono.record.index import INDEX, held, names_with
from chrono.record.reading import NoSuchTrace, read_trace, summaries, trace_id_of
from chrono.record.storefile import StoreFile, file_names
from tests.unit.record.test_delivery import SPAN, TRACE, envelope, sink_to, span
from tests.unit.record.test_reading import OTHER, two_traces


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of this moment count as old."""
    monkeypatch.setattr(index, "SETTLED_NS", -(10**18))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the store files that were opened."""
    opened: list[str] = []

    class Watched(StoreFile):
        def __init__(self, path: str) -> None:
            opened.append(os.path.basename(path))
            super().__init__(path)

    monkeypatch.setattr(index, "StoreFile", Watched)
    monkeypatch.setattr("chrono.record.reading.StoreFile", Watched)
    return opened


def test_a_second_list_is_the_same_and_reads_no_file(tmp_path: Path, reads: list[str]) -> None:
    two_traces(tmp_path)
    first = summaries(str(tmp_path))
    assert len(reads) == 2
    assert summaries(str(tmp_path)) == first and len(first) == 2
    assert trace_id_of(str(tmp_path), "ab") == TRACE
    assert len(reads) == 2


def test_one_trace_is_read_from_the_files_that_have_it(tmp_path: Path, reads: list[str]) -> None:
    two_traces(tmp_path)
    whole = read_trace(str(tmp_path), TRACE)
    assert len(reads) == 2
    summaries(str(tmp_path))
    reads.clear()
    assert read_trace(str(tmp_path), TRACE) == whole
    assert reads == file_names(str(tmp_path))[:1]
    with pytest.raises(NoSuchTrace):
        read_trace(str(tmp_path), "00" * 16)


def test_a_file_that_has_grown_is_read_again(tmp_path: Path) -> None:
    sink = sink_to(None, tmp_path)
    sink.put_span(span(ended=False))
    assert [one.envelope_count for one in summaries(str(tmp_path))] == [0]
    sink.put_envelope(envelope(0))
    assert [one.envelope_count for one in summaries(str(tmp_path))] == [1]
    sink.put_envelope(envelope(1, trace_id=OTHER))
    assert list(names_with(str(tmp_path), OTHER)) == file_names(str(tmp_path))
    sink.close()


def test_a_file_of_the_same_name_and_size_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    two_traces(tmp_path)
    summaries(str(tmp_path))
    path = tmp_path / file_names(str(tmp_path))[0]
    data, before = path.read_bytes(), path.stat()
    path.write_bytes(data.replace(TRACE.encode(), OTHER.encode()))  # their checksums are wrong now
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [one.trace_id for one in summaries(str(tmp_path))] == [OTHER]


def test_a_file_that_was_just_written_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SETTLED_NS", 10**18)
    two_traces(tmp_path)
    assert len(summaries(str(tmp_path))) == 2
    assert not (tmp_path / INDEX).exists()


def test_what_was_removed_is_not_listed(tmp_path: Path) -> None:
    two_traces(tmp_path)
    summaries(str(tmp_path))
    (tmp_path / file_names(str(tmp_path))[0]).unlink()
    assert [one.trace_id for one in summaries(str(tmp_path))] == [OTHER]


@pytest.mark.parametrize("end", [0, 1, 40, 90, 200, -2, -1])
def test_a_torn_index_is_made_anew(tmp_path: Path, end: int) -> None:
    two_traces(tmp_path)
    first = summaries(str(tmp_path))
    whole = (tmp_path / INDEX).read_bytes()
    (tmp_path / INDEX).write_bytes(whole[:end])
    assert summaries(str(tmp_path)) == first
    assert (tmp_path / INDEX).read_bytes() == whole


@pytest.mark.parametrize("wrong", [b"success", b"agent"])
def test_an_index_that_was_altered_is_not_believed(tmp_path: Path, wrong: bytes) -> None:
    two_traces(tmp_path)
    first = summaries(str(tmp_path))
    whole = (tmp_path / INDEX).read_bytes()
    assert wrong in whole
    (tmp_path / INDEX).write_bytes(whole.replace(wrong, wrong[::-1]))
    assert summaries(str(tmp_path)) == first


def test_an_index_of_another_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_traces(tmp_path)
    first = summaries(str(tmp_path))
    whole = (tmp_path / INDEX).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(index, "FORMAT", b"2")
        assert summaries(str(tmp_path)) == first
        assert (tmp_path / INDEX).read_bytes() != whole
    assert summaries(str(tmp_path)) == first
    assert (tmp_path / INDEX).read_bytes() == whole


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"a":[]}', '{"a":[[1],{},0,[],0]}', '{"a":[null,{"b":[1]},0,[],0]}']
)
def test_a_line_of_another_form_is_none(text: str) -> None:
    assert index._parsed(f"1 name 1 1 1 1 0 {text}\n".encode()) is None


def test_a_store_that_may_only_be_read_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str, data: bytes, **_: object) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(index, "atomic_write", refused)
    two_traces(tmp_path)
    assert len(summaries(str(tmp_path))) == 2


def test_states_of_one_span_in_several_files_count_as_in_one(tmp_path: Path) -> None:
    sink = sink_to(None, tmp_path)
    sink.put_span(span())
    sink.close()
    sink.put_span(span(ended=False))  # a late open one does not undo the closed one
    sink.put_envelope(envelope(0, ended_at_ns=None, status=None, output=None))
    sink.close()
    for _ in range(2):
        (one,) = held(str(tmp_path)).values()
        assert one.spans[SPAN].closed and one.spans[SPAN].status == "success"
        assert len(one.opened) == 1 and one.closed == 0

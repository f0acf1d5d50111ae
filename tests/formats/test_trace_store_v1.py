"""Bytes of a store file and of an exported trace as version 1 wrote them: every later chrono reads them the same."""

from __future__ import annotations

from pathlib import Path

from chrono.record.exchange import exported, parsed
from chrono.record.frames import PIECE, Frame
from chrono.record.reading import read_trace
from chrono.record.storefile import StoreFile, file_names

FROZEN = Path(__file__).parent / "trace_store_v1"
TRACE = "ab" * 16


def test_the_frozen_store_is_read_as_it_was_written() -> None:
    trace = read_trace(str(FROZEN), TRACE)
    assert exported(trace) == (FROZEN / "trace.json").read_bytes()
    assert trace.damaged == 0 and len(trace.envelopes) == 3


def test_the_frozen_file_shares_pieces_and_ends_torn() -> None:
    (name,) = file_names(str(FROZEN))
    with StoreFile(str(FROZEN / name)) as file:
        records = list(file.records(0))
        header = file.header()
        assert all(isinstance(record, Frame) for record in records)
        assert sum(record.kind == PIECE for record in records if isinstance(record, Frame)) >= 3
        assert records[-1].end < file.size
    assert header is not None and (header.format, header.plane) == (1, None)


def test_the_frozen_export_is_read_as_it_was_written() -> None:
    trace = parsed((FROZEN / "trace.json").read_bytes())
    assert exported(trace) == (FROZEN / "trace.json").read_bytes()
    assert trace.trace["name"] == "frozen"

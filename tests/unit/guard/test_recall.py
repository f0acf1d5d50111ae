"""Claims about looking back from the end of a log: whatever the pieces it is read in, every line is met once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.place import LogPlace
from chrono.audit.record import Act, Actor, Entry, encode
from chrono.guard import recall


def line(n: int, call_id: str, decision: str | None, ev: str = "command") -> bytes:
    act = Act(decision=decision, phase=None if decision else "end")
    entry = Entry(ev, Actor(source="hook", tool_use_id=call_id), act)
    at = f"2026-01-01T00:00:{n % 60:02d}.000000Z"
    return encode(entry, n=n, at=at, log="0" * 32, prev="0" * 64, signer=None) + b"\n"


def place(folder: Path, data: bytes) -> LogPlace:
    path = folder / "audit.jsonl"
    path.write_bytes(data)
    return LogPlace(str(folder), str(path), *(str(folder / name) for name in LogPlace._fields[2:]))


LINES = [line(n, f"c{n}", "allow") for n in range(9)]


@pytest.mark.parametrize("chunk", [1, 7, len(LINES[0]) - 1, len(LINES[0]), len(LINES[0]) + 1, 1000, 1 << 16])
@pytest.mark.parametrize("torn", [b"", b'{"torn', LINES[0][:-1]])
def test_every_whole_line_is_met_once_and_a_torn_one_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, torn: bytes
) -> None:
    monkeypatch.setattr(recall, "_CHUNK_BYTES", chunk)
    where = place(tmp_path, b"".join(LINES) + torn)
    assert [record.n for record in recall.backwards(where)] == list(reversed(range(9)))


def test_what_lies_further_back_than_the_look_is_not_met_nor_half_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(recall, "LOOK_BYTES", len(LINES[8]) + len(LINES[7]) // 2)
    where = place(tmp_path, b"".join(LINES))
    assert [record.n for record in recall.backwards(where)] == [8]
    assert recall.earlier(where, "c7") is None


def test_the_newest_decision_about_a_call_counts_and_results_do_not(tmp_path: Path) -> None:
    more = [line(9, "same", "block"), line(10, "same", "allow"), line(11, "same", None), b"no record, same\n"]
    where = place(tmp_path, b"".join([*LINES, *more]))
    found = recall.earlier(where, "same")
    assert found is not None and (found.n, found.decision) == (10, "allow")
    assert recall.earlier(where, "nobody's") is None


def test_the_time_of_the_newest_record_of_a_kind_is_told(tmp_path: Path) -> None:
    where = place(
        tmp_path, b"".join([line(5, "a", None, "session.start"), line(7, "b", None, "session.start"), *LINES])
    )
    assert recall.newest_at(where, "session.start") == "2026-01-01T00:00:07.000000Z"
    assert recall.newest_at(where, "session.end") is None


def test_a_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    where = place(tmp_path, b"")
    assert list(recall.backwards(where)) == []
    os.unlink(where.log)
    assert list(recall.backwards(where)) == []


def test_a_look_at_a_long_log_keeps_little_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    where = place(tmp_path, b"".join(LINES) * (recall.LOOK_BYTES // len(b"".join(LINES)) + 1))
    tracemalloc.start()
    try:
        assert recall.earlier(where, "nobody's") is None
        assert tracemalloc.get_traced_memory()[1] < recall.LOOK_BYTES // 8
    finally:
        tracemalloc.stop()

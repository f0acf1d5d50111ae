"""Claims about the home witness and its comparison with a log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.compare import compare
from chrono.audit.witness import COMPACT_BYTES, EMPTY, Alarm, Mark, State, Witness
from chrono.errors import AuditUnverifiable

BOOT = "b" * 36
LEAF = "1f" * 32


def mark(size: int, boot: str = BOOT) -> Mark:
    return Mark(size, LEAF, f"note of {size}\n", boot)


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(str(tmp_path / "w.log"), str(tmp_path / "w.lock"))


def again(witness: Witness) -> Witness:
    return Witness(witness._path, witness._lock)


def test_no_file_says_nothing(witness: Witness) -> None:
    assert witness.state() == EMPTY


def test_the_last_mark_and_the_highest_acknowledgement_count(witness: Witness) -> None:
    witness.appended(mark(1))
    witness.appended(mark(2))
    witness.acknowledged(2)
    witness.acknowledged(1)  # another writer, late
    for reader in (witness, again(witness)):
        assert reader.state() == State(mark(2), 2, None, 0, 0)
    assert os.stat(witness._path).st_mode & 0o777 == 0o600


def test_lines_of_another_process_are_seen(witness: Witness) -> None:
    witness.appended(mark(1))
    witness.state()
    again(witness).appended(mark(2))
    state = witness.state()
    assert state.mark == mark(2)
    os.unlink(witness._path)
    assert witness.state() == EMPTY
    again(witness).acknowledged(1)
    assert witness.state().acknowledged == 1


def test_what_a_writer_knows_of_its_own_lines_is_what_a_reader_finds(witness: Witness) -> None:
    other = again(witness)
    for size in range(1, 30):
        witness.state()
        if size % 5 == 0:
            other.acknowledged(size + 3)  # in between
        witness.appended(mark(size))
        if size % 7 == 0:
            with open(witness._path, "ab") as file:
                file.write(b"S 99")  # a write that was cut off
        witness.acknowledged(size)
        if size % 11 == 0:
            other.dropped()
        assert witness.state() == again(witness).state()
    assert witness.state().acknowledged < 99


def test_the_first_alarm_stays_until_a_reset(witness: Witness) -> None:
    witness.appended(mark(9))
    witness.acknowledged(9)
    witness.latch(Alarm("truncated", mark(9), 4, "aa", "at"))
    witness.latch(Alarm("forked", mark(4), 4, "bb", "later"))
    witness.appended(mark(5))
    state = witness.state()
    assert state.alarm == Alarm("truncated", mark(9), 4, "aa", "at")
    assert (state.mark, state.acknowledged) == (mark(5), 0)
    witness.reset()
    assert witness.state() == State(mark(5), 0, None, 1, 0)


def test_a_damaged_latch_is_still_a_latch(witness: Witness) -> None:
    witness.appended(mark(1))
    for damage in ("L", "L !!", "L e30=", "L bm8="):
        Path(witness._path).write_text(f"{damage}\n")
        assert again(witness).state().alarm is not None


def test_a_torn_line_counts_for_nothing_and_swallows_nothing(witness: Witness) -> None:
    witness.appended(mark(1))
    with open(witness._path, "ab") as file:
        file.write(b"A 2 " + LEAF.encode() + b" bm90ZQ== " + b"b" * 20)
    other = again(witness)
    assert other.state().mark == mark(1)
    other.acknowledged(1)
    assert again(witness).state() == State(mark(1), 1, None, 0, 0)
    other.appended(mark(2))
    assert other.state().mark == mark(2)
    assert again(witness).state().mark == mark(2)


def test_lines_that_are_none_say_nothing(witness: Witness) -> None:
    witness.appended(mark(1))
    with open(witness._path, "ab") as file:
        file.write(
            b"\xff\xfe\nA\nA x y z b\nA 1 2\nS\nS x\nS 99999999999999999999\nQ 1\nD -1\n\nR 2\n" + b"\0" * 99 + b"\n"
        )
    assert again(witness).state() == State(mark(1), 0, None, 0, 0)


def test_dropped_entries_are_counted_until_a_record_tells_of_them(witness: Witness) -> None:
    witness.dropped()
    witness.dropped()
    assert witness.state().dropped == 2
    witness.counted(2)
    witness.dropped()
    assert again(witness).state().dropped == 1


def test_compaction_keeps_what_the_file_says(witness: Witness) -> None:
    witness.reset()
    witness.appended(mark(3))
    witness.latch(Alarm("forked", mark(3), 2, "aa", "at"))
    witness.acknowledged(1)
    witness.dropped()
    with open(witness._path, "ab") as file:
        file.write(b"S 1\n" * (COMPACT_BYTES // 4))
    before = witness.state()
    witness.appended(mark(4))
    assert os.stat(witness._path).st_size < 2000
    assert witness.state() == again(witness).state() == before._replace(mark=mark(4))


def test_a_line_of_another_writer_survives_a_compaction(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    other = again(witness)
    witness.appended(mark(1))
    other.state()
    with open(witness._path, "ab") as file:
        file.write(b"S 1\n" * (COMPACT_BYTES // 4))
    import chrono.audit.witness as module

    real = module.atomic_write

    def late(path: str, data: bytes) -> None:
        other.acknowledged(7)  # into the file that is about to be replaced
        real(path, data)

    monkeypatch.setattr(module, "atomic_write", late)
    witness.state()
    witness.appended(mark(2))
    assert again(witness).state() == State(mark(2), 7, None, 0, 0)


@pytest.mark.parametrize("kind", ["symlink", "directory", "fifo", "hard link"])
def test_only_a_plain_file_with_one_name_is_a_witness(witness: Witness, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"S 1\n")
    if kind == "symlink":
        Path(witness._path).symlink_to(other)
    elif kind == "directory":
        os.mkdir(witness._path)
    elif kind == "fifo":
        os.mkfifo(witness._path)
    else:
        os.link(other, witness._path)
    with pytest.raises(AuditUnverifiable):
        witness.state()
    with pytest.raises(AuditUnverifiable):
        witness.acknowledged(1)
    assert other.read_bytes() == b"S 1\n"


def state(size: int, acknowledged: int, boot: str = BOOT) -> State:
    return State(mark(size, boot), acknowledged, None, 0, 0)


def test_the_same_log_is_no_mismatch() -> None:
    assert compare(state(5, 5), 5, LEAF, boot_id=BOOT) == (None, 0, 0)


def test_fewer_than_acknowledged_is_truncated_whatever_the_boot() -> None:
    found = compare(state(5, 5, boot="a" * 36), 4, None, boot_id=BOOT).mismatch
    assert found is not None
    assert found.code == "truncated"


def test_unacknowledged_records_may_be_lost_by_a_power_cut_only() -> None:
    same = compare(state(5, 3), 4, None, boot_id=BOOT).mismatch
    assert same is not None
    assert same.code == "truncated"
    assert compare(state(5, 3, boot="a" * 36), 4, None, boot_id=BOOT) == (None, 1, 0)
    unknown = compare(state(5, 3, boot="-"), 4, None, boot_id=BOOT).mismatch
    assert unknown is not None


def test_another_leaf_at_the_mark_is_a_fork() -> None:
    for leaf in ("2e" * 32, None):
        found = compare(state(5, 5), 7, leaf, boot_id=BOOT).mismatch
        assert found is not None
        assert found.code == "forked"


def test_records_behind_the_mark_are_adopted() -> None:
    assert compare(state(5, 5), 7, LEAF, boot_id=BOOT) == (None, 0, 2)


def test_a_log_without_its_witness_is_a_mismatch_and_an_empty_one_is_not() -> None:
    found = compare(EMPTY, 3, None).mismatch
    assert found is not None
    assert found.code == "witness-missing"
    assert compare(EMPTY, 0, None).mismatch is None


def test_an_acknowledgement_reaches_the_file_that_replaced_the_open_one(witness: Witness) -> None:
    other = again(witness)
    witness.appended(mark(1))
    other.state()
    with open(witness._path, "ab") as file:
        file.write(b"S 1\n" * (COMPACT_BYTES // 4))
    witness.state()
    witness.appended(mark(2))  # compacts
    other.acknowledged(2)
    assert again(witness).state() == other.news() == State(mark(2), 2, None, 0, 0)


def test_what_this_process_wrote_is_read_again_only_where_another_wrote_too(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = again(witness)
    witness.state()
    reads = []
    real = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        reads.append(offset)
        return real(fd, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    witness.appended(mark(1))
    witness.acknowledged(1)
    assert witness.state() == State(mark(1), 1, None, 0, 0) and not reads
    witness.appended(mark(2))
    other.dropped()
    witness.acknowledged(2)
    assert witness.news() == witness.state() == State(mark(2), 2, None, 0, 1) and len(reads) == 1

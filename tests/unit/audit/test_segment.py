"""A log in several files is one log: for writers, readers and verifiers, whatever happens to a file of it."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.audit import append
from chrono.audit.append import ROLL_STEPS
from chrono.audit.index import found
from chrono.audit.log import create
from chrono.audit.place import open_text, segment_path, segments
from chrono.audit.proof import NotAProof, prove_in, verified
from chrono.audit.query import Query
from chrono.audit.record import Act, Entry
from chrono.audit.redact import commitment
from chrono.audit.reveal import Kept, erase, find, keep
from chrono.audit.segment import (
    PACK_STEPS,
    PRUNE_STEPS,
    close,
    listed,
    pack_closed,
    plan_prune,
    prune,
)
from chrono.audit.text import BLOCK_BYTES, PACKED, PLAIN, PRUNED, SegmentBroken, lines, pack
from chrono.audit.verify import Keep, read_records
from chrono.errors import AuditTampered

from .conftest import BOB, Ground

FAR = "9999-01-01T00:00:00.000000Z"


class Stopped(Exception):
    """The process died here."""


@pytest.fixture
def parted(ground: Ground) -> Ground:
    """Records 0 to 14 in three files: 0-5, 6-11 and 12 on."""
    ground.begin(3)
    ground.savepoint()
    close(ground.log, BOB, timeout_s=5)
    for number in range(4):
        ground.command(f"make {number}")
    close(ground.log, BOB, timeout_s=5)
    ground.command("ls")
    ground.command("pwd")
    return ground


def text_of(ground: Ground) -> bytes:
    with open_text(ground.place) as text:
        return text.pread(1 << 30, 0)


def path_of(ground: Ground, first: int, form: str) -> Path:
    return Path(segment_path(ground.place, first, form))


def pruned_once(ground: Ground) -> None:
    plan = plan_prune(ground.place, FAR)
    prune(ground.log, plan._replace(segments=plan.segments[:1]), BOB, timeout_s=5)


def codes(ground: Ground, *, full: bool = False) -> list[str]:
    return sorted({finding.code for finding in ground.verify(full=full).findings})


def test_a_log_in_several_files_is_one_log(parted: Ground) -> None:
    assert [(one.first, one.records, one.form) for one in listed(parted.place)] == [
        (0, 6, PLAIN),
        (6, 6, PLAIN),
        (12, 3, PLAIN),
    ]
    report = parted.verify()
    assert (report.exit_code, report.size, report.findings, report.warnings) == (0, 15, (), ())
    assert parted.verify(full=True).exit_code == 0
    told = [record.ev for record in read_records(parted.place) if record is not None]
    assert told[5:7] == ["segment.close", "segment.open"]
    assert [record.n for record in read_records(parted.place) if record is not None] == list(range(15))


def test_the_text_does_not_change_when_a_segment_is_closed_or_packed(ground: Ground) -> None:
    ground.begin(3)
    before = text_of(ground)
    close(ground.log, BOB, timeout_s=5)
    assert text_of(ground).startswith(before)
    closed = text_of(ground)
    assert pack_closed(ground.place) == (0,)
    assert text_of(ground) == closed
    assert closed.startswith(gzip.decompress(path_of(ground, 0, PACKED).read_bytes()))
    assert not path_of(ground, 0, PLAIN).exists()
    ground.command("after")
    assert ground.verify(full=True).exit_code == 0


def test_strangers_read_a_packed_log_with_one_line(parted: Ground) -> None:
    pack_closed(parted.place)
    line = "zcat -f audit-*.jsonl* audit.jsonl"
    out = subprocess.run(["sh", "-c", line], cwd=parted.place.folder, capture_output=True, check=True).stdout
    assert out == text_of(parted)


def test_packing_is_deterministic() -> None:
    text = os.urandom(1000) * 200
    assert pack(text) == pack(text)
    assert hashlib.sha256(gzip.decompress(pack(text))).digest() == hashlib.sha256(text).digest()


def test_a_log_that_grows_beyond_the_limit_is_closed_by_the_next_writer(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "SEGMENT_BYTES", 3000)
    ground.begin(20)
    assert len(listed(ground.place)) > 3
    assert all(one.bytes < 4500 for one in listed(ground.place))
    assert ground.verify(full=True).exit_code == 0


def test_another_writer_goes_on_in_the_new_file(parted: Ground) -> None:
    other = parted.again()
    other.append(Entry("command", BOB, Act(cmd="first")), timeout_s=5)
    close(parted.log, BOB, timeout_s=5)
    receipt = other.append(Entry("command", BOB, Act(cmd="second")), timeout_s=5)
    assert receipt.n == 18
    assert parted.verify(full=True).exit_code == 0
    other.close()


def test_a_writer_without_a_head_needs_only_the_file_that_grows(parted: Ground) -> None:
    os.unlink(parted.place.head)
    for first in (0, 6):
        path_of(parted, first, PLAIN).rename(parted.root / str(first))
    other = parted.again()
    assert other.append(Entry("command", BOB, Act(cmd="after")), timeout_s=5).n == 15
    other.close()
    for first in (0, 6):
        (parted.root / str(first)).rename(path_of(parted, first, PLAIN))
    assert parted.verify(full=True).exit_code == 0


# --- crashes


@pytest.mark.parametrize("step", ROLL_STEPS)
@pytest.mark.parametrize("times", [1, 2])
def test_a_crash_while_a_segment_is_closed_leaves_a_log_that_verifies(ground: Ground, step: str, times: int) -> None:
    ground.begin(3)
    seen = 0

    def dies(at: str) -> None:
        nonlocal seen
        seen += at == step
        if at == step and seen == times:
            raise Stopped

    log = ground.again(at_step=dies)
    with pytest.raises(Stopped):
        for _ in range(times):
            close(log, BOB, timeout_s=5)
    log.close()
    assert ground.verify().exit_code == 0
    other = ground.again()
    other.append(Entry("command", BOB, Act(cmd="after")), timeout_s=5)
    other.close()
    report = ground.verify(full=True)
    assert (report.exit_code, report.findings) == (0, ())
    assert list(read_records(ground.place))[-1].act["cmd"] == "after"  # type: ignore[union-attr]


@pytest.mark.parametrize("step", append.STEPS[:3])
@pytest.mark.parametrize("ev", ["segment.close", "segment.open"])
def test_a_crash_inside_either_record_of_a_change_of_files_is_survived(ground: Ground, step: str, ev: str) -> None:
    ground.begin(3)
    seen = 0

    def dies(at: str) -> None:
        nonlocal seen
        seen += at == step
        if at == step and seen == (1 if ev == "segment.close" else 2):
            raise Stopped

    log = ground.again(at_step=dies)
    with pytest.raises(Stopped):
        close(log, BOB, timeout_s=5)
    log.close()
    other = ground.again()
    other.append(Entry("command", BOB, Act(cmd="after")), timeout_s=5)
    other.close()
    assert ground.verify(full=True).exit_code == 0


def test_half_a_first_line_of_a_new_file_is_cut_off(parted: Ground) -> None:
    closed = len(text_of(parted))
    close(parted.log, BOB, timeout_s=5)
    whole = Path(parted.place.log).read_bytes()
    Path(parted.place.log).write_bytes(whole[:100])
    assert parted.verify().exit_code == 20  # the witness saw that record
    assert closed < len(text_of(parted))


@pytest.mark.parametrize("step", PACK_STEPS)
def test_a_crash_while_packing_leaves_a_log_that_verifies(parted: Ground, step: str) -> None:
    with pytest.raises(Stopped):
        pack_closed(parted.place, _dying(step))
    assert parted.verify(full=True).exit_code == 0
    before = text_of(parted)
    pack_closed(parted.place)
    assert text_of(parted) == before
    assert [one.form for one in listed(parted.place)] == [PACKED, PACKED, PLAIN]
    assert not [name for name in os.listdir(parted.place.folder) if name.endswith(".new")]


@pytest.mark.parametrize("step", PRUNE_STEPS)
def test_a_crash_while_pruning_leaves_a_log_that_verifies(parted: Ground, step: str) -> None:
    pack_closed(parted.place)
    with pytest.raises(Stopped):
        prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5, at_step=_dying(step))
    assert parted.verify(full=True).exit_code == 0
    prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5)
    assert parted.verify(full=True).exit_code == 0
    assert [one.form for one in listed(parted.place)] == [PRUNED, PRUNED, PLAIN]


STEPS = [*(("roll", step) for step in ROLL_STEPS), *(("pack", step) for step in PACK_STEPS),
         *(("prune", step) for step in PRUNE_STEPS)]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(("act", "step"), STEPS)
def test_a_log_survives_kill_9_at_each_step(parted: Ground, act: str, step: str) -> None:
    def killed(at: str) -> None:
        if at == step:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            if act == "roll":
                close(parted.again(at_step=killed), BOB, timeout_s=5)
            elif act == "pack":
                pack_closed(parted.place, killed)
            else:
                prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5, at_step=killed)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert parted.verify(full=True).findings == ()
    other = parted.again()
    other.append(Entry("command", BOB, Act(cmd="after")), timeout_s=5)
    other.close()
    pack_closed(parted.place)
    prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5)
    report = parted.verify(full=True)
    assert (report.exit_code, report.findings) == (0, ())


def _dying(step: str) -> Callable[[str], None]:
    def dies(at: str) -> None:
        if at == step:
            raise Stopped

    return dies


# --- pruning


def test_a_pruned_log_still_verifies_and_proves(parted: Ground) -> None:
    root = parted.verify().root
    prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5)
    report = parted.verify(full=True)
    assert (report.exit_code, report.findings, report.size) == (0, (), 17)
    assert root != report.root
    key = parted.log._signer
    assert key is not None
    assert verified(prove_in(parted.place, 13), [key.public]).record.act["cmd"] == "ls"
    assert verified(prove_in(parted.place, 0), [key.public]).record.ev == "genesis"
    with pytest.raises(NotAProof, match="pruned"):
        prove_in(parted.place, 2)


def test_a_short_end_behind_a_pruned_range_is_read_in_stretches_too(
    parted: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chrono.audit.chain.QUICK_BYTES", 0)
    pruned_once(parted)
    for depth in ({}, {"strict": True}, {"full": True}):
        assert parted.verify(**depth).exit_code == 0, depth


def test_what_was_pruned_is_gone(parted: Ground) -> None:
    assert b"make 2" in text_of(parted)
    prune(parted.log, plan_prune(parted.place, FAR), BOB, timeout_s=5)
    with open_text(parted.place) as text:
        rest = b"".join(line.data or b"" for line in lines(text))
    assert b"make 2" not in rest
    assert b'"anchor"' in rest
    assert [(one.first, one.records, one.form) for one in listed(parted.place)] == [
        (0, 6, PRUNED),
        (6, 6, PRUNED),
        (12, 5, PLAIN),
    ]
    assert found(parted.place, parted.home, parted.log.log_id, Query(text="make 2"), 0) == []


def test_secrets_are_revealed_and_erased_in_closed_segments_and_go_with_pruned_ones(ground: Ground) -> None:
    ground.begin()
    kept = [Kept(f"TOKEN=hunter{number} make", bytes([number]) * 32) for number in range(3)]
    for one in kept:
        committed = commitment(one.raw, one.salt)
        ground.log.append(Entry("command", BOB, Act(cmd="TOKEN=[redacted] make", cmd_c=committed)), timeout_s=5)
        keep(ground.home, committed, one, now_ns=ground.clock.now_ns(), days=9)
    close(ground.log, BOB, timeout_s=5)
    pack_closed(ground.place)
    told = [record.act["cmd_c"] for record in read_records(ground.place) if record and "cmd_c" in record.act]
    assert [find(ground.home, str(one), now_ns=ground.clock.now_ns()) for one in told] == kept
    before = text_of(ground)
    assert erase(ground.home, str(told[0]))
    assert text_of(ground) == before
    prune(ground.log, plan_prune(ground.place, FAR), BOB, timeout_s=5)
    assert [find(ground.home, str(one), now_ns=ground.clock.now_ns()) for one in told] == [None] * 3
    assert ground.verify(full=True).exit_code == 0


def test_only_what_is_old_is_pruned(parted: Ground) -> None:
    assert plan_prune(parted.place, "2000-01-01T00:00:00.000000Z").segments == ()
    last = listed(parted.place)[0].last_at
    assert [one.first for one in plan_prune(parted.place, last + "~").segments] == [0]
    assert [one.first for one in plan_prune(parted.place, FAR).segments] == [0, 6]


def test_incremental_verification_goes_on_across_files(parted: Ground) -> None:
    signer = parted.log._signer
    assert signer is not None
    parted.verify(keep=Keep(signer, "2026-11-30T00:00:00.000000Z"))
    close(parted.log, BOB, timeout_s=5)
    pack_closed(parted.place)
    parted.command("after")
    report = parted.verify(resume=True)
    assert report.exit_code == 0
    assert "not read again" in report.integrity


# --- attacks: each with its exact finding


def test_a_dropped_segment_is_found(parted: Ground) -> None:
    path_of(parted, 0, PLAIN).unlink()
    assert codes(parted) == ["segment"]
    assert "missing" in parted.verify().findings[0].text


def test_a_segment_dropped_in_the_middle_is_found(parted: Ground) -> None:
    path_of(parted, 6, PLAIN).unlink()
    assert codes(parted) == ["segment"]


def test_swapped_segments_are_found(parted: Ground) -> None:
    one, other = path_of(parted, 0, PLAIN), path_of(parted, 6, PLAIN)
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    assert codes(parted) == ["segment"]
    assert "does not begin with record 6" in parted.verify().findings[0].text


@pytest.mark.parametrize("packed", [False, True])
def test_a_truncated_segment_is_found(parted: Ground, packed: bool) -> None:
    if packed:
        pack_closed(parted.place)
    path = path_of(parted, 6, PACKED if packed else PLAIN)
    path.write_bytes(path.read_bytes()[:-10])
    assert codes(parted) == ["segment"]


def test_a_segment_packed_again_with_changes_is_found(parted: Ground) -> None:
    pack_closed(parted.place)
    path = path_of(parted, 6, PACKED)
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(pack(text.replace(b"make 1", b"make 9")))
    assert {"signature", "chain"} <= set(codes(parted))
    path.write_bytes(pack(text.replace(b"make 1", b"make 11")))
    assert codes(parted) == ["segment"]
    path.write_bytes(gzip.compress(text))
    assert codes(parted) == ["segment"]
    path.write_bytes(pack(text))
    assert codes(parted) == []


def test_a_block_that_does_not_hold_what_it_says_is_found(parted: Ground) -> None:
    pack_closed(parted.place)
    path = path_of(parted, 6, PACKED)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert codes(parted) == ["segment"]
    path.write_bytes(path.read_bytes() + b"more")
    assert codes(parted) == ["segment"]


def test_a_pruned_range_filled_with_lies_is_found(parted: Ground) -> None:
    pruned_once(parted)
    path = path_of(parted, 0, PRUNED)
    rows = gzip.decompress(path.read_bytes()).split(b"\n")
    assert codes(parted) == []
    for lie in (b"0" * 64, b'{"a":1}'):
        path.write_bytes(pack(b"\n".join([*rows[:2], lie, *rows[3:]])))
        assert "segment" in codes(parted)
        assert parted.verify().exit_code == 20


def test_a_kept_line_of_a_pruned_range_cannot_be_hidden_behind_its_hash(parted: Ground) -> None:
    pruned_once(parted)
    path = path_of(parted, 0, PRUNED)
    rows = gzip.decompress(path.read_bytes()).split(b"\n")
    anchor = next(at for at, row in enumerate(rows) if b'"anchor"' in row)
    rows[anchor] = hashlib.sha256(b"\0" + rows[anchor]).hexdigest().encode()
    path.write_bytes(pack(b"\n".join(rows)))
    assert "segment" in codes(parted)


def test_a_range_pruned_by_somebody_else_is_found(parted: Ground) -> None:
    path = path_of(parted, 6, PLAIN)
    rows = path.read_bytes().split(b"\n")[:-1]
    left = [rows[0], *(hashlib.sha256(b"\0" + row).hexdigest().encode() for row in rows[1:])]
    path_of(parted, 6, PRUNED).write_bytes(pack(b"\n".join(left) + b"\n"))
    path.unlink()
    report = parted.verify()
    assert [(finding.code, finding.record) for finding in report.findings] == [("segment", 6)]
    assert "no record says so" in report.findings[0].text


def test_hashes_count_only_in_pruned_files(parted: Ground) -> None:
    path = path_of(parted, 6, PLAIN)
    rows = path.read_bytes().split(b"\n")
    rows[2] = hashlib.sha256(b"\0" + rows[2]).hexdigest().encode()
    path.write_bytes(b"\n".join(rows))
    assert parted.verify().exit_code == 20


def test_deleting_the_file_that_grows_is_found_and_not_hidden_by_the_next_write(parted: Ground) -> None:
    os.unlink(parted.place.log)
    assert codes(parted) == ["truncated"]
    other = parted.again()
    other.append(Entry("command", BOB, Act(cmd="after")), timeout_s=5)
    other.close()
    assert "alarm" in codes(parted)


def test_a_new_file_behind_a_deleted_segment_hides_nothing(parted: Ground) -> None:
    """The beginning of the file that grows, moved to where no segments are asked for."""
    rows = Path(parted.place.log).read_bytes().split(b"\n")
    Path(parted.place.log).write_bytes(b"\n".join(rows[1:]))
    assert parted.verify().exit_code == 20


def test_a_segment_that_is_a_link_is_refused(parted: Ground) -> None:
    path = path_of(parted, 0, PLAIN)
    path.rename(parted.root / "elsewhere")
    path.symlink_to(parted.root / "elsewhere")
    assert parted.verify().exit_code == 21


def test_a_block_that_would_unpack_to_more_is_refused(parted: Ground) -> None:
    pack_closed(parted.place)
    path = path_of(parted, 6, PACKED)
    small = bytearray(pack(bytes(BLOCK_BYTES)))
    small[20:24] = (100).to_bytes(4, "little")
    path.write_bytes(bytes(small))
    assert codes(parted) == ["segment"]


def test_an_adopted_log_takes_its_segments_out_of_the_way(parted: Ground) -> None:
    os.unlink(parted.place.log)
    path_of(parted, 0, PLAIN).unlink()
    with pytest.raises((AuditTampered, SegmentBroken)):
        parted.again().append(Entry("command", BOB, Act(cmd="x")), timeout_s=5)
    log = create(parted.place, parted.home, parted.keys, parted.clock, BOB, adopt=True)
    log.close()
    assert segments(parted.place) == {}
    assert parted.verify(commits=None).exit_code == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_many_writers_lose_nothing_while_files_are_closed_and_packed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "SEGMENT_BYTES", 6000)
    ground.begin()
    writers, each = 4, 25

    def write(number: int) -> None:
        log = ground.again()
        for at in range(each):
            log.append(Entry("command", BOB, Act(cmd=f"{number}.{at}")), timeout_s=60)

    def packs() -> None:
        while True:
            pack_closed(ground.place)

    children = [_forked(lambda number=number: write(number)) for number in range(writers)]
    packer = _forked(packs)
    try:
        looks = [ground.verify(full=True, commits=None) for _ in range(3)]
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    finally:
        os.kill(packer, signal.SIGKILL)
        os.waitpid(packer, 0)
    assert ended == [0] * writers
    assert [look.findings for look in looks] == [()] * 3
    records = [record for record in read_records(ground.place) if record is not None]
    assert [record.n for record in records] == list(range(len(records)))
    told = sorted(str(record.act["cmd"]) for record in records if record.ev == "command")
    assert told == sorted(f"{number}.{at}" for number in range(writers) for at in range(each))
    assert len(segments(ground.place)) > 5
    pack_closed(ground.place)
    assert ground.verify(full=True).exit_code == 0


def _forked(act: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)

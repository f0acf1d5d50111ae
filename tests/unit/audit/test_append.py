"""Claims about appending: what is on the disk when, who is refused, and what a failure leaves behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chrono.audit import head
from chrono.audit.keys import KeySettings
from chrono.audit.log import STEPS, create, open_log
from chrono.audit.pin import Pin, read_pin, write_pin
from chrono.audit.place import machine_place, pin_again
from chrono.audit.record import Act, Actor, Entry
from chrono.audit.verify import read_records, verify
from chrono.audit.witness import Witness
from chrono.errors import AuditTampered, AuditUnverifiable, KeyRefused, Locked
from chrono.signing import generate

from .conftest import BOB, Ground, codes, command


def kinds(ground: Ground) -> list[str]:
    return [record.ev if record is not None else "?" for record in read_records(ground.place)]


def test_a_new_log_begins_with_genesis_a_pin_and_a_witness(ground: Ground) -> None:
    log = ground.begin()
    record = next(read_records(ground.place))
    assert record is not None
    assert (record.ev, record.n, record.log) == ("genesis", 0, log.log_id)
    pin = read_pin(ground.home, log.log_id)
    assert pin is not None
    assert pin.key is not None
    assert record.act["key"] == {"pub": pin.key.text}
    assert (pin.path, pin.inode, pin.signed_from) == (ground.layout.dir, os.stat(ground.layout.dir).st_ino, 0)
    assert Path(ground.place.pub).read_text() == pin.key.text + "\n"
    assert ground.witness().state().acknowledged == 1
    assert log.pinned
    assert ground.verify().exit_code == 0


def test_creating_again_opens_the_same_log(ground: Ground) -> None:
    log = ground.begin(1)
    assert create(ground.place, ground.home, KeySettings(), ground.clock, BOB).log_id == log.log_id
    assert ground.again().log_id == log.log_id
    assert kinds(ground) == ["genesis", "command"]


def test_a_receipt_tells_what_the_tree_became(ground: Ground) -> None:
    ground.begin()
    receipt = ground.command()
    report = ground.verify()
    assert (receipt.n, receipt.size) == (1, 2)
    assert (report.size, report.root) == (2, receipt.root)


def test_several_records_can_be_written_while_the_log_is_held(ground: Ground) -> None:
    log = ground.begin()
    with log.writing(5) as writing:
        sizes, roots = [writing.size], [writing.root]
        for _ in range(3):
            receipt = writing.append(command("x"))
            sizes.append(writing.size)
            roots.append(writing.root)
            assert receipt.root == writing.root
        assert writing.log_id == log.log_id
    assert sizes == [1, 2, 3, 4]
    assert len(set(roots)) == 4
    assert ground.witness().state().acknowledged == 4
    with pytest.raises(RuntimeError, match="not held"):
        writing.append(command("late"))
    assert ground.verify().exit_code == 0


def test_what_was_written_before_the_block_failed_stays_and_is_acknowledged(ground: Ground) -> None:
    log = ground.begin()
    with pytest.raises(ZeroDivisionError), log.writing(5) as writing:
        writing.append(command("x"))
        raise ZeroDivisionError
    assert ground.witness().state().acknowledged == 2
    ground.command()
    assert ground.verify().exit_code == 0


def test_nothing_is_written_where_nothing_is_appended(ground: Ground) -> None:
    log = ground.begin()
    before = {path: Path(path).read_bytes() for path in (ground.place.log, ground.place.head)}
    with log.writing(5):
        pass
    assert before == {path: Path(path).read_bytes() for path in before}


def test_objects_that_write_in_turn_see_each_other(ground: Ground) -> None:
    ground.begin()
    others = [ground.again() for _ in range(3)]
    for turn in range(12):
        assert ground.command(log=others[turn % 3]).n == turn + 1
    assert ground.verify(full=True).exit_code == 0


def test_threads_of_one_process_share_a_log(ground: Ground) -> None:
    ground.begin()
    shared, numbers, wrong = ground.again(), [], []

    def write(own: bool) -> None:
        log = ground.again() if own else shared
        for _ in range(20):
            receipt = log.append(command("x"), timeout_s=30)
            numbers.append(receipt.n)
            if ground.witness().state().acknowledged < receipt.size:
                wrong.append(receipt)

    threads = [threading.Thread(target=write, args=(number % 2 == 0,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 121))
    assert wrong == []
    assert ground.verify(full=True).exit_code == 0


def test_a_writer_at_work_makes_no_finding(ground: Ground) -> None:
    ground.begin(3)
    stop = threading.Event()

    def write() -> None:
        log = ground.again()
        while not stop.is_set():
            log.append(command("x"), timeout_s=30)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        reports = [ground.verify() for _ in range(30)]
    finally:
        stop.set()
        thread.join()
    assert [report.findings for report in reports if report.findings] == []


# -- crashes


class Killed(BaseException):
    """Ends the append as a kill would: nothing after it runs."""


def kill_at(step: str) -> object:
    def at_step(now: str) -> None:
        if now == step:
            raise Killed

    return at_step


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_after_any_step_leaves_a_log_that_goes_on(ground: Ground, step: str) -> None:
    ground.begin(2)
    with pytest.raises(Killed):
        ground.command("the one", log=ground.again(kill_at(step)))  # type: ignore[arg-type]
    report = ground.verify()
    assert report.findings == ()
    assert report.size == 4
    assert (report.warnings != ()) == (step in ("line", "head"))
    ground.command("after", log=ground.again())
    ground.command("after", log=ground.log)
    report = ground.verify(full=True, strict=True)
    assert (report.findings, report.size, report.exit_code) == ((), 6, 0)
    records = list(read_records(ground.place))
    assert records[4] is not None
    assert records[4].act.get("adopted") == (1 if step in ("line", "head") else None)


def test_the_steps_of_a_crash_test_are_the_steps_of_an_append(ground: Ground) -> None:
    ground.begin()
    seen: list[str] = []
    ground.command(log=ground.again(seen.append))
    assert tuple(seen) == STEPS


@pytest.mark.parametrize("cut", [1, 100, -1])
def test_a_torn_line_is_cut_off_and_the_next_record_tells(ground: Ground, cut: int) -> None:
    ground.begin(2)
    with pytest.raises(Killed):
        ground.command(log=ground.again(kill_at("line")))  # type: ignore[arg-type]
    line = ground.lines()[-1]
    torn = line[:cut]
    size = os.stat(ground.place.log).st_size
    os.truncate(ground.place.log, size - len(line) - 1 + len(torn))
    report = ground.verify()
    assert report.findings == ()
    assert report.warnings == (f"the last {len(torn)} bytes are part of a record that a crash cut off",)
    ground.command("next")
    record = list(read_records(ground.place))[-1]
    assert record is not None
    assert record.n == 3
    assert isinstance(record.act["recovered"], dict)
    assert record.act["recovered"]["bytes"] == len(torn)
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_zeros_that_a_power_cut_left_are_a_torn_tail(ground: Ground) -> None:
    ground.begin(2)
    with open(ground.place.log, "ab") as file:
        file.write(bytes(4096))
    assert ground.verify().findings == ()
    ground.command()
    assert ground.verify(strict=True).exit_code == 0


@pytest.mark.parametrize("victim", ["witness", "log", "head", "pin"])
def test_a_creation_that_a_crash_cut_short_is_completed(
    ground: Ground, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import chrono.audit.log as module

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if victim == "witness":
            patch.setattr(Witness, "appended", die)
        elif victim == "log":
            patch.setattr(module, "atomic_write", die)
        elif victim == "head":
            patch.setattr(head, "write", die)
        else:
            patch.setattr(module, "write_pin", die)
        with pytest.raises(Killed):
            ground.begin()
    ground.begin(1)
    assert kinds(ground) == ["genesis", "command"]
    assert ground.verify(full=True, strict=True).exit_code == 0


# -- failures


def test_no_room_for_the_line_takes_it_back(ground: Ground) -> None:
    ground.begin(2)
    size = os.stat(ground.place.log).st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        with pytest.raises(OSError, match=r"part of an audit record|too large"):
            ground.command()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.stat(ground.place.log).st_size == size
    assert ground.verify(strict=True).exit_code == 0
    assert ground.command().n == 3
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_no_room_for_the_witness_takes_the_line_back(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin(2)
    log = ground.again()

    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:60])
        raise OSError(28, "No space left on device")

    size = os.stat(ground.place.log).st_size
    with monkeypatch.context() as patch:
        patch.setattr("chrono.audit.witness.write_all", full)
        with pytest.raises(OSError, match="No space"):
            ground.command(log=log)
    assert os.stat(ground.place.log).st_size == size
    assert ground.verify(strict=True).exit_code == 0
    assert ground.command(log=log).n == 3
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_a_sync_that_fails_is_no_acknowledgement(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin()

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(OSError, match="Input/output"):
            ground.command()
    assert ground.witness().state().acknowledged == 1
    ground.command()
    assert ground.witness().state().acknowledged == 3


HOLD = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_stopped_holder_costs_the_timeout_and_the_next_record_tells(ground: Ground) -> None:
    ground.begin(1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, ground.place.lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        os.kill(holder.pid, signal.SIGSTOP)
        for log in (ground.log, ground.again()):
            start = time.monotonic()
            with pytest.raises(Locked) as caught:
                log.append(command("x"), timeout_s=0.2)
            assert time.monotonic() - start >= 0.2
            assert caught.value.exit_code == 11
        assert ground.log.dropped == 2
        assert ground.verify().warnings == ("2 entries found the log locked; the next record tells of them",)
    finally:
        holder.kill()
        holder.communicate()
    ground.command("after", log=ground.again())
    assert kinds(ground)[-2:] == ["audit.dropped", "command"]
    told = list(read_records(ground.place))[-2]
    assert told is not None
    assert told.act == {"count": 2}
    assert ground.log.dropped == 0
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_a_replaced_lock_file_is_noticed(ground: Ground) -> None:
    ground.begin(1)
    os.unlink(ground.place.lock)
    ground.command()
    os.rename(ground.place.lock, ground.place.lock + ".old")
    Path(ground.place.lock).touch()
    ground.command()
    assert ground.verify(strict=True).exit_code == 0


def test_a_lock_that_is_a_symlink_is_not_followed(ground: Ground, tmp_path: Path) -> None:
    ground.begin(1)
    os.unlink(ground.place.lock)
    (tmp_path / "precious").write_bytes(b"data")
    Path(ground.place.lock).symlink_to(tmp_path / "precious")
    with pytest.raises(AuditUnverifiable, match="lock"):
        ground.command()
    assert (tmp_path / "precious").read_bytes() == b"data"


# -- unsigned, and signed later

UNSIGNED = KeySettings(unsigned=True)


def test_an_unsigned_log_has_a_chain_and_a_witness(ground: Ground) -> None:
    ground.begin(2, keys=UNSIGNED)
    report = ground.verify(full=True)
    assert (report.exit_code, report.findings) == (0, ())
    assert [warning.partition(":")[0] for warning in report.warnings] == ["no record is signed"]
    ground.write_lines([*ground.lines()[:1], ground.lines()[1].replace(b"echo 0", b"echo 9"), ground.lines()[2]])
    assert codes(ground.verify()) == {"chain", "root"}


def test_a_log_begun_unsigned_is_signed_from_the_first_key_on(ground: Ground) -> None:
    ground.begin(2, keys=UNSIGNED)
    signed = ground.again(keys=KeySettings())
    ground.command("signed", log=signed)
    assert kinds(ground) == ["genesis", "command", "command", "key.add", "command"]
    pin = read_pin(ground.home, signed.log_id)
    assert pin is not None
    assert pin.key is not None
    assert pin.signed_from == 3
    for full in (False, True):
        report = ground.verify(full=full, strict=True)
        assert (report.exit_code, report.warnings) == (0, ())
    with pytest.raises(KeyRefused, match="unsigned records"):
        ground.command(log=ground.again(keys=UNSIGNED))
    with pytest.raises(KeyRefused, match="unsigned records"):
        ground.command(log=ground.log)
    auditor = verify(ground.place, ground.home, trusted=(pin.key,), full=True)
    assert auditor.findings == ()


def test_a_crash_between_pin_and_first_signature_is_completed(ground: Ground) -> None:
    log = ground.begin(2, keys=UNSIGNED)
    pin = read_pin(ground.home, log.log_id)
    assert pin is not None
    key = generate()
    os.makedirs(ground.home.keys, exist_ok=True)
    Path(ground.home.audit_key).write_bytes(key.pem())
    os.chmod(ground.home.audit_key, 0o600)
    write_pin(ground.home, Pin(pin.log, key.public, pin.path, pin.inode, 3))
    assert ground.verify(strict=True).exit_code == 0
    ground.command("signed", log=ground.again(keys=KeySettings()))
    assert kinds(ground)[3:] == ["key.add", "command"]
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_the_wrong_key_is_refused_before_anything_is_written(ground: Ground) -> None:
    ground.begin(1)
    import base64

    other = KeySettings(key=base64.b64encode(bytes(32)).decode())
    before = Path(ground.place.log).read_bytes()
    with pytest.raises(KeyRefused, match="not the one this log is pinned to"):
        ground.command(log=ground.again(keys=other))
    os.unlink(ground.home.audit_key)
    with pytest.raises(KeyRefused, match="no signing key"):
        ground.command(log=ground.again())
    assert Path(ground.place.log).read_bytes() == before


# -- whose log it is


def test_a_foreign_log_is_never_written(ground: Ground, tmp_path: Path) -> None:
    ground.begin(1)
    stranger = Ground(tmp_path / "stranger")
    log = open_log(ground.place, stranger.home, KeySettings(), ground.clock)
    assert not log.pinned
    with pytest.raises(AuditUnverifiable, match="not this home's own"):
        log.append(command("x"), timeout_s=5)
    with pytest.raises(AuditUnverifiable, match="not this home's own"):
        create(ground.place, stranger.home, KeySettings(), ground.clock, BOB)
    assert verify(ground.place, stranger.home).exit_code == 21


def test_adopting_a_foreign_log_begins_a_new_one_that_names_it(ground: Ground, tmp_path: Path) -> None:
    old = ground.begin(1)
    commit = ground.savepoint()
    ground.home = Ground(tmp_path / "stranger").home
    log = create(ground.place, ground.home, KeySettings(), ground.clock, BOB, adopt=True)
    assert log.log_id != old.log_id
    record = next(read_records(ground.place))
    assert record is not None
    assert record.act["forked_from"] == {"log": old.log_id}
    kept = [name for name in os.listdir(ground.layout.dir) if name.startswith(f"audit.jsonl.{old.log_id}")]
    assert len(kept) == 1
    assert commit in ground.commits.said
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_a_second_adoption_remembers_the_logs_before(ground: Ground) -> None:
    ids = [ground.begin().log_id]
    ground.savepoint()
    for _ in range(2):
        os.unlink(ground.home.pin(ids[-1]))
        ground.log = create(ground.place, ground.home, KeySettings(), ground.clock, BOB, adopt=True)
        ids.append(ground.log.log_id)
        ground.savepoint(ids[-1])
    assert len(set(ids)) == 3
    report = ground.verify(full=True, strict=True)
    assert (report.findings, report.exit_code) == ((), 0)


def test_a_moved_project_is_pinned_again(ground: Ground) -> None:
    ground.begin(1)
    moved = Ground.__new__(Ground)
    moved.__dict__.update(ground.__dict__)
    subprocess.run(["cp", "-a", ground.layout.root, str(ground.root / "elsewhere")], check=True)
    subprocess.run(["rm", "-rf", ground.layout.root], check=True)
    moved.layout = ground.layout._replace(root=str(ground.root / "elsewhere"))
    from chrono.audit.place import project_place

    moved.place = project_place(moved.layout)
    assert moved.verify().warnings == (f"the log was moved here from {ground.layout.dir}; the pin does not know yet",)
    moved.command(log=moved.again())
    pin = pin_again(moved.home, moved.place)
    assert pin is not None
    assert pin.path == moved.layout.dir
    assert pin_again(moved.home, moved.place) is None
    moved.command(log=moved.again())
    assert moved.verify(strict=True).exit_code == 0


def test_the_machine_log_is_a_log_without_savepoints(ground: Ground) -> None:
    place = machine_place(ground.home)
    log = create(place, ground.home, KeySettings(), ground.clock, Actor(source="hook"))
    log.append(Entry("scan", BOB, Act(cmd="ls", decision="allow")), timeout_s=5)
    report = verify(place, ground.home)
    assert (report.exit_code, report.size) == (0, 2)
    assert [(level.name, level.state) for level in report.levels] == [
        ("W0", "checked"), ("W1", "checked"), ("W3", "not checked")
    ]  # fmt: skip


def test_the_head_is_a_cache_that_may_be_lost(ground: Ground) -> None:
    ground.begin(3)
    for damage in (None, b"", b"\0" * 8192, os.urandom(8192), b"x" * 8193):
        if damage is None:
            os.unlink(ground.place.head)
        else:
            Path(ground.place.head).write_bytes(damage)
        assert ground.verify().findings == ()
        assert ground.verify().warnings != ()
        ground.command(log=ground.again())
        assert ground.verify(strict=True).exit_code == 0


def test_a_stale_head_is_a_cache_too(ground: Ground) -> None:
    ground.begin(3)
    old = Path(ground.place.head).read_bytes()
    ground.command()
    ground.command()
    Path(ground.place.head).write_bytes(old)
    assert ground.verify(strict=True).exit_code == 0
    ground.command(log=ground.again())
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_a_head_whose_hashes_are_not_the_signed_ones_is_not_believed(ground: Ground) -> None:
    ground.begin(2)
    fd = os.open(ground.place.head, os.O_RDWR)
    found = head.read(fd)
    assert found is not None
    head.write(fd, found._replace(hashes=(bytes(32), found.hashes[1])))
    os.close(fd)
    ground.command(log=ground.again())
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_the_newer_slot_counts_and_a_torn_one_does_not(ground: Ground) -> None:
    ground.begin(3)
    fd = os.open(ground.place.head, os.O_RDWR)
    try:
        assert head.read(fd).size == 4  # type: ignore[union-attr]
        os.pwrite(fd, b"torn", 40)
        assert head.read(fd).size == 3  # type: ignore[union-attr]
        os.pwrite(fd, bytes(8), 4096)
        assert head.read(fd) is None
    finally:
        os.close(fd)


def test_a_gone_log_is_not_begun_again_in_silence(ground: Ground) -> None:
    ground.begin(2)
    os.unlink(ground.place.log)
    with pytest.raises(AuditTampered, match="is gone"):
        ground.command()
    with pytest.raises(AuditTampered, match="remembers 3 records"):
        ground.again()
    with pytest.raises(AuditTampered, match="remembers 3 records"):
        ground.begin()
    assert not os.path.exists(ground.place.log)
    ground.log = create(ground.place, ground.home, KeySettings(), ground.clock, BOB, adopt=True)
    record = next(read_records(ground.place))
    assert record is not None
    forked = record.act["forked_from"]
    assert isinstance(forked, dict)
    assert forked["size"] == 3
    assert ground.verify(strict=True).exit_code == 0


@pytest.mark.parametrize("left", [b"", b"junk\n"], ids=["emptied", "another file"])
@pytest.mark.parametrize("opened", [True, False], ids=["open", "not open"])
def test_a_log_without_its_first_record_is_refused_and_not_forgotten(ground: Ground, left: bytes, opened: bool) -> None:
    log = ground.begin(2)
    path = Path(ground.place.log)
    before = path.read_bytes()
    path.write_bytes(left)
    for _ in range(2):
        with pytest.raises(AuditTampered, match="first record"):
            (log if opened else ground.again()).append(Entry("command", BOB), timeout_s=1)
    assert path.read_bytes() == left
    path.write_bytes(before)
    alarm = ground.witness().state().alarm
    assert alarm is not None and (alarm.expected.size, alarm.found_size) == (3, 0)
    assert ground.verify().exit_code == 20

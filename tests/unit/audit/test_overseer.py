"""Claims about the witness daemon: it only grows, belongs to another account, and sees what a thief of the key does."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.audit import checkpoint, head, overseen
from chrono.audit import overseer as overseer_
from chrono.audit.external import External, add_external
from chrono.audit.keys import KeySettings, read_key_file
from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.overseen import caught_up, seen
from chrono.audit.overseer import MAX_REQUEST, Overseer, serve
from chrono.audit.record import Act, Entry, encode
from chrono.clock import rfc3339
from chrono.errors import ChronoError
from tests.waiting import LONG_S

from .conftest import BOB, Ground, codes

LOG = "ab" * 16
LEAVES = [leaf_hash(str(n).encode()) for n in range(20)]
NOBODY = 65534

as_root = pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="another account needs root")


def root(count: int) -> str:
    tree = CompactRange()
    for leaf in LEAVES[:count]:
        tree.add(leaf)
    return tree.root().hex()


def add(overseer: Overseer, size: int, *leaves: bytes, uid: int = 1000) -> str:
    request = f"ADD {LOG} {size} {','.join(leaf.hex() for leaf in leaves)}"
    return overseer.answer(uid, request.encode()).decode()


@pytest.fixture
def overseer(tmp_path: Path) -> Overseer:
    return Overseer(str(tmp_path), lambda: 7)


# -- what it remembers


def test_leaves_become_the_tree(overseer: Overseer, tmp_path: Path) -> None:
    assert overseer.answer(1000, f"GET {LOG}".encode()).decode() == f"OK 0 {root(0)} 0\n"
    assert add(overseer, 0, *LEAVES[:3]) == f"OK 3 {root(3)} 7\n"
    assert add(overseer, 3, *LEAVES[3:20]) == f"OK 20 {root(20)} 7\n"
    again = Overseer(str(tmp_path))
    assert again.answer(1000, f"GET {LOG}".encode()).decode() == f"OK 20 {root(20)} 7\n"


def test_it_never_goes_back(overseer: Overseer) -> None:
    add(overseer, 0, *LEAVES[:5])
    for size in (0, 2, 4, 6):
        assert add(overseer, size, LEAVES[0]) == f"CONFLICT 5 {root(5)} 7\n"


def test_users_do_not_write_each_others_logs(overseer: Overseer) -> None:
    add(overseer, 0, *LEAVES[:5])
    assert overseer.answer(1001, f"GET {LOG}".encode()).startswith(b"OK 0 ")
    assert add(overseer, 0, LEAVES[9], uid=1001).startswith("OK 1 ")
    assert overseer.answer(1000, f"GET {LOG}".encode()).decode() == f"OK 5 {root(5)} 7\n"


def test_a_crash_in_a_line_loses_that_line_only(overseer: Overseer, tmp_path: Path) -> None:
    add(overseer, 0, *LEAVES[:5])
    path = tmp_path / "1000" / LOG
    path.write_bytes(path.read_bytes() + b"\n9 7 abc")
    again = Overseer(str(tmp_path))
    assert add(again, 5, LEAVES[5]) == add(again, 0, LEAVES[0]).replace("CONFLICT", "OK").replace(" 7\n", " 7\n")
    assert Overseer(str(tmp_path)).answer(1000, f"GET {LOG}".encode()).startswith(f"OK 6 {root(6)}".encode())


def test_a_damaged_file_is_not_forgotten(overseer: Overseer, tmp_path: Path) -> None:
    add(overseer, 0, *LEAVES[:5])
    (tmp_path / "1000" / LOG).write_bytes(b"rubbish\n")
    assert Overseer(str(tmp_path)).answer(1000, f"GET {LOG}".encode()).startswith(b"ERROR")


def test_a_long_file_is_rewritten_as_what_counts(
    overseer: Overseer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chrono.audit.overseer.COMPACT_BYTES", 300)
    for n, leaf in enumerate(LEAVES):
        assert add(overseer, n, leaf).startswith(f"OK {n + 1} ")
    assert (tmp_path / "1000" / LOG).stat().st_size < 1000
    assert Overseer(str(tmp_path)).answer(1000, f"GET {LOG}".encode()).startswith(f"OK 20 {root(20)}".encode())


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"GET",
        b"GET ../../x",
        b"GET " + b"A" * 32,
        b"ADD " + LOG.encode() + b" 0 ",
        b"\xff",
        b"DEL " + LOG.encode(),
    ],
)
def test_other_requests_change_nothing(overseer: Overseer, tmp_path: Path, request_: bytes) -> None:
    assert overseer.answer(1000, request_).startswith(b"ERROR")
    assert list(tmp_path.iterdir()) == []


def test_nobody_fills_its_disk_with_logs(overseer: Overseer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chrono.audit.overseer.MAX_LOGS", 3)
    answers = [overseer.answer(1, f"ADD {n:032x} 0 {LEAVES[0].hex()}".encode())[:2] for n in range(5)]
    assert answers == [b"OK"] * 3 + [b"ER"] * 2


# -- as another account


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The socket of a daemon that runs as nobody, in a folder that only that account may write.

    It and who asks it may stand still in a busy machine for longer than they would wait.
    """
    monkeypatch.setattr(overseer_, "PATIENCE_S", LONG_S)
    monkeypatch.setattr(overseen, "WAIT_S", LONG_S)
    folder = tempfile.mkdtemp(prefix="chrono-witness-", dir="/tmp")
    os.chmod(folder, 0o755)
    os.chown(folder, NOBODY, NOBODY)
    path = os.path.join(folder, "socket")
    pid = start(path, os.path.join(folder, "state"))
    yield path
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    shutil.rmtree(folder)


def start(path: str, folder: str, uid: int = NOBODY) -> int:
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            serve(path, folder, lambda: os.write(told, b"x") and None)
        finally:
            os._exit(1)
    os.close(told)
    assert os.read(heard, 1) == b"x"
    os.close(heard)
    return pid


@pytest.fixture
def log(ground: Ground, daemon: str) -> Ground:
    ground.begin(3, keys=KeySettings(overseer=daemon))
    return ground


@as_root
def test_each_append_is_told(log: Ground, daemon: str) -> None:
    receipt = log.command()
    state = seen(daemon, log.log.log_id)
    assert (state.size, state.root) == (receipt.size, receipt.root)


@as_root
def test_a_daemon_that_was_away_is_told_the_rest(log: Ground, daemon: str) -> None:
    away = log.again(keys=KeySettings(overseer="/nonexistent/socket"))
    for _ in range(5):
        log.command(log=away)
    assert seen(daemon, log.log.log_id).size == 4
    receipt = log.command()
    assert seen(daemon, log.log.log_id)[:2] == (receipt.size, receipt.root)


@as_root
def test_a_verification_tells_it_of_a_long_log(log: Ground, daemon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chrono.audit.overseen.BATCH", 4)
    away = log.again(keys=KeySettings())
    receipts = [log.command(log=away) for _ in range(10)]
    assert caught_up(daemon, log.log.log_id, log.place, 14)[:2] == (14, receipts[-1].root)


@as_root
def test_the_thief_of_key_and_witness_is_seen(log: Ground, daemon: str) -> None:
    """Everything that the user may write is rewritten: log, head, home witness. The daemon remembers."""
    key, name = read_key_file(log.home.audit_key), log.log.log_id
    lines = log.lines()[:2]
    for n in range(2, 5):
        entry = Entry("command", BOB, Act(cmd="nothing happened"))
        prev = leaf_hash(lines[-1]).hex()
        lines.append(encode(entry, n=n, at=rfc3339(log.clock.now_ns()), log=name, prev=prev, signer=key))
    tree = CompactRange()
    for line in lines:
        tree.add(leaf_hash(line))
    note = checkpoint.sign(checkpoint.Checkpoint(name, tree.size, tree.root()), key)
    state = seen(daemon, name)
    log.write_lines(lines)
    offset, leaf = sum(len(line) + 1 for line in lines), leaf_hash(lines[-1]).hex()
    fd = os.open(log.place.head, os.O_RDWR)
    head.write(fd, head.Head(name, tree.size, offset, leaf, tuple(tree.hashes), note))
    os.close(fd)
    Path(log.home.witness_log(name)).write_bytes(b"")
    log.witness().appended(log_mark(tree.size, leaf, note))
    log.witness().acknowledged(tree.size)
    assert log.verify(commits=None).exit_code == 0  # everything here agrees
    add_external(log.home, name, [External("W2", daemon, state.size, state.root, "2026-01-01", "")])
    report = log.verify(commits=None)
    assert (report.exit_code, codes(report)) == (20, {"external"})
    log.command()  # and telling it more does not make it forget
    again = seen(daemon, name)
    assert again.root != tree.root().hex()


def log_mark(size: int, leaf: str, note: str) -> object:
    from chrono.audit.log import boot_id
    from chrono.audit.witness import Mark

    return Mark(size, leaf, note, boot_id())


@as_root
def test_a_client_that_stands_still_holds_up_nobody_for_long(
    log: Ground, daemon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as idle, monkeypatch.context() as patch:
        idle.connect(daemon)
        patch.setattr(overseen, "WAIT_S", 0.3)
        receipt = log.command()
    log.command()
    assert seen(daemon, log.log.log_id).size == receipt.size + 1
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as long:
        long.connect(daemon)
        with pytest.raises(OSError):
            for _ in range(100):
                long.sendall(b"x" * MAX_REQUEST)


@as_root
def test_a_client_that_says_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overseer_, "PATIENCE_S", 0.1)
    pid = start(str(tmp_path / "socket"), str(tmp_path / "state"), uid=0)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as idle:
            idle.settimeout(LONG_S)
            idle.connect(str(tmp_path / "socket"))
            assert idle.recv(1) == b""
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@as_root
def test_a_daemon_of_the_same_account_bounds_nothing(ground: Ground, tmp_path: Path) -> None:
    pid = start(str(tmp_path / "socket"), str(tmp_path / "state"), uid=0)
    try:
        with pytest.raises(ChronoError, match="runs as this user"):
            seen(str(tmp_path / "socket"), LOG)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_daemon_that_is_away_stops_no_append(ground: Ground, tmp_path: Path) -> None:
    ground.begin(3, keys=KeySettings(overseer=str(tmp_path / "none")))
    assert ground.verify(strict=True).exit_code == 0


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    with pytest.raises(ChronoError, match="own folder"):
        serve(str(tmp_path / "socket"), str(tmp_path))

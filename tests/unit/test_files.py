"""Claims about writing files and about the lock."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from chrono import files
from chrono.errors import Locked
from chrono.files import atomic_write, file_lock, own_folder, read_own
from tests.waiting import LONG_S


def test_a_replaced_file_has_the_new_bytes_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    atomic_write(str(path), b"new", mode=0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_symlink_is_replaced_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    link = tmp_path / "link"
    link.symlink_to(outside)
    atomic_write(str(link), b"new")
    assert outside.read_bytes() == b"precious"
    assert not link.is_symlink()


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failed_step_leaves_the_old_bytes_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        atomic_write(str(path), b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_file_of_ours_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_own(str(path), 5) == b"12345"
    with pytest.raises(OSError, match="too large"):
        read_own(str(path), 4)
    with pytest.raises(FileNotFoundError):
        read_own(str(tmp_path / "none"), 4)


def test_what_is_no_plain_file_is_not_read_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to("file")
    for name in ("pipe", "link", "."):
        with pytest.raises(OSError):
            read_own(str(tmp_path / name), 9)


def test_the_lock_excludes_another_process_and_names_the_holder(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = (
        "import sys,time\nfrom chrono.files import file_lock\n"
        f"with file_lock({path!r}, timeout_s=1):\n    print('held', flush=True)\n    time.sleep(1000)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(Locked) as caught, file_lock(path, timeout_s=0.1):
            pass
        assert caught.value.holder == f"pid {child.pid}"
        assert caught.value.exit_code == 11
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        if child.stdout:
            child.stdout.close()
    with file_lock(path, timeout_s=1):  # the kernel freed it with the process
        pass


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    inside = 0
    most = 0

    def enter() -> None:
        nonlocal inside, most
        for _ in range(20):
            with file_lock(path, timeout_s=LONG_S):
                inside += 1
                most = max(most, inside)
                time.sleep(0.0005)
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_replaced_lock_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(str(path), timeout_s=1):
        path.unlink()
        path.write_bytes(b"")
    with file_lock(str(path), timeout_s=1):
        assert path.read_bytes().startswith(b"pid ")


@pytest.fixture(params=["in line", "looking"])
def waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways to wait: a thread in the kernel's line, and a look from time to time where no thread is to be had."""
    if request.param == "looking":

        def none_left(*_: object) -> int:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(files, "start_new_thread", none_left)


def test_whoever_waits_has_the_lock_as_soon_as_it_is_free(tmp_path: Path, waiting: None) -> None:
    path = str(tmp_path / "lock")
    held = locked(path)
    start = time.monotonic()
    threading.Timer(0.2, os.close, (held,)).start()
    with file_lock(path, timeout_s=LONG_S):
        assert time.monotonic() - start >= 0.2
        other = os.open(path, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(other)


def test_whoever_gave_up_takes_no_lock_any_more(tmp_path: Path, waiting: None) -> None:
    path = str(tmp_path / "lock")
    held = locked(path)
    for _ in range(3):
        with pytest.raises(Locked), file_lock(path, timeout_s=0.05):
            pass
    os.close(held)
    for _ in range(3):
        with file_lock(path, timeout_s=LONG_S):
            pass


def test_a_lock_file_that_is_replaced_while_somebody_waits_is_noticed(tmp_path: Path, waiting: None) -> None:
    path = tmp_path / "lock"
    held = locked(str(path))
    threading.Timer(0.1, path.unlink).start()
    with file_lock(str(path), timeout_s=LONG_S):  # the holder of the old file stays
        assert path.read_bytes().startswith(b"pid ")
    os.close(held)


def locked(path: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = str(tmp_path / "lock")
    with pytest.raises(OSError, match="No locks available") as caught, file_lock(path, timeout_s=0):
        pass
    assert (caught.value.errno, caught.value.filename) == (errno.ENOLCK, path)


def test_a_lock_that_is_a_symlink_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"keep")
    link = tmp_path / "lock"
    link.symlink_to(target)
    with pytest.raises(OSError), file_lock(str(link), timeout_s=0.1):
        pass
    assert target.read_bytes() == b"keep"


def test_a_forked_child_does_not_inherit_a_held_thread_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = f"""
import os, sys
from chrono.files import file_lock
from chrono.errors import Locked
with file_lock({path!r}, timeout_s=1):
    pid = os.fork()
    if pid == 0:
        try:
            with file_lock({path!r}, timeout_s=0.05):
                os._exit(1)
        except Locked:
            os._exit(0)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=LONG_S).returncode == 0


def test_every_folder_that_is_made_for_us_is_ours_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(0o755)
    own_folder(str(there / "a" / "b" / "c"))
    own_folder(str(there / "a" / "b" / "c"))
    assert [p.stat().st_mode & 0o777 for p in (there, there / "a", there / "a/b", there / "a/b/c")] == [
        0o755,
        *[0o700] * 3,
    ]
    (there / "file").write_bytes(b"")
    for path in (there / "file", there / "file" / "below"):
        with pytest.raises(OSError):
            own_folder(str(path))
    with pytest.raises(FileNotFoundError):
        own_folder("")
    if os.path.isdir("/proc/self"):
        with pytest.raises(FileNotFoundError):  # a folder above it is there, and yet nothing can be made in it
            own_folder("/proc/nowhere/at/all")

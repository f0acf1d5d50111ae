"""The local store: an acknowledged record is there whatever happens to its process."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from chrono.record.frames import ENVELOPE, Damage, Frame
from chrono.record.local import StoreUnwritable, StoreWriter
from chrono.record.storefile import StoreFile, file_names, writer_lives
from tests.waiting import LONG_S

TRACE = "a" * 32


def stored(folder: Path) -> list[Any]:
    """All envelopes of all files; damage fails the test."""
    values: list[Any] = []
    for name in file_names(str(folder)):
        with StoreFile(str(folder / name)) as file:
            for record in file.records(0):
                assert isinstance(record, Frame)
                if record.kind == ENVELOPE:
                    values.append(file.value(record))
    return values


def test_a_record_can_be_read_as_soon_as_it_is_acknowledged(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    for number in range(5):
        written = writer.append(ENVELOPE, TRACE, {"n": number, "text": "x" * 1000 * number})
        assert stored(tmp_path)[-1] == {"n": number, "text": "x" * 1000 * number}
        assert Path(written.path).stat().st_size == written.end
    assert writer_lives(written.path)
    writer.sync()
    writer.close()
    assert not writer_lives(written.path)


def test_files_and_folder_are_for_their_owner_only(tmp_path: Path) -> None:
    path = StoreWriter(str(tmp_path / "new" / "traces")).append(ENVELOPE, TRACE, {}).path
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_threads_share_a_writer(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))

    def write(mark: int) -> None:
        for number in range(100):
            writer.append(ENVELOPE, TRACE, {"mark": mark, "n": number, "text": "y" * (number * 60)})

    threads = [threading.Thread(target=write, args=(mark,)) for mark in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((one["mark"], one["n"]) for one in stored(tmp_path)) == [(m, n) for m in range(8) for n in range(100)]


def test_a_long_file_is_followed_by_another(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path), roll_bytes=10_000)
    for number in range(40):
        writer.append(ENVELOPE, TRACE, {"n": number, "same": "z" * 3000, "own": str(number) * 400})
    names = file_names(str(tmp_path))
    assert len(names) > 2
    assert [one["n"] for one in stored(tmp_path)] == list(range(40))
    assert all((tmp_path / name).stat().st_size < 16_000 for name in names)


def test_a_forked_child_writes_a_file_of_its_own(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    writer.append(ENVELOPE, TRACE, {"n": 0, "text": "k" * 3000})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for number in range(1, 51):
                writer.append(ENVELOPE, TRACE, {"n": number, "text": "k" * 3000})
            code = 0
        finally:
            os._exit(code)
    for number in range(51, 101):
        writer.append(ENVELOPE, TRACE, {"n": number, "text": "k" * 3000})
    assert os.waitpid(child, 0)[1] == 0
    assert len(file_names(str(tmp_path))) == 2
    assert sorted(one["n"] for one in stored(tmp_path)) == list(range(101))


def test_a_child_does_not_keep_the_parents_file_alive(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    path = writer.append(ENVELOPE, TRACE, {}).path
    ready, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(say, b"!")
        signal.pause()
        os._exit(0)
    try:
        os.read(ready, 1)
        writer.close()
        assert not writer_lives(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(say)


DYING = """
import os, signal, sys, threading
from chrono.record.frames import ENVELOPE
from chrono.record.local import StoreWriter
folder, end = sys.argv[1:]
writer = StoreWriter(folder)
def write():
    number = 0
    while end in ("SIGKILL", "SIGTERM") or number < 200:
        writer.append(ENVELOPE, "a" * 32, {"n": number, "text": str(number) * 700})
        os.write(1, b"%d\\n" % number)
        number += 1
if end == "thread":
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    os._exit(0)
write()
if end == "exec":
    os.execv("/bin/true", ["/bin/true"])
if end == "raise":
    raise SystemExit(3)
if end == "abort":
    os.abort()
"""


@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "exec", "raise", "abort", "thread", "exit"])
def test_what_was_acknowledged_outlives_its_process(tmp_path: Path, end: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DYING, str(tmp_path), end], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    said = b""
    if end.startswith("SIG"):
        while said.count(b"\n") < 100:
            said += os.read(process.stdout.fileno(), 4096)
        process.send_signal(getattr(signal, end))
    said += process.stdout.read()
    process.wait()
    process.stdout.close()
    acknowledged = [int(number) for number in said.split(b"\n")[:-1]]
    kept = [one["n"] for one in stored(tmp_path)]
    assert len(acknowledged) >= 100
    assert kept[: len(acknowledged)] == acknowledged
    assert len(kept) - len(acknowledged) <= 1  # written, and killed before it could say so


def test_a_torn_end_hides_nothing_before_it(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    first = writer.append(ENVELOPE, TRACE, {"n": 1})
    second = writer.append(ENVELOPE, TRACE, {"n": 2})
    data = Path(second.path).read_bytes()
    for cut in range(first.end, second.end):
        Path(second.path).write_bytes(data[:cut])
        assert stored(tmp_path) == [{"n": 1}]


def test_damage_in_the_middle_is_said_and_stepped_over(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    ends = [writer.append(ENVELOPE, TRACE, {"n": number}) for number in range(3)]
    data = bytearray(Path(ends[0].path).read_bytes())
    data[ends[0].end + 57] ^= 1
    Path(ends[0].path).write_bytes(data)
    with StoreFile(ends[0].path) as file:
        kinds = [type(record) for record in file.records(0)]
    assert kinds == [Frame, Frame, Damage, Frame]


def test_a_full_disk_refuses_the_record_and_takes_the_next(tmp_path: Path) -> None:
    # RLIMIT_FSIZE answers EFBIG in the middle of a write, as a full disk answers ENOSPC
    writer = StoreWriter(str(tmp_path))
    writer.append(ENVELOPE, TRACE, {"n": 0, "text": "a" * 4000})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))
    try:
        with pytest.raises(StoreUnwritable, match="was not written"):
            writer.append(ENVELOPE, TRACE, {"n": 1, "text": "b" * 4000})
        writer.append(ENVELOPE, TRACE, {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.append(ENVELOPE, TRACE, {"n": 3, "text": "b" * 4000})
    assert [one["n"] for one in stored(tmp_path)] == [0, 2, 3]


def test_a_folder_that_is_deleted_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    writer = StoreWriter(str(folder))
    writer.append(ENVELOPE, TRACE, {"n": 0})
    shutil.rmtree(folder)
    writer.sync()  # as the background does each second
    writer.append(ENVELOPE, TRACE, {"n": 1})
    assert [one["n"] for one in stored(folder)] == [1]


def test_a_record_that_cannot_be_written_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    writer = StoreWriter(str(tmp_path))
    writer.append(ENVELOPE, TRACE, {"n": 0})
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(RecursionError):
        writer.append(ENVELOPE, TRACE, endless)
    writer.append(ENVELOPE, TRACE, {"n": 1})
    assert [one["n"] for one in stored(tmp_path)] == [0, 1]


def test_a_signal_handler_may_record_while_it_interrupts_a_record(tmp_path: Path) -> None:
    program = """
import signal, sys
from chrono.record.frames import ENVELOPE
from chrono.record.local import StoreWriter
writer = StoreWriter(sys.argv[1])
numbers, handled = iter(range(10**9)), 0
def handle(*_):
    global handled
    mine = next(numbers)  # the handler may be interrupted by itself
    handled = max(handled, mine + 1)
    writer.append(ENVELOPE, "a" * 32, {"handler": mine, "text": "h" * 3000})
signal.signal(signal.SIGALRM, handle)
number = 0
while handled < 200 and number < 5000:
    signal.setitimer(signal.ITIMER_REAL, 0.00002 + number % 7 * 0.00001)
    writer.append(ENVELOPE, "a" * 32, {"n": number, "text": str(number) * 3000})
    number += 1
signal.setitimer(signal.ITIMER_REAL, 0)
writer.close()
print(number, handled)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=LONG_S, check=True
    )
    number, handled = map(int, ran.stdout.split())
    values = stored(tmp_path)
    assert sorted(one["n"] for one in values if "n" in one) == list(range(number))
    assert sorted(one["handler"] for one in values if "handler" in one) == list(range(handled))

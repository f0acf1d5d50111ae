"""Crash matrix of delivery: what was acknowledged is at the plane in the end, once, however its process ended.

Ends: SIGKILL, SIGTERM, fork, exec, `os._exit`, the interpreter's own exit, and of threads; the death of the delivery
thread, a full disk. Planes: one that takes everything, a slow one, one that answers 503 or 413, one that hangs, and
none at all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from chrono.record.sending import Sender
from tests.loopback import held_port
from tests.unit.record.fake_plane import FakePlane, hanging, slow
from tests.unit.record.test_delivery import delivering, envelope, sink_to
from tests.waiting import LONG_S, until

PROGRAM = """
import os, sys, threading, time
from chrono.record import delivery
from chrono.record.settings import Settings
from chrono.record.storesink import open_sink
from tests.unit.record.test_delivery import envelope
url, store, end, last_wait_s = sys.argv[1:]
delivery.LAST_WAIT_S = float(last_wait_s)
sink = open_sink(Settings(control_plane_url=url, store=store, batch_size=10, flush_interval=0.05, timeout=60.0))
def put(numbers):
    for number in numbers:
        sink.put_envelope(envelope(number))
        os.write(1, b"%d\\n" % number)
        time.sleep(0.001)
if end == "fork":
    put(range(0, 40))
    child = os.fork()
    put(range(1000, 1100) if child == 0 else range(40, 140))
    if child == 0:
        sink.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
elif end == "thread":
    threads = [threading.Thread(target=put, args=(range(at, at + 40),)) for at in (0, 100, 200)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
else:
    put(range(0, 150) if not end.startswith("SIG") else range(0, 10**6))
if end == "exec":
    os.execv("/bin/true", ["/bin/true"])
if end == "_exit":
    os._exit(0)
if end in ("fork", "thread", "exit"):
    sink.close()
"""


ENDS = ["SIGKILL", "SIGTERM", "fork", "exec", "_exit", "exit", "thread"]
ANSWERS = ["well", "slow", "503", "413", "hangs", "none"]
MATRIX = [
    ("SIGKILL", "well"),
    ("SIGTERM", "503"),
    ("fork", "well"),
    ("exec", "slow"),
    ("_exit", "none"),
    ("exit", "hangs"),
    ("thread", "413"),
]
REST = [(end, answer) for end in ENDS for answer in ANSWERS if (end, answer) not in MATRIX]


@pytest.mark.parametrize(("end", "answer"), [*MATRIX, *(pytest.param(*one, marks=pytest.mark.slow) for one in REST)])
def test_nothing_acknowledged_is_lost_or_stored_twice(tmp_path: Path, end: str, answer: str) -> None:
    with held_port() as port:
        with FakePlane(port=port) as plane:
            if answer in HOW:
                plane.answers = HOW[answer]
            elif answer == "413":
                plane.max_body_bytes = 2_000  # a few records
            if answer != "none":
                said = _run(plane.url, tmp_path, end, last_wait_s=LONG_S if answer == "well" else 1.0)
        if answer == "none":
            said = _run(plane.url, tmp_path, end)  # nobody listens there now
        again = _again(plane, port)
    acknowledged = {int(number) for number in said.split(b"\n")[:-1]}
    assert len(acknowledged) >= 100
    with again as plane:
        after = sink_to(plane, tmp_path)
        after.put_envelope(envelope(9_000_000))
        wanted = acknowledged | {9_000_000}
        until(lambda: {one["input"]["raw"]["n"] for one in list(plane.envelopes.values())} >= wanted)
        after.close()
        # one more than acknowledged: written, and killed before it could say so
        assert len(plane.envelopes) - len(wanted) <= 1
        resent = [name for name, times in plane.times.items() if times > 1]
        assert len(resent) <= 100  # of the window that was under way, deduplicated by the plane
        if answer == "well" and end in ("fork", "thread", "exit"):
            assert not resent


HOW: dict[str, Any] = {"slow": slow(0.03), "503": lambda method, path, body: 503, "hangs": hanging}


def _again(plane: FakePlane, port: int) -> FakePlane:
    """A plane at the same address that has what the other had, and takes everything."""
    again = FakePlane(port=port)
    again.traces, again.spans, again.envelopes, again.times = plane.traces, plane.spans, plane.envelopes, plane.times
    return again


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_delivery_thread_that_dies_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, died = Sender.send, threading.Event()

    def dies_once(self: Sender, window: Any, cursor: Any) -> None:
        if not died.is_set():
            died.set()
            raise SystemExit  # ends a thread without a word
        real(self, window, cursor)

    monkeypatch.setattr(Sender, "send", dies_once)
    with FakePlane() as plane:
        sink = sink_to(plane, tmp_path)
        for number in range(50):
            sink.put_envelope(envelope(number))
        until(lambda: died.is_set() and sink._delivery._thread not in delivering())
        sink.put_envelope(envelope(50))
        sink.flush()
        assert sorted(one["input"]["raw"]["n"] for one in plane.envelopes.values()) == list(range(51))
        assert set(plane.times.values()) == {1}
        sink.close()


def _run(url: str, store: Path, end: str, *, last_wait_s: float = 1.0) -> bytes:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, url, str(store), end, str(last_wait_s)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    said = b""
    if end.startswith("SIG"):
        while said.count(b"\n") < 120:
            piece = os.read(process.stdout.fileno(), 4096)
            assert piece, "it ended by itself"
            said += piece
        time.sleep(0.02)
        process.send_signal(getattr(signal, end))
    rest, problems = process.communicate(timeout=LONG_S)
    assert b"Traceback" not in problems, problems.decode()
    return said + rest


def test_a_full_disk_loses_only_what_was_refused(tmp_path: Path) -> None:
    import resource

    from chrono.record.local import StoreUnwritable

    with FakePlane() as plane:
        plane.answers = lambda method, path, body: 503
        sink = sink_to(plane, tmp_path, fail_open=True)
        taken = []
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
        try:
            for number in range(100):
                try:
                    sink.put_envelope(envelope(number))
                    taken.append(number)
                except StoreUnwritable:
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert 20 < len(taken) < 100
        sink.put_envelope(envelope(100))
        plane.answers = lambda method, path, body: None
        until(lambda: len(plane.envelopes) == len(taken) + 1)
        sink.close()
        assert {one["input"]["raw"]["n"] for one in plane.envelopes.values()} == {*taken, 100}


@pytest.mark.slow
def test_a_really_full_disk_is_got_over(tmp_path: Path) -> None:
    from chrono.record.local import StoreUnwritable

    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root may mount")
    try:
        with FakePlane() as plane:
            plane.answers = lambda method, path, body: 503
            sink = sink_to(plane, disk / "store", fail_open=True)
            (disk / "others").write_bytes(b"o" * 100_000)
            taken = []
            for number in range(400):
                try:
                    sink.put_envelope(envelope(number, output={"raw": str(number) * 200}))
                    taken.append(number)
                except StoreUnwritable:
                    pass
            assert 50 < len(taken) < 400
            (disk / "others").unlink()
            sink.put_envelope(envelope(1000))
            plane.answers = lambda method, path, body: None
            until(lambda: len(plane.envelopes) == len(taken) + 1)
            sink.close()
            assert {one["input"]["raw"]["n"] for one in plane.envelopes.values()} == {*taken, 1000}
    finally:
        subprocess.run(["umount", str(disk)], check=True)

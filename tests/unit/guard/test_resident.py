"""Claims about finding and ending resident services from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.errors import Locked
from chrono.guard import resident
from tests.waiting import LONG_S

HOLD = """\
import fcntl, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.ftruncate(fd, 0)
os.write(fd, b"%d\\n" % os.getpid())
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "state" / "run").mkdir(parents=True, mode=0o700)
    return {"HOME": str(tmp_path), "CHRONO_HOME": str(tmp_path / "state")}


def hold(environ: dict[str, str], how: str = "ends") -> subprocess.Popen[bytes]:
    lock = os.path.join(environ["CHRONO_HOME"], "run", "abcdef012345.lock")
    process = subprocess.Popen([sys.executable, "-c", HOLD, lock, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    return process


def test_a_free_lock_is_no_service(environ: dict[str, str]) -> None:
    assert resident.running(environ) == ()
    Path(environ["CHRONO_HOME"], "run", "abcdef012345.lock").write_text("1\n")
    assert resident.running(environ) == ()
    assert resident.running({**environ, "CHRONO_HOME": environ["CHRONO_HOME"] + "/none"}) == ()


def test_a_service_is_found_and_ended(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "STOP_WAIT_S", LONG_S)
    process = hold(environ)
    try:
        (found,) = resident.running(environ)
        assert (found.build, found.own) == ("abcdef012345", False)
        assert found.pid in (process.pid, 0)
        if found.pid:
            assert resident.stop(environ) == (found,)
            assert process.wait(LONG_S) != 0
            assert resident.running(environ) == ()
    finally:
        process.kill()
        process.communicate()


def test_one_that_does_not_end_is_said(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "STOP_WAIT_S", 0.3)
    process = hold(environ, "deaf")
    try:
        with pytest.raises(Locked, match="does not end"):
            resident.stop(environ)
    finally:
        process.kill()
        process.communicate()

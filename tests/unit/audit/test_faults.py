"""Claims about system calls that fail: whichever one of an append it is, no acknowledged record is lost, and the log
verifies and goes on. The kernel's answers are changed by strace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.audit.index import found
from chrono.audit.query import Query

from .conftest import Ground

STRACE = shutil.which("strace")
ROOT = Path(__file__).parents[3]
RECORDS = 6
WRITER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from chrono.audit import witness
witness.COMPACT_BYTES = int(sys.argv[4])
from chrono.audit.keys import KeySettings
from chrono.audit.log import open_log
from chrono.audit.place import project_place
from chrono.audit.record import Act, Actor, Entry
from chrono.clock import SystemClock
from chrono.layout import HomeLayout, ProjectLayout
log = open_log(project_place(ProjectLayout(sys.argv[2])), HomeLayout(sys.argv[3]), KeySettings(), SystemClock())
for number in range(int(sys.argv[5])):
    try:
        receipt = log.append(Entry("command", Actor(source="cli"), Act(cmd=f"call {number}")), timeout_s=5)
    except Exception as error:
        print("failed", number, type(error).__name__)
    else:
        print("acknowledged", number, receipt.n)
"""


def works() -> bool:
    """Whether strace may trace here; in some containers it may not."""
    if STRACE is None:
        return False
    tried = subprocess.run([STRACE, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    return tried.returncode == 0


pytestmark = pytest.mark.skipif(not works(), reason="no strace that may trace on this machine")


def written(ground: Ground, path: str, fault: str, *, compact: int = 1 << 18) -> list[list[str]]:
    """What a writer says that runs while `fault` is injected into the calls on `path`."""
    assert STRACE is not None
    command = [STRACE, "-qq", "-f", "-o", os.devnull, "-P", path, "-e", f"inject={fault}"]
    arguments = [ROOT, ground.layout.root, ground.home.root, compact, RECORDS]
    done = subprocess.run(
        [*command, sys.executable, "-c", WRITER, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines()]
    assert len(said) == RECORDS
    return said


def judge(ground: Ground, said: list[list[str]]) -> None:
    """Every acknowledged record is there, the log verifies, and the next append works."""
    records = dict(found(ground.place, ground.home, ground.log.log_id, Query(), 0))
    for word, number, rest in said:
        if word == "acknowledged":
            record = records[int(rest)]
            assert record is not None
            assert record.act["cmd"] == f"call {number}"
    report = ground.verify(full=True)
    assert report.findings == (), said
    ground.command(log=ground.again())
    after = ground.verify(full=True)
    assert (after.exit_code, after.findings) == (0, ())
    assert after.size > report.size


def target(ground: Ground, name: str) -> str:
    return {
        "log": ground.place.log,
        "head": ground.place.head,
        "lock": ground.place.lock,
        "witness": ground.home.witness_log(ground.log.log_id),
    }[name]


FAULTS = [
    *(("log", f"write:{how}:when={when}") for how in ("error=ENOSPC", "error=EIO", "retval=7") for when in (1, 3)),
    *(("log", f"fdatasync:error=EIO:when={when}") for when in (1, 3)),
    *(("head", f"pwrite64:{how}:when={when}") for how in ("error=ENOSPC", "error=EIO") for when in (1, 3)),
    *(("witness", f"write:{how}:when={when}") for how in ("error=ENOSPC", "error=EIO") for when in (1, 2, 3, 4)),
    ("log", "ftruncate:error=EIO:when=1"),
    ("log", "openat:error=EMFILE:when=2"),
    ("log", "openat:error=EINTR:when=2"),
    ("head", "openat:error=EACCES:when=1"),
    ("witness", "openat:error=EACCES:when=1"),
    ("lock", "flock:error=EINTR:when=2"),
    ("log", "flock:error=EIO:when=1"),
    ("log", "flock:error=EAGAIN:when=3"),
    ("lock", "openat:error=EMFILE:when=2"),
    ("lock", "pwrite64:error=ENOSPC:when=2"),
]
QUICK = ("log write:error=ENOSPC:when=3", "witness write:error=EIO:when=1", "log fdatasync:error=EIO:when=1")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(*fault, marks=() if " ".join(fault) in QUICK else pytest.mark.slow, id=" ".join(fault))
        for fault in FAULTS
    ],
)
def test_a_call_that_fails_once_loses_no_acknowledged_record(ground: Ground, name: str, fault: str) -> None:
    ground.begin(1)
    said = written(ground, target(ground, name), fault)
    if "when=1" not in fault or "openat" in fault:
        assert sum(word == "acknowledged" for word, _, _ in said) >= RECORDS - 2
    judge(ground, said)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["rename", "fsync", "openat"])
@pytest.mark.parametrize("when", [1, 2])
def test_a_compaction_of_the_witness_that_fails_loses_nothing(ground: Ground, call: str, when: int) -> None:
    ground.begin(1)
    said = written(ground, ground.home.witness, f"{call}:error=EIO:when={when}", compact=1000)
    judge(ground, said)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["write", "pwrite64", "fdatasync"])
def test_a_disk_that_stays_broken_refuses_every_record_and_spoils_none(ground: Ground, call: str) -> None:
    ground.begin(1)
    path = ground.place.head if call == "pwrite64" else ground.place.log
    said = written(ground, path, f"{call}:error=EIO:when=1+")
    assert all(word == "failed" for word, _, _ in said)
    judge(ground, said)

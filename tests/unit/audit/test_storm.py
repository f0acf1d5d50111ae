"""Claims about many writers that are killed at any moment: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chrono.audit.merkle import leaf_hash
from chrono.audit.verify import read_records
from chrono.clock import SystemClock

from .conftest import Ground

WRITER = """
import os, sys
from chrono.audit.keys import KeySettings
from chrono.audit.log import open_log
from chrono.audit.place import project_place
from chrono.audit.record import Act, Actor, Entry
from chrono.clock import SystemClock
from chrono.layout import HomeLayout, ProjectLayout
root, home, acks, wanted, by = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
log = open_log(project_place(ProjectLayout(root)), HomeLayout(home), KeySettings(), SystemClock())
out = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while os.fstat(out).st_size < wanted * 80:
    receipt = log.append(Entry("command", Actor(user=by), Act(cmd="x")), timeout_s=60)
    os.write(out, f"{receipt.n:>14} {receipt.leaf}\\n".encode())
"""


def storm(ground: Ground, *, writers: int, records: int, seed: int, kills: int) -> None:
    ground.clock = SystemClock()  # as the writers have it
    ground.begin()
    chance = random.Random(seed)
    acks = [str(ground.root / f"acks-{number}") for number in range(writers)]

    def start(number: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                ground.layout.root,
                ground.home.root,
                acks[number],
                str(records),
                str(number),
            ]
        )

    running = {number: start(number) for number in range(writers)}
    try:
        while running:
            time.sleep(chance.uniform(0.02, 0.2))
            for number, process in list(running.items()):
                if process.poll() is not None:
                    assert process.returncode in (0, -signal.SIGKILL)
                    if process.returncode == 0:
                        del running[number]
                    else:
                        running[number] = start(number)
            if kills and running and all(os.path.exists(path) for path in acks):
                running[chance.choice(sorted(running))].kill()
                kills -= 1
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    ground.command("after the storm")
    report = ground.verify(full=True, strict=True)
    assert (report.findings, report.exit_code) == ((), 0)
    leaves = [leaf_hash(line).hex() for line in ground.lines()]
    told = [line.split() for path in acks for line in Path(path).read_text().splitlines()]
    assert len(told) >= writers * records
    assert len({n for n, _ in told}) == len(told)
    assert [(n, leaf) for n, leaf in told if leaves[int(n)] != leaf] == []
    numbers = [record.n if record is not None else -1 for record in read_records(ground.place)]
    assert numbers == list(range(report.size))


def test_writers_that_are_killed_lose_no_acknowledged_record(ground: Ground) -> None:
    storm(ground, writers=3, records=25, seed=1, kills=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_writers_that_are_killed_lose_no_acknowledged_record(ground: Ground, seed: int) -> None:
    storm(ground, writers=8, records=100, seed=seed, kills=60)

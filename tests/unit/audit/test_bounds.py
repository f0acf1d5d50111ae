"""Claims about memory: a long log is verified in little of it, however closely, alone or with helpers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.audit.keys import read_key_file
from chrono.audit.log import boot_id
from chrono.audit.merkle import leaf_hash
from chrono.audit.record import encode
from chrono.audit.witness import Mark
from chrono.clock import rfc3339
from chrono.signing import PublicKey, Signer

from .conftest import Ground, command

MEASURE = """
import resource, sys
from chrono.audit.place import project_place
from chrono.audit.verify import verify
from chrono.layout import HomeLayout, ProjectLayout
layout, home, strict, workers = sys.argv[1:]
def judge():
    return verify(project_place(ProjectLayout(layout)), HomeLayout(home), strict=strict == "1", workers=int(workers))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = judge()
helpers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(report.size, len(report.findings), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, helpers)
"""


class Quick:
    """Signs in no time; the last record alone is signed in earnest, and speaks for all before it."""

    def __init__(self, public: PublicKey) -> None:
        self.public = public

    def sign(self, data: bytes) -> bytes:
        return bytes(63) + b"\x01"


def grown(ground: Ground, records: int) -> None:
    """Makes the log one of so many records, with witness and without head, which is a cache."""
    key = read_key_file(ground.home.audit_key)
    quick = Signer(Quick(key.public), key.public)
    line = ground.lines()[0]
    with open(ground.place.log, "ab") as file:
        for n in range(1, records):
            signer = key if n == records - 1 else quick
            at, prev = rfc3339(ground.clock.now_ns()), leaf_hash(line).hex()
            line = encode(command(f"make {n}"), n=n, at=at, log=ground.log.log_id, prev=prev, signer=signer)
            file.write(line + b"\n")
    os.unlink(ground.place.head)
    witness = ground.witness()
    witness.appended(Mark(records, leaf_hash(line).hex(), "", boot_id()))
    witness.acknowledged(records)


@pytest.mark.slow
def test_a_log_of_300_000_records_needs_little_memory(ground: Ground) -> None:
    ground.begin()
    records = 300_000
    grown(ground, records)
    assert Path(ground.place.log).stat().st_size > 140 << 20
    for strict, workers in ((0, 1), (1, 1), (0, 2)):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, ground.layout.root, ground.home.root, str(strict), str(workers)],
            capture_output=True,
            text=True,
            check=True,
        )
        size, findings, grown_kb, helpers_kb = map(int, done.stdout.split())
        assert size == records
        # without its head a strict verification has one finding, the warning
        assert findings == strict
        assert grown_kb < 40 << 10
        assert helpers_kb < 80 << 10

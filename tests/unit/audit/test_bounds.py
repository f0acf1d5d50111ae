"""Claims about memory and time: a long log, or what looks like one, is read in little of both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.audit.index import found
from chrono.audit.keys import read_key_file
from chrono.audit.log import boot_id
from chrono.audit.merkle import leaf_hash
from chrono.audit.query import Query
from chrono.audit.record import encode
from chrono.audit.text import BLOCK_BYTES, EndlessLine, Packed, SegmentBroken, pack
from chrono.audit.witness import Mark
from chrono.clock import rfc3339
from chrono.signing import PublicKey, Signer

from .conftest import Ground, codes, command

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


def test_a_hole_behind_the_records_holds_nobody_up(ground: Ground) -> None:
    """A terabyte that costs its maker nothing: the verifier, the writer and the reader stop at what no crash leaves."""
    ground.begin(3)
    ground.log.close()
    size = os.stat(ground.place.log).st_size
    os.truncate(ground.place.log, 1 << 40)
    for full in (False, True):
        report = ground.verify(full=full)
        assert [(finding.code, finding.record) for finding in report.findings] == [("too-long", 4)]
    with pytest.raises(EndlessLine, match="which no crash leaves"):
        ground.command()
    with pytest.raises(EndlessLine):
        found(ground.place, ground.home, ground.log.log_id, Query(), 30)
    os.truncate(ground.place.log, size)
    ground.command()
    assert codes(ground.verify()) == {"alarm"}
    assert "(too-long)" in ground.verify().integrity


def test_the_newest_records_are_read_past_lines_that_are_none(ground: Ground) -> None:
    ground.begin(3)
    with open(ground.place.log, "ab") as file:
        file.write(b"\0" * (1 << 20) + b"\n")
    newest = found(ground.place, ground.home, ground.log.log_id, Query(), 2)
    assert [(n, record is not None) for n, record in newest] == [(3, True), (4, False)]


def test_blocks_that_are_not_full_are_refused_before_they_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "audit-000000000000.jsonl.gz"
    path.write_bytes(pack(b"a" * BLOCK_BYTES) + pack(b"a" * 7))
    with open(path, "rb") as file:
        assert Packed(file.fileno(), path.name).size == BLOCK_BYTES + 7
    path.write_bytes(pack(b"a") * 2)
    with open(path, "rb") as file, pytest.raises(SegmentBroken, match="a block before the last is not full"):
        Packed(file.fileno(), path.name)

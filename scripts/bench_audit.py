"""Owns the prices of the audit log: an append against its floor, writers at once, verifications against a hash pass.

Usage: scripts/bench audit [--records N] [--appends N] [--full-records N] [--only PART]. Figures are ratios within one
run; medians.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from chrono.audit import checkpoint, head  # noqa: E402
from chrono.audit.append import boot_id  # noqa: E402
from chrono.audit.index import found  # noqa: E402
from chrono.audit.keys import KeySettings, find_signer  # noqa: E402
from chrono.audit.log import AuditLog, create  # noqa: E402
from chrono.audit.merkle import CompactRange, leaf_hash  # noqa: E402
from chrono.audit.place import LogPlace, project_place  # noqa: E402
from chrono.audit.query import Query  # noqa: E402
from chrono.audit.record import Act, Actor, Entry, encode  # noqa: E402
from chrono.audit.verify import verify  # noqa: E402
from chrono.audit.witness import Mark, Witness  # noqa: E402
from chrono.clock import SystemClock, rfc3339  # noqa: E402
from chrono.layout import HomeLayout, ProjectLayout  # noqa: E402
from chrono.signing import Signer  # noqa: E402

ENTRY = Entry(
    "command",
    Actor(user="bob", uid=1000, host="box", agent="claude-code", session="s" * 36, tool_use_id="t" * 30, source="hook"),
    Act(
        tool="Bash",
        cmd="rm -rf build && make -j4",
        cwd="/home/bob/project",
        decision="allow",
        score=20,
        scan="full",
        more=(("paths", ["build", "src/main.c"]),),
    ),
)
LINE_BYTES = 650
ROUNDS = 3
SYNC_MS = 5.0
"""What a sync costs on the slow disk besides its real cost: between a good disk and a bad one."""
WORDS = ("make", "pytest -q", "git status", "rm -rf build", "npm run lint", "cargo test", "ls -la", "python tool.py")


def entry(n: int) -> Entry:
    """Record `n` of a log as agents fill it: some words again and again, a session some hundred calls long."""
    assert ENTRY.act is not None
    act = ENTRY.act._replace(cmd=f"{WORDS[n % 8]} target-{n % 9973}", decision="block" if n % 997 == 0 else "allow")
    return ENTRY._replace(by=ENTRY.by._replace(session=f"session-{n // 300:06d}", tool_use_id=f"t-{n:09d}"), act=act)


WRITER = """
import os, sys; sys.path.insert(0, sys.argv[1])
import bench_audit as b
place, home = b.ground(sys.argv[2])
from chrono.audit.log import open_log
log = open_log(place, home, b.KeySettings(), b.SystemClock())
log.append(b.ENTRY, timeout_s=30)
disk = b.Disk(sys.argv[2], float(sys.argv[4])); os.fdatasync = disk.sync
print("ready", flush=True); sys.stdin.readline()
for _ in range(int(sys.argv[3])): log.append(b.ENTRY, timeout_s=30)
print(len(disk.took_s), *disk.took_s)
"""


class Disk:
    """The disk as it is, or one that takes `more_s` longer for each sync and serves one at a time, whoever asks."""

    def __init__(self, folder: str, more_s: float) -> None:
        self._sync, self._more_s = os.fdatasync, more_s
        self._arm = os.open(os.path.join(folder, "floor.arm"), os.O_RDWR | os.O_CREAT)
        self.took_s: list[float] = []

    def sync(self, fd: int) -> None:
        start = time.perf_counter()
        if self._more_s:
            fcntl.flock(self._arm, fcntl.LOCK_EX)
            time.sleep(self._more_s)
        self._sync(fd)
        if self._more_s:
            fcntl.flock(self._arm, fcntl.LOCK_UN)
        self.took_s.append(time.perf_counter() - start)


def ground(folder: str) -> tuple[LogPlace, HomeLayout]:
    layout = ProjectLayout(folder)
    os.makedirs(layout.dir, exist_ok=True)
    return project_place(layout), HomeLayout(os.path.join(folder, "home"))


def cpu_s() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def batch(act: Callable[[], object], times: int) -> tuple[float, float]:
    """Median wall and mean CPU of one call, microseconds."""
    wall, cpu = [], time.process_time()
    for _ in range(times):
        start = time.perf_counter()
        act()
        wall.append(time.perf_counter() - start)
    return statistics.median(wall) * 1e6, (time.process_time() - cpu) / times * 1e6


def appends(log: AuditLog, home: HomeLayout, folder: str, times: int) -> None:
    """An append without fdatasync in turn with two floors.

    The first: two signatures (record and checkpoint) and the writes that the format asks for, under the same lock. The
    second also looks where each append has to look (is the lock, the log, the pin, the witness still the file that it
    was?), takes the turn that syncs are taken in, and hashes leaf and tree. Between that and an append is Python.
    """
    signer = find_signer(home, KeySettings())
    assert signer is not None
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    paths = [os.path.join(folder, f"floor.{end}") for end in ("log", "witness", "head", "lock")]
    line, witness, slot = (os.open(path, flags) for path in paths[:3])
    tree = CompactRange(0b10101010101, [bytes(32)] * 6)  # as many nodes to hash as on average

    def floor(looks: bool = False) -> None:
        lock = os.open(paths[3], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock, b"pid 12345678901234\n", 0)
        if looks:
            for path in paths:
                os.stat(path, follow_symlinks=False)
            os.fstat(lock)
            leaf_hash(b"x" * LINE_BYTES)
            grown = tree.copy()
            grown.add(bytes(32))
            grown.root()
        signer.sign(b"x" * (LINE_BYTES - 75))
        signer.sign(b"x" * 100)
        os.write(line, b"x" * LINE_BYTES)
        os.pwrite(slot, b"x" * 4096, 0)
        os.write(witness, b"x" * 480)
        if looks:
            os.fstat(line)
            os.close(os.dup(line))
        os.close(lock)
        if looks:
            fcntl.flock(line, fcntl.LOCK_EX)
            os.fstat(witness)
        os.write(witness, b"S 1000\n")
        if looks:
            os.fstat(witness)
            fcntl.flock(line, fcntl.LOCK_UN)

    def one() -> None:
        log.append(ENTRY, timeout_s=5)

    real, os.fdatasync = os.fdatasync, lambda fd: None
    try:
        rounds = [(batch(one, 50), batch(floor, 50), batch(lambda: floor(True), 50)) for _ in range(times // 50)]
    finally:
        os.fdatasync = real
    p50 = statistics.median(took[0] for took, *_ in rounds)
    cpu = statistics.median(took[1] for took, *_ in rounds)
    lean, whole = (statistics.median(took[0][1] / took[at][1] for took in rounds) for at in (1, 2))
    print(
        f"append without fdatasync   p50 {p50:6.0f} us   CPU {cpu:6.0f} us = {lean:4.2f} x sign + write, "
        f"{whole:4.2f} x sign + write + look + hash"
    )
    p50, cpu = batch(one, min(times, 300))
    print(f"append with fdatasync      p50 {p50:6.0f} us   CPU {cpu:6.0f} us")


def writers(folder: str, count: int, each: int, more_s: float) -> tuple[float, float, float]:
    """Appends a second of `count` processes at once, syncs a record, and what a sync took (median, seconds)."""
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "-c", WRITER, here, folder, str(each), str(more_s)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.perf_counter()
    for process in running:  # all of them, before any is waited for
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in running]
    rate = count * each / (time.perf_counter() - start)
    syncs = sum(int(words[0]) for words in told)
    return rate, syncs / (count * each), statistics.median(float(word) for words in told for word in words[1:])


def several_writers(folder: str, sync_ms: float) -> None:
    """One writer in turn with eight, on this disk and on one where a sync costs what syncs cost elsewhere."""
    for name, more_s in (("this disk", 0.0), ("a slow disk", sync_ms / 1000)):
        pairs = [(writers(folder, 1, 100, more_s), writers(folder, 8, 50, more_s)) for _ in range(ROUNDS)]
        one, eight = (statistics.median(run[0] for run in runs) for runs in zip(*pairs, strict=True))
        took_ms = statistics.median(few[2] for few, _ in pairs) * 1e3
        ratio = statistics.median(many[0] / few[0] for few, many in pairs)
        syncs = statistics.median(many[1] for _, many in pairs)
        print(
            f"writers, {name:<12} a sync {took_ms:5.2f} ms   one {one:5.0f}/s   eight {eight:5.0f}/s = {ratio:4.2f} x"
            f"   {syncs:4.2f} syncs a record"
        )


class Unchecked:
    """Stands for a key where nothing looks at what it signs."""

    def __init__(self, signer: Signer) -> None:
        self.kid, self.public = signer.kid, signer.public

    def sign(self, data: bytes) -> bytes:
        return bytes(64)


def grow(place: LogPlace, home: HomeLayout, records: int, *, signed: bool) -> None:
    """Makes the log one of `records` records, as appending does, but with head and witness written once.

    `signed`: each of them; else the last one alone, which is all that a verification short of `--full` looks at.
    """
    signer = find_signer(home, KeySettings())
    assert signer is not None
    usual = signer if signed else Unchecked(signer)
    tree, leaf, size = CompactRange(), b"", 0
    with open(place.log, "r+b") as file:
        for line in file:
            leaf = leaf_hash(line[:-1])
            tree.add(leaf)
            size += len(line)
        log = checkpoint.parse(_note(place))[0].log
        for n in range(tree.size, records):
            at = rfc3339(time.time_ns())
            signs = usual if n < records - 1 else signer
            line = encode(entry(n), n=n, at=at, log=log, prev=leaf.hex(), signer=signs)  # type: ignore[arg-type]
            leaf = leaf_hash(line)
            tree.add(leaf)
            file.write(line + b"\n")
            size += len(line) + 1
    note = checkpoint.sign(checkpoint.Checkpoint(log, tree.size, tree.root()), signer)
    with open(place.head, "r+b") as file:
        head.write(file.fileno(), head.Head(log, tree.size, size, leaf.hex(), tuple(tree.hashes), note))
    witness = Witness(home.witness_log(log), home.witness_lock(log))
    witness.appended(Mark(tree.size, leaf.hex(), note, boot_id()))
    witness.acknowledged(tree.size)
    witness.close()


def _note(place: LogPlace) -> str:
    with open(place.head, "rb") as file:
        found = head.read(file.fileno())
    assert found is not None
    return found.note


def verifications(place: LogPlace, home: HomeLayout, title: str, *, full: bool = False, strict: bool = False) -> None:
    """One depth with one process and with all, in turn with two hash passes over the same file; medians."""

    def whole() -> None:
        digest = sha256()
        with open(place.log, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)

    def leaves() -> None:
        with open(place.log, "rb") as file:
            for line in file:
                sha256(b"\0" + line[:-1]).digest()

    def timed(act: Callable[[], object]) -> tuple[float, float]:
        start, cpu = time.perf_counter(), cpu_s()
        act()
        return time.perf_counter() - start, cpu_s() - cpu

    def judged(workers: int) -> None:
        report = verify(place, home, workers=workers, full=full, strict=strict)
        assert report.exit_code == 0, report.integrity

    cores = os.cpu_count() or 1
    acts = (whole, leaves, lambda: judged(1), lambda: judged(cores))
    rounds = [[timed(act) for act in acts] for _ in range(ROUNDS)]

    def ratio(act: int, to: int, of: int) -> float:
        return statistics.median(took[act][of] / took[to][of] for took in rounds)

    wall, cpu = 0, 1
    one, many = (statistics.median(took[at][wall] for took in rounds) for at in (2, 3))
    print(
        f"{title:<26} {one:6.2f} s, on {cores} cores {many:6.2f} s = 1/{ratio(2, 3, wall):.2f}\n"
        f"    of a hash of each line {ratio(3, 1, wall):6.2f} x in time on {cores} cores;  "
        f"in CPU {ratio(2, 1, cpu):.2f} x on one, {ratio(3, 1, cpu):.2f} x on {cores}\n"
        f"    of one hash of the file {ratio(3, 0, wall):5.1f} x in time on {cores} cores"
    )


def searches(place: LogPlace, home: HomeLayout, records: int) -> None:
    """Questions to the index against `grep` over the same file."""
    log = checkpoint.parse(_note(place))[0].log
    start = time.perf_counter()
    found(place, home, log, Query(text="never said"), 30)
    print(f"index of {records:,} records     {time.perf_counter() - start:6.1f} s once")
    for title, query, pattern in (
        ("a text that is nowhere", Query(text="never said"), "never said"),
        ("a text that is rare", Query(text="target-4711"), "target-4711"),
        ("a session", Query(session="session-000123"), '"session":"session-000123"'),
        ("a decision", Query(decision="block"), '"decision":"block"'),
        ("a common text", Query(text="pytest"), "pytest"),
    ):
        pairs = []
        for _ in range(5):
            start = time.perf_counter()
            found(place, home, log, query, 30)
            middle = time.perf_counter()
            # into a pipe: with nobody to read its answer, grep stops at the first hit
            subprocess.run(["grep", "-c", "-F", pattern, place.log], stdout=subprocess.PIPE, check=False)
            pairs.append((middle - start, time.perf_counter() - middle))
        one, other = (statistics.median(times) for times in zip(*pairs, strict=True))
        print(f"search: {title:<24} {one * 1e3:7.1f} ms = {one / other:5.2f} x grep")


def main() -> None:
    parser = argparse.ArgumentParser(description="Prices of the audit log, as ratios.")
    parser.add_argument("--records", type=int, default=100_000, help="records of the log that is verified")
    parser.add_argument("--full-records", type=int, default=10_000, help="of the log that is verified in full")
    parser.add_argument("--appends", type=int, default=2000)
    parser.add_argument("--sync-ms", type=float, default=SYNC_MS, help="what a sync costs more on the slow disk")
    parser.add_argument("--only", choices=("append", "verify", "search"), help="measure only this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, home = ground(folder)
        log = create(place, home, KeySettings(), SystemClock(), Actor(source="cli"))
        if options.only in (None, "append"):
            appends(log, home, folder, options.appends)
            log.close()
            several_writers(folder, options.sync_ms)
        log.close()
        if options.only in (None, "verify"):
            grow(place, home, options.full_records, signed=True)
            verifications(place, home, f"verify --full, {options.full_records:,}", full=True)
        if options.only != "append":
            grow(place, home, options.records, signed=False)
        if options.only in (None, "verify"):
            verifications(place, home, f"verify, {options.records:,}")
            verifications(place, home, f"verify --strict, {options.records:,}", strict=True)
        if options.only in (None, "search"):
            searches(place, home, options.records)


if __name__ == "__main__":
    main()

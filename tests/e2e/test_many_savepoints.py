"""Claims about a store of many savepoints: reading stays quick, pruning keeps its promise, the log stays explained."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.clock import SystemClock
from chrono.ids import CommitId
from chrono.store.disk import Disk
from chrono.workspace import prune
from chrono.workspace.actors import actor
from chrono.workspace.history import log
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.ring import save_locked
from chrono.workspace.verify import verify

EVERY_NS = 4 * 60 * 1_000_000_000


class Ahead(SystemClock):
    """Four minutes pass between two readings."""

    def __init__(self) -> None:
        self.at_ns = time.time_ns()

    def now_ns(self) -> int:
        self.at_ns += EVERY_NS
        return self.at_ns


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here depends on syncs, and ten thousand savepoints wait long for them."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda fd: None)
    monkeypatch.setattr(Disk, "fsync_folder", lambda self, name: None)
    monkeypatch.setattr(Disk, "syncfs", lambda self, fd: None)


def fill(ws: Workspace, by: Actor, count: int) -> list[CommitId]:
    chance = random.Random(3)
    files = [Path(ws.root, f"d{number // 10}", f"f{number}.py") for number in range(120)]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"x = {chance.random()}\n" for _ in range(60)))
    keep = ws.store.upkeep
    found = []
    for number in range(count):
        with chance.choice(files).open("a") as text:
            text.write(f"y = {number}\n")
        trailers = (("Chrono-Agent", "an-agent"), ("Chrono-Command", f"command {number}"))
        with ws.store.lock(5):
            found.append(save_locked(ws, "auto", f"before command {number}", by, trailers=trailers).commit)
        if number % 50 == 0 and keep.needs_packing():
            keep.pack_loose(5)
        if number % 50 == 0 and keep.needs_ref_packing():
            keep.pack_refs(5)
    keep.pack_loose(5)
    keep.pack_refs(5)
    return found


def cpu_s(action: Callable[[], object]) -> float:
    def used() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in both)

    before = used()
    action()
    return used() - before


def make_old(ws: Workspace) -> None:
    then = time.time() - 7200
    for folder, _, names in os.walk(os.path.join(ws.layout.repo, "objects")):
        for name in names:
            os.utime(os.path.join(folder, name), (then, then))


def check(tmp_path: Path, count: int, *, timed: bool) -> None:
    (tmp_path / "person").mkdir()
    (tmp_path / "proj").mkdir()
    environ = {"HOME": str(tmp_path / "person"), "CHRONO_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    by = actor(environ)
    ws = initialise(str(tmp_path / "proj"), environ, by).ws
    ws.clock = Ahead()
    autos = fill(ws, by, count)
    git = ["git", "--git-dir", ws.layout.repo]

    def run(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([*git, *words], check=True, capture_output=True)

    chrono = [sys.executable, "-m", "chrono"]

    def verb(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([*chrono, *words], cwd=ws.root, env=environ, check=True, capture_output=True)

    def least(action: Callable[[], object]) -> float:
        return min(cpu_s(action) for _ in range(3))

    if timed:
        start = least(verb("show", "--json", "main"))
        assert least(verb("log")) <= 3 * least(run("log", "--all")) + 1.3 * start
        plan = least(verb("rollback", "--dry-run", autos[count // 2]))
        assert plan <= 3 * least(run("diff-tree", "-r", autos[count // 2], autos[-1])) + 1.3 * start
    run("fsck", "--strict")()
    assert verify(ws).exit_code == 0

    make_old(ws)
    before = ws.store.upkeep.holdings().total_bytes
    shown = prune.plan(ws)
    assert len(shown.refs) > count // 2 and shown.jump is None
    done = prune.apply(ws, shown, by)
    assert done.savepoints == len(shown.refs)
    assert before - ws.store.upkeep.holdings().total_bytes >= shown.freed.size_bytes * 0.8
    left = {found.id for found in log(ws)}
    assert left & set(autos) == set(autos) - shown.commits
    assert set(autos[-200:]) <= left
    run("fsck", "--strict")()
    report = verify(ws, full=True)
    assert (report.exit_code, report.findings) == (0, ())
    assert done.freed == shown.freed
    assert prune.plan(ws).nothing
    make_old(ws)  # nothing was only too young, either
    assert prune.plan(ws).nothing


def test_a_thousand_savepoints_are_read_and_pruned(tmp_path: Path, unsynced: None) -> None:
    check(tmp_path, 1000, timed=False)


@pytest.mark.slow
def test_ten_thousand_savepoints_are_read_and_pruned(tmp_path: Path, unsynced: None) -> None:
    check(tmp_path, 10_000, timed=True)

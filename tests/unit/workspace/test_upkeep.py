"""Claims about upkeep in the background: stores stay small by themselves, and nobody waits for it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.files import file_lock
from chrono.store.disk import Disk
from chrono.store.upkeep import Upkeep
from chrono.workspace import retention, upkeep
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.upkeep import Done
from chrono.workspace.verify import verify
from tests.waiting import LONG_S

from .test_prune import SetClock, make_old, saves


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Disk, "fsync", lambda self, fd: None)
    monkeypatch.setattr(Disk, "fsync_folder", lambda self, name: None)


def loose(ws: Workspace) -> int:
    return ws.store.upkeep.holdings().loose_count


def test_a_new_project_needs_no_upkeep(ws: Workspace, by: Actor) -> None:
    assert not upkeep.due(ws)
    assert upkeep.run(ws, by) == Done()


def test_many_loose_objects_are_packed_by_a_process_in_the_background(ws: Workspace, by: Actor) -> None:
    for number in range(2100):
        with ws.store.lock(5):
            ws.store._put(b"blob", b"%d" % number)
    assert upkeep.due(ws)
    assert upkeep.start(ws)
    for process in upkeep._started:
        assert process.wait(LONG_S) == 0
    assert loose(ws) == 0
    assert verify(ws).exit_code == 0


def test_one_process_is_at_it_at_a_time(ws: Workspace, by: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Upkeep, "needs_packing", lambda self: True)
    with file_lock(ws.layout.upkeep_lock, timeout_s=1):
        assert upkeep.run(ws, by) == Done()
    assert upkeep.run(ws, by).packed > 0


def test_refs_and_packs_are_joined(ws: Workspace, by: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    saves(ws, by, 6, days_apart=0.001)
    monkeypatch.setattr(upkeep, "start", lambda ws: False)  # else one savepoint in four starts it in the background
    monkeypatch.setattr("chrono.store.upkeep.PACK_REFS_ABOVE", 5)
    monkeypatch.setattr("chrono.store.upkeep.PACKS_ABOVE", 2)
    for number in range(4):
        for inner in range(30):
            Path(ws.root, f"{number}_{inner}").write_text(f"{number} {inner}")
        save(ws, "auto", "many", by)
    assert ws.store.upkeep.holdings().pack_count == 4
    done = upkeep.run(ws, by)
    assert done.refs == 10 and done.joined == 4
    assert ws.store.upkeep.holdings().pack_count <= 2
    assert verify(ws).exit_code == 0
    done_fsck = subprocess.run(["git", "--git-dir", ws.layout.repo, "fsck", "--strict"], capture_output=True, text=True)
    assert done_fsck.returncode == 0, done_fsck.stderr


def test_the_policy_prunes_by_itself_and_without_one_only_the_budget_does(
    ws: Workspace, by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "KEPT_AUTO", 5)
    ws.clock = SetClock()
    saves(ws, by, 20, days_apart=3)
    make_old(ws)
    assert upkeep.run(ws, by, look=True) == Done()
    Path(ws.home.policy).write_text("retention: {keep_auto: 18}\n")
    assert upkeep.run(ws, by, look=True).pruned == 2
    Path(ws.home.policy).write_text("retention: {budget_mib: 0}\n")
    done = upkeep.run(ws, by, look=True)
    assert done.pruned == 8
    assert "more than their budget of 0 MiB" in done.warning
    assert verify(ws).exit_code == 0


def test_a_clock_that_jumped_suspends_pruning_by_itself(
    ws: Workspace, by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "KEPT_AUTO", 2)
    saves(ws, by, 5, days_apart=0.1)
    saves(ws, by, 1, days_apart=200)
    Path(ws.home.policy).write_text("retention: {older_than_days: 10}\n")
    done = upkeep.run(ws, by, look=True)
    assert done.pruned == 0 and "clock" in done.warning


def test_budget_and_retention_are_looked_at_once_an_hour(ws: Workspace, by: Actor) -> None:
    assert not upkeep.due(ws)
    os.utime(ws.layout.upkeep_stamp, (time.time() - 4000, time.time() - 4000))
    assert upkeep.due(ws)
    upkeep.run(ws, by)
    assert not upkeep.due(ws)

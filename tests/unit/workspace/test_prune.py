"""Claims about pruning a project: what goes is named in the log, verify stays OK, what anybody needs stays."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.clock import SystemClock
from chrono.errors import Conflict, NoSuchSavepoint
from chrono.ids import CommitId
from chrono.store.disk import Disk
from chrono.workspace import prune, retention
from chrono.workspace.history import log
from chrono.workspace.project import Workspace
from chrono.workspace.retention import DAY_NS, Rules
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


class SetClock(SystemClock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at_ns = time.time_ns()

    def now_ns(self) -> int:
        self.at_ns += 1_000_000
        return self.at_ns


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The floors, low enough for a test; and no waiting for the disk."""
    monkeypatch.setattr(retention, "KEPT_AUTO", 5)
    monkeypatch.setattr(retention, "KEPT_RESCUES", 3)
    monkeypatch.setattr(Disk, "fsync", lambda self, fd: None)
    monkeypatch.setattr(Disk, "fsync_folder", lambda self, name: None)


def saves(ws: Workspace, by: Actor, count: int, *, days_apart: float, kind: str = "auto") -> list[CommitId]:
    clock = ws.clock if isinstance(ws.clock, SetClock) else SetClock()
    ws.clock = clock
    found = []
    for number in range(count):
        clock.at_ns += int(days_apart * DAY_NS)
        Path(ws.root, "src", "a.txt").write_text(f"{kind} {number} {clock.at_ns}\n" * 40)
        found.append(save(ws, kind, f"number {number}", by).commit)
    return found


def make_old(ws: Workspace) -> None:
    then = time.time() - 7200
    for folder, _, names in os.walk(os.path.join(ws.layout.repo, "objects")):
        for name in names:
            os.utime(os.path.join(folder, name), (then, then))


def assert_whole(ws: Workspace) -> None:
    report = verify(ws, full=True)
    assert (report.findings, report.exit_code) == ((), 0)
    done = subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "fsck", "--strict", "--full"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def ids(ws: Workspace) -> set[CommitId]:
    return {found.id for found in log(ws)}


def test_what_was_pruned_is_named_and_the_log_verifies(few: None, ws: Workspace, by: Actor) -> None:
    autos = saves(ws, by, 20, days_apart=3)
    make_old(ws)
    plan = prune.plan(ws)
    assert {one.commit for one in plan.refs} == plan.commits == set(autos[:10])
    assert plan.freed.size_bytes > 0 and plan.jump is None
    done = prune.apply(ws, plan, by)
    assert done.savepoints == 10 and done.freed.objects >= 30
    assert ids(ws) == {*autos[10:], *(found.id for found in log(ws, auto=False))}
    with pytest.raises(NoSuchSavepoint):
        ws.store.raw_commit(autos[0])
    assert_whole(ws)
    again = prune.plan(ws)
    assert again.nothing


def test_looking_changes_nothing(few: None, ws: Workspace, by: Actor) -> None:
    saves(ws, by, 12, days_apart=3)
    before = ids(ws)
    prune.plan(ws)
    found = prune.stats(ws)
    assert dict(found.kinds) == {"auto": 12, "manual": 1}
    assert found.holdings.total_bytes > 0 and not found.over_budget
    assert ids(ws) == before


def test_manual_savepoints_never_go(few: None, ws: Workspace, by: Actor) -> None:
    manual = saves(ws, by, 15, days_apart=5, kind="manual")
    saves(ws, by, 10, days_apart=5)
    plan = prune.plan(ws, Rules(0, 0))
    assert len(plan.refs) == 5
    prune.apply(ws, plan, by)
    assert set(manual) <= ids(ws)
    assert_whole(ws)


def test_a_savepoint_that_a_branch_leads_to_stays(few: None, ws: Workspace, by: Actor) -> None:
    autos = saves(ws, by, 12, days_apart=3)
    with ws.store.lock(5):
        ws.store.move_ref("refs/heads/kept", None, autos[1])
    plan = prune.plan(ws, Rules(0, 0))
    assert autos[1] not in plan.commits and autos[1] not in {one.commit for one in plan.refs}
    assert autos[0] in plan.commits


def test_a_branch_made_after_the_plan_was_shown_stops_it(few: None, ws: Workspace, by: Actor) -> None:
    autos = saves(ws, by, 12, days_apart=3)
    plan = prune.plan(ws, Rules(0, 0))
    with ws.store.lock(5):
        ws.store.move_ref("refs/heads/late", None, autos[1])
    before = ids(ws)
    with pytest.raises(Conflict, match="needed by now"):
        prune.apply(ws, plan, by)
    assert ids(ws) == before


def test_a_clock_that_jumped_suspends_until_a_person_confirms(few: None, ws: Workspace, by: Actor) -> None:
    saves(ws, by, 8, days_apart=0.1)
    saves(ws, by, 1, days_apart=300)
    plan = prune.plan(ws)
    assert plan.jump is not None and plan.refs
    with pytest.raises(Conflict, match="300 days"):
        prune.apply(ws, plan, by)
    prune.apply(ws, plan, by, confirmed=True)
    saves(ws, by, 8, days_apart=3)
    assert prune.plan(ws, Rules(0, 0)).jump is None
    assert_whole(ws)


def test_savepoints_taken_since_the_plan_stay(few: None, ws: Workspace, by: Actor) -> None:
    saves(ws, by, 12, days_apart=3)
    make_old(ws)
    plan = prune.plan(ws, Rules(0, 0))
    later = saves(ws, by, 4, days_apart=3)
    prune.apply(ws, plan, by)
    assert set(later) <= ids(ws)
    assert_whole(ws)


def test_the_policy_says_what_goes(few: None, ws: Workspace, by: Actor) -> None:
    saves(ws, by, 12, days_apart=0.01)
    assert prune.plan(ws).nothing
    Path(ws.home.policy).write_text("retention: {keep_auto: 6, budget_mib: 100}\n")
    assert len(prune.plan(ws).refs) == 6
    assert prune.budget_bytes(ws, 0) == 100 << 20


@pytest.mark.parametrize("step", prune.STEPS)
def test_a_prune_that_ends_after_a_step_leaves_nothing_unexplained(
    step: str, few: None, ws: Workspace, by: Actor, environ: dict[str, str]
) -> None:
    autos = saves(ws, by, 14, days_apart=3)
    make_old(ws)
    plan = prune.plan(ws)
    assert plan.commits

    class Ended(BaseException):
        pass

    def end(reached: str) -> None:
        if reached == step:
            raise Ended

    with pytest.raises(Ended):
        prune.apply(ws, plan, by, at_step=end)
    other = Workspace.open(ws.root, environ)
    assert_whole(other)
    other.clock = ws.clock
    again = prune.plan(other)
    assert again.nothing == (step == "collected")
    if not again.nothing:
        prune.apply(other, again, by)
    assert ids(other) & set(autos) == set(autos) - plan.commits
    with pytest.raises(NoSuchSavepoint):
        other.store.raw_commit(autos[0])
    assert_whole(other)

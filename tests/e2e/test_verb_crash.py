"""Claims about crashes: wherever branch, checkout, merge, undo or redo is killed, the next command finds it done or not.

Each case runs in a process of its own that ends itself with `os._exit` right after a named step, as in
test_ring_crash.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from chrono.audit.record import Actor
from chrono.workspace import branches, history, mergestate, merging, oplog, rollback, undoing
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.recover import recover
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify
from tests.waiting import LONG_S

CODE = Path(__file__).parents[2]
KILLED = 93

PROGRAM = f"""
import os, sys
from chrono.workspace import branches, merging, undoing
from chrono.workspace.actors import actor
from chrono.workspace.project import Workspace

verb, root, victim = sys.argv[1:4]
seen = []
def at_step(step):
    seen.append(step)
    if step == victim:
        os._exit({KILLED})
ws = Workspace.open(root, os.environ)
by = actor(os.environ)
acts = {{
    "create": lambda: branches.create(ws, "made", by, at_step=at_step),
    "delete": lambda: branches.delete(ws, "spare", by, at_step=at_step),
    "checkout": lambda: branches.checkout(ws, "feature", by, at_step=at_step),
    "merge": lambda: merging.merge(ws, "feature", by, at_step=at_step),
    "continue": lambda: merging.end(ws, by, at_step=at_step),
    "undo": lambda: undoing.apply(ws, undoing.plan_undo(ws), by, at_step=at_step),
    "redo": lambda: undoing.apply(ws, undoing.plan_redo(ws), by, at_step=at_step),
}}
acts[verb]()
print(" ".join(seen))
"""


class Seen(NamedTuple):
    """Everything of a project that a verb may change."""

    files: dict[str, str]
    head: str
    branches: tuple[str, ...]
    merging: bool


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "person").mkdir()
    return {
        "HOME": str(tmp_path / "person"),
        "CHRONO_HOME": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CODE),
    }


@pytest.fixture
def by(environ: dict[str, str]) -> Actor:
    return actor(environ)


@pytest.fixture
def ws(tmp_path: Path, environ: dict[str, str], by: Actor) -> Workspace:
    """On main, with unsaved work; "feature" has other files, "spare" holds nothing of its own."""
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("one\n")
    (root / "keep").write_text("keep\n")
    ws = initialise(str(root), environ, by).ws
    branches.create(ws, "spare", by)
    branches.create(ws, "feature", by)
    branches.checkout(ws, "feature", by)
    (root / "there").write_text("there\n")
    (root / "keep").unlink()
    branches.checkout(ws, "main", by)
    (root / "here").write_text("here, unsaved\n")
    return ws


def clash(ws: Workspace, by: Actor) -> None:
    """Both branches change a.txt now."""
    root = Path(ws.root)
    branches.checkout(ws, "feature", by)
    (root / "src" / "a.txt").write_text("theirs\n")
    branches.checkout(ws, "main", by)
    (root / "src" / "a.txt").write_text("ours\n")


def resolved(ws: Workspace, by: Actor) -> None:
    clash(ws, by)
    merging.merge(ws, "feature", by)
    (Path(ws.root) / "src" / "a.txt").write_text("both\n")


def rolled_back(ws: Workspace, by: Actor) -> None:
    save(ws, "manual", "x", by)
    (Path(ws.root) / "here").unlink()
    (Path(ws.root) / "more").write_text("more\n")
    rollback.apply(ws, rollback.plan(ws), by)


def undone(ws: Workspace, by: Actor) -> None:
    rolled_back(ws, by)
    undoing.apply(ws, undoing.plan_undo(ws), by)


def merged(ws: Workspace, by: Actor) -> None:
    clash(ws, by)
    merging.merge(ws, "feature", by)


def nothing(ws: Workspace, by: Actor) -> None:
    pass


Prepare = Callable[[Workspace, Actor], None]
CASES: dict[str, tuple[str, Prepare, tuple[str, ...]]] = {
    "create": ("create", nothing, branches.BRANCH_STEPS),
    "delete": ("delete", nothing, branches.BRANCH_STEPS),
    "checkout": ("checkout", nothing, branches.CHECKOUT_STEPS),
    "clean merge": ("merge", nothing, merging.MERGE_STEPS),
    "merge with conflicts": ("merge", clash, merging.MERGE_STEPS),
    "end of a merge": ("continue", resolved, merging.CONTINUE_STEPS),
    "undo of a rollback": ("undo", rolled_back, undoing.STEPS),
    "undo of a checkout": ("undo", nothing, undoing.STEPS),
    "undo of a merge": ("undo", merged, undoing.STEPS),
    "redo": ("redo", undone, undoing.STEPS),
}


QUICK = {
    ("create", "operation"),
    ("checkout", "applied"),
    ("merge with conflicts", "commit"),
    ("end of a merge", "commit"),
    ("undo of a merge", "journal"),
}
"""What the normal tier kills; the slow one kills after every step."""


def cases(*, steps: tuple[str, ...] | None = None) -> list[ParameterSet]:
    pairs = [(name, step) for name, case in CASES.items() for step in case[2] if steps is None or step in steps]
    return [pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow) for pair in pairs]


def run(environ: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv], env=environ, capture_output=True, text=True, timeout=LONG_S
    )


def look(ws: Workspace) -> Seen:
    root = Path(ws.root)
    files = {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and ".chrono" not in path.parts
    }
    return Seen(
        files,
        ws.store.head_ref(),
        tuple(one.name for one in branches.branches(ws)),
        mergestate.waiting(ws) is not None,
    )


def ids(ws: Workspace) -> set[str]:
    return {savepoint.id for savepoint in history.log(ws)}


def assert_whole(ws: Workspace) -> None:
    report = verify(ws, full=True)
    assert report.findings == ()
    assert report.exit_code == 0
    fsck = subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "fsck", "--strict", "--no-dangling"], capture_output=True, text=True
    )
    assert fsck.returncode == 0, fsck.stdout + fsck.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_steps_that_are_killed_are_all_the_steps_there_are(
    name: str, ws: Workspace, by: Actor, environ: dict[str, str]
) -> None:
    verb, prepare, steps = CASES[name]
    prepare(ws, by)
    done = run(environ, verb, ws.root, "none")
    assert tuple(done.stdout.split()) == steps, done.stderr


@pytest.mark.parametrize(("name", "step"), cases())
def test_a_verb_killed_after_a_step_is_done_or_not_begun_after_the_next_command(
    name: str, step: str, ws: Workspace, by: Actor, environ: dict[str, str]
) -> None:
    verb, prepare, steps = CASES[name]
    prepare(ws, by)
    before, known = look(ws), ids(ws)
    done = run(environ, verb, ws.root, step)
    assert done.returncode == KILLED, done.stderr
    recover(ws, by)
    assert recover(ws, by).nothing
    assert ws.store.pending() is None
    after = look(ws)
    begun = steps.index(step) >= steps.index("journal" if "journal" in steps else steps[0])
    assert (after != before) == begun
    assert known <= ids(ws)
    assert_whole(ws)
    if not begun:  # nothing but a savepoint more: the same command does it now
        assert run(environ, verb, ws.root, "none").returncode == 0
        after = look(ws)
    held = ws.store.ref(after.head)
    assert held is not None
    newest = oplog.newest_operation(ws)
    assert newest is not None and newest.head_after == after.head
    if verb in ("checkout", "undo", "redo"):
        undoing.apply(ws, undoing.plan_redo(ws) if verb == "undo" else undoing.plan_undo(ws), by)
        assert look(ws) == before
    assert_whole(ws)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        pair
        for pair in cases(steps=("journal", "begin", "applied"))
        if pair.values[0] not in ("redo", "undo of a rollback")
    ],
)
def test_a_killed_restore_can_be_taken_back(
    name: str, step: str, ws: Workspace, by: Actor, environ: dict[str, str]
) -> None:
    verb, prepare, _ = CASES[name]
    prepare(ws, by)
    before = look(ws)
    assert run(environ, verb, ws.root, step).returncode == KILLED
    recover(ws, by, abort=True)
    assert look(ws) == before
    assert ws.store.pending() is None
    assert_whole(ws)

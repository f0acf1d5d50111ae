"""Claims about processes side by side: two save, one goes back and undoes, one prunes; nothing is lost and none waits
for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.files import file_lock
from chrono.workspace import history
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.verify import verify
from tests.waiting import LONG_S

CODE = Path(__file__).parents[2]

PROGRAM = """
import os, sys, time
from chrono.errors import ChronoError, Conflict, NoSuchSavepoint
from chrono.workspace import prune, rollback, undoing
from chrono.workspace.actors import actor
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.retention import Rules

root, first, role, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
ws, by = Workspace.open(root, os.environ), actor(os.environ)
deadline, number, done = time.monotonic() + seconds, 0, None
while done is None or time.monotonic() < deadline:  # in a slow machine the first one takes longer than it has
    number += 1
    try:
        if role in "ab":
            with open(f"{root}/{role}", "w") as file:
                file.write(f"{role} {number}")
            done = save(ws, "auto" if number % 3 else "manual", f"{role} {number}", by, timeout_s=30)
            print("saved", done.commit, flush=True)
            time.sleep(0.01)
        elif role == "back":
            if number % 2:
                with open(f"{root}/c", "w") as file:
                    file.write(f"c {number}")
                act, plan = rollback, rollback.plan(ws, first, ("c",) if number % 8 > 1 else ())
            else:
                act, plan = undoing, undoing.plan_undo(ws)
            done = act.apply(ws, plan, by, timeout_s=30)
            print("rescue", done.rescue, flush=True)
            time.sleep(0.05)
        else:
            done = prune.apply(ws, prune.plan(ws, Rules(1_000_000, None)), by, timeout_s=30)
            ws.store.upkeep.pack_loose(30)
            ws.store.upkeep.pack_refs(30)
            print("pruned", number, flush=True)
            time.sleep(0.2)
    except (Conflict, NoSuchSavepoint):
        pass  # the files changed since the plan, or there is nothing to go back to yet
"""


def work(root: Path, first: str, environ: dict[str, str], seconds: float) -> dict[str, list[str]]:
    """Runs all four for so long; what each printed. Nobody may take longer than the longest wait for a lock."""
    roles = ("a", "b", "back", "prune")
    command = [sys.executable, "-c", PROGRAM, str(root), first]
    running = {
        role: subprocess.Popen(
            [*command, role, str(seconds)], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for role in roles
    }
    printed = {}
    try:
        for role, process in running.items():
            out, err = process.communicate(timeout=seconds + LONG_S)
            assert process.returncode == 0, (role, err)
            printed[role] = out.splitlines()
    finally:
        for process in running.values():
            if process.poll() is None:
                process.kill()
                process.wait()
    return printed


def side_by_side(tmp_path: Path, seconds: float) -> None:
    (tmp_path / "person").mkdir()
    environ = {
        "HOME": str(tmp_path / "person"),
        "CHRONO_HOME": str(tmp_path / "state"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CODE),
    }
    root = tmp_path / "proj"
    root.mkdir()
    (root / "keep").write_text("keep\n")
    (root / "c").write_text("c")
    made = initialise(str(root), environ, actor(environ)).ws
    first = made.store.resolve("HEAD")
    made.close()
    printed = work(root, first, environ, seconds)
    ws = Workspace.open(str(root), environ)
    assert all(printed[role] for role in printed), printed
    known = {savepoint.id for savepoint in history.log(ws)}
    told = {row.split()[1] for role in ("a", "b", "back") for row in printed[role]} - {"None"}
    assert told <= known  # every savepoint that was reported is there
    assert verify(ws, full=True).exit_code == 0
    assert ws.store.pending() is None
    with file_lock(ws.layout.upkeep_lock, timeout_s=LONG_S):  # no upkeep that one of them started is under way
        check_what_is_left(ws)
    assert (root / "keep").read_text() == "keep\n"


def check_what_is_left(ws: Workspace) -> None:
    """A whole repository, and no lock."""
    left = [path for path in Path(ws.layout.dir).rglob("*.lock") if path.name not in ("audit.lock", "upkeep.lock")]
    assert left == []
    for lock in (ws.layout.lock, ws.layout.audit_lock):
        with file_lock(lock, timeout_s=0):
            pass
    fsck = subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "fsck", "--strict", "--no-dangling"], capture_output=True, text=True
    )
    assert fsck.returncode == 0, fsck.stdout + fsck.stderr


def test_four_processes_for_a_moment(tmp_path: Path) -> None:
    side_by_side(tmp_path, 2)


@pytest.mark.slow
def test_four_processes_for_a_minute(tmp_path: Path) -> None:
    side_by_side(tmp_path, 60)

"""Claims about crashes: wherever a save, a rollback or an init is killed, the next command leaves everything whole.

Each case runs in a process of its own that ends itself with `os._exit` right after a named step: no buffer is flushed,
no `finally` runs, locks go with the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.workspace import history
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.recover import last_anchor, recover
from chrono.workspace.rollback import STEPS as ROLLBACK_STEPS
from chrono.workspace.savepoints import STEPS as RING_STEPS
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify
from tests.waiting import LONG_S

CODE = Path(__file__).parents[2]
KILLED = 93

PROGRAM = f"""
import os, sys
from chrono.workspace import rollback, savepoints
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
if verb == "rollback":
    rollback.apply(ws, rollback.plan(ws, sys.argv[4]), by, at_step=at_step)
else:
    savepoints.save(ws, verb, "killed at " + victim, by, at_step=at_step)
print(" ".join(seen))
"""


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
def root(tmp_path: Path, environ: dict[str, str], by: Actor) -> Path:
    folder = tmp_path / "proj"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("one\n")
    (folder / "keep").write_text("keep\n")
    initialise(str(folder), environ, by).ws.close()
    return folder


def run(environ: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *argv]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=LONG_S)


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


@pytest.mark.parametrize("kind", ["auto", "manual"])
@pytest.mark.parametrize("step", RING_STEPS)
def test_a_save_killed_after_a_step_is_whole_after_the_next_command(
    step: str, kind: str, root: Path, environ: dict[str, str], by: Actor
) -> None:
    ws = Workspace.open(str(root), environ)
    before = ids(ws)
    (root / "src" / "a.txt").write_text("two\n")
    (root / "new").write_text("new\n")
    done = run(environ, kind, str(root), step)
    assert done.returncode == KILLED, done.stderr
    recorded = step in ("record", "ref", "cache")
    anchor = last_anchor(ws)
    assert anchor is not None
    assert (anchor.commit not in before) == recorded
    if step == "record":
        assert ws.store.ref(anchor.ref) == anchor.old  # the crash left the anchor dangling
        assert verify(ws).exit_code == 20
    saved = save(ws, "auto", "the next command", by)
    assert saved.created != recorded
    assert ids(ws) >= before | {saved.commit}
    if recorded:
        assert saved.commit == anchor.commit
    assert len(ids(ws)) == len(before) + 1
    assert ws.store.read(saved.commit, "new") == b"new\n"
    assert_whole(ws)


def test_the_steps_that_are_killed_are_all_the_steps_there_are(root: Path, environ: dict[str, str]) -> None:
    (root / "new").write_text("new\n")
    done = run(environ, "auto", str(root), "none")
    assert tuple(done.stdout.split()) == RING_STEPS
    ws = Workspace.open(str(root), environ)
    first = str(ws.store.ref("refs/heads/main"))
    done = run(environ, "rollback", str(root), "none", first)
    assert tuple(done.stdout.split()) == ROLLBACK_STEPS, done.stderr


def test_a_branch_that_moved_on_keeps_a_killed_savepoint_as_a_rescue(
    root: Path, environ: dict[str, str], by: Actor
) -> None:
    ws = Workspace.open(str(root), environ)
    first = ws.store.ref("refs/heads/main")
    assert first is not None
    (root / "new").write_text("new\n")
    assert run(environ, "manual", str(root), "record").returncode == KILLED
    anchor = last_anchor(ws)
    assert anchor is not None
    with ws.store.lock(5):  # what somebody with plain git could do in between
        other = ws.store.write_commit(
            ws.store.content(first),
            parents=(first,),
            message="else",
            trailers=(("Chrono-Kind", "manual"),),
            at_ns=1,
            author="x",
        )
        ws.store.move_ref("refs/heads/main", first, other)
    done = recover(ws, by)
    assert done.ref == f"refs/chrono/rescue/{anchor.op}"
    assert ws.store.ref(done.ref) == anchor.commit
    assert recover(ws, by).nothing
    findings = verify(ws).findings
    assert [finding.code for finding in findings] == ["commit-without-record"]
    assert other[:12] in findings[0].text


@pytest.mark.parametrize("step", ["journal", "begin", "applied", "commit", "end"])
def test_a_rollback_killed_anywhere_can_be_taken_back(
    step: str, root: Path, environ: dict[str, str], by: Actor
) -> None:
    ws = Workspace.open(str(root), environ)
    first = str(ws.store.ref("refs/heads/main"))
    (root / "src" / "a.txt").write_text("damage\n")
    assert run(environ, "rollback", str(root), step, first).returncode == KILLED
    assert recover(ws, by, abort=True).restored is not None
    assert (root / "src" / "a.txt").read_text() == "damage\n"
    head = ws.store.ref("refs/heads/main")
    assert head is not None
    assert ws.store.read(head, "src/a.txt") == b"damage\n"
    assert ws.store.pending() is None
    assert_whole(ws)


@pytest.mark.parametrize("step", ROLLBACK_STEPS)
def test_a_rollback_killed_after_a_step_ends_at_its_target_and_loses_nothing(
    step: str, root: Path, environ: dict[str, str], by: Actor
) -> None:
    ws = Workspace.open(str(root), environ)
    first = ws.store.ref("refs/heads/main")
    assert first is not None
    (root / "src" / "a.txt").write_text("damage\n")
    (root / "keep").unlink()
    (root / "extra").write_text("extra\n")
    done = run(environ, "rollback", str(root), step, first)
    assert done.returncode == KILLED, done.stderr
    recovered = recover(ws, by)
    began = step not in ("rescue",)
    assert (recovered.restored is not None) == (began and step != "finished")
    assert ws.store.pending() is None
    if began:
        assert (root / "src" / "a.txt").read_text() == "one\n"
        assert (root / "keep").read_text() == "keep\n"
        assert not (root / "extra").exists()
        head = ws.store.savepoint(ws.store.ref("refs/heads/main") or first)
        assert head.kind == "rollback"
        assert head.parents == (first,)
        assert ws.store.content(head.id) == ws.store.content(first)
    else:
        assert (root / "src" / "a.txt").read_text() == "damage\n"
    rescues = [savepoint for savepoint in history.log(ws) if savepoint.kind == "rescue"]
    assert len(rescues) == 1
    assert ws.store.read(rescues[0].id, "extra") == b"extra\n"
    assert ws.store.read(rescues[0].id, "src/a.txt") == b"damage\n"
    assert recover(ws, by).nothing
    assert_whole(ws)
    assert restore_phases(ws) == (["begin", "end"] if began else [])


def restore_phases(ws: Workspace) -> list[str]:
    from chrono.audit.place import project_place
    from chrono.audit.verify import read_records

    records = read_records(project_place(ws.layout))
    return [str(record.act["phase"]) for record in records if record is not None and record.ev == "restore"]


def test_work_done_after_the_crash_is_kept_before_the_restore_goes_on(
    root: Path, environ: dict[str, str], by: Actor
) -> None:
    ws = Workspace.open(str(root), environ)
    first = str(ws.store.ref("refs/heads/main"))
    (root / "src" / "a.txt").write_text("damage\n")
    assert run(environ, "rollback", str(root), "begin", first).returncode == KILLED
    (root / "later").write_text("later\n")
    assert recover(ws, by).restored is not None
    crash = next(savepoint for savepoint in history.log(ws) if savepoint.kind == "crash")
    assert ws.store.read(crash.id, "later") == b"later\n"
    assert_whole(ws)

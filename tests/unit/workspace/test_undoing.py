"""Claims about undo and redo: they go back to the state before an operation, and cut nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import Conflict, NoSuchSavepoint
from chrono.workspace import branches, history, oplog, rollback, undoing
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def undo(ws: Workspace, by: Actor, text: str | None = None) -> undoing.Undone:
    return undoing.apply(ws, undoing.plan_undo(ws, text), by)


def redo(ws: Workspace, by: Actor) -> undoing.Undone:
    return undoing.apply(ws, undoing.plan_redo(ws), by)


def text(root: Path) -> str:
    return (root / "src" / "a.txt").read_text()


def go_back(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "src" / "a.txt").write_text("damage\n")
    rollback.apply(ws, rollback.plan(ws), by)


def test_the_undo_of_the_undo_of_a_rollback_works(ws: Workspace, root: Path, by: Actor) -> None:
    go_back(ws, root, by)
    assert text(root) == "one\n"
    first = undo(ws, by)
    assert text(root) == "damage\n"
    undo(ws, by, first.operation)
    assert text(root) == "one\n"
    undo(ws, by)
    assert text(root) == "damage\n"
    redo(ws, by)
    assert text(root) == "one\n"
    assert verify(ws, full=True).exit_code == 0


def test_branches_only_grow(ws: Workspace, root: Path, by: Actor) -> None:
    go_back(ws, root, by)
    before = ws.store.ref("refs/heads/main")
    undone = undo(ws, by)
    assert undone.commit is not None
    commit = ws.store.savepoint(undone.commit)
    assert (commit.kind, commit.parents) == ("undo", (before,))
    assert ws.store.ref("refs/heads/main") == undone.commit
    assert ws.store.changes(undone.commit, None) == ()


def test_undos_go_further_back_one_by_one_and_redos_come_forward(ws: Workspace, root: Path, by: Actor) -> None:
    for number in range(3):
        (root / "src" / "a.txt").write_text(f"{number}\n")
        rollback.apply(ws, rollback.plan(ws), by)
        (root / "n").write_text(str(number))
        save(ws, "manual", str(number), by)
    seen = []
    for _ in range(3):
        undo(ws, by)
        seen.append(text(root))
    assert seen == ["2\n", "1\n", "0\n"]
    with pytest.raises(NoSuchSavepoint):
        undoing.plan_undo(ws)
    for _ in range(3):
        redo(ws, by)
    assert text(root) == "one\n"
    assert (root / "n").read_text() == "2"
    with pytest.raises(NoSuchSavepoint):
        undoing.plan_redo(ws)
    assert verify(ws, full=True).exit_code == 0


def test_a_new_operation_leaves_nothing_to_redo(ws: Workspace, root: Path, by: Actor) -> None:
    go_back(ws, root, by)
    undo(ws, by)
    branches.create(ws, "x", by)
    with pytest.raises(NoSuchSavepoint):
        undoing.plan_redo(ws)


def test_a_checkout_is_undone_with_its_branch_and_its_unsaved_files(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    (root / "src" / "a.txt").write_text("unsaved\n")
    branches.checkout(ws, "other", by)
    (root / "there").write_text("there\n")
    undone = undo(ws, by)
    assert ws.store.head_ref() == "refs/heads/main"
    assert text(root) == "unsaved\n"
    assert not (root / "there").exists()
    assert undone.commit is None
    redo(ws, by)
    assert ws.store.head_ref() == "refs/heads/other"
    assert (root / "there").read_text() == "there\n"
    assert text(root) == "one\n"
    assert verify(ws, full=True).exit_code == 0


def test_making_and_deleting_branches_can_be_undone(ws: Workspace, root: Path, by: Actor) -> None:
    tip = branches.create(ws, "x", by).tip
    assert tip is not None
    (root / "edited").write_text("stays\n")
    undo(ws, by)
    assert ws.store.ref("refs/heads/x") is None
    redo(ws, by)
    assert ws.store.ref("refs/heads/x") == tip.id
    branches.delete(ws, "x", by)
    undo(ws, by)
    assert ws.store.ref("refs/heads/x") == tip.id
    assert (root / "edited").read_text() == "stays\n"  # no file was touched by any of it
    assert verify(ws, full=True).exit_code == 0


def test_a_branch_with_savepoints_of_its_own_survives_the_undo_of_its_making(
    ws: Workspace, root: Path, by: Actor
) -> None:
    branches.create(ws, "x", by)
    branches.checkout(ws, "x", by)
    (root / "own").write_text("own\n")
    save(ws, "manual", "own", by)
    made = list(oplog.operations(ws))[-1]
    plan = undoing.plan_undo(ws, made.id[:8])
    assert plan.kept == ("x",)
    undoing.apply(ws, plan, by)
    assert ws.store.head_ref() == "refs/heads/main"
    assert not (root / "own").exists()
    assert ws.store.read(ws.store.resolve("x"), "own") == b"own\n"


def test_the_undo_of_a_partial_rollback_touches_only_its_paths(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "src" / "a.txt").write_text("damage\n")
    rollback.apply(ws, rollback.plan(ws, None, ("src",)), by)
    (root / "README").write_text("edited since\n")
    plan = undoing.plan_undo(ws)
    assert [change.path for change in plan.changes] == ["src/a.txt"]
    undoing.apply(ws, plan, by)
    assert text(root) == "damage\n"
    assert (root / "README").read_text() == "edited since\n"


def test_work_since_is_in_the_plan_and_in_the_rescue(ws: Workspace, root: Path, by: Actor) -> None:
    go_back(ws, root, by)
    (root / "later").write_text("later\n")
    plan = undoing.plan_undo(ws)
    assert plan.removed == ("later",)
    done = undoing.apply(ws, plan, by)
    assert done.rescue is not None
    assert ws.store.read(done.rescue, "later") == b"later\n"


def test_a_plan_that_no_longer_fits_is_refused_and_nothing_is_touched(ws: Workspace, root: Path, by: Actor) -> None:
    go_back(ws, root, by)
    plan = undoing.plan_undo(ws)
    (root / "later").write_text("later\n")
    with pytest.raises(Conflict):
        undoing.apply(ws, plan, by)
    assert text(root) == "one\n"
    assert (root / "later").exists()


def test_the_undo_of_what_touched_no_file_leaves_files_alone(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "x", by)
    go_back(ws, root, by)
    undo(ws, by)
    (root / "src" / "a.txt").write_text("edited since\n")
    plan = undoing.plan_undo(ws)
    assert (plan.target, plan.changes) == (None, ())
    undoing.apply(ws, plan, by)
    assert ws.store.ref("refs/heads/x") is None
    assert text(root) == "edited since\n"


def test_every_savepoint_ever_shown_is_still_there(ws: Workspace, root: Path, by: Actor) -> None:
    seen = {savepoint.id for savepoint in history.log(ws)}
    go_back(ws, root, by)
    for act in (undo, redo, undo):
        act(ws, by)
        now = {savepoint.id for savepoint in history.log(ws)}
        assert seen <= now
        seen = now


def test_an_unknown_operation_is_said_to_be_one(ws: Workspace, by: Actor) -> None:
    for text in ("abcd", "x", ""):
        with pytest.raises(NoSuchSavepoint):
            undoing.plan_undo(ws, text)

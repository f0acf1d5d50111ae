"""Claims about branches: they are made without switching, switching loses nothing, deleting cuts nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import Conflict, NoSuchSavepoint, UsageError
from chrono.workspace import branches, history, oplog, rollback
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def names(ws: Workspace) -> list[str]:
    return [branch.name for branch in branches.branches(ws)]


def current(ws: Workspace) -> str:
    return history.branch_name(ws.store.head_ref())


def test_a_new_branch_is_where_we_are_and_we_stay_where_we_were(ws: Workspace, by: Actor) -> None:
    head = ws.store.ref("refs/heads/main")
    branches.create(ws, "try/it", by)
    assert names(ws) == ["main", "try/it"]
    assert ws.store.ref("refs/heads/try/it") == head
    assert current(ws) == "main"
    assert verify(ws, full=True).exit_code == 0


@pytest.mark.parametrize("name", ["", "a..b", "-x", "HEAD", "a b", "a.lock", "../x", "x/"])
def test_a_name_that_git_would_not_take_is_refused(ws: Workspace, by: Actor, name: str) -> None:
    with pytest.raises(UsageError):
        branches.create(ws, name, by)


def test_a_branch_in_the_way_is_named(ws: Workspace, by: Actor) -> None:
    branches.create(ws, "a", by)
    for name in ("a", "a/b", "main"):
        with pytest.raises(Conflict):
            branches.create(ws, name, by)
    assert names(ws) == ["a", "main"]


def test_switching_there_and_back_brings_every_file_back_unsaved_ones_too(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    (root / "src" / "a.txt").write_text("unsaved\n")
    (root / "new").write_text("new\n")
    (root / "src" / "a.txt").chmod(0o600)
    done = branches.checkout(ws, "other", by)
    assert current(ws) == "other"
    assert (root / "src" / "a.txt").read_text() == "one\n"
    assert not (root / "new").exists()
    assert ws.store.read(done.saved, "new") == b"new\n"
    (root / "there").write_text("there\n")
    branches.checkout(ws, "main", by)
    assert (root / "src" / "a.txt").read_text() == "unsaved\n"
    assert (root / "src" / "a.txt").stat().st_mode & 0o777 == 0o600
    assert (root / "new").read_text() == "new\n"
    assert not (root / "there").exists()
    assert ws.store.changes(ws.store.resolve("HEAD"), None) == ()
    branches.checkout(ws, "other", by)
    assert (root / "there").read_text() == "there\n"
    assert verify(ws, full=True).exit_code == 0


def test_control_files_stay_where_they_are(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text("{}")
    (root / "chrono-policy.yaml").write_text("reversible: ask\n")
    branches.checkout(ws, "other", by)
    assert (root / ".claude" / "settings.json").read_text() == "{}"
    assert (root / "chrono-policy.yaml").exists()


def test_a_plan_of_a_checkout_writes_nothing_and_says_what_changes(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    assert branches.plan_checkout(ws, "other").changes == ()
    (root / "README").unlink()
    plan = branches.plan_checkout(ws, "other")
    assert [(change.path, change.kind) for change in plan.changes] == [("README", "added")]
    assert plan.unsaved
    assert current(ws) == "main"
    assert not (root / "README").exists()


def test_what_is_no_branch_cannot_be_switched_to(ws: Workspace, by: Actor) -> None:
    with pytest.raises(NoSuchSavepoint):
        branches.checkout(ws, "nowhere", by)
    with pytest.raises(Conflict):
        branches.checkout(ws, "main", by)


def test_only_a_branch_that_another_one_holds_can_be_deleted(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "done", by)
    branches.create(ws, "ahead", by)
    branches.checkout(ws, "ahead", by)
    (root / "x").write_text("x")
    save(ws, "manual", "x", by)
    branches.checkout(ws, "main", by)
    branches.delete(ws, "done", by)
    for name in ("ahead", "main"):
        with pytest.raises(Conflict):
            branches.delete(ws, name, by)
    with pytest.raises(NoSuchSavepoint):
        branches.delete(ws, "done", by)
    assert names(ws) == ["ahead", "main"]
    assert verify(ws, full=True).exit_code == 0


def test_each_verb_is_one_operation_and_holds_no_files(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    branches.checkout(ws, "other", by)
    (root / "README").unlink()
    rollback.apply(ws, rollback.plan(ws), by)
    branches.checkout(ws, "main", by)
    listed = list(oplog.operations(ws))
    assert [op.verb for op in listed] == ["checkout", "rollback", "checkout", "branch"]
    assert (listed[0].head_before, listed[0].head_after) == ("refs/heads/other", "refs/heads/main")
    with pytest.raises(NoSuchSavepoint):
        rollback.plan(ws, listed[0].id)  # it would take every file away
    with pytest.raises(NoSuchSavepoint):
        rollback.plan(ws, "op")
    assert listed[0].id not in {savepoint.id for savepoint in history.log(ws)}


def test_a_rollback_without_an_id_stays_on_its_branch(ws: Workspace, root: Path, by: Actor) -> None:
    branches.create(ws, "other", by)
    (root / "src" / "a.txt").write_text("main\n")
    save(ws, "auto", "x", by)
    branches.checkout(ws, "other", by)
    (root / "src" / "a.txt").write_text("damage\n")
    rollback.apply(ws, rollback.plan(ws), by)
    assert (root / "src" / "a.txt").read_text() == "one\n"


def test_a_link_put_in_the_way_is_not_followed(ws: Workspace, root: Path, by: Actor, tmp_path: Path) -> None:
    branches.create(ws, "other", by)
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "src" / "a.txt").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    branches.checkout(ws, "other", by)
    assert os.listdir(outside) == []
    assert (root / "src" / "a.txt").read_text() == "one\n"
    branches.checkout(ws, "main", by)
    assert (root / "src").is_symlink()

"""Claims about the face for programs: it does what the command line does, and needs nothing but a folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import chrono
from chrono import Workspace
from chrono.cli.app import VERBS


@pytest.fixture
def api(root: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Workspace:
    for key, value in environ.items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(root)
    return Workspace.init()


def test_a_whole_day_s_work_goes_through_it(api: Workspace, root: Path, tmp_path: Path) -> None:
    (root / "src" / "a.txt").write_text("two\n")
    assert [change.path for change in api.status().changes] == ["src/a.txt"]
    assert "+two" in api.diff().patch
    saved = api.snapshot("two")
    assert api.show(saved.commit).savepoint.message == "two"
    assert api.status().newest is not None and not api.status().changes
    (root / "README").unlink()
    plan = api.plan_rollback()
    assert plan.written == ("README",)
    assert api.rollback(plan) is not None
    assert api.rollback() is None
    assert api.plan_undo().removed == ("README",)
    api.undo()
    assert not (root / "README").exists()
    api.redo()
    assert (root / "README").exists()
    assert [op.verb for op in api.operations()] == ["redo", "undo", "rollback"]
    assert "two" in [savepoint.message for savepoint in api.history()]
    assert api.blame("src/a.txt").lines
    assert api.assess("ls").decision == "allow"
    assert api.verify(full=True).exit_code == 0
    assert not [check for check in api.doctor() if check.level == "fail"]
    assert api.prune().savepoints == 0
    assert dict(api.stats().kinds)["manual"] == 2


def test_branches_merges_and_worktrees_are_there_too(api: Workspace, root: Path, tmp_path: Path) -> None:
    api.create_branch("feature")
    api.checkout("feature")
    (root / "src" / "a.txt").write_text("theirs\n")
    api.checkout("main")
    (root / "src" / "a.txt").write_text("ours\n")
    done = api.merge("feature")
    assert done is not None and done.conflicts
    assert api.status().merge is not None
    api.abandon_merge()
    assert (root / "src" / "a.txt").read_text() == "ours\n"
    api.merge("feature")
    (root / "src" / "a.txt").write_text("both\n")
    api.end_merge()
    assert api.status().merge is None
    api.delete_branch("feature")
    assert [branch.name for branch in api.branches()] == ["main"]
    api.add_worktree(str(tmp_path / "there"), "HEAD")
    assert (tmp_path / "there" / "src" / "a.txt").read_text() == "both\n"
    assert len(api.worktrees()) == 1
    api.remove_worktree(str(tmp_path / "there"))
    with api.transaction("t") as tx:
        (root / "new").write_text("x")
    assert tx.commit is not None


def test_it_finds_what_broke_and_sends_it_elsewhere(api: Workspace, root: Path, tmp_path: Path) -> None:
    for number in range(1, 6):
        (root / "README").write_text(f"{number} {'bad' if number > 3 else 'good'}\n")
        api.snapshot(f"number {number}")
    broken = api.bisect(["grep", "-q", "good", "README"], timeout_s=30)
    assert broken.bad.savepoint.message == "number 4" and broken.cause.kind == "person"
    there = tmp_path / "there.git"
    subprocess.run(["git", "init", "-q", "--bare", str(there)], check=True)
    api.add_remote("origin", str(there))
    assert [remote.name for remote in api.remotes()] == ["origin"]
    assert api.push().branches == (("main", "new", ""),)
    assert api.fetch().branches[0].state == "same"


def test_it_opens_from_a_subfolder_and_closes_itself(api: Workspace, root: Path) -> None:
    with Workspace.open(str(root / "src")) as ws:
        assert ws.root == str(root)
    with pytest.raises(chrono.ChronoError):
        Workspace.open("/")


def test_the_record_says_that_a_program_did_it(api: Workspace) -> None:
    from chrono.audit.place import project_place
    from chrono.audit.verify import read_records

    api.create_branch("x")
    record = list(read_records(project_place(api.layout)))[-1]
    assert record is not None and (record.ev, record.by["source"]) == ("branch", "sdk")


def test_every_verb_about_savepoints_has_a_method() -> None:
    methods = {
        "snapshot": "snapshot", "status": "status", "log": "history", "show": "show", "diff": "diff",
        "rollback": "rollback", "undo": "undo", "redo": "redo", "op": "operations", "branch": "branches",
        "checkout": "checkout", "merge": "merge", "prune": "prune", "stats": "stats", "worktree": "worktrees",
        "blame": "blame", "bisect": "bisect", "remote": "remotes", "push": "push", "fetch": "fetch", "scan": "assess", "audit": "verify", "init": "init",
    }  # fmt: skip
    for verb, method in methods.items():
        assert verb in VERBS and hasattr(Workspace, method)

"""Claims about going back: the right target, a plan first, a rescue always, a commit forward, and an undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import Conflict, NoSuchSavepoint
from chrono.workspace import history, rollback
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify

from .test_savepoints import records


def damage(root: Path) -> None:
    (root / "src" / "a.txt").write_text("damage\n")
    (root / "README").unlink()
    (root / "extra").write_text("extra\n")


def assert_first_state(root: Path) -> None:
    assert (root / "src" / "a.txt").read_text() == "one\n"
    assert (root / "README").read_text() == "read\n"
    assert not (root / "extra").exists()


def test_without_an_id_it_goes_to_the_newest_savepoint_automatic_ones_included(
    ws: Workspace, root: Path, by: Actor
) -> None:
    (root / "src" / "a.txt").write_text("two\n")
    auto = save(ws, "auto", "before x", by)
    damage(root)
    plan = rollback.plan(ws)
    assert plan.target.id == auto.commit
    assert plan.written == ("README", "src/a.txt")
    assert plan.removed == ("extra",)
    rollback.apply(ws, plan, by)
    assert (root / "src" / "a.txt").read_text() == "two\n"
    assert not (root / "extra").exists()


def test_planning_writes_nothing(ws: Workspace, root: Path) -> None:
    damage(root)
    before = len(records(ws)), {savepoint.id for savepoint in history.log(ws)}
    rollback.plan(ws)
    assert (len(records(ws)), {savepoint.id for savepoint in history.log(ws)}) == before
    assert (root / "extra").exists()


def test_a_rollback_is_a_commit_forward_and_can_be_undone(ws: Workspace, root: Path, by: Actor) -> None:
    first = ws.store.ref("refs/heads/main")
    damage(root)
    done = rollback.apply(ws, rollback.plan(ws), by)
    assert_first_state(root)
    commit = ws.store.savepoint(done.commit)
    assert (commit.kind, commit.parents) == ("rollback", (first,))
    assert ws.store.ref("refs/heads/main") == done.commit
    assert ws.store.content(done.commit) == ws.store.content(done.target)
    assert done.undo == f"chrono rollback {done.rescue}"
    undone = rollback.apply(ws, rollback.plan(ws, done.rescue), by)
    assert (root / "src" / "a.txt").read_text() == "damage\n"
    assert (root / "extra").read_text() == "extra\n"
    assert not (root / "README").exists()
    assert ws.store.savepoint(undone.commit).parents == (done.commit,)
    assert [record.act["phase"] for record in records(ws) if record.ev == "restore"] == ["begin", "end"] * 2
    assert verify(ws, full=True).exit_code == 0


def test_a_rescue_is_never_the_target_of_a_rollback_without_an_id(ws: Workspace, root: Path, by: Actor) -> None:
    damage(root)
    done = rollback.apply(ws, rollback.plan(ws), by)
    (root / "src" / "a.txt").write_text("again\n")
    plan = rollback.plan(ws)
    assert plan.target.id == done.commit
    rollback.apply(ws, plan, by)
    assert_first_state(root)


def test_nothing_to_roll_back_names_the_one_before(ws: Workspace, root: Path, by: Actor) -> None:
    first = ws.store.ref("refs/heads/main")
    assert rollback.plan(ws).before is None
    (root / "src" / "a.txt").write_text("two\n")
    save(ws, "auto", "x", by)
    save(ws, "manual", "the same again", by)
    plan = rollback.plan(ws)
    assert plan.changes == ()
    assert plan.before == first


def test_only_the_named_paths_go_back(ws: Workspace, root: Path, by: Actor) -> None:
    damage(root)
    plan = rollback.plan(ws, None, ("src",))
    assert [change.path for change in plan.changes] == ["src/a.txt"]
    done = rollback.apply(ws, plan, by)
    assert (root / "src" / "a.txt").read_text() == "one\n"
    assert (root / "extra").exists()
    assert not (root / "README").exists()
    held = ws.store.savepoint(done.commit)
    assert ws.store.read(held.id, "extra") == b"extra\n"
    assert ws.store.read(held.id, "src/a.txt") == b"one\n"
    assert verify(ws, full=True).exit_code == 0


def test_a_plan_that_no_longer_fits_is_refused_and_nothing_is_touched(ws: Workspace, root: Path, by: Actor) -> None:
    damage(root)
    plan = rollback.plan(ws)
    (root / "more").write_text("more\n")
    with pytest.raises(Conflict):
        rollback.apply(ws, plan, by)
    assert (root / "src" / "a.txt").read_text() == "damage\n"
    assert (root / "more").exists()
    assert verify(ws).exit_code == 0


def test_any_commit_can_be_the_target(ws: Workspace, root: Path, by: Actor) -> None:
    first = str(ws.store.ref("refs/heads/main"))
    for number in range(3):
        (root / "src" / "a.txt").write_text(f"{number}\n")
        save(ws, "manual", str(number), by)
    rollback.apply(ws, rollback.plan(ws, first[:10]), by)
    assert_first_state(root)
    rollback.apply(ws, rollback.plan(ws, "HEAD~2"), by)
    assert (root / "src" / "a.txt").read_text() == "1\n"
    with pytest.raises(NoSuchSavepoint):
        rollback.plan(ws, "no-such")


def test_control_files_are_left_alone(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "chrono-policy.yaml").write_text("reversible: ask\n")
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text("{}")
    damage(root)
    rollback.apply(ws, rollback.plan(ws), by)
    assert_first_state(root)
    assert (root / "chrono-policy.yaml").read_text() == "reversible: ask\n"
    assert (root / ".claude" / "settings.json").read_text() == "{}"


def test_a_link_planted_by_the_agent_is_not_followed(ws: Workspace, root: Path, by: Actor, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("theirs\n")
    (root / "src" / "a.txt").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    rollback.apply(ws, rollback.plan(ws), by)
    assert (root / "src" / "a.txt").read_text() == "one\n"
    assert not (root / "src").is_symlink()
    assert (outside / "a.txt").read_text() == "theirs\n"


def test_a_restore_that_cannot_be_staged_touches_nothing_and_says_so(
    ws: Workspace, root: Path, by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(root)
    plan = rollback.plan(ws)
    (Path(ws.layout.stage)).write_text("a file where the stage must be a folder")
    try:
        rollback.apply(ws, plan, by)
    except Exception:
        assert ws.store.pending() is None
        assert (root / "src" / "a.txt").read_text() == "damage\n"
        assert records(ws)[-1].act["phase"] == "failed"
    else:
        assert_first_state(root)
    assert verify(ws).exit_code == 0

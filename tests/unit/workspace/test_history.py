"""Claims about what is shown of the past."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import NoSuchSavepoint
from chrono.workspace import history, rollback
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save


def test_the_log_lists_every_kind_newest_first(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("1")
    save(ws, "auto", "before x", by)
    (root / "new").write_text("2")
    rollback.apply(ws, rollback.plan(ws), by)
    assert [one.kind for one in history.log(ws)] == ["rollback", "rescue", "auto", "manual"]
    assert [one.kind for one in history.log(ws, auto=False)] == ["rollback", "rescue", "manual"]
    assert [one.kind for one in history.log(ws, limit=1)] == ["rollback"]


def test_show_names_what_a_savepoint_changed(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("1")
    (root / "README").unlink()
    saved = save(ws, "manual", "mine", by)
    shown = history.show(ws, saved.commit[:8])
    assert shown.savepoint.message == "mine"
    assert [(change.path, change.kind) for change in shown.changes] == [("README", "deleted"), ("new", "added")]
    assert history.show(ws, "HEAD~1").changes == ()
    with pytest.raises(NoSuchSavepoint):
        history.show(ws, "0123456789")


def test_diff_runs_from_the_newest_savepoint_to_the_work_tree(ws: Workspace, root: Path, by: Actor) -> None:
    assert history.diff(ws).changes == ()
    (root / "src" / "a.txt").write_text("two\n")
    found = history.diff(ws)
    assert found.new is None
    assert [change.path for change in found.changes] == ["src/a.txt"]
    assert "-one" in found.patch
    assert "+two" in found.patch
    saved = save(ws, "manual", "x", by)
    between = history.diff(ws, "HEAD~1", "HEAD")
    assert between.new == saved.commit
    assert [change.path for change in between.changes] == ["src/a.txt"]
    assert history.diff(ws, "HEAD~1", paths=("README",)).changes == ()

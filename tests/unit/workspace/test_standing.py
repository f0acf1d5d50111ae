"""Claims about whose a project is: moves are followed, copies and strangers are noticed, nothing foreign is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from chrono.audit.pin import read_pin
from chrono.audit.record import Actor
from chrono.errors import Denied, NoWorkspace
from chrono.layout import FORMAT_VERSION, HomeLayout
from chrono.workspace import rollback
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.recover import recover
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def test_the_nearest_project_is_opened_from_below(ws: Workspace, root: Path, environ: dict[str, str]) -> None:
    assert Workspace.open(str(root / "src"), environ).root == str(root)
    with pytest.raises(NoWorkspace) as caught:
        Workspace.open(str(root.parent), environ)
    assert "chrono init" in (caught.value.hint or "")


def test_a_project_reached_through_a_link_is_the_same(ws: Workspace, root: Path, environ: dict[str, str]) -> None:
    (root.parent / "link").symlink_to(root)
    opened = Workspace.open(str(root.parent / "link" / "src"), environ)
    assert opened.root == str(root)
    assert opened.standing().kind == "own"


def test_a_moved_project_is_pinned_again(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    log = ws.log.log_id
    ws.close()
    moved = root.rename(root.parent / "renamed")
    opened = Workspace.open(str(moved), environ)
    assert opened.standing().own
    pin = read_pin(HomeLayout(environ["CHRONO_HOME"]), log)
    assert pin is not None
    assert pin.path == str(moved / ".chrono")
    (moved / "x").write_text("x")
    assert save(opened, "auto", "x", by).created
    assert verify(opened).exit_code == 0


def test_a_copy_is_a_fork_until_it_is_adopted(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    copy = root.parent / "copy"
    shutil.copytree(root, copy, symlinks=True)
    opened = Workspace.open(str(copy), environ)
    assert opened.standing().kind == "fork"
    assert ws.standing().kind == "own"
    with pytest.raises(Denied, match="is a copy"):
        save(opened, "auto", "x", by)
    adopted = initialise(str(copy), environ, by, adopt=True)
    assert adopted.adopted
    assert adopted.ws.log.log_id != ws.log.log_id
    assert verify(adopted.ws).exit_code == 0
    assert ws.standing().kind == "own"
    assert verify(ws).exit_code == 0


def test_a_strangers_project_is_read_and_never_written(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    ws.close()
    opened = Workspace.open(str(root), {**environ, "CHRONO_HOME": str(tmp_path / "other")})
    assert opened.standing().kind == "foreign"
    (root / "src" / "a.txt").write_text("two\n")
    plan = rollback.plan(opened)
    assert plan.written == ("src/a.txt",)
    before = sorted((path, path.stat().st_mtime_ns) for path in (root / ".chrono").rglob("*"))
    for act in (
        lambda: save(opened, "manual", "x", by),
        lambda: rollback.apply(opened, plan, by),
        lambda: recover(opened, by),
    ):
        with pytest.raises(Denied) as caught:
            act()
        assert "--adopt" in (caught.value.hint or "")
    assert sorted((path, path.stat().st_mtime_ns) for path in (root / ".chrono").rglob("*")) == before
    assert (root / "src" / "a.txt").read_text() == "two\n"


def test_a_newer_format_and_a_linked_repository_are_not_written(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    Path(ws.layout.format).write_text(f"{FORMAT_VERSION + 1}\n")
    with pytest.raises(Denied, match="format"):
        save(ws, "auto", "x", by)
    Path(ws.layout.format).write_text(f"{FORMAT_VERSION}\n")
    moved = root.parent / "repo"
    os.rename(ws.layout.repo, moved)
    Path(ws.layout.repo).symlink_to(moved)
    with pytest.raises(Denied, match="link"):
        save(Workspace.open(str(root), environ), "auto", "x", by)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_project_is_read_only(ws: Workspace, root: Path, by: Actor) -> None:
    os.chown(ws.layout.dir, 12345, -1)
    assert ws.standing().kind == "other-user"
    with pytest.raises(Denied, match="belongs to uid 12345"):
        save(ws, "auto", "x", by)

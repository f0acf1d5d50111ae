"""Claims about `init`: idempotent, complete after a crash, and careful with what is not this home's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import ChronoError, Denied, KeyRefused
from chrono.layout import HomeLayout
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def other(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**environ, "CHRONO_HOME": str(tmp_path / "other-state")}


def test_everything_is_made_and_the_log_verifies(root: Path, environ: dict[str, str], by: Actor) -> None:
    done = initialise(str(root), environ, by)
    assert done.created
    assert not done.adopted
    assert done.saved.created
    layout, home = done.ws.layout, HomeLayout(environ["CHRONO_HOME"])
    for path in (layout.repo, layout.audit_log, layout.audit_head, layout.format, layout.git_pointer):
        assert os.path.exists(path), path
    for path in (home.keys, home.witness, home.trust, home.cache, home.run, home.audit_key):
        assert os.path.exists(path), path
    assert os.stat(layout.dir).st_mode & 0o777 == 0o700
    assert verify(done.ws, full=True).exit_code == 0
    assert done.ws.store.read(done.saved.commit, "src/a.txt") == b"one\n"


def test_a_second_init_changes_nothing(root: Path, environ: dict[str, str], by: Actor) -> None:
    first = initialise(str(root), environ, by)
    size = verify(first.ws).size
    again = initialise(str(root), environ, by)
    assert not again.created
    assert not again.saved.created
    assert again.saved.commit == first.saved.commit
    assert verify(again.ws).size == size


def test_the_users_git_is_not_touched_but_for_one_line(root: Path, environ: dict[str, str], by: Actor) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "README"], check=True)
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    done = initialise(str(root), environ, by)
    after = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}
    changed = {path for path in after if before.get(path) != after[path]}
    assert changed == {root / ".git" / "info" / "exclude"}
    assert done.exclude == str(root / ".git" / "info" / "exclude")
    status = subprocess.run(["git", "-C", str(root), "status", "--porcelain"], capture_output=True, text=True)
    assert ".chrono" not in status.stdout


@pytest.mark.parametrize("step", ["create", "Store.create", "keep_git_off", "save"])
def test_an_init_that_broke_off_is_completed_by_the_next(
    step: str, root: Path, environ: dict[str, str], by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    target = {"create": "chrono.audit.log.create", "Store.create": "chrono.store.repository.Store.create"}.get(
        step, f"chrono.workspace.init.{step}"
    )
    with monkeypatch.context() as patch:
        patch.setattr(target, broken)
        with pytest.raises(OSError, match="No space"):
            initialise(str(root), environ, by)
    done = initialise(str(root), environ, by)
    assert done.saved.file_count == 2
    assert verify(done.ws, full=True).exit_code == 0


def test_homes_roots_and_huge_trees_are_refused_before_anything_is_written(
    root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    with pytest.raises(ChronoError, match="home folder"):
        initialise(environ["HOME"], environ, by)
    with pytest.raises(ChronoError, match="whole machine"):
        initialise("/", environ, by)
    with pytest.raises(ChronoError, match="more than 1 files") as caught:
        initialise(str(root), environ, by, max_files=1)
    assert "--max-files" in (caught.value.hint or "")
    assert not (root / ".chrono").exists()
    assert not (tmp_path / "state").exists()


def test_a_bad_key_is_refused_not_replaced(root: Path, environ: dict[str, str], by: Actor) -> None:
    with pytest.raises(KeyRefused):
        initialise(str(root), {**environ, "CHRONO_AUDIT_KEY": "nonsense"}, by)


def test_build_folders_are_proposed(root: Path, environ: dict[str, str], by: Actor) -> None:
    (root / "dist").mkdir()
    done = initialise(str(root), environ, by)
    assert done.proposals == ("/dist/",)
    assert not (root / ".chronoignore").exists()


def test_a_chrono_folder_that_is_a_link_is_refused(
    root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".chrono").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ChronoError):
        initialise(str(root), environ, by)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_strangers_project_is_refused_and_can_be_adopted(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    mine = other(environ, tmp_path)
    with pytest.raises(Denied) as caught:
        initialise(str(root), mine, by)
    assert "--adopt" in (caught.value.hint or "")
    assert not list((tmp_path / "other-state" / "trust").iterdir())
    Path(ws.layout.journal).write_text('{"op": "planted"}')
    done = initialise(str(root), mine, by, adopt=True)
    assert done.adopted
    assert [path.name for path in (root / ".chrono").iterdir() if path.name.startswith("audit.jsonl.")]
    assert not Path(ws.layout.journal).exists()
    assert verify(done.ws, full=True).exit_code == 0
    (root / "new").write_text("x")
    assert save(done.ws, "auto", "x", by).created
    assert verify(done.ws, full=True).exit_code == 0
    assert verify(done.ws).size == 1 + 1  # genesis, the new savepoint


def test_a_committed_repository_without_a_log_is_foreign(
    root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    initialise(str(made), environ, by).ws.close()
    (root / ".chrono").mkdir()
    shutil.copytree(made / ".chrono" / "repo.git", root / ".chrono" / "repo.git")
    shutil.copy(made / ".chrono" / "format", root / ".chrono" / "format")
    with pytest.raises(Denied):
        initialise(str(root), environ, by)
    done = initialise(str(root), environ, by, adopt=True)
    assert done.adopted
    assert verify(done.ws, full=True).exit_code == 0


def test_nothing_a_stranger_left_for_git_survives_adoption(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    repo, marker = Path(ws.layout.repo), tmp_path / "marker"
    ours = (repo / "config").read_bytes()
    (repo / "config").write_text(f"[core]\n\tbare = true\n\tfsmonitor = touch {marker}\n[alias]\n\tlog = !false\n")
    (repo / "hooks").mkdir()
    (repo / "hooks" / "post-index-change").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (repo / "config.worktree").write_text("[core]\n\tpager = false\n")
    (repo / "objects" / "info" / "alternates").write_text("/etc\n")
    initialise(str(root), other(environ, tmp_path), by, adopt=True)
    assert (repo / "config").read_bytes() == ours
    assert sorted(path.name for path in repo.iterdir() if path.name not in ("packed-refs",)) == [
        "HEAD",
        "config",
        "objects",
        "refs",
    ]
    assert not (repo / "objects" / "info" / "alternates").exists()
    (aside,) = (path for path in (root / ".chrono").iterdir() if ".aside-" in path.name)
    assert "post-index-change" in [path.name for path in (aside / "hooks").iterdir()]
    seen = subprocess.run(["git", "-C", str(repo), "fsck", "--strict"], capture_output=True)
    assert seen.returncode == 0 and not marker.exists()


def test_a_log_that_vanished_is_not_begun_anew(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    ws.close()
    os.unlink(ws.layout.audit_log)
    with pytest.raises(ChronoError, match="gone"):
        initialise(str(root), environ, by)
    assert verify(Workspace.open(str(root), environ)).exit_code == 20


def test_a_project_inside_a_project_is_its_own(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    inner = root / "inner"
    inner.mkdir()
    (inner / "x").write_text("x")
    done = initialise(str(inner), environ, by)
    assert Workspace.open(str(inner), environ).root == str(inner)
    saved = save(ws, "auto", "x", by)
    assert not saved.created  # nothing of the inner one is in the outer
    assert (str(inner), "nested") in [(one.path, one.kind) for one in saved.cover.excluded]
    assert done.saved.file_count == 1

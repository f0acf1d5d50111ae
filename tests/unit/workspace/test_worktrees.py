"""Claims about scratch worktrees: they never touch the project, and never delete what is not theirs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.place import project_place
from chrono.audit.record import Actor
from chrono.audit.verify import read_records
from chrono.canonical import canonical_bytes
from chrono.errors import Conflict, Denied, NoSuchSavepoint, StoreError, UsageError
from chrono.workspace import worktrees
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def first(ws: Workspace) -> str:
    head = ws.store.ref("refs/heads/main")
    assert head is not None
    return head


def test_a_worktree_holds_the_savepoint_and_the_project_stays_as_it_is(
    ws: Workspace, by: Actor, root: Path, tmp_path: Path
) -> None:
    old = first(ws)
    (root / "src" / "a.txt").write_text("two\n")
    save(ws, "auto", "x", by)
    done = worktrees.add(ws, str(tmp_path / "old"), old, by)
    assert (tmp_path / "old" / "src" / "a.txt").read_text() == "one\n" and done.written.files == 2
    assert (root / "src" / "a.txt").read_text() == "two\n"
    assert not (tmp_path / "old" / ".chrono").exists()
    assert ws.store.changes(old, None)  # the project still is ahead of it
    (entry,) = worktrees.listed(ws)
    assert (entry.path, entry.commit, entry.state) == (str(tmp_path / "old"), old, "ready")


def test_making_and_deleting_one_is_in_the_audit_log(ws: Workspace, by: Actor, tmp_path: Path) -> None:
    worktrees.add(ws, str(tmp_path / "old"), "HEAD", by)
    worktrees.remove(ws, worktrees.find(ws, str(tmp_path / "old")), by)
    told = [record for record in read_records(project_place(ws.layout)) if record and record.ev == "checkout"]
    assert [record.act["phase"] for record in told] == ["add", "remove"]
    assert {record.act["worktree"] for record in told} == {str(tmp_path / "old")}
    assert not (tmp_path / "old").exists() and not worktrees.listed(ws)
    assert verify(ws, full=True).exit_code == 0


@pytest.mark.parametrize("place", ["src/new", ".chrono/new", "new", "."])
def test_a_folder_inside_the_project_is_refused(ws: Workspace, by: Actor, root: Path, place: str) -> None:
    with pytest.raises(UsageError, match="inside the project"):
        worktrees.add(ws, str(root / place), "HEAD", by)
    assert not (root / "new").exists()


def test_a_link_into_the_project_does_not_help(ws: Workspace, by: Actor, root: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(root)
    with pytest.raises(UsageError, match="inside the project"):
        worktrees.add(ws, str(tmp_path / "way" / "new"), "HEAD", by)
    with pytest.raises(UsageError, match="is a link"):
        worktrees.add(ws, str(tmp_path / "way"), "HEAD", by)
    with pytest.raises(UsageError, match="is a link"):
        worktrees.add(ws, str(tmp_path / "way") + "/", "HEAD", by)


def test_what_is_there_already_is_refused(
    ws: Workspace, by: Actor, environ: dict[str, str], root: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name, word in (("full", "not empty"), ("file", "no folder"), ("a/b", "does not exist"), ("state/x", "HOME")):
        with pytest.raises(UsageError, match=word):
            worktrees.add(ws, str(tmp_path / name), "HEAD", by)
    assert (tmp_path / "full" / "x").read_text() == "mine"
    worktrees.add(ws, str(tmp_path / "empty"), "HEAD", by)
    assert (tmp_path / "empty" / "README").exists()


def test_another_project_is_no_place_for_one(ws: Workspace, by: Actor, environ: dict[str, str], tmp_path: Path) -> None:
    from chrono.workspace.init import initialise

    (tmp_path / "other").mkdir()
    initialise(str(tmp_path / "other"), environ, by).ws.close()
    with pytest.raises(UsageError, match="another project"):
        worktrees.add(ws, str(tmp_path / "other" / "new"), "HEAD", by)


def test_no_such_savepoint_leaves_nothing_behind(ws: Workspace, by: Actor, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSavepoint):
        worktrees.add(ws, str(tmp_path / "old"), "beef", by)
    assert not (tmp_path / "old").exists() and not worktrees.listed(ws)


def test_a_checkout_that_fails_leaves_nothing_behind(
    ws: Workspace, by: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        (tmp_path / "old" / "half").write_text("x")
        raise StoreError("the disk is full")

    monkeypatch.setattr(type(ws.store), "check_out", fails)
    with pytest.raises(StoreError):
        worktrees.add(ws, str(tmp_path / "old"), "HEAD", by)
    assert not (tmp_path / "old").exists() and not worktrees.listed(ws)


def test_changed_files_keep_a_worktree_from_being_deleted(ws: Workspace, by: Actor, tmp_path: Path) -> None:
    worktrees.add(ws, str(tmp_path / "old"), "HEAD", by)
    (tmp_path / "old" / "README").write_text("work of an hour")
    found = worktrees.find(ws, str(tmp_path / "old"))
    with pytest.raises(Conflict, match="README"):
        worktrees.remove(ws, found, by)
    assert (tmp_path / "old" / "README").exists()
    worktrees.remove(ws, found, by, force=True)
    assert not (tmp_path / "old").exists()


def test_a_folder_that_took_the_name_is_left_alone(ws: Workspace, by: Actor, tmp_path: Path) -> None:
    worktrees.add(ws, str(tmp_path / "old"), "HEAD", by)
    (tmp_path / "old").rename(tmp_path / "moved")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "precious").write_text("x")
    found = worktrees.find(ws, str(tmp_path / "old"))
    assert found.state == "replaced"
    worktrees.remove(ws, found, by)
    assert (tmp_path / "old" / "precious").exists() and not worktrees.listed(ws)


def test_only_worktrees_are_ever_deleted(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(UsageError, match="not a worktree"):
        worktrees.find(ws, str(tmp_path / "mine"))


def test_a_scratch_folder_is_gone_afterwards_and_swept_after_a_kill(
    ws: Workspace, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ["TMPDIR"] = str(tmp_path)
    commit = ws.store.resolve("HEAD")
    with worktrees.scratch(ws, "bisect", commit) as folder:
        assert (Path(folder) / "README").exists() and worktrees.sweep(ws) == 0
    assert not Path(folder).exists() and not worktrees.listed(ws)
    pid = os.fork()
    if pid == 0:
        with worktrees.scratch(ws, "bisect", commit):
            os._exit(0)  # as a kill would end it
    os.waitpid(pid, 0)
    (left,) = worktrees.listed(ws)
    assert Path(left.path).exists()
    assert worktrees.sweep(ws) == 1 and not Path(left.path).exists() and not worktrees.listed(ws)


def test_a_forged_entry_makes_nobody_delete_a_folder(ws: Workspace, tmp_path: Path, environ: dict[str, str]) -> None:
    environ["TMPDIR"] = str(tmp_path)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("x")
    info = victim.stat()
    os.makedirs(ws.layout.worktrees)
    forged = {
        "at_ns": "0",
        "commit": first(ws),
        "dev": str(info.st_dev),
        "ino": str(info.st_ino),
        "path": str(victim),
        "pid": 2**22 + 7,
        "ready": True,
        "version": 1,
    }
    Path(ws.layout.worktrees, "x").write_bytes(canonical_bytes(forged) + b"\n")
    assert len(worktrees.listed(ws)) == 1 and worktrees.sweep(ws) == 0
    assert (victim / "precious").exists()


def test_a_strangers_project_is_not_checked_out_of(
    ws: Workspace, by: Actor, tmp_path: Path, environ: dict[str, str]
) -> None:
    stranger = Workspace.open(ws.root, {**environ, "CHRONO_HOME": str(tmp_path / "other-home")})
    with pytest.raises(Denied):
        worktrees.add(stranger, str(tmp_path / "old"), "HEAD", by)

"""Claims: what users of other tools for undoing an agent's work reported does not happen here.

Each test is named after what went wrong; the report is in its docstring.
"""

from __future__ import annotations

import errno
import io
import os
import subprocess
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.cli.main import main
from chrono.cli.render import Screen
from chrono.errors import StoreError
from chrono.store.disk import Disk
from chrono.store.handles import FolderHandles
from chrono.workspace import branches, history, rollback, undoing
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    (tmp_path / "person").mkdir()
    given = {"HOME": str(tmp_path / "person"), "CHRONO_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    for key, value in given.items():
        monkeypatch.setenv(key, value)
    return given


@pytest.fixture
def by(environ: dict[str, str]) -> Actor:
    return actor(environ)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x = 1\n")
    return folder


@pytest.fixture
def ws(root: Path, environ: dict[str, str], by: Actor) -> Workspace:
    return initialise(str(root), environ, by).ws


def go_back(ws: Workspace, by: Actor, target: str | None = None) -> rollback.RolledBack | None:
    plan = rollback.plan(ws, target)
    return rollback.apply(ws, plan, by) if plan.changes else None


def test_a_restore_deleted_files_that_it_had_never_captured(ws: Workspace, root: Path, by: Actor) -> None:
    """github/copilot-cli#1675, google-gemini/gemini-cli#13331, cline/cline#14367"""
    (root / ".chronoignore").write_text("/data/\n")
    (root / "data").mkdir()
    (root / "data" / "customers.db").write_text("rows\n")
    (root / "node_modules" / "left-pad").mkdir(parents=True)
    (root / "node_modules" / "left-pad" / "index.js").write_text("module.exports = 1\n")
    os.mkfifo(root / "pipe")
    (root / "src" / "a.py").write_text("damage\n")
    go_back(ws, by)
    assert (root / "src" / "a.py").read_text() == "x = 1\n"
    assert (root / "data" / "customers.db").read_text() == "rows\n"
    assert (root / "node_modules" / "left-pad" / "index.js").exists()
    assert (root / "pipe").exists()
    # What did get captured goes, and the rescue has it.
    (root / "untracked.txt").write_text("mine\n")
    done = go_back(ws, by)
    assert done is not None and ws.store.read(done.rescue, "untracked.txt") == b"mine\n"


def test_it_touched_the_user_s_own_git_its_index_or_its_refs(root: Path, environ: dict[str, str], by: Actor) -> None:
    """cline/cline#5598, openai/codex#8214, openai/codex#28241"""

    def git(*argv: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        return subprocess.run(["git", *who, *argv], cwd=root, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (root / "src" / "a.py").write_text("staged\n")
    git("add", "src/a.py")
    (root / "src" / "a.py").write_text("working\n")
    git("stash", "list")

    def picture() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}

    ws = initialise(str(root), environ, by).ws
    before = picture()
    branches.create(ws, "other", by)
    branches.checkout(ws, "other", by)
    (root / "src" / "a.py").write_text("damage\n")
    go_back(ws, by)
    undoing.apply(ws, undoing.plan_undo(ws), by)
    branches.checkout(ws, "main", by)
    assert picture() == before
    assert git("diff", "--cached", "--stat").count("|") == 1


def test_the_wrong_scope_was_taken_in_a_monorepo(
    ws: Workspace, root: Path, by: Actor, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """anomalyco/opencode#3176"""
    for name in ("packages/one", "packages/two"):
        (root / name).mkdir(parents=True)
        (root / name / "f").write_text("before\n")
    (root / "packages" / "two" / "own").mkdir()
    (root / "packages" / "two" / "own" / "f").write_text("own\n")
    initialise(str(root / "packages" / "two" / "own"), environ, by).ws.close()
    save(ws, "manual", "packages", by)
    for name in ("packages/one", "packages/two", "packages/two/own"):
        (root / name / "f").write_text("after\n")
    monkeypatch.chdir(root / "packages" / "one")
    assert main(["rollback", "."], Screen(io.StringIO(), io.StringIO(), None, environ)) == 0
    assert (root / "packages" / "one" / "f").read_text() == "before\n"
    assert (root / "packages" / "two" / "f").read_text() == "after\n"
    assert main(["rollback"], Screen(io.StringIO(), io.StringIO(), None, environ)) == 0
    assert (root / "packages" / "two" / "own" / "f").read_text() == "after\n"  # a project of its own


def test_the_store_filled_the_disk(ws: Workspace, root: Path, by: Actor) -> None:
    """anomalyco/opencode#15977, cline/cline#1873, openai/codex#29388"""
    body = [f"line {number} of a file that an agent keeps editing\n" for number in range(2000)]
    (root / "big.txt").write_text("".join(body))
    save(ws, "manual", "big", by)
    for number in range(12):
        body[number * 70] = f"edited {number}\n"
        (root / "big.txt").write_text("".join(body))
        save(ws, "auto", "edit", by)
    left = Path(ws.layout.repo) / "objects" / "pack" / "tmp_pack_left"
    left.write_bytes(b"x" * 100_000)
    os.utime(left, (1, 1))
    ws.close()
    with ws.store.lock(5):
        pass
    ws.store.upkeep.pack_loose(5)
    size = sum(path.stat().st_size for path in Path(ws.layout.repo).rglob("*") if path.is_file())
    assert not left.exists()
    assert size < 2 * len("".join(body))  # thirteen versions in the space of two


def test_a_savepoint_took_twenty_seconds_because_it_walked_node_modules(
    ws: Workspace, root: Path, by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cline/cline#4519"""
    for number in range(50):
        (root / "node_modules" / f"p{number}" / "dist").mkdir(parents=True)
    entered: list[bytes] = []
    real = FolderHandles.fd

    def noted(self: FolderHandles, folder: bytes) -> int:
        entered.append(folder)
        return real(self, folder)

    monkeypatch.setattr(FolderHandles, "fd", noted)
    assert save(ws, "auto", "x", by).file_count == 1
    assert entered and not any(folder.startswith(b"node_modules") for folder in entered)


def test_savepoints_were_silently_stale_or_off(
    ws: Workspace, root: Path, by: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """anomalyco/opencode#26893, RooCodeInc/Roo-Code#8433"""
    (root / "src" / "a.py").write_text("x = 2\n")
    before = [savepoint.id for savepoint in history.log(ws)]

    def full(self: Disk, fd: int, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Disk, "write", full)
        with pytest.raises(StoreError):
            save(ws, "auto", "x", by)
        assert [savepoint.id for savepoint in history.log(ws)] == before
    done = save(ws, "auto", "x", by)
    assert done.created and ws.store.read(done.commit, "src/a.py") == b"x = 2\n"


def test_the_env_file_was_not_restored_or_came_back_from_the_dead(ws: Workspace, root: Path, by: Actor) -> None:
    """jj-vcs/jj#4559, jj-vcs/jj#5596"""
    (root / ".gitignore").write_text(".env\n")
    (root / ".env").write_text("TOKEN=1\n")
    (root / ".env").chmod(0o600)
    with_env = save(ws, "manual", "with", by)
    (root / ".env").unlink()
    go_back(ws, by)
    assert (root / ".env").read_text() == "TOKEN=1\n"
    assert (root / ".env").stat().st_mode & 0o777 == 0o600
    (root / ".env").unlink()
    without = save(ws, "manual", "without", by)
    go_back(ws, by, with_env.commit)
    assert (root / ".env").exists()
    go_back(ws, by, without.commit)
    assert not (root / ".env").exists()


def test_ninety_modified_files_were_hidden_because_a_watcher_said_nothing(ws: Workspace, root: Path, by: Actor) -> None:
    """jj-vcs/jj#10130"""
    for number in range(90):
        (root / "src" / f"f{number}").write_text("before\n")
    saved = save(ws, "manual", "x", by)
    for number in range(90):
        path = root / "src" / f"f{number}"
        found = path.stat()
        path.write_text("hidden\n")  # as long as before, and the time is put back
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert len(ws.store.changes(saved.commit, None)) == 90


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_restore_began_without_a_preview(
    ws: Workspace, root: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """anthropics/claude-code#64615"""
    (root / "src" / "a.py").write_text("hours of work\n")
    (root / "new.py").write_text("hours of work\n")
    monkeypatch.chdir(root)
    out, err = Terminal(), Terminal()
    assert main(["rollback"], Screen(out, err, Terminal("n\n"), {**environ, "COLUMNS": "80"})) == 1
    assert "src/a.py" in out.getvalue() and "new.py" in out.getvalue()
    assert "Go back?" in err.getvalue()
    assert (root / "src" / "a.py").read_text() == (root / "new.py").read_text() == "hours of work\n"


def test_symlinks_came_back_as_copies_of_what_they_pointed_to(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "link").symlink_to("src/a.py")
    (root / "folder").symlink_to("src")
    (root / "dangling").symlink_to("../nowhere")
    save(ws, "manual", "links", by)
    for name in ("link", "folder", "dangling"):
        (root / name).unlink()
    go_back(ws, by)
    assert [os.readlink(root / name) for name in ("link", "folder", "dangling")] == ["src/a.py", "src", "../nowhere"]


def test_there_was_no_undo_of_the_undo(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "src" / "a.py").write_text("good work\n")
    go_back(ws, by)
    undoing.apply(ws, undoing.plan_undo(ws), by)
    assert (root / "src" / "a.py").read_text() == "good work\n"
    undoing.apply(ws, undoing.plan_redo(ws), by)
    assert (root / "src" / "a.py").read_text() == "x = 1\n"
    undoing.apply(ws, undoing.plan_undo(ws), by)
    assert (root / "src" / "a.py").read_text() == "good work\n"


def test_what_a_shell_wrote_and_what_git_does_not_track_was_missing(ws: Workspace, root: Path, by: Actor) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["bash", "-c", "echo made > made.txt; sed -i s/1/2/ src/a.py; mkdir empty"], cwd=root, check=True)
    saved = save(ws, "auto", "before x", by)
    subprocess.run(["bash", "-c", "rm -rf made.txt src empty"], cwd=root, check=True)
    go_back(ws, by, saved.commit)
    assert (root / "made.txt").read_text() == "made\n"
    assert (root / "src" / "a.py").read_text() == "x = 2\n"
    assert (root / "empty").is_dir()

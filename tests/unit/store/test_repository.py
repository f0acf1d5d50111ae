"""Claims about the repository as a whole: git reads it, nothing in it runs, and the user's own git is untouched."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.errors import NoSuchSavepoint, NoWorkspace, StoreError
from chrono.layout import ProjectLayout
from chrono.store.objects import NewObjects
from chrono.store.repository import Store
from tests.waiting import LONG_S

from .conftest import Project, save_locked


def git(project: Project, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "--git-dir", project.layout.repo, *arguments], capture_output=True, check=check)


def fill(project: Project) -> None:
    for number in range(40):
        project.write(f"src/{number % 5}/{number}.py", f"print({number})\n" * number)
    for name in ["GIT~1", ".Git ", ".git\u200c", "back\\.git", "chrono-escaped-2e676974", "chrono-escaped-zz"]:
        project.write(f"odd/{name}", name)
    os.symlink("x", project.path("odd/.gitmodules"))
    project.write(".gitmodules", '[submodule "-x"]\n\turl = --upload-pack=touch\n\tpath = ../..\n')
    project.write(".gitattributes", "x" * 5000 + "\n")
    project.write("sub/.gitattributes", "* text=auto\n")
    os.mkdir(project.path("empty"))


def test_git_reads_clones_and_finds_nothing_wrong(project: Project, tmp_path: Path) -> None:
    fill(project)
    first = project.save("manual", "the first")
    project.write("src/1/1.py", "changed")
    second = project.save("manual", "the second")
    done = git(project, "fsck", "--strict", "--full")
    assert b"error" not in done.stderr + done.stdout
    log = git(project, "log", "--format=%H %s", "main").stdout.decode().split("\n")
    assert log[:2] == [f"{second} the second", f"{first} the first"]
    assert git(project, "show", "main:src/1/1.py").stdout == b"changed"
    assert b"Chrono-Kind: manual" in git(project, "show", "--stat", "main").stdout
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", project.layout.repo, str(clone)], check=True, capture_output=True)
    assert (clone / "src/4/39.py").read_bytes() == project.read("src/4/39.py")
    assert subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True).stdout == b""


def test_odd_names_come_back_as_they_were(project: Project) -> None:
    fill(project)
    commit = project.save()
    before = project.state()
    for name in os.listdir(project.root):
        if name != ".chrono":
            path = project.path(name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    project.restore(commit)
    assert project.state() == before
    assert project.store.read(commit, "odd/GIT~1") == b"GIT~1"


def test_after_git_repacked_everything_all_is_read(project: Project) -> None:
    """git's own packs hold deltas."""
    body = os.urandom(3000).hex()
    commits = []
    for number in range(10):
        project.write("big", body + f"\n{number}\n")
        project.write("b/c", str(number))
        commits.append(project.save("manual"))
    git(project, "repack", "-a", "-d", "-q")
    git(project, "prune-packed")
    store = project.reopen()
    for number, commit in enumerate(commits):
        assert store.read(commit, "big") == (body + f"\n{number}\n").encode()
        assert store.savepoint(commit).message == "a message"
    project.restore(commits[3])
    assert project.read("b/c") == b"3"
    assert [found.id for found in store.history() if found.kind == "manual"] == commits[::-1]


def test_git_gc_keeps_the_metadata(project: Project) -> None:
    project.write(".env", "x", 0o600)
    commit = project.save("manual")
    project.write("a", "y", 0o640)
    project.save("manual")
    git(project, "gc", "-q", "--prune=now")
    os.chmod(project.path(".env"), 0o644)
    project.reopen()
    project.restore(commit)
    assert os.stat(project.path(".env")).st_mode & 0o777 == 0o600


def test_the_users_own_git_is_untouched(project: Project) -> None:
    def run(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=project.root, check=True, capture_output=True)

    project.write("a", "x")
    run("init", "-q")
    run("add", "a")
    run("commit", "-q", "-m", "mine")
    project.write("b", "y")
    run("add", "b")

    def snapshot() -> dict[str, tuple[bytes, int]]:
        folder = Path(project.path(".git"))
        return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}

    before = snapshot()
    first = project.save()
    project.write("a", "z")
    os.unlink(project.path("b"))
    project.store.patch(first, None)
    project.save("manual")
    project.restore(first)
    assert snapshot() == before


HOSTILE = """
[core]
	fsmonitor = touch {marker}
	sshCommand = touch {marker}
	hooksPath = {hooks}
	worktree = /
	bare = false
	alternateRefsCommand = touch {marker}
	repositoryformatversion = 1
[extensions]
	partialClone = evil
	objectFormat = sha256
	unknownExtension = true
[include]
	path = {fifo}
[includeIf "gitdir:/**"]
	path = {fifo}
[filter "evil"]
	clean = touch {marker}
	smudge = touch {marker}
[remote "origin"]
	url = ext::touch {marker}
"""


def test_a_hostile_repository_runs_includes_and_reaches_nothing(project: Project, tmp_path: Path) -> None:
    """As it may come with a cloned project: nothing in it is run, included, waited for or followed."""
    marker, hooks, fifo = tmp_path / "ran", tmp_path / "hooks", tmp_path / "fifo"
    project.write("a", "x")
    project.write(".gitattributes", "* filter=evil\n")
    first = project.save("manual")
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    secret = subprocess.run(
        ["git", "--git-dir", str(other), "hash-object", "-w", "--stdin"], input=b"secret", capture_output=True, check=True
    ).stdout.strip()  # fmt: skip
    os.mkfifo(fifo)
    repo = Path(project.layout.repo)
    (repo / "config").write_text(HOSTILE.format(marker=marker, hooks=hooks, fifo=fifo))
    for folder in (repo / "hooks", hooks):
        folder.mkdir()
        for name in ["pre-commit", "post-commit", "reference-transaction", "post-checkout", "post-index-change"]:
            (folder / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
            (folder / name).chmod(0o755)
    (repo / "objects/info/alternates").write_text(f"{other}/objects\n")
    (repo / "info").mkdir(exist_ok=True)
    (repo / "info/attributes").write_text("* filter=evil\n")
    (repo / "info/grafts").write_text(f"{first}\n")
    (repo / "commondir").write_text("/\n")
    (repo / "refs/replace").mkdir()
    (repo / "refs/replace" / first).write_text("0" * 40 + "\n")
    (repo / "config.worktree").symlink_to(fifo)

    script = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.unit.store.test_repository import use_everything
use_everything(sys.argv[1])
"""
    checkout = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script, str(project.root), checkout], timeout=LONG_S, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not marker.exists()
    assert project.store._objects.head(bytes.fromhex(secret.decode())) is None
    with pytest.raises(KeyError):
        project.store._objects.read(bytes.fromhex(secret.decode()))


def use_everything(root: str) -> None:
    """Every call of the door once, in a process of its own."""
    store = Store.open(ProjectLayout(root))
    with open(root + "/a", "w") as file:
        file.write("changed")
    first = store.resolve("main")
    store.patch(first, None)
    with store.lock(5):
        pre, _ = save_locked(store, "rescue")
        plan = store.plan_restore(pre, first)
        journal = store.begin(plan, "0" * 32)  # type: ignore[arg-type]
        store.apply(plan, journal)
        store.finish(journal)
        save_locked(store, "manual")
    assert len(list(store.history())) == 3
    store.resolve(first)
    with open(root + "/a") as file:
        assert file.read() == "x"


@pytest.mark.parametrize("part", ["objects", "refs", "refs/heads", "objects/pack", ".."])
def test_a_part_that_is_a_link_is_not_opened(project: Project, tmp_path: Path, part: str) -> None:
    path = os.path.normpath(os.path.join(project.layout.repo, part))
    os.rename(path, tmp_path / "moved")
    os.symlink(tmp_path / "moved", path)
    with pytest.raises(StoreError, match="not a folder"):
        Store.open(project.layout)


def test_a_newer_format_is_refused(project: Project) -> None:
    Path(project.layout.format).write_text("2\n")
    with pytest.raises(StoreError, match="newer chrono"):
        Store.open(project.layout)


def test_no_project_is_said_so_and_none_is_made_twice(project: Project, tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        Store.open(ProjectLayout(str(tmp_path)))
    with pytest.raises(StoreError, match="exists already"):
        Store.create(project.layout)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to give files away")
def test_anothers_repository_is_read_but_never_written(project: Project) -> None:
    project.write("a", "x")
    commit = project.save("manual")
    subprocess.run(["chown", "-R", "65534", project.layout.dir], check=True)
    store = project.reopen()
    assert not store.writable
    assert store.read(commit, "a") == b"x"
    with pytest.raises(StoreError, match="another user"), store.lock(1):
        pass


def test_the_store_is_private(project: Project) -> None:
    project.write(".env", "secret")
    project.save()
    for path in [project.layout.dir, project.layout.repo]:
        assert os.stat(path).st_mode & 0o077 == 0


def test_a_colliding_id_of_another_size_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a", "first")
    project.save()
    from chrono.store import objects

    real = objects.object_id
    same = real(b"blob", b"first")
    monkeypatch.setattr(objects, "object_id", lambda kind, data: same if data == b"longer" else real(kind, data))
    project.write("a", "longer")
    with pytest.raises(StoreError, match="already has the id"):
        project.save()


def test_large_files_are_streamed_both_ways(project: Project) -> None:
    """In a process of its own, whose memory must stay far below the size of the file."""
    big = project.path("big")
    with open(big, "wb") as file:
        for _ in range(150):
            file.write(os.urandom(1 << 20))
    script = """
import os, resource, sys
sys.path.insert(0, sys.argv[2])
from chrono.layout import ProjectLayout
from chrono.store.repository import Store
from tests.unit.store.conftest import save_locked
store = Store.open(ProjectLayout(sys.argv[1]))
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with store.lock(5):
    first, _ = save_locked(store)
    os.unlink(sys.argv[1] + "/big")
    pre, _ = save_locked(store, "rescue")
    plan = store.plan_restore(pre, first)
    journal = store.begin(plan, "0" * 32)
    store.apply(plan, journal)
    store.finish(journal)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) // 1024)
"""
    import hashlib

    with open(big, "rb") as file:
        before = hashlib.file_digest(file, "sha256").digest()
    done = subprocess.run(
        [sys.executable, "-c", script, str(project.root), str(Path(__file__).parents[3])],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 64
    with open(big, "rb") as file:
        assert hashlib.file_digest(file, "sha256").digest() == before


def test_few_new_objects_lie_loose_many_in_one_pack(project: Project) -> None:
    pack = Path(project.layout.repo, "objects/pack")
    project.write("a", "x")
    project.save()
    assert list(pack.iterdir()) == []
    for number in range(30):
        project.write(f"d/{number}", str(number))
    project.save()
    assert sorted(path.suffix for path in pack.iterdir()) == [".idx", ".pack"]
    project.write("a", "y")
    project.save()
    assert len(list(pack.iterdir())) == 2
    assert git(project, "fsck", "--strict").returncode == 0


def test_a_pack_larger_than_memory_allows_is_spilled(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from chrono.store import pack

    monkeypatch.setattr(pack, "_SPILL_BYTES", 10_000)
    for number in range(60):
        project.write(f"d/{number}", os.urandom(1000))
    commit = project.save("manual")
    assert b"error" not in git(project, "fsck", "--strict", "--full").stderr
    assert project.store.changes(commit, None) == ()


def test_damaged_objects_are_errors_not_content(project: Project) -> None:
    project.write("a", "content" * 100)
    commit = project.save()
    entry = project.store._contents(commit).find(b"a")
    assert entry is not None
    path = project.store._objects.path(bytes.fromhex(entry.oid))
    data = Path(os.fsdecode(path)).read_bytes()
    for damaged in [b"", b"garbage", data[:-4], data[:20] + b"xx" + data[22:]]:
        os.unlink(path)
        Path(os.fsdecode(path)).write_bytes(damaged)
        with pytest.raises(StoreError):
            project.store.read(commit, "a")


def test_reading_what_is_not_there_is_said(project: Project) -> None:
    project.write("dir/a", "x")
    commit = project.save()
    for path in ["nope", "dir", "dir/a/b"]:
        with pytest.raises(NoSuchSavepoint):
            project.store.read(commit, path)
    assert project.store.read(commit, "./dir//a") == b"x"


def test_importing_and_saving_does_not_need_pygit2(project: Project) -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.unit.store.conftest import save_locked
from chrono.layout import ProjectLayout
from chrono.store.repository import Store
store = Store.open(ProjectLayout(sys.argv[1]))
with store.lock(5):
    save_locked(store, "manual")
assert "pygit2" not in sys.modules
"""
    fill(project)
    project.save("manual")
    project.write("src/1/1.py", "again")
    done = subprocess.run(
        [sys.executable, "-c", script, str(project.root), str(Path(__file__).parents[3])],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_libgit2_reads_the_same_objects(project: Project) -> None:
    fill(project)
    commit = project.save("manual")
    import pygit2

    repository = pygit2.Repository(project.layout.repo)
    tree = repository[commit].tree
    assert tree["src"]["4"]["39.py"].data == project.read("src/4/39.py")
    assert str(tree.id) == project.store.content(commit).tree
    with project.store.lock(5):
        sink = NewObjects(project.store._objects)
        oid = sink.put(b"blob", b"new and loose")
        sink.flush()
    assert repository[oid.hex()].data == b"new and loose"

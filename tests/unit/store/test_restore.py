"""Claims about a restore: the work tree becomes the savepoint, and nothing else is touched."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.errors import Conflict, NoSuchSavepoint, StoreError, UsageError
from chrono.ids import CommitId, OpId
from chrono.store import apply, tree
from chrono.store.disk import Disk
from chrono.store.objects import NewObjects
from chrono.store.reading import FileReader, Taken, key_of
from chrono.store.refresh import Refresh
from chrono.store.statcache import Folder

from .conftest import Project, forged

OP = OpId("f" * 32)


def test_what_came_since_goes_and_what_went_comes_back(project: Project) -> None:
    project.write("a", "one")
    project.write("dir/b", "two")
    target = project.save()
    before = project.state()
    project.write("a", "changed")
    os.unlink(project.path("dir/b"))
    os.rmdir(project.path("dir"))
    project.write("new/deep/c", "three")
    done = project.restore(target)
    assert project.state() == before
    assert (done.written, done.deleted, done.left) == (2, 1, ())


@pytest.mark.parametrize("before", ["file", "folder", "link", "executable", "empty folder"])
@pytest.mark.parametrize("after", ["file", "folder", "link", "executable", "empty folder", "nothing"])
def test_every_kind_of_entry_becomes_every_other(project: Project, before: str, after: str) -> None:
    def make(kind: str) -> None:
        path = project.path("it")
        if kind == "file":
            project.write("it", "a file")
        elif kind == "folder":
            project.write("it/deep/x", "in a folder", 0o600)
        elif kind == "link":
            os.symlink("elsewhere", path)
        elif kind == "executable":
            project.write("it", "#!", 0o755)
        elif kind == "empty folder":
            os.mkdir(path, 0o700)

    project.write("other", "stays")
    make(before)
    target = project.save()
    wanted = project.state()
    path = project.path("it")
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    make(after)
    present = project.state()
    undo = project.save("rescue")
    project.restore(target)
    assert project.state() == wanted
    project.restore(undo)
    assert project.state() == present


def test_private_modes_and_read_only_folders_come_back(project: Project) -> None:
    project.write("ro/f", "x", 0o400)
    project.write("secret", "x", 0o600)
    project.write("tool", "x", 0o755)
    os.chmod(project.path("ro"), 0o555)
    target = project.save()
    before = project.state()
    os.chmod(project.path("ro"), 0o755)
    project.write("ro/g", "y")
    project.write("ro/f2", "y")
    for name in ["secret", "tool"]:
        os.chmod(project.path(name), 0o644)
    os.unlink(project.path("ro/f"))
    os.chmod(project.path("ro"), 0o555)
    project.restore(target)
    assert project.state() == before


def test_a_part_is_restored_alone(project: Project) -> None:
    for name in ["a/1", "a/2", "b/1", "c"]:
        project.write(name, "old")
    target = project.save()
    for name in ["a/1", "a/2", "b/1", "c"]:
        project.write(name, "new")
    project.restore(target, "a", "./c")
    assert [project.read(name) for name in ["a/1", "a/2", "b/1", "c"]] == [b"old", b"old", b"new", b"old"]
    shutil.rmtree(project.path("a"))
    project.write("a", "a file is in the way")
    project.restore(target, "a/2")
    assert (os.listdir(project.path("a")), project.read("a/2")) == (["2"], b"old")
    for bad in ["../x", "/etc/passwd", "a/../../x"]:
        with pytest.raises(UsageError):
            project.store.plan_restore(target, target, (bad,))


def test_what_no_savepoint_holds_is_never_touched(project: Project) -> None:
    project.write("src/a", "x")
    target = project.save()
    shutil.rmtree(project.path("src"))
    project.write(".chronoignore", "private*\nsrc/kept\n")
    project.write("private", "mine")
    project.write("dir/private2", "mine")
    project.write("dir/node_modules/x", "mine")
    project.write("dir/captured", "goes")
    project.write("src/kept", "mine")
    project.write(".git/config", "mine")
    project.write("chrono-policy.yaml", "mine")
    done = project.restore(target)
    for name in ["private", "dir/private2", "dir/node_modules/x", "src/kept", ".git/config", "chrono-policy.yaml"]:
        assert project.read(name) == b"mine"
    assert not os.path.exists(project.path("dir/captured"))
    assert project.read("src/a") == b"x"
    assert [left.path for left in done.left] == ["dir"]


def test_an_ignored_file_in_the_way_is_left_and_said(project: Project) -> None:
    project.write("data", "captured once")
    project.write("folder/x", "captured once")
    target = project.save()
    project.write("data", "never captured")
    project.write("folder/x", "never captured")
    project.write(".chronoignore", "data\nfolder\n")
    done = project.restore(target)
    assert project.read("data") == project.read("folder/x") == b"never captured"
    assert sorted(left.path for left in done.left) == ["data", "folder/x"]


def test_a_folder_with_uncaptured_files_does_not_become_a_file(project: Project) -> None:
    project.write("it", "a file")
    target = project.save()
    os.unlink(project.path("it"))
    project.write("it/captured", "x")
    project.write("it/.git/HEAD", "mine")
    done = project.restore(target)
    assert project.read("it/.git/HEAD") == b"mine"
    assert [left.path for left in done.left] == ["it"]


def test_a_file_that_could_not_be_captured_now_is_left_alone(project: Project) -> None:
    project.write("pipe", "content")
    target = project.save()
    project.write("pipe", "newer")
    project.save()
    os.unlink(project.path("pipe"))
    os.mkfifo(project.path("pipe"))
    done = project.restore(target)
    assert stat.S_ISFIFO(os.lstat(project.path("pipe")).st_mode)
    assert [left.path for left in done.left] == ["pipe"]


class Refusing(Disk):
    """A disk that does not let this user touch some names, whatever is done to them."""

    def __init__(self, names: frozenset[bytes], number: int) -> None:
        super().__init__(self._refuse)
        self._names = names
        self._number = number

    def _refuse(self, step: str, name: bytes) -> None:
        if name in self._names and step != "create":
            raise OSError(self._number, os.strerror(self._number), name)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY])
def test_what_this_user_may_not_change_is_left_and_told_and_all_else_is_restored(project: Project, number: int) -> None:
    project.write("a", "one")
    project.write("rewritten", "one")
    project.write("gone/away", "one")
    project.write("turned", "one")
    project.write("mode", "one", 0o644)
    target = project.save()
    project.write("a", "two")
    project.write("rewritten", "two")
    shutil.rmtree(project.path("gone"))
    os.unlink(project.path("turned"))
    project.write("turned/stuck", "two")
    project.write("new/stuck", "two")
    project.write("new/loose", "two")
    os.chmod(project.path("mode"), 0o755)
    project.reopen(Refusing(frozenset((b"rewritten", b"gone", b"stuck", b"mode")), number))
    done = project.restore(target)
    assert project.store.pending() is None
    assert {left.path for left in done.left} == {"rewritten", "gone", "turned/stuck", "new/stuck", "mode"}
    assert (done.written, done.deleted) == (1, 1)
    assert project.read("a") == b"one"
    assert project.read("rewritten") == project.read("turned/stuck") == b"two"
    assert os.listdir(project.path("new")) == ["stuck"]
    assert os.stat(project.path("mode")).st_mode & 0o777 == 0o755
    project.reopen()
    changed = project.store.changes(target, project.save())
    assert {change.path for change in changed} >= {"rewritten", "gone/away", "turned/stuck", "new/stuck", "mode"}
    project.restore(target)
    assert project.store.changes(target, project.save()) == ()


@pytest.mark.parametrize("mask", [0, 0o022, 0o277])
def test_modes_come_back_whatever_the_umask_is(project: Project, mask: int) -> None:
    modes = {"shared": 0o666, "private": 0o600, "tool": 0o755, "closed": 0o444, "odd": 0o711, "none": 0o000}
    for name, mode in modes.items():
        project.write(name, "one", mode)
    if os.geteuid():
        os.unlink(project.path("none"))  # cannot be captured
    before, target = project.state(), project.save()
    for name in os.listdir(project.root):
        if name in modes:
            os.unlink(project.path(name))
            project.write(name, "two", 0o640)
    mine = os.umask(mask)
    try:
        project.restore(target)
    finally:
        os.umask(mine)
    assert project.state() == before


def test_links_planted_after_the_plan_lead_nowhere(project: Project, tmp_path: Path) -> None:
    """The folder becomes a link between the last check and the first change."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("not yours")
    (outside / "b").write_text("not yours")
    project.write("dir/a", "one")
    project.write("dir/b", "one")
    target = project.save()
    project.write("dir/a", "two")
    os.unlink(project.path("dir/b"))
    project.write("dir/c", "two")
    pre = project.save("rescue")

    class Swapping(Disk):
        armed = False

        def syncfs(self, fd: int) -> None:
            super().syncfs(fd)
            if not Swapping.armed:
                Swapping.armed = True
                os.rename(project.path("dir"), project.path("moved"))
                os.symlink(outside, project.path("dir"))

    store = project.reopen(Swapping())
    with store.lock(5):
        plan = store.plan_restore(pre, target)
        journal = store.begin(plan, OP)
        with pytest.raises(StoreError, match="half-way"):
            store.apply(plan, journal)
    assert sorted(os.listdir(outside)) == ["a", "b"]
    assert (outside / "a").read_text() == (outside / "b").read_text() == "not yours"
    store = project.reopen()
    pending = store.pending()
    assert pending == journal
    crash = project.save("rescue")
    with store.lock(5):
        plan = store.plan_restore(crash, pending.target, pending.paths)
        store.apply(plan, pending)
        store.finish(pending)
    assert project.read("dir/a") == project.read("dir/b") == b"one"
    assert (outside / "a").read_text() == "not yours"


def test_a_link_where_a_folder_belongs_is_replaced_not_followed(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "home"
    outside.mkdir()
    (outside / "keys").write_text("precious")
    project.write("dir/keys", "harmless")
    target = project.save()
    shutil.rmtree(project.path("dir"))
    os.symlink(outside, project.path("dir"))
    project.restore(target)
    assert project.read("dir/keys") == b"harmless"
    assert not os.path.islink(project.path("dir"))
    assert (outside / "keys").read_text() == "precious"


def test_a_change_after_the_rescue_stops_the_restore_before_it_begins(project: Project) -> None:
    project.write("a", "one")
    target = project.save()
    project.write("a", "two")
    project.write("b", "two")
    pre = project.save("rescue")
    with project.store.lock(5):
        plan = project.store.plan_restore(pre, target)
        project.write("a", "tri")
        with pytest.raises(Conflict, match="a changed"):
            project.store.begin(plan, OP)
        assert project.store.pending() is None
    assert project.read("a") == b"tri"


def test_a_file_that_appeared_where_one_would_be_written_stops_the_restore(project: Project) -> None:
    project.write("a", "one")
    target = project.save()
    os.unlink(project.path("a"))
    pre = project.save("rescue")
    with project.store.lock(5):
        plan = project.store.plan_restore(pre, target)
        project.write("a", "just now")
        with pytest.raises(Conflict):
            project.store.begin(plan, OP)
    assert project.read("a") == b"just now"


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b".chrono", b"chrono-policy.yaml", b".", b""])
def test_a_forged_tree_reaches_nothing_that_is_not_ours(project: Project, tmp_path: Path, name: bytes) -> None:
    project.write("a", "x")
    project.write(".git/config", "mine")
    with project.store.lock(5):
        sink = NewObjects(project.store._objects)
        inner = sink.put(b"tree", tree.build([(b"config", tree.FILE, sink.put(b"blob", b"evil"))]))
        sink.flush()
    around = sorted(os.listdir(tmp_path))
    project.restore(forged(project, (name, tree.FOLDER, inner), (b"good", tree.FILE, b"fine")))
    assert project.read(".git/config") == b"mine"
    assert project.read("good") == b"fine"
    assert sorted(os.listdir(tmp_path)) == around
    assert not os.path.exists(project.path(".chrono/config"))
    project.restore(forged(project, (name, tree.FILE, b"evil"), (b"x", tree.FILE, b"y")))
    assert sorted(os.listdir(project.root)) == [".chrono", ".git", "x"]


def test_the_stage_names_no_way_out(project: Project) -> None:
    """An entry name with a slash, as only a forged tree object has it."""
    project.write("a", "x")
    target = forged(project, (b"../../out", tree.FILE, b"evil"), (b"ok", tree.FILE, b"fine"))
    project.restore(target)
    assert sorted(os.listdir(project.root)) == [".chrono", "ok"]


def test_a_missing_object_stops_the_restore_before_anything_changes(project: Project) -> None:
    project.write("a", "one")
    target = project.save()
    project.write("a", "two")
    project.write("b", "two")
    pre = project.save("rescue")
    before = project.state()
    oid = project.store.changes(target, pre)[0].old
    assert oid is not None
    os.unlink(project.store._objects.path(bytes.fromhex(oid.oid)))
    with project.store.lock(5):
        plan = project.store.plan_restore(pre, target)
        journal = project.store.begin(plan, OP)
        with pytest.raises(StoreError, match="prepared"):
            project.store.apply(plan, journal)
        assert project.store.pending() is None
    assert project.state() == before


def test_a_plan_of_another_restore_is_refused(project: Project) -> None:
    project.write("a", "one")
    first = project.save()
    project.write("a", "two")
    second = project.save()
    with project.store.lock(5):
        plan = project.store.plan_restore(second, first)
        journal = project.store.begin(plan, OP)
        with pytest.raises(StoreError, match="under way"):
            project.store.begin(plan, OP)
        with pytest.raises(StoreError, match="not of the restore"):
            project.store.apply(plan, journal._replace(op=OpId("e" * 32)))
        project.store.finish(journal)
    with pytest.raises(NoSuchSavepoint):
        project.store.plan_restore(second, CommitId("0" * 40))


@pytest.mark.parametrize("data", [b"", b"{}", b"nonsense", b'{"version":1,"op":"x","pre":"y","target":"z","paths":[]}'])
def test_a_damaged_journal_is_an_error_not_a_restore(project: Project, data: bytes) -> None:
    Path(project.layout.journal).write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        project.store.pending()


def test_a_folder_on_another_file_system_is_restored(project: Project, tmp_path: Path) -> None:
    os.mkdir(project.path("mounted"))
    done = subprocess.run(["mount", "-t", "tmpfs", "none", project.path("mounted")], capture_output=True)
    if done.returncode != 0:
        pytest.skip("cannot mount a tmpfs here")
    try:
        project.write("mounted/a", "one", 0o400)
        os.symlink("x", project.path("mounted/link"))
        target = project.save()
        before = project.state()
        os.unlink(project.path("mounted/link"))
        os.unlink(project.path("mounted/a"))
        project.write("mounted/a", "two")
        project.restore(target)
        assert project.state() == before
    finally:
        subprocess.run(["umount", project.path("mounted")], check=True)


def test_files_under_git_lfs_come_back_as_they_were(project: Project) -> None:
    """Both the content and the pointer that stands in for it where it was not fetched."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"
    project.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf ident\n")
    contents = {"model.bin": b"\0\1\r\n" * 500, "pointer.bin": pointer, "a.txt": b"one\n$Id$\r\ntwo\n"}
    for name, data in contents.items():
        project.write(name, data)
    target = project.save()
    for name in contents:
        project.write(name, "changed")
    project.restore(target)
    assert {name: project.read(name) for name in contents} == contents


@pytest.mark.parametrize("ends_in_data", [True, False])
def test_a_sparse_file_comes_back_sparse(project: Project, ends_in_data: bool) -> None:
    size = (24 << 20) + 12345
    with open(project.write("disk.img", b"head"), "r+b") as file:
        file.truncate(size)
        for at in (5 << 20, (9 << 20) + 777, size - 4 if ends_in_data else 12 << 20):
            file.seek(at)
            file.write(b"data")
    before = project.read("disk.img")
    target = project.save()
    os.unlink(project.path("disk.img"))
    project.restore(target)
    found = os.lstat(project.path("disk.img"))
    assert found.st_size == size and project.read("disk.img") == before
    assert found.st_blocks * 512 < 2 << 20


def test_open_files_keep_the_old_inode(project: Project) -> None:
    project.write("a", "one")
    target = project.save()
    project.write("a", "two")
    with open(project.path("a"), "rb") as reader:
        project.restore(target)
        assert reader.read() == b"two"
    assert project.read("a") == b"one"


@pytest.mark.parametrize("seed", range(6))
def test_random_states_are_restored_in_any_order(project: Project, seed: int) -> None:
    from tests.property.test_store_differential import Tree

    changing = Tree(os.fsencode(str(project.root)), seed)
    states: list[tuple[CommitId, dict[str, tuple[int, bytes]]]] = []
    for _ in range(12):
        for _ in range(8):
            changing.step()
        for folder in changing.folders()[1:]:
            if changing.random.random() < 0.2:
                os.chmod(folder, changing.random.choice([0o700, 0o755, 0o555, 0o775]))
        states.append((project.save(), project.state()))
        commit, wanted = changing.random.choice(states)
        done = project.restore(commit)
        assert done.left == ()
        assert project.state() == wanted


def test_a_folder_that_stays_for_its_control_files_is_neither_removed_nor_reported(project: Project) -> None:
    project.write("a", "x")
    first = project.save()
    project.write(".claude/settings.json", "{}")
    project.write(".claude/commands/go.md", "go")
    os.chmod(project.path(".claude"), 0o700)
    second = project.save()
    done = project.restore(first)
    assert done.left == ()
    assert project.read(".claude/settings.json") == b"{}"
    assert not os.path.exists(project.path(".claude/commands"))
    assert project.store.changes(first, None) == ()
    os.chmod(project.path(".claude"), 0o755)
    assert project.restore(second).left == ()
    assert project.store.changes(second, None) == ()


def test_what_a_restore_wrote_is_not_read_again_by_the_next_scan(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(80):
        project.write(f"d{number % 7}/f{number}", f"{number}\n")
    project.write("gone/deep/x", "x")
    os.symlink("d0", project.path("link"))
    first = project.save()
    for number in range(80):
        project.write(f"d{number % 7}/f{number}", f"{number} changed\n")
    os.unlink(project.path("gone/deep/x"))
    os.rmdir(project.path("gone/deep"))
    project.write("new/y", "y")
    os.unlink(project.path("link"))
    os.mkdir(project.path("link"))
    synced = Disk.syncfs

    def slow(self: Disk, fd: int) -> None:
        synced(self, fd)
        time.sleep(0.1)  # what is renamed within the racy window is read once more, and a quick disk is that quick

    monkeypatch.setattr(Disk, "syncfs", slow)
    done = project.restore(first)
    assert (done.left, done.written) == ((), 82)
    read: list[bytes] = []
    once = FileReader._read_once

    def noted(self: FileReader, fd: int, name: bytes) -> Taken:
        read.append(name)
        return once(self, fd, name)

    monkeypatch.setattr(FileReader, "_read_once", noted)
    capture = project.capture()
    assert read == []
    assert capture.content == project.store.content(first)
    assert project.reopen().changes(first, None) == ()


def test_a_file_that_others_change_during_the_refresh_is_not_believed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("a", "first\n")
    first = project.save()
    project.write("a", "other\n")
    taken = FileReader.take

    def late(self: FileReader, fd: int, name: bytes, found: os.stat_result) -> Taken:
        if project.read("a") == b"first\n":
            project.write("a", "third\n")
        return taken(self, fd, name, os.stat(name, dir_fd=fd, follow_symlinks=False))

    begun = Refresh.__init__

    def reads_all(self: Refresh, root: bytes, base: Folder, reader: FileReader, placed: object) -> None:
        begun(self, root, base, reader, {})  # on a slow machine it would be old enough to be believed unread

    with monkeypatch.context() as patch:
        pre = project.save("rescue")
        patch.setattr(FileReader, "take", late)
        patch.setattr(Refresh, "__init__", reads_all)
        with project.store.lock(5):
            plan = project.store.plan_restore(pre, first)
            journal = project.store.begin(plan, OpId("0" * 32))
            project.store.apply(plan, journal)
            project.store.finish(journal)
    assert project.read("a") == b"third\n"
    assert [change.path for change in project.store.changes(first, None)] == ["a"]
    saved = project.save()
    assert project.store.read(saved, "a") == b"third\n"


class Meddles(Disk):
    """Somebody writes the same number of bytes to a file as soon as the next one gets its name, or at the end."""

    def __init__(self, path: str, *, sets_time_back: bool) -> None:
        super().__init__()
        self.path = path
        self.armed = False
        self._sets_time_back = sets_time_back

    def rename(self, source: bytes, name: bytes, source_fd: int | None = None, dir_fd: int | None = None) -> None:
        if self.armed and name == b"b":
            before = os.stat(self.path)
            time.sleep(0.01)
            with open(self.path, "r+b") as file:
                file.write(b"meddle")
            if self._sets_time_back:
                os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        super().rename(source, name, source_fd, dir_fd)


@pytest.mark.parametrize("sets_time_back", [False, True])
def test_what_is_written_while_others_are_restored_is_not_taken_for_restored(
    make_project: Callable[..., Project], sets_time_back: bool
) -> None:
    disk = Meddles("", sets_time_back=sets_time_back)
    project = make_project("project", disk)
    names = [f"d/{number}" for number in range(60)]
    for name in ("a", "b", *names):
        project.write(name, "first!")
    first = project.save()
    for name in ("a", "b", *names):
        project.write(name, "second")
    disk.path, disk.armed = project.path("a"), True
    project.restore(first)
    disk.armed = False
    assert project.read("a") == b"meddle"
    later = project.save()
    assert project.store.read(later, "a") == b"meddle" and project.store.read(later, "b") == b"first!"


def test_restored_files_are_not_read_again(
    make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their stat vouches for them, also in the next scan; they count as old, which a quick machine's are not yet."""
    project = make_project("project")
    for number in range(80):
        project.write(f"d/{number}", f"first {number}")
    first = project.save()
    for number in range(80):
        project.write(f"d/{number}", f"second {number}")
    time.sleep(0.05)
    read: list[bytes] = []
    really = FileReader._read_once
    project.save()

    def noted(self: FileReader, fd: int, name: bytes) -> Taken:
        read.append(name)
        return really(self, fd, name)

    monkeypatch.setattr(FileReader, "_read_once", noted)
    monkeypatch.setattr(FileReader, "believed", lambda self, found: key_of(found))
    monkeypatch.setattr(apply, "RACY_NS", -1)
    project.restore(first)
    project.save()
    assert read == []
    assert project.read("d/7") == b"first 7"

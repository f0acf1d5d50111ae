"""Claims about writing a savepoint into a folder outside the project, and about deleting such a folder."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from chrono.errors import StoreError
from chrono.store import tree
from chrono.store.checkout import CheckedOut, Checkout, remove_tree
from chrono.store.disk import Disk
from tests.waiting import LONG_S

from .conftest import Project, forged


def seen(folder: Path) -> dict[bytes, tuple[int, bytes]]:
    """{path: (mode, content or target)} of all below `folder` but `.chrono`."""
    found = {}
    top = os.fsencode(folder)
    for base, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name != b".chrono"]
        for name in [*folders, *files]:
            path = os.path.join(base, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISDIR(mode):
                content = b""
            else:
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, top)] = (mode, content)
    return found


def check_out(project: Project, commit: Any, folder: Path, clone: Any = lambda source, target: False) -> CheckedOut:
    folder.mkdir()
    store = project.store
    made = Checkout(os.fsencode(project.root), store._contents(commit), store._objects.blob, Disk(), clone)
    return made.into(os.fsencode(folder))


def copy_by_hand(source: int, target: int) -> bool:
    """Stands in for a file system that shares blocks."""
    os.pwrite(target, os.pread(source, 1 << 24, 0), 0)
    return True


@pytest.fixture
def rich(project: Project) -> Project:
    """A project with everything a savepoint keeps."""
    project.write("plain", "one\n")
    project.write("run.sh", "#!/bin/sh\n", 0o755)
    project.write("secrets/.env", "KEY=1\n", 0o600)
    os.chmod(project.path("secrets"), 0o700)
    project.write("read-only/deep/er/x", b"\0\xff\r\n", 0o444)
    project.write(os.fsdecode(b"na\xefve/\xff\n"), "raw")
    os.mkdir(project.path("empty"))
    (project.root / "link").symlink_to("plain")
    (project.root / "dangling").symlink_to(os.fsdecode(b"/nowhere/\xfe"))
    project.write("big", os.urandom(9 << 20))
    os.chmod(project.path("read-only"), 0o555)
    return project


@pytest.mark.parametrize("clone", [lambda source, target: False, copy_by_hand])
def test_a_checkout_is_the_savepoint_byte_for_byte(rich: Project, tmp_path: Path, clone: Any) -> None:
    before = seen(rich.root)
    commit = rich.save()
    done = check_out(rich, commit, tmp_path / "out", clone)
    assert seen(tmp_path / "out") == before
    assert done.files == 8 and done.cloned == (6 if clone is copy_by_hand else 0)
    assert seen(rich.root) == before


def test_an_old_savepoint_is_not_mixed_with_the_files_of_now(project: Project, tmp_path: Path) -> None:
    project.write("a", "old")
    project.write("gone", "still here")
    commit = project.save()
    project.write("a", "new and longer")
    os.unlink(project.path("gone"))
    done = check_out(project, commit, tmp_path / "out", copy_by_hand)
    assert (tmp_path / "out" / "a").read_text() == "old" and (tmp_path / "out" / "gone").exists()
    assert done.cloned == 0


def test_a_link_in_the_project_is_not_cloned_through(project: Project, tmp_path: Path) -> None:
    project.write("a", "content")
    commit = project.save()
    os.rename(project.path("a"), tmp_path / "elsewhere")
    (project.root / "a").symlink_to(tmp_path / "elsewhere")
    done = check_out(project, commit, tmp_path / "out", copy_by_hand)
    assert done.cloned == 0 and (tmp_path / "out" / "a").read_text() == "content"


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("kind", [tree.FILE, tree.LINK, tree.FOLDER])
def test_a_forged_name_with_a_slash_does_not_lead_through_a_link(
    project: Project, tmp_path: Path, escaped: bool, kind: int
) -> None:
    """As a remote may hold it: git's fsck sees nothing wrong in an escaped name."""
    home = tmp_path / "home"
    home.mkdir()
    name = b"link/.profile"
    if escaped:
        name = b"chrono-escaped-" + name.hex().encode()
    inner = forged(project, (b"x", tree.FILE, b"evil"))
    content = bytes.fromhex(project.store.savepoint(inner).tree) if kind == tree.FOLDER else b"evil"
    commit = forged(project, (b"link", tree.LINK, os.fsencode(home)), (name, kind, content), (b"ok", tree.FILE, b"y"))
    check_out(project, commit, tmp_path / "out")
    assert os.listdir(home) == []
    assert (tmp_path / "out" / "ok").read_bytes() == b"y"


def test_a_damaged_object_is_never_handed_out(project: Project, tmp_path: Path) -> None:
    import zlib

    project.write("a", "content")
    commit = project.save()
    contents = project.store._contents(commit)
    (entry,) = contents.list(contents.root).values()
    path = project.store._objects.path(entry.oid)
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(zlib.compress(b"blob 7\0CONTENT"))
    with pytest.raises(StoreError, match="damaged"):
        check_out(project, commit, tmp_path / "out")


def test_what_was_changed_is_told_apart_from_what_was_built(project: Project, tmp_path: Path) -> None:
    project.write("a", "one")
    project.write("b/c", "two")
    commit = project.save()
    out = tmp_path / "out"
    check_out(project, commit, out)
    (out / "__pycache__").mkdir()
    (out / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert project.store.changed_in(str(out), commit) == ()
    (out / "b" / "c").write_text("edited")
    (out / "new").write_text("")
    os.unlink(out / "a")
    told = {change.path: change.kind for change in project.store.changed_in(str(out), commit)}
    assert told == {"a": "deleted", "b/c": "modified", "new": "added"}


def test_deleting_follows_no_link_and_needs_no_friendly_modes(rich: Project, tmp_path: Path) -> None:
    commit = rich.save()
    out = tmp_path / "out"
    check_out(rich, commit, out)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (out / "way-out").symlink_to(outside)
    os.chmod(out / "secrets", 0o000)
    remove_tree(os.fsencode(out))
    assert not out.exists() and (outside / "kept").read_text() == "kept"
    os.chmod(rich.path("read-only"), 0o755)


@pytest.mark.skipif(shutil.which("unshare") is None or os.geteuid() != 0, reason="needs a mount of its own")
def test_deleting_stops_before_another_file_system(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "out" / "mounted").mkdir(parents=True)
    script = (
        f"mount -t tmpfs none {tmp_path}/out/mounted && touch {tmp_path}/out/mounted/kept && {sys.executable} -c '"
        "import sys; from chrono.store.checkout import remove_tree\n"
        f'try: remove_tree(b"{tmp_path}/out")\n'
        f"except OSError as error: print(error)' && ls {tmp_path}/out/mounted"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=LONG_S)
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert "another file system" in done.stdout and "kept" in done.stdout.split()

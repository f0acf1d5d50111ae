"""Claims about what a restore leaves a file besides its content: owner, group, lists and attributes, no set-id bit."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from .conftest import Project

NOBODY = 65534

as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root hands files to others")


def owner(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_uid, found.st_gid


@as_root
def test_a_file_that_is_changed_back_keeps_its_owner(project: Project) -> None:
    path = project.write("theirs", "one", 0o644)
    os.chown(path, NOBODY, NOBODY)
    target = project.save()
    project.write("theirs", "two")
    assert project.restore(target).left == ()
    assert (project.read("theirs"), owner(path)) == (b"one", (NOBODY, NOBODY))
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o644


@as_root
def test_the_owner_of_the_project_keeps_private_files_too(project: Project) -> None:
    os.chown(project.root, NOBODY, NOBODY)
    path = project.write("private", "one", 0o600)
    os.chown(path, NOBODY, NOBODY)
    target = project.save()
    project.write("private", "two")
    project.restore(target)
    assert (owner(path), stat.S_IMODE(os.lstat(path).st_mode)) == ((NOBODY, NOBODY), 0o600)


@as_root
def test_nobody_gets_to_read_a_private_file_by_putting_another_in_its_place(project: Project) -> None:
    path = project.write("secret", "a key", 0o600)
    target = project.save()
    os.unlink(path)
    os.chown(project.write("secret", "mine", 0o600), NOBODY, NOBODY)
    project.restore(target)
    assert (project.read("secret"), owner(path)) == (b"a key", (0, 0))


@as_root
def test_a_program_of_somebody_else_does_not_come_back_as_ours(project: Project) -> None:
    path = project.write("program", "theirs")
    os.chown(path, NOBODY, NOBODY)
    os.chmod(path, 0o4755)
    target = project.save()
    os.unlink(path)
    done = project.restore(target)
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o755
    assert [left.path for left in done.left] == ["program"]


@pytest.mark.skipif(os.name != "posix", reason="there are no such bits")
@pytest.mark.parametrize("bits", [0o4000, 0o2000])
def test_a_restore_clears_set_id_bits_and_never_gives_them(project: Project, bits: int) -> None:
    path = project.write("program", "x", 0o755)
    without = project.save()
    os.chmod(path, 0o755 | bits)
    given = project.save()
    assert project.restore(without).left == ()
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o755
    assert [left.path for left in project.restore(given).left] == ["program"]
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o755


@pytest.mark.skipif(os.name != "posix", reason="there are no such bits")
def test_a_set_id_bit_that_the_file_has_stays_where_other_bits_change(project: Project) -> None:
    path = project.write("program", "x")
    os.chmod(path, 0o4755)
    target = project.save()
    os.chmod(path, 0o4700)
    assert project.restore(target).left == ()
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o4755


@pytest.mark.skipif(os.name != "posix", reason="there are no such bits")
def test_a_checkout_gives_no_set_id_bit(project: Project, tmp_path: Path) -> None:
    os.chmod(project.write("program", "x"), 0o6755)
    commit = project.save()
    folder = tmp_path / "out"
    folder.mkdir()
    project.store.check_out(commit, str(folder))
    assert stat.S_IMODE(os.lstat(folder / "program").st_mode) == 0o755


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no attributes of users here")
def test_attributes_of_the_user_stay_on_a_file_that_is_changed_back(project: Project) -> None:
    path = project.write("noted", "one", 0o640)
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("the file system knows no attributes")
    target = project.save()
    project.write("noted", "two")
    project.restore(target)
    assert (project.read("noted"), os.getxattr(path, "user.note")) == (b"one", b"mine")
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o640

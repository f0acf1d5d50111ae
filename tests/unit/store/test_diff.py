"""Claims about differences: they are complete, and the patch is one that git applies."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import Project


def test_each_kind_of_change_is_named(project: Project) -> None:
    for name in ["same", "edited", "deleted", "moded", "typed", "dir/x"]:
        project.write(name, name)
    os.mkdir(project.path("was_empty"))
    first = project.save()
    project.write("edited", "now")
    os.unlink(project.path("deleted"))
    os.chmod(project.path("moded"), 0o600)
    os.unlink(project.path("typed"))
    os.symlink("x", project.path("typed"))
    project.write("new/y", "")
    os.rmdir(project.path("was_empty"))
    wanted = [
        ("deleted", "deleted"), ("edited", "modified"), ("moded", "mode"), ("new/y", "added"), ("typed", "type"),
        ("was_empty", "deleted"),
    ]  # fmt: skip
    assert [change[:2] for change in project.store.changes(first, None)] == wanted
    second = project.save()
    assert [change[:2] for change in project.store.changes(first, second)] == wanted
    assert project.store.changes(first, second, ("new", "edited"))[0].path == "edited"
    assert [change.path for change in project.store.changes(first, None, ("new",))] == ["new/y"]
    assert project.store.changes(second, None) == ()


def test_control_data_is_never_shown(project: Project) -> None:
    project.write("a", "x")
    first = project.save()
    project.write("chrono-policy.yaml", "rules: {}")
    project.write(".claude/settings.json", "{}")
    project.write("deep/.gemini/config/hooks.json", "{}")
    os.chmod(project.path(".claude"), 0o700)
    assert project.store.changes(first, None) == ()
    assert project.store.content(project.save()) == project.store.content(first)
    assert project.reopen().changes(first, None) == ()


def test_a_folder_of_control_files_shows_as_soon_as_it_holds_anything_else(project: Project) -> None:
    project.write("sub/.claude/settings.json", "{}")
    os.chmod(project.path("sub"), 0o700)
    first = project.save()
    os.mkdir(project.path("sub/.claude/empty"))
    second = project.save()
    assert [change.path for change in project.store.changes(first, second)] == ["sub/.claude/empty"]
    assert project.store.content(second) == project.store.content(project.save())
    os.rmdir(project.path("sub/.claude/empty"))
    assert project.store.content(project.save()) == project.store.content(first)
    project.write("sub/.claude/notes.md", "x")
    third = project.save()
    assert [change.path for change in project.store.changes(first, third)] == ["sub/.claude/notes.md"]
    assert project.reopen().changes(third, None) == ()


@pytest.mark.parametrize("seed", range(5))
def test_git_applies_the_patch(project: Project, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["a", "dir/b", "sp ace", 'quo"te', "grün", "tab\tname", "d/e/f"]

    def shake() -> None:
        for name in names:
            path = project.path(name)
            if os.path.lexists(path):
                os.unlink(path)
            kind = chance.randrange(6)
            if kind == 0:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(f"to {chance.random()}", path)
            elif kind < 5:
                lines = [f"line {chance.randrange(8)}\n" for _ in range(chance.randrange(30))]
                project.write(name, "".join(lines) + chance.choice(["", "no newline"]), chance.choice([0o644, 0o755]))

    shake()
    first = project.save()
    copy = tmp_path / "copy"
    shutil.copytree(project.root, copy, symlinks=True, ignore=shutil.ignore_patterns(".chrono"))
    shake()
    second = project.save()
    for text in (project.store.patch(first, second), project.store.patch(first, None)):
        target = tmp_path / f"target{chance.random()}"
        shutil.copytree(copy, target, symlinks=True)
        if text:
            subprocess.run(["git", "apply", "-"], input=text.encode("utf-8", "surrogateescape"), cwd=target, check=True)
        for name in names:
            ours, theirs = project.path(name), str(target / name)
            assert os.path.lexists(ours) == os.path.lexists(theirs), name
            if os.path.islink(ours):
                assert os.readlink(ours) == os.readlink(theirs)
            elif os.path.lexists(ours):
                assert Path(ours).read_bytes() == Path(theirs).read_bytes()
                assert os.stat(ours).st_mode & 0o111 == os.stat(theirs).st_mode & 0o111


def test_binary_and_huge_files_are_not_printed(project: Project) -> None:
    project.write("bin", b"\0\1")
    with open(project.path("huge"), "wb") as file:
        file.truncate(9 << 20)
    first = project.save()
    project.write("bin", b"\0\2")
    with open(project.path("huge"), "wb") as file:
        file.truncate(10 << 20)
    text = project.store.patch(first, None)
    assert text.count("Binary files") == 2
    assert len(text) < 1000


def test_a_patch_of_raw_bytes_keeps_them(project: Project) -> None:
    project.write("latin", b"caf\xe9\n")
    first = project.save()
    project.write("latin", b"th\xe9\n")
    assert b"-caf\xe9\n+th\xe9\n" in project.store.patch(first, None).encode("utf-8", "surrogateescape")

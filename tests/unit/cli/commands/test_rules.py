"""Claims about `chrono rules`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chrono.rulepack.discover import BUILT_IN


def test_all_packs_and_at_least_sixty_rules_are_listed(folder: Path, chrono: Any) -> None:
    value = chrono("rules", "list", "--json").json
    assert {pack["name"] for pack in value["packs"]} >= set(BUILT_IN)
    assert len(value["rules"]) >= 60
    assert chrono("rules").out == chrono("rules", "list").out


def test_one_pack_can_be_listed(folder: Path, chrono: Any) -> None:
    value = chrono("rules", "list", "git", "--json").json
    assert {rule["pack"] for rule in value["rules"]} == {"git"}
    assert chrono("rules", "list", "nope").code == 1


def test_a_rule_is_shown_and_a_typo_gets_a_suggestion(folder: Path, chrono: Any) -> None:
    rule = chrono("rules", "list", "--json").json["rules"][0]
    assert rule["title"] in chrono("rules", "show", rule["id"]).out
    assert chrono("rules", "show", rule["id"], "--json").json == rule
    ran = chrono("rules", "show", rule["id"] + "x")
    assert ran.code == 1 and rule["id"] in ran.err


def test_every_rule_of_ours_keeps_its_cases(folder: Path, chrono: Any) -> None:
    value = chrono("rules", "test", "disk", "--json").json
    assert value["ok"] is True and [pack["name"] for pack in value["packs"]] == ["disk"]

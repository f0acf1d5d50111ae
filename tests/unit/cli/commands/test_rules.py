"""Claims about `chrono rules`."""

from __future__ import annotations

import json
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


def test_a_new_pack_is_made_and_tested(folder: Path, chrono: Any) -> None:
    value = chrono("rules", "new", "acme", "--json").json
    assert Path(value["folder"]) == folder / "chrono-rules-acme"
    pack = folder / "chrono-rules-acme" / "chrono_rules_acme"
    assert {path.name for path in pack.iterdir()} == {"pack.yaml", "cases.yaml"}
    ran = chrono("rules", "test", str(pack), "--weaken")
    assert ran.code == 0 and "acme: 1 rule, 2 hits, 3 misses" in ran.out
    assert chrono("rules", "new", "acme").code == 2


def test_a_dry_run_of_a_new_pack_writes_nothing(folder: Path, chrono: Any) -> None:
    assert "pack.yaml" in chrono("rules", "new", "acme", "--dry-run").out
    assert not (folder / "chrono-rules-acme").exists()


def test_a_failing_case_says_how_the_command_was_read(folder: Path, chrono: Any) -> None:
    chrono("rules", "new", "acme")
    pack = folder / "chrono-rules-acme" / "chrono_rules_acme"
    cases = (pack / "cases.yaml").read_text()
    (pack / "cases.yaml").write_text(cases.replace("- acme-tool destroy\n", "- sudo acme-tool --config x wipe\n"))
    ran = chrono("rules", "test", str(pack))
    assert ran.code == 1
    assert "acme.destroy" in ran.out and "does not hit: sudo acme-tool --config x wipe" in ran.out
    assert "acme-tool --config x wipe; no rule of the pack hits it" in " ".join(ran.out.split())
    problem = chrono("rules", "test", str(pack), "--json").json["packs"][0]["problems"][0]
    assert problem["rule"] == "acme.destroy" and "read as" in problem["hint"]


def test_a_part_that_no_case_needs_is_told(folder: Path, chrono: Any) -> None:
    chrono("rules", "new", "acme")
    pack = folder / "chrono-rules-acme" / "chrono_rules_acme"
    cases = (pack / "cases.yaml").read_text()
    (pack / "cases.yaml").write_text(cases.replace("- acme-tool list\n", "- acme-tools destroy\n"))
    ran = chrono("rules", "test", str(pack), "--weaken")
    assert ran.code == 1 and "acme.destroy" in ran.out and "subcommand destroy" in ran.out
    survivors = chrono("rules", "test", str(pack), "--weaken", "--json").json["packs"][0]["survivors"]
    assert survivors == [{"rule": "acme.destroy", "lost": "condition", "what": "subcommand destroy"}]


def test_the_schemas_are_printed(folder: Path, chrono: Any) -> None:
    assert json.loads(chrono("rules", "schema", "pack").out)["title"] == "chrono rule pack"
    assert json.loads(chrono("rules", "schema", "cases").out)["required"] == ["cases"]
    assert chrono("rules", "schema", "nope").code == 2

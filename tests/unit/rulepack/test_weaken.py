"""Claims about taking rules apart: a part that no case needs is found, and one that a case needs is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.rulepack.weaken import weaken

PACK = """
pack: own
title: Own
programs: {tool: {values: --stage, harmless: --dry-run}}
rules:
  - id: own.drop
    title: t
    score: 80
    why: w
    safer: s
    reversible: no
    match: %s
"""
FULL = "{program: tool, subcommand: drop, flag: [--all], unless: {argument: kept}}"


def survivors(folder: Path, match: str, hits: str, misses: str) -> set[tuple[str, str]]:
    own = folder / "own"
    own.mkdir()
    (own / "pack.yaml").write_text(PACK % match)
    (own / "cases.yaml").write_text(f"cases: {{own.drop: {{hits: [{hits}], misses: [{misses}]}}}}\n")
    return {(one.lost, one.what.split(" ")[0].rstrip(":")) for one in weaken(str(own)).survivors}


def test_a_rule_whose_every_part_has_a_case_has_no_survivor(tmp_path: Path) -> None:
    misses = "tool drop x, tool list --all, tool drop --all kept"
    assert survivors(tmp_path, FULL, "tool drop --all", misses) == set()


@pytest.mark.parametrize(
    ("misses", "part"),
    [
        ("tool drop x, tool list --all", "unless"),
        ("tool drop x, tool drop --all kept", "subcommand"),
        ("tool list --all, tool drop --all kept", "flag"),
    ],
)
def test_a_condition_that_no_miss_needs_is_found(tmp_path: Path, misses: str, part: str) -> None:
    assert survivors(tmp_path, FULL, "tool drop --all", misses) == {("condition", part)}


def test_an_alternative_that_no_hit_needs_is_found(tmp_path: Path) -> None:
    match = "[{program: tool, subcommand: drop}, {program: tool, subcommand: purge}]"
    found = survivors(tmp_path, match, "tool drop x", "tool list, tool show")
    assert ("alternative", "any") in found


def test_an_exception_within_an_exception_is_taken_apart_too(tmp_path: Path) -> None:
    match = "{program: tool, unless: [{argument: a}, {argument: b}]}"
    found = survivors(tmp_path, match, "tool drop", "tool a, tool a x")
    assert found == {("alternative", "unless")}


def test_program_and_harmless_options_are_left_alone(tmp_path: Path) -> None:
    assert survivors(tmp_path, "{program: tool}", "tool drop", "tools drop, echo tool") == set()

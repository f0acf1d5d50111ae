"""Claims about every installed rule pack: its cases hold, its advice is allowed, nothing of it is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from chrono.rulepack.check import check
from chrono.rulepack.discover import BUILT_IN, PackSource, compile_packs, discover
from chrono.rulepack.weaken import weaken
from chrono.scan.rule import Ruleset

SOURCES = discover()

MOST_NOT_NEEDED = 0.03
"""The share of a pack's conditions and alternatives that may be lost unnoticed."""


@pytest.fixture(scope="module")
def together() -> Ruleset:
    return compile_packs(SOURCES)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_every_case_of_a_pack_holds_and_its_advice_is_allowed(source: PackSource, together: Ruleset) -> None:
    checked = check(os.path.dirname(source.path), pack=source.name, others=together)
    assert checked.problems == ()
    assert checked.rules > 0


def test_all_built_in_packs_are_registered_and_none_is_imported() -> None:
    assert {source.name for source in SOURCES} >= set(BUILT_IN)
    assert not any(name.startswith("chrono_rules") for name in sys.modules)


def test_there_are_hundreds_of_rules_and_each_has_references(together: Ruleset) -> None:
    assert len(together.rules) >= 350
    assert len(together.packs) >= 30
    assert all(rule.references and rule.why and rule.safer for rule in together.rules)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_rule_that_loses_a_part_fails_a_case(source: PackSource) -> None:
    weakened = weaken(os.path.dirname(source.path), pack=source.name)
    told = "\n".join(f"{one.rule} without {one.lost}: {one.what}" for one in weakened.survivors)
    assert weakened.judged > 0
    assert len(weakened.survivors) <= weakened.judged * MOST_NOT_NEEDED, told


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_a_rule_that_is_lost_fails_a_case(source: PackSource, tmp_path: Path) -> None:
    text = source.data.decode()
    head, *rules = text.split("\n  - id: ")
    for at in range(0, len(rules), 12) if len(rules) > 1 else ():
        gone = rules[at].split("\n", 1)[0].strip()
        folder = tmp_path / f"{at}" / source.name
        folder.mkdir(parents=True)
        (folder / "pack.yaml").write_text("\n  - id: ".join((head, *rules[:at], *rules[at + 1 :])))
        (folder / "cases.yaml").symlink_to(source.cases_path)
        assert gone in {problem.rule for problem in check(str(folder), pack=source.name).problems}

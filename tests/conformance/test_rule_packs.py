"""Claims about every installed rule pack: its cases hold, its advice is allowed, nothing of it is imported."""

from __future__ import annotations

import os
import sys

import pytest

from chrono.rulepack.check import check
from chrono.rulepack.discover import BUILT_IN, PackSource, compile_packs, discover
from chrono.scan.rule import Ruleset

SOURCES = discover()


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

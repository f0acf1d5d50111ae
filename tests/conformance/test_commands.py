"""Claims about commands that were written to get past the guard, and about their harmless neighbours: what is stopped
once stays stopped, what went through goes through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

STEP = 8
"""The normal tier takes every eighth command."""


def _commands() -> list[tuple[str, bool]]:
    text = (Path(__file__).parent / "commands.jsonl").read_text(encoding="utf-8")
    return [(row["text"], row["stopped"]) for row in map(json.loads, text.splitlines())]


COMMANDS = _commands()


def _wrong(step: int, ruleset: Ruleset) -> list[str]:
    return [text for text, stopped in COMMANDS[::step] if (verdict(text, ruleset, covered=False) != "allow") != stopped]


def test_both_kinds_are_there_by_the_thousand() -> None:
    assert sum(stopped for _, stopped in COMMANDS) > 2000
    assert sum(not stopped for _, stopped in COMMANDS) > 1900


def test_a_sample_is_judged_as_before(ruleset: Ruleset) -> None:
    assert len(_wrong(STEP, ruleset)) <= len(COMMANDS[::STEP]) // 200


@pytest.mark.slow
def test_all_are_judged_as_before(ruleset: Ruleset) -> None:
    wrong = _wrong(1, ruleset)
    assert len(wrong) <= len(COMMANDS) // 200, wrong

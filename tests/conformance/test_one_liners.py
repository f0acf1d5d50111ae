"""Claims about one-liners as they are found in the field: shells for others, data sent away, ways to stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

LEAST = 0.95


def _groups() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "one_liners.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            current = groups[line[3:]] = []
        elif line and not line.startswith("# "):
            current.append(line)
    return groups


GROUPS = _groups()


def test_there_are_enough_of_each_kind() -> None:
    assert sum(map(len, GROUPS.values())) >= 60
    assert all(len(lines) >= 20 for lines in GROUPS.values())


@pytest.mark.parametrize("name", GROUPS)
def test_one_liners_are_stopped_under_a_savepoint_too(name: str, ruleset: Ruleset) -> None:
    missed = [line for line in GROUPS[name] if verdict(line, ruleset, covered=True) == "allow"]
    assert len(missed) <= (1 - LEAST) * len(GROUPS[name]), missed


def test_shells_for_others_and_sent_data_are_refused_outright(ruleset: Ruleset) -> None:
    lines = GROUPS["reverse shells"] + GROUPS["sending data away"]
    asked = [line for line in lines if verdict(line, ruleset, covered=True) != "block"]
    assert len(asked) <= 0.15 * len(lines), asked

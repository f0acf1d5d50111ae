"""Claims about proving a pack: what does not hold is reported, whatever stands in the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.rulepack.check import check

PACK = """
pack: own
title: Own
rules:
  - {id: own.drop, title: t, score: 80, why: w, safer: "list it, for example `tool list`", reversible: no,
     match: {program: tool, subcommand: drop}}
"""
CASES = """
world: {files: {/home/dev/proj/a: "x"}}
cases:
  own.drop:
    hits: [tool drop x, sudo tool drop y]
    misses: [tool list, echo tool drop x]
"""


def checked(folder: Path, pack: str = PACK, cases: str = CASES) -> list[str]:
    own = folder / "own"
    own.mkdir()
    (own / "pack.yaml").write_text(pack)
    (own / "cases.yaml").write_text(cases)
    return [problem.message for problem in check(str(own)).problems]


def test_a_pack_whose_cases_hold_has_no_problems(tmp_path: Path) -> None:
    assert checked(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tool drop x, sudo", "tool keep x, sudo", "does not hit: tool keep x"),
        ("misses: [tool list", "misses: [tool drop z", "hits what it should leave alone"),
        ("tool drop x, sudo tool drop y", "tool drop x", "at least 2"),
        ("own.drop:", "own.other:", "no such rule"),
        ("cases:", "case:", "keys"),
        ("[tool list", "[{cmd: x}", "a case is"),
    ],
)
def test_a_case_that_does_not_hold_is_reported(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert any(words in message for message in checked(tmp_path, cases=CASES.replace(old, new)))


def test_advice_that_is_stopped_itself_is_reported(tmp_path: Path) -> None:
    problems = checked(tmp_path, pack=PACK.replace("`tool list`", "`tool drop --all`"))
    assert any("advises `tool drop --all`" in message for message in problems)


def test_a_pack_that_cannot_be_read_is_a_problem_not_an_error(tmp_path: Path) -> None:
    assert check(str(tmp_path / "nowhere")).problems[0].message.startswith("the pack cannot be read")

"""Claims: zsh's short forms are judged by what they start, and only zsh reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.scan.dictworld import DictWorld
from chrono.scan.rule import Ruleset
from chrono.scan.shell.evaluate import evaluate
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

ROWS = [
    json.loads(line) for line in (Path(__file__).parent / "zsh_blocks.jsonl").read_text(encoding="utf-8").splitlines()
]
WORLD = DictWorld({"/w": None}, cwd="/w", home="/home/u", user="u", environ={"HOME": "/home/u"})


def _started(text: str, dialect: str) -> list[object]:
    return [command.argv for command in evaluate(text, WORLD, dialect=dialect).commands if not command.builtin]


def test_short_forms_are_judged_by_what_they_start(ruleset: Ruleset) -> None:
    wrong = [
        row["text"]
        for row in ROWS
        if (verdict(row["text"], ruleset, covered=False, shell="zsh") != "allow") != row["stopped"]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "argvs"),
    [
        ("for f (a b) rm $f", [("rm", "a"), ("rm", "b")]),
        ("foreach f (a b)\nrm $f\nend", [("rm", "a"), ("rm", "b")]),
        ("if [[ $x ]] { rm a } elif [[ $y ]] { rm b } else { rm c }", [("rm", "a"), ("rm", "b"), ("rm", "c")]),
        ("while [[ $x ]] { rm a }", [("rm", "a")]),
        ("{ git a } always { rm b }", [("git", "a"), ("rm", "b")]),
        ("() { rm $1 } x", [("rm", "x")]),
        ("function { rm y }", [("rm", "y")]),
        ("case $x { (a) rm 1 ;; (b) rm 2 }", [("rm", "1"), ("rm", "2")]),
    ],
)
def test_blocks_start_what_stands_in_them(text: str, argvs: list[tuple[str, ...]]) -> None:
    assert [argv for argv in _started(text, "zsh") if argv in argvs] == argvs


def test_bash_does_not_read_them() -> None:
    found = evaluate("if [[ $x ]] { rm a }", WORLD, dialect="bash")
    assert [refusal.kind for refusal in found.refusals] == ["unparsed"]
    assert ("foreach", "x") in _started("foreach x", "bash")

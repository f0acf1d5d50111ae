"""Claims: what bash starts is what evaluation reports. The table was written down by the real bash (see bash_oracle)."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.scan.command import Many, Pattern, Word
from chrono.scan.dictworld import DictWorld
from chrono.scan.shell.evaluate import evaluate
from tests.unit.scan.shell.bash_oracle import Oracle
from tests.unit.scan.shell.grammar import Grammar

ROWS = [json.loads(line) for line in (Path(__file__).parent / "argvs.jsonl").read_text(encoding="utf-8").splitlines()]
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here to ask")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    yield Oracle(str(tmp_path_factory.mktemp("oracle")))


def reported(text: str, cwd: str = "/w") -> list[tuple[Word, ...]]:
    world = DictWorld({cwd: None}, cwd=cwd, home="/home/u", user="u", environ={"HOME": "/home/u"})
    evaluation = evaluate(text, world)
    assert evaluation.refusals == ()
    return list(dict.fromkeys(command.argv for command in evaluation.commands if not command.builtin))


def other_readings(text: str, cwd: str) -> set[tuple[Word, ...]]:
    """What a destroyer would get if a variable that is not set held something: not what this bash starts."""
    world = DictWorld({cwd: None}, cwd=cwd, home="/home/u", user="u", environ={"HOME": "/home/u"})
    commands = evaluate(text, world).commands
    return {c.argv for c in commands if c.unset and any(not isinstance(word, str) for word in c.argv)}


def covers(words: tuple[Word, ...], argv: tuple[str, ...]) -> bool:
    """Whether the words, with their unknown parts, can be the argv."""
    if not words:
        return not argv
    first, rest = words[0], words[1:]
    if isinstance(first, Many):
        return any(covers(rest, argv[taken:]) for taken in range(len(argv) + 1))
    if not argv:
        return False
    if isinstance(first, Pattern):
        pattern = "".join(".*" if piece is None else re.escape(piece) for piece in first.pieces)
        return re.fullmatch(pattern, argv[0], re.DOTALL) is not None and covers(rest, argv[1:])
    return first == argv[0] and covers(rest, argv[1:])


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(len(ROWS))])
def test_each_argv_that_bash_started_is_reported(row: dict) -> None:
    found = reported(row["text"])
    for argv in map(tuple, row["argvs"]):
        if row.get("patterns"):
            assert any(covers(words, argv) for words in found), (row["text"], argv, found)
        else:
            assert argv in found, (row["text"], argv, found)


def test_little_is_reported_that_bash_did_not_start() -> None:
    started = sum(len(row["argvs"]) for row in ROWS)
    extra = 0
    for row in ROWS:
        argvs = [tuple(argv) for argv in row["argvs"]]
        extra += sum(not any(covers(words, argv) for argv in argvs) for words in reported(row["text"]))
    assert extra <= started * 0.03


@needs_bash
def test_the_table_is_what_the_real_bash_starts(oracle: Oracle) -> None:
    for row in ROWS[::14]:
        assert [list(argv) for argv in oracle.argvs(row["text"])] == row["argvs"], row["text"]


@needs_bash
@pytest.mark.slow
def test_the_whole_table_is_what_the_real_bash_starts(oracle: Oracle) -> None:
    for row in ROWS:
        assert [list(argv) for argv in oracle.argvs(row["text"])] == row["argvs"], row["text"]


def _compare(oracle: Oracle, seed: int, count: int) -> tuple[int, int, list[tuple[str, tuple[str, ...]]]]:
    """(argvs that bash started, commands reported, (text, argv) that were missed)."""
    grammar = Grammar(seed)
    started = told = 0
    missed = []
    for _ in range(count):
        text = grammar.text()
        argvs = oracle.argvs(text)
        found = dict.fromkeys(reported(text, oracle.work)).keys()
        started += len(argvs)
        told += len(found - other_readings(text, oracle.work))
        missed += [(text, argv) for argv in argvs if not any(covers(words, argv) for words in found)]
    return started, told, missed


@needs_bash
def test_random_texts_start_what_evaluation_says(oracle: Oracle) -> None:
    started, told, missed = _compare(oracle, 20, 12)
    assert missed == []
    assert told <= started * 1.2


@needs_bash
@pytest.mark.slow
def test_many_random_texts_start_what_evaluation_says(oracle: Oracle) -> None:
    started, told, missed = _compare(oracle, 7, 300)
    # Nested double quotes in "${x:+…}" lose text in bash 5.2; nothing else may differ.
    assert len(missed) <= started * 0.005, missed
    assert told <= started * 1.1

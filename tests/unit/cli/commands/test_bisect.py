"""Claims about `chrono bisect run` as a person or a script sees it: real commands, real folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LONG_S, until

CHECK = [sys.executable, "-c", "import sys; sys.exit('bad' in open('a.txt').read())"]


@pytest.fixture
def history(project: Path, chrono: Any) -> Path:
    """Six savepoints; from the fourth on a.txt is bad."""
    for number in range(1, 7):
        (project / "a.txt").write_text(f"{number} {'bad' if number >= 4 else 'fine'}\n")
        assert chrono("snapshot", "-m", f"number {number}").code == 0
    return project


def test_the_first_bad_savepoint_is_named_with_its_diff(history: Path, chrono: Any) -> None:
    ran = chrono("bisect", "run", "--", *CHECK)
    assert ran.code == 0, ran
    assert "number 3" in ran.out and "number 4" in ran.out and "+4 bad" in ran.out and "-3 fine" in ran.out
    assert "a person" in ran.out and "savepoints to search" in ran.err
    assert (history / "a.txt").read_text() == "6 bad\n"


def test_as_json_it_is_one_value(history: Path, chrono: Any) -> None:
    value = chrono("bisect", "run", "--json", "--", *CHECK).json
    assert value["good"]["message"] == "number 3" and value["bad"]["message"] == "number 4"
    assert value["cause"]["kind"] == "person" and value["cause"]["call"] is None
    assert value["changes"][0]["path"] == "a.txt" and value["candidates"] == 7
    assert len(value["runs"]) <= 4 and {run["word"] for run in value["runs"]} == {"good", "bad"}


def test_the_command_needs_no_dashes_and_keeps_its_own_options(history: Path, chrono: Any) -> None:
    value = chrono("bisect", "run", "--json", sys.executable, "-c", CHECK[2], "--json").json
    assert value["bad"]["message"] == "number 4"


def test_it_runs_where_the_person_stands(history: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(history / "src")
    check = CHECK[2].replace("'a.txt'", "'../a.txt'")
    assert chrono("bisect", "run", "--json", "--", sys.executable, "-c", check).json["bad"]["message"] == "number 4"


def test_what_no_savepoint_holds_can_be_linked_in(history: Path, chrono: Any) -> None:
    (history / "node_modules").mkdir()
    (history / "node_modules" / "x").write_text("installed")
    check = "import sys; open('node_modules/x'); sys.exit('bad' in open('a.txt').read())"
    command = ("--json", "--link", "node_modules", "--", sys.executable, "-c", check)
    assert chrono("bisect", "run", *command).json["bad"]["message"] == "number 4"
    assert (history / "node_modules" / "x").exists()
    assert chrono("bisect", "run", "--link", "nothing", "--", *CHECK).code == 2


def test_a_run_that_hangs_fails_and_leaves_nothing_running(history: Path, chrono: Any, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"echo $$ >> {pids}; grep -q bad a.txt && sleep 600 & wait"
    value = chrono("bisect", "run", "--json", "--timeout", "2", "--", "sh", "-c", script).json
    assert value["bad"]["message"] == "number 4" and 124 in [run["exit_code"] for run in value["runs"]]
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)


def test_a_script_that_was_not_there_yet_cannot_tell(project: Path, chrono: Any) -> None:
    for number in range(1, 5):
        (project / "a.txt").write_text(f"{number}\n")
        if number == 2:
            (project / "check.sh").write_text("#!/bin/sh\n! grep -q 4 a.txt\n")
            (project / "check.sh").chmod(0o755)
        chrono("snapshot", "-m", f"number {number}")
    value = chrono("bisect", "run", "--json", "--", "./check.sh").json
    assert value["bad"]["message"] == "number 4" and value["suspects"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("no-such-program",), 2, "no program"),
        (("--from", "beef", "true"), 12, "no savepoint"),
        (("true",), 1, "does not fail"),
        (("false",), 1, "oldest savepoint already"),
    ],
)
def test_what_cannot_be_searched_is_said_in_words(
    history: Path, chrono: Any, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = chrono("bisect", "run", *arguments)
    assert ran.code == code and words in ran.err and "hint:" in ran.err


def test_an_interrupt_stops_the_test_and_removes_the_folder(history: Path, chrono: Any, tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "chrono", "bisect", "run", "--", "sleep", "600"],
        cwd=history,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).resolve().parents[4])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: list(scratch.glob("chrono-bisect-*/src")))
    time.sleep(0.2)  # wherever it is now, it stops
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=LONG_S)
    assert process.returncode == 130 and "interrupted" in err, err
    assert list(scratch.iterdir()) == [] and chrono("worktree", "--json").json == {"worktrees": []}

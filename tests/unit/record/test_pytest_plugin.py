"""Claims about the pytest plugin, each in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import LONG_S

ROOT = Path(__file__).resolve().parents[3]

TEST = """
import pathlib
import pytest
from chrono import record

made = pathlib.Path(__file__).with_name("made.txt")

@record.boundary("tool")
def tool(name):
    with made.open("a") as file:
        file.write(name + "\\n")
    return f"did {name}"

@pytest.fixture
def early():
    return tool("early")

@pytest.mark.replay("trace.json"MORE)
def test_it(early, chrono_replay):
    assert early == "did early"
    assert tool("ARGUMENT") == "did one"
"""


def environment(folder: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("CHRON", "PYTEST"))},
        "PYTHONPATH": str(ROOT),
        "CHRONO_HOME": str(folder / "home"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def run(folder: Path, mode: str = "none", *, argument: str = "one", more: str = "", add: str = "") -> str:
    (folder / "test_it.py").write_text(TEST.replace("ARGUMENT", argument).replace("MORE", more) + add)
    options = ["-q", "-p", "chrono.record.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--rootdir={folder}", "-c", os.devnull, f"--record={mode}", *options,
         str(folder)],
        cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=LONG_S,
    )  # fmt: skip
    return done.stdout + done.stderr


def made(folder: Path) -> list[str]:
    path = folder / "made.txt"
    lines = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def test_once_records_and_then_nothing_runs_any_more(tmp_path: Path) -> None:
    assert "record it with" in run(tmp_path)
    assert made(tmp_path) == []
    assert "1 passed" in run(tmp_path, "once") and made(tmp_path) == ["early", "one"]
    assert [one["name"] for one in json.loads((tmp_path / "trace.json").read_text())["envelopes"]] == ["tool", "tool"]
    assert "1 passed" in run(tmp_path, "once") and "1 passed" in run(tmp_path)
    assert made(tmp_path) == []
    assert "1 passed" in run(tmp_path, "all") and made(tmp_path) == ["early", "one"]


def test_a_divergence_fails_the_test_and_shows_what_changed(tmp_path: Path) -> None:
    run(tmp_path, "once")
    made(tmp_path)
    said = run(tmp_path, argument="two")
    assert "1 failed" in said and '- "one"' in said and '+ "two"' in said
    assert "1 passed" in run(tmp_path, more=", run=['tool#1']") and made(tmp_path) == ["early"]


def test_new_runs_and_adds_what_is_not_recorded(tmp_path: Path) -> None:
    run(tmp_path, "once")
    made(tmp_path)
    more = '    assert tool("more") == "did more"\n'
    assert "1 failed" in run(tmp_path, add=more) and made(tmp_path) == []
    assert "1 passed" in run(tmp_path, "new", add=more) and made(tmp_path) == ["more"]
    assert "1 passed" in run(tmp_path, add=more) and made(tmp_path) == []


FOREIGN = """
def pytest_addoption(parser):
    parser.addoption("--record", action="store_true")

def pytest_configure(config):
    config.addinivalue_line("markers", "replay: another project's own")
"""

FOREIGN_TEST = """
import pytest

@pytest.mark.replay
def test_theirs(request):
    assert request.config.getoption("--record") is WANTED
"""


def test_an_option_and_a_mark_of_another_project_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FOREIGN)
    options = ["-q", "-p", "chrono.record.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers"]
    for given in ([], ["--record"]):
        (tmp_path / "test_it.py").write_text(FOREIGN_TEST.replace("WANTED", str(bool(given))))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-c", os.devnull, f"--rootdir={tmp_path}", *options, *given,
             str(tmp_path)],
            cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=LONG_S,
        )  # fmt: skip
        assert "1 passed" in done.stdout, done.stdout + done.stderr

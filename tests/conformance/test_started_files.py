"""Claims about files that a tool starts by itself: configuration, tests, hooks, lists of commands, code of any language.

Each project in miniature is there twice, harmful and harmless; `started_files.jsonl` holds them all.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from tests.unit.scan.conftest import PROJECT, decision, world
from tests.unit.scan.conftest import ruleset as ruleset


def _rows() -> list[tuple[str, str, dict[str, str], bool]]:
    text = (Path(__file__).parent / "started_files.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return [(row["name"], row["command"], row["files"], row["stopped"]) for row in rows]


def test_what_a_tool_starts_by_itself_is_judged_by_what_it_does(ruleset: Ruleset) -> None:
    rows = _rows()
    wrong = []
    for name, command, files, stopped in rows:
        here = world(**{os.path.join(PROJECT, path): text for path, text in files.items()})
        if (decision(scan(command, ruleset, here), covered=False) != "allow") != stopped:
            wrong.append((name, command, stopped))
    assert min(sum(row[3] for row in rows), sum(not row[3] for row in rows)) >= 290
    assert wrong == []


def test_what_nobody_named_and_cannot_be_read_stops_nothing(ruleset: Ruleset) -> None:
    unreadable = {
        "vite.config.js": "import { defineConfig from\n  (((",
        ".git/hooks/pre-commit": "#!/bin/sh\nif [ 1\n  (((\n",
        "conftest.py": "def broken(:\n  import os\n",
    }
    here = world(**{f"{PROJECT}/{path}": text for path, text in unreadable.items()})
    for command in ("npx vite build", "git commit -m x", "pnpm install --frozen-lockfile"):
        assert decision(scan(command, ruleset, here), covered=False) == "allow", command


def test_tests_that_put_something_else_in_place_of_what_they_call_are_not_run(ruleset: Ruleset) -> None:
    body = "import os, shutil\nfrom unittest import mock\ndef test_a():\n    with mock.patch('shutil.rmtree'):\n"
    here = world(**{f"{PROJECT}/tests/test_a.py": body + "        shutil.rmtree(os.path.expanduser('~'))\n"})
    assert decision(scan("pytest", ruleset, here), covered=False) == "allow"

"""Claims about scripts that a harmless-looking command starts: what they do is what is judged, and their harmless
twins run."""

from __future__ import annotations

import json
from pathlib import Path

from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from tests.unit.scan.conftest import PROJECT, decision, world
from tests.unit.scan.conftest import ruleset as ruleset


def _rows() -> list[tuple[str, dict[str, str], bool]]:
    text = (Path(__file__).parent / "scripts.jsonl").read_text(encoding="utf-8")
    return [(row["command"], row["files"], row["stopped"]) for row in map(json.loads, text.splitlines())]


def test_scripts_are_judged_by_what_they_do(ruleset: Ruleset) -> None:
    rows = _rows()
    wrong = []
    for command, files, stopped in rows:
        here = world(**{f"{PROJECT}/{name}": text for name, text in files.items()})
        if (decision(scan(command, ruleset, here), covered=False) != "allow") != stopped:
            wrong.append((command, files))
    assert len(rows) >= 300
    assert wrong == []

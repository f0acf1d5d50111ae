"""Claims about the table of attacks: every test that it names is there, and every code is one that the verifier has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs/reference/audit-attacks.md").read_text("utf-8")
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ") and "`test" in line]
HOME = "tests/unit/audit/test_attacks.py"


@cache
def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_row_names_tests_that_assert_its_codes(row: str) -> None:
    _, _, finding, tests, _ = row.split("|")
    named = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", tests)
    assert named
    texts = [read(path or HOME) for path, _ in named]
    for (_, name), text in zip(named, texts, strict=True):
        assert f"def {name}(" in text
    for code in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", finding):
        assert any(f'"{code}"' in text for text in texts), code


def test_the_table_is_not_empty() -> None:
    assert len(ROWS) > 50

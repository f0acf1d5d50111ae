"""Claims about docs/reference/json.md: what it promises is what the code prints."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from chrono import errors
from chrono.cli import shapes
from chrono.cli.commands import checkout, merge, rollback, scan, undo
from chrono.cli.main import BUG, INTERRUPTED, USAGE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/json.md").read_text()


def members(function: object) -> set[str]:
    """The keys that a function puts into the objects it makes."""
    return set(re.findall(r'^\s+"([a-z_]+)":', inspect.getsource(function), re.MULTILINE))  # type: ignore[arg-type]


def test_every_exit_code_is_listed() -> None:
    listed = {int(code) for code in re.findall(r"\| (\d+) (?=\|)", PAGE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.ChronoError)]
    assert {kind.exit_code for kind in kinds} | {USAGE, BUG, INTERRUPTED} | set(scan.EXIT_CODES.values()) <= listed


def test_every_member_is_named() -> None:
    for function in (
        shapes.savepoint,
        shapes.branch,
        shapes.conflict,
        shapes.move,
        shapes.operation,
        shapes.waiting,
        checkout._json,
        merge._tell,
        undo._json,
        shapes.covers,
        shapes.finding,
        shapes.refusal,
        scan.verdict_json,
        rollback._json,
    ):
        for member in members(function):
            assert f'"{member}"' in PAGE, (function, member)

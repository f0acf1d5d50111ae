"""Claims about docs/reference/environment.md: every variable that the code names is there, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from chrono import assess
from chrono.record.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/environment.md").read_text()
PREFIXES = ("CHRONO_AUDIT_", "CHRONO_RECORD_")


def named() -> Iterator[str]:
    """The variables in the code: texts, and what a prefix of ours is put before."""
    for path in (ROOT / "chrono").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
                if re.fullmatch(r"CHRONO_[A-Z_]+[A-Z]", text):
                    yield text


def test_every_variable_that_the_code_names_is_on_the_page() -> None:
    settings = {f"CHRONO_RECORD_{field.name.upper()}" for field in fields(Settings)}
    for name in sorted(set(named()) - settings | {"CHRONO_AUDIT_REQUIRE_KEY", "CHRONO_AUDIT_UNSIGNED"}):
        assert f"`{name}`" in PAGE, name


def test_every_setting_of_recording_is_on_the_page() -> None:
    for field in fields(Settings):
        assert field.name == "redactors" or f"`{field.name.upper()}`" in PAGE, field.name


def test_the_page_names_no_variable_that_nobody_reads() -> None:
    source = "\n".join(path.read_text() for path in (ROOT / "chrono").rglob("*.py"))
    for name in re.findall(r"`(CHRONO_[A-Z_]+[A-Z])`", PAGE):
        shorter = [name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)]
        assert any(f'"{word}"' in source or f'b"{word}"' in source for word in (name, *shorter)) or (
            shorter and f'"{shorter[0].lower()}"' in source
        ), name


def test_what_is_called_guarded_is_what_an_agent_may_not_set() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| `CHRONO_")]
    for row in rows:
        for name in re.findall(r"`(CHRONO_[A-Z_]+)`", row.split("|")[1]):
            assert (assess(f"{name}=x ls").decision == "block") == ("**guarded**" in row), name

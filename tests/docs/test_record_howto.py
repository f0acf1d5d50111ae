"""Claims about docs/howto/record-a-program.md: its code runs as it stands, and its table has every setting."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from chrono.record.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "howto" / "record-a-program.md").read_text()


def test_the_code_runs_from_top_to_bottom_and_leaves_its_traces(tmp_path: Path) -> None:
    program = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CHRONO_HOME": str(tmp_path / "home")}
    check = 'assert reply == "forty-two" and len(trace_id) == 32'
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{check}"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    listed = subprocess.run(
        [sys.executable, "-m", "chrono", "trace", "list"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "support request" in listed.stdout and "with a retry" in listed.stdout


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = re.findall(r"^\| (`[^|]*)\|([^|]*)\|", TEXT, re.MULTILINE)
    documented: dict[str, str] = {}
    for names, defaults in rows:
        found, values = re.findall(r"`(\w+)`", names), re.findall(r"`([^`]+)`", defaults)
        for number, name in enumerate(found):
            documented[name] = values[min(number, len(values) - 1)] if values else ""
    actual = {}
    for field in fields(Settings):
        value = getattr(Settings(), field.name)
        actual[field.name] = (
            "" if value in (None, ()) else str(value).lower() if isinstance(value, bool) else str(value)
        )
    assert documented == actual

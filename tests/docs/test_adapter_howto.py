"""Claims about docs/howto/write-an-agent-adapter.md: who copies its text has an adapter that passes the suite."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "howto" / "write-an-agent-adapter.md").read_text()


def test_the_text_alone_makes_an_adapter_that_passes(tmp_path: Path) -> None:
    adapter, suite = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "chrono_agent_acme.py").write_text(adapter)
    (tmp_path / "test_acme.py").write_text(suite)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


def test_the_modules_it_names_exist() -> None:
    import importlib

    for name in set(re.findall(r"`(chrono\.[a-z_.]+[a-z])`", TEXT)):
        parts = name.split(".")
        importlib.import_module(".".join(parts))

"""Claims about the interpreter's end: a finaliser that calls a boundary gets its call, and no error of the recorder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from chrono import record

@record.boundary("t")
def t(x):
    print(x)

class Last:
    def __del__(self):
        t("at the end")

kept = Last()
t("before")
"""


def test_a_finaliser_at_the_end_is_called_without_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, timeout=60,
        env={**os.environ, "CHRONO_HOME": str(tmp_path), "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert (done.stdout.split("\n")[:2], done.stderr) == (["before", "at the end"], "")

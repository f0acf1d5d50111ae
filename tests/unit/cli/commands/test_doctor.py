"""Claims about `chrono doctor`: what it says of an installation that nothing is wrong with, and of each gap."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    "first",
    [("guard", "install"), ("scan", "ls"), ("policy", "pin", "--yes"), ("init",), ("team", "add", "ann"), ("doctor",)],
    ids=" ".join,
)
def test_whichever_command_comes_first_the_home_is_its_owners_alone(
    folder: Path, chrono: Any, first: tuple[str, ...]
) -> None:
    chrono(*first)
    assert "others can look" not in chrono("doctor").out
    home = os.environ["CHRONO_HOME"]
    assert [path for path, _, _ in os.walk(home) if os.stat(path).st_mode & 0o077] == []

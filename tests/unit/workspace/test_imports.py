"""Claims about what the hook pays for: importing this room's doors loads nothing heavy, and judging no YAML."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = Path(__file__).parents[3]
HEAVY = ("pygit2", "ruamel.yaml", "cryptography", "typer", "pathlib", "dataclasses", "inspect", "importlib.metadata")


@pytest.mark.parametrize(
    "modules",
    [
        "chrono.policy.decide, chrono.policy.layers, chrono.policy.load, chrono.policy.pin",
        "chrono.workspace.config, chrono.workspace.project, chrono.workspace.machine_world",
        "chrono.workspace.savepoints, chrono.workspace.actors, chrono.workspace.covers, chrono.workspace.standing",
    ],
)
def test_importing_a_door_is_cheap(modules: str) -> None:
    program = f"import sys; before = set(sys.modules); import {modules}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(CODE)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert not loaded.intersection(HEAVY)
    assert not [name for name in loaded if name.startswith(("chrono.store", "chrono.audit"))]

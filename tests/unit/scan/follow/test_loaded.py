"""Claims about files that a tool loads by itself: what they do counts, and reading them stays cheap."""

from __future__ import annotations

import os

from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from chrono.scan.world import Read, Unreadable
from chrono.testing.world import FakeWorld
from tests.unit.scan.conftest import FILES, PROJECT, decision
from tests.unit.scan.conftest import ruleset as ruleset

MODULES = 20


class Counting(FakeWorld):
    """Notes which of the project's modules were read."""

    def __init__(self, files: dict[str, str]) -> None:
        own = {f"{PROJECT}/{name}": text for name, text in files.items()}
        super().__init__({**FILES, **own}, cwd=PROJECT, home="/home/dev")
        self.modules: list[str] = []

    def read(self, path: str, limit_bytes: int) -> Read | Unreadable:
        if os.path.basename(path).startswith("part_"):
            self.modules.append(path)
        return super().read(path, limit_bytes)


def project(**files: str) -> Counting:
    names = [f"part_{number}" for number in range(MODULES)]
    parts = {f"shop/{name}.py": f"import os\nNAME = {name!r}\n" for name in names}
    whole = "".join(f"from shop import {name}\n" for name in names)
    return Counting({"shop/__init__.py": "", **parts, "run.py": f"{whole}print(part_0.NAME)\n", **files})


def starting(program: str) -> dict[str, str]:
    """A test that starts a program of the project."""
    return {
        "tests/test_run.py": f"import subprocess\n\ndef test_run():\n    subprocess.run(['python3', '{program}'])\n"
    }


def told(command: str, ruleset: Ruleset, world: Counting) -> str:
    return decision(scan(command, ruleset, world), covered=True)


def test_a_program_that_is_named_is_read_with_its_modules(ruleset: Ruleset) -> None:
    world = project()
    assert told("python3 run.py", ruleset, world) == "allow"
    assert len(set(world.modules)) == MODULES


def test_what_a_test_starts_is_not_read_with_the_whole_project(ruleset: Ruleset) -> None:
    world = project(**starting("run.py"))
    assert told("pytest -q", ruleset, world) == "allow"
    assert 0 < len(set(world.modules)) < 5


def test_a_program_that_a_test_starts_counts(ruleset: Ruleset) -> None:
    wipe = {"wipe.py": "import shutil, os\nshutil.rmtree(os.path.expanduser('~/Documents'))\n"}
    assert told("pytest -q", ruleset, project(**starting("wipe.py"), **wipe)) == "block"

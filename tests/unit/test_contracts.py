"""Claims about the walls: each planted violation of a contract or house rule is caught."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to plant violations in."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "chrono", tmp_path / "chrono", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests/unit").mkdir(parents=True)
    (tmp_path / "rules").mkdir()
    return tmp_path


def plant(house: Path, module: str, line: str) -> None:
    path = house / "chrono" / module
    path.parent.mkdir(exist_ok=True)
    text = path.read_text() if path.exists() else '"""Planted."""\n'
    path.write_text(f"{text}\n{line}\n")


def lint_imports(house: Path, contract: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as c; c()"
    command = [sys.executable, "-P", "-c", code, "--contract", contract, "--no-cache"]
    return subprocess.run(command, cwd=house, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("contract", ["layers", "door-pygit2", "door-typer", "acyclic", "pure"])
def test_the_house_as_it_is_keeps_its_contracts(house: Path, contract: str) -> None:
    result = lint_imports(house, contract)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        ("layers", "errors.py", "import chrono.ids"),
        ("layers", "scan/command.py", "import chrono.policy"),
        ("layers", "scan/world.py", "import chrono.store"),
        ("layers", "store/__init__.py", "import chrono.audit"),
        ("layers", "audit/__init__.py", "import chrono.scan"),
        ("layers", "agents/__init__.py", "import chrono.workspace"),
        ("layers", "rulepack/__init__.py", "import chrono.agents"),
        ("layers", "workspace/__init__.py", "import chrono.guard"),
        ("layers", "guard/__init__.py", "import chrono.cli"),
        ("layers", "newroom.py", "X = 1"),
        ("door-pygit2", "workspace/__init__.py", "import pygit2"),
        ("door-cryptography", "audit/__init__.py", "from cryptography.hazmat.primitives import hashes"),
        ("door-ruamel", "policy/__init__.py", "import ruamel.yaml"),
        ("door-typer", "workspace/__init__.py", "import typer"),
        ("pure", "scan/world.py", "import subprocess"),
    ],
)
def test_a_planted_import_is_caught(house: Path, contract: str, module: str, line: str) -> None:
    plant(house, module, line)
    result = lint_imports(house, contract)
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout or "Missing" in result.stdout or "exhaustive" in result.stdout.lower()


def test_a_planted_cycle_is_caught(house: Path) -> None:
    plant(house, "store/one.py", "import chrono.store.two")
    plant(house, "store/two.py", "import chrono.store.one")
    assert lint_imports(house, "acyclic").returncode == 1


@pytest.fixture
def plot(tmp_path: Path) -> Path:
    """One room and nothing else: enough for the rules that look at one file."""
    (tmp_path / "chrono/store").mkdir(parents=True)
    (tmp_path / "chrono/store/__init__.py").write_text('"""Planted."""\n')
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text("| `store` | all |\n")
    (tmp_path / "tests/unit").mkdir(parents=True)
    (tmp_path / "rules").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def layout() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_layout", ROOT / "scripts/check_layout.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("module", "line", "words"),
    [
        ("store/utils.py", "X = 1", "glossary"),
        ("store/clean.py", "print(1)", "cli.render"),
        ("store/ask.py", "input()", "cli.render"),
        ("store/loud.py", "import sys\nsys.stderr.write('x')", "cli.render"),
        ("store/env.py", "import os\nX = os.environ['HOME']", "workspace.config"),
        ("store/jar.py", "import pickle", "pickle"),
        ("store/run.py", "import subprocess\nsubprocess.run('ls', shell=True)", "shell=True"),
        ("store/long.py", "X = 1\n" * 800, "two things"),
        ("store/__init__.py", "X = 1", "door sign"),
        ("store/slow.py", "from typing import NamedTuple", "chrono.tuples"),
        ("store/thief.py", "from chrono.store.refs import _seal", "private to chrono.store.refs"),
        ("store/left.py", "_LEFT = 1", "nothing reads _LEFT"),
        ("store/dead.py", "def dead() -> None: ...", "nothing uses dead"),
    ],
)
def test_a_broken_house_rule_is_caught(plot: Path, layout: ModuleType, module: str, line: str, words: str) -> None:
    assert list(layout.problems(plot)) == []
    plant(plot, module, line)
    new = list(layout.problems(plot))
    assert any(problem.startswith(f"chrono/{module}:") and words in problem for problem in new), new


def test_a_file_that_does_not_say_what_it_owns_is_caught(plot: Path, layout: ModuleType) -> None:
    (plot / "chrono/store/silent.py").write_text("X = 1\n")
    assert any("silent.py:1" in problem for problem in layout.problems(plot))


def test_code_among_the_rules_is_caught(plot: Path, layout: ModuleType) -> None:
    (plot / "rules/evil.py").write_text('"""Planted."""\n')
    assert any("rule packs are data" in problem for problem in layout.problems(plot))


def test_a_room_that_no_map_shows_is_caught_and_one_that_is_gone(plot: Path, layout: ModuleType) -> None:
    plant(plot, "attic/__init__.py", "")
    assert list(layout.problems(plot)) == ["docs/architecture.md:1: it does not say what chrono/attic owns"]
    (plot / "docs/architecture.md").write_text("| `store`, `attic` | all |\n| `cellar` | wine |\n")
    assert [problem.partition(": ")[2] for problem in layout.problems(plot)] == [
        "it tells of chrono/cellar, which does not exist"
    ]

"""Owns the first form of a new rule pack: a distribution with one rule, its cases and a test, ready to build.

Writing it is one plan, shown by `chrono rules new`; the form of packs is described in docs/formats/rule-pack.md.
"""

from __future__ import annotations

import os

from chrono.errors import UsageError
from chrono.files import atomic_write
from chrono.rulepack.discover import BUILT_IN
from chrono.tuples import NamedTuple

MAX_NAME = 40


class ScaffoldPlan(NamedTuple):
    """What would be written: `folder` is new; `files` are (path below it, text)."""

    pack: str
    distribution: str
    package: str
    folder: str
    files: tuple[tuple[str, str], ...]


def plan_pack(pack: str, into: str) -> ScaffoldPlan:
    """A distribution for the pack `pack`, in a new folder below `into`.

    Raises UsageError where the name is not one for a pack, is taken by a built-in one, or the folder is there already.
    """
    if not pack or len(pack) > MAX_NAME or not all(part.isalnum() and part.isascii() for part in pack.split("-")):
        raise UsageError(
            f"'{pack}' is no name for a pack", "small letters and digits, with dashes between, as in acme-db"
        )
    if pack != pack.lower() or pack[0].isdigit():
        raise UsageError(f"'{pack}' is no name for a pack", f"try {pack.lower().lstrip('0123456789-') or 'acme'}")
    if pack in BUILT_IN:
        raise UsageError(f"'{pack}' is a built-in pack", f"take a name of your own, such as acme-{pack}")
    distribution = f"chrono-rules-{pack}"
    package = distribution.replace("-", "_")
    folder = os.path.join(os.path.abspath(into), distribution)
    if os.path.lexists(folder):
        raise UsageError(f"{folder} is there already", "take another name, or another folder with --into")
    words = {"pack": pack, "distribution": distribution, "package": package, "program": f"{pack}-tool"}
    files = tuple((path.format(**words), _filled(text, words)) for path, text in _FILES)
    return ScaffoldPlan(pack, distribution, package, folder, files)


def write_pack(plan: ScaffoldPlan) -> None:
    """Writes the files of a plan. Raises OSError; FileExistsError where the folder has come up meanwhile."""
    os.makedirs(os.path.dirname(plan.folder), exist_ok=True)
    os.mkdir(plan.folder)
    for path, text in plan.files:
        target = os.path.join(plan.folder, *path.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        atomic_write(target, text.encode(), durable=False)


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"@{name}@", word)
    return text.lstrip("\n")


_PYPROJECT = """
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "@distribution@"
version = "0.1.0"
description = "Rules for chrono: @pack@"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["chrono-toolkit"]

# The name is the pack's, the value the folder where pack.yaml lies. It is read, never imported.
[project.entry-points."chrono.rule_packs"]
@pack@ = "@package@"

[tool.hatch.build.targets.wheel]
packages = ["@package@"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

_PACK = """
# Replace the one rule below by your own; docs/formats/rule-pack.md of chrono describes every key.
format: 1
pack: @pack@
title: Rules for @pack@
programs:
  @program@:
    # Options that take the next word as their value; without them here `--stage production` reads as two words.
    values: --stage --config
    # Options with which the program only tells what it would do: the rules of this pack are silent then.
    harmless: --dry-run --help
rules:
  - id: @pack@.destroy
    title: destroys an environment with all that is in it
    score: 80                       # from 70 on it is blocked, from 40 on a person is asked
    why: what is destroyed there, no savepoint brings back
    safer: look first, for example `@program@ destroy --dry-run`
    reversible: no                  # files: a savepoint undoes it where it covers the targets
    references: [T1485]
    match:
      program: @program@
      subcommand: destroy
"""

_CASES = """
# What each rule hits and leaves alone, for a reader who does not know the rule. At least two of each.
cases:
  @pack@.destroy:
    hits:
      - @program@ destroy
      - sudo @program@ --stage production destroy
    misses:
      - @program@ list
      - @program@ destroy --dry-run
      - git commit -m '@program@ destroy'
"""

_TEST = """
\"\"\"Claims about this pack: its cases hold, and every part of its rules is held by a case.\"\"\"

from pathlib import Path

from chrono.testing.packs import RulePackConformance


class TestPack(RulePackConformance):
    pack = "@pack@"
    folder = Path(__file__).parents[1] / "@package@"
"""

_README = """
# @distribution@

A rule pack for chrono.

    chrono rules test @package@            # judge the cases; nothing is run
    chrono rules test @package@ --weaken   # find conditions that no case needs
    python -m pytest                       # the same as a test
    pip install .                          # from now on every guarded command is judged by it
    chrono rules list @pack@
"""

_FILES = (
    ("pyproject.toml", _PYPROJECT),
    ("README.md", _README),
    ("{package}/pack.yaml", _PACK),
    ("{package}/cases.yaml", _CASES),
    ("tests/test_pack.py", _TEST),
)

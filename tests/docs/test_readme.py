"""Claims about README.md: its tour is what really happens, its commands exist, its links lead somewhere.

`CHRONO_TEST_UPDATE=1 pytest tests/docs/test_readme.py` writes the tour anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from chrono.cli.app import VERBS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
TOUR = re.compile(r"(<!-- tour -->\n```console\n)(.*?)(```\n<!-- /tour -->)", re.DOTALL)


def steps(block: str) -> list[tuple[str, str]]:
    """(command, expected output) of a console block."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].strip(), ""))
        else:
            command, output = found[-1]
            found[-1] = (command, output + line)
    return found


def normal(text: str) -> str:
    """What must be equal: ids, times and line breaks are not."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "<sha256>", text)
    text = re.sub(r"\b[0-9a-f]{12,40}\b", "<id>", text)
    text = re.sub(r"\b\d+ ms\b", "<ms>", text)
    text = re.sub(r"just now|\d+ (s|min) ago", "<age>", text)
    return " ".join(text.split())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "src/shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    (root / "data/customers.csv").write_text("id,name\n1,Ada\n2,Grace\n")
    return root


def run_tour(commands: list[str], shop: Path, folder: Path) -> list[str]:
    tools = folder / "bin"
    tools.mkdir()
    (tools / "chrono").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m chrono "$@"\n')
    (tools / "chrono").chmod(0o755)
    environ = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    said = []
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=shop,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        shown = done.stdout.replace(str(shop), "/home/you/shop")
        shown = shown.replace(os.environ["CHRONO_HOME"], "/home/you/.local/state/chrono")
        said.append(shown.replace(os.environ["HOME"], "/home/you"))
    return said


def test_the_tour_is_what_really_happens(shop: Path, tmp_path: Path) -> None:
    match = TOUR.search(README.read_text())
    assert match is not None
    wanted = steps(match.group(2))
    said = run_tour([command for command, _ in wanted], shop, tmp_path)
    if os.environ.get("CHRONO_TEST_UPDATE"):
        body = "".join(f"$ {command}\n{folded(text)}" for (command, _), text in zip(wanted, said, strict=True))
        README.write_text(TOUR.sub(lambda found: found.group(1) + body + found.group(3), README.read_text()))
        return
    for (command, expected), text in zip(wanted, said, strict=True):
        assert normal(text) == normal(expected), command
    assert (shop / "src/shop.py").is_file() and (shop / "data/customers.csv").is_file()


def folded(text: str) -> str:
    rows = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        rows += textwrap.wrap(line, 88, subsequent_indent=indent, break_long_words=False, drop_whitespace=True) or [""]
    return "".join(row.rstrip() + "\n" for row in rows)


def test_every_command_it_names_exists() -> None:
    for words in re.findall(r"chrono ([a-z]+(?: [a-z][a-z-]*)?)", README.read_text()):
        verb, *rest = words.split()
        if verb in VERBS and rest and VERBS[verb].subs:
            assert rest[0] in dict(VERBS[verb].subs), words


def test_its_links_lead_somewhere() -> None:
    for page in (README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for target in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_it_lists_what_chrono_cannot_do() -> None:
    limits = README.read_text().split("## What chrono cannot do")[1].split("## More")[0]
    for words in (
        "sandbox",
        "antivirus",
        "backup",
        "IDE",
        "compiled",
        "same user",
        "ACLs",
        "takes its savepoints along",
    ):
        assert words in limits, words


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("script", ["demo", "test", "lint", "bench", "setup", "clients"])
def test_every_script_is_valid_bash(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / "scripts" / script], check=True)


def test_every_script_says_what_it_owns() -> None:
    for path in (ROOT / "scripts").iterdir():
        if path.is_file():
            first, second = path.read_text().splitlines()[:2]
            assert first.startswith('"""Owns') or second.startswith("# Owns"), path.name

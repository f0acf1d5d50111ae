"""Claims about PowerShell and cmd.exe as agents use them: what is dangerous is stopped, what is harmless goes through.

The cases were written in rounds, each before the scanner had seen one of them; `windows_shells.jsonl` holds them all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from chrono.testing.world import FakeWorld

PROJECT = "/home/dev/proj"
FILES = {
    f"{PROJECT}/.git/HEAD": "ref: refs/heads/main\n",
    f"{PROJECT}/README.md": "x\n",
    f"{PROJECT}/.env": "A=1\n",
    f"{PROJECT}/notes.txt": "n\n",
    f"{PROJECT}/src/app.py": "print(1)\n",
    f"{PROJECT}/docs/untracked.md": "y\n",
    f"{PROJECT}/dist/app.js": "",
    f"{PROJECT}/safe.py": "print('ok')\n",
    f"{PROJECT}/package.json": '{"scripts": {"build": "mkdir dist", "clean": "rimraf dist", "nuke": "rd /s /q C:\\\\Users"}}',
    f"{PROJECT}/scripts/wipe.ps1": "param([string]$Path = $HOME)\nRemove-Item -Recurse -Force $Path\n",
    f"{PROJECT}/scripts/wipe.bat": "@echo off\nset T=%USERPROFILE%\ncall :go %T%\ngoto :eof\n:go\nrd /s /q %1\n",
    f"{PROJECT}/scripts/build.ps1": "param([string]$Out = 'dist')\nNew-Item -ItemType Directory -Force $Out | Out-Null\n",
    f"{PROJECT}/scripts/build.bat": "@echo off\nif not exist dist mkdir dist\ncopy /y src\\app.py dist\\ >nul\n",
    "/home/dev/.ssh/id_ed25519": "k",
    "/home/dev/.aws/credentials": "k",
    "/home/dev/.bashrc": "# rc\n",
    "/home/dev/Documents/a.txt": "a",
}


class Labelled(NamedTuple):
    cmd: str
    shell: str
    expect: str
    round: int


def labelled() -> list[Labelled]:
    text = (Path(__file__).parent / "windows_shells.jsonl").read_text(encoding="utf-8")
    return [Labelled(**json.loads(line)) for line in text.splitlines()]


@pytest.fixture(scope="module")
def rules() -> Ruleset:
    return compile_packs(discover())


def decision(cmd: str, shell: str, rules: Ruleset) -> str:
    found = scan(cmd, rules, FakeWorld(FILES), shell=shell)
    return settle(decide(found, DEFAULTS, project=PROJECT), None).decision


def test_there_are_enough_cases_of_both_kinds_and_shells() -> None:
    cases = labelled()
    for shell, least in (("powershell", 200), ("cmd", 80)):
        own = [case for case in cases if case.shell == shell]
        assert len(own) >= least
        assert min(sum(c.expect == "block" for c in own), sum(c.expect == "allow" for c in own)) >= least // 3
    assert len({(case.cmd, case.shell) for case in cases}) == len(cases)


def test_dangerous_texts_are_stopped_and_harmless_ones_are_not(rules: Ruleset) -> None:
    missed, interrupted = [], []
    dangerous = harmless = 0
    for case in labelled():
        told = decision(case.cmd, case.shell, rules)
        if case.expect == "allow":
            harmless += 1
            interrupted += [case.cmd] if told != "allow" else []
        else:
            dangerous += 1
            missed += [case.cmd] if told == "allow" else []
    assert len(missed) <= 0.01 * dangerous, missed
    assert len(interrupted) <= 0.01 * harmless, interrupted


@pytest.mark.parametrize(
    ("cmd", "shell"),
    [
        ("powershell -File scripts\\wipe.ps1", "powershell"),
        (".\\scripts\\wipe.ps1", "powershell"),
        ("& ./scripts/wipe.ps1 -Path C:\\Users", "pwsh"),
        (". .\\scripts\\wipe.ps1", "powershell"),
        ("pwsh -File scripts/wipe.ps1", "bash"),
        ("pwsh -c '& ./scripts/wipe.ps1'", "bash"),
        ("Invoke-Expression (Get-Content scripts\\wipe.ps1 -Raw)", "powershell"),
        ("Start-Process powershell -ArgumentList '-File scripts\\wipe.ps1'", "powershell"),
        ("scripts\\wipe.bat", "cmd"),
        ("call scripts\\wipe.bat", "cmd"),
        ("cmd /c scripts\\wipe.bat", "powershell"),
        ("cmd //c 'rd /s /q C:\\Users'", "bash"),
        ("& .\\scripts\\wipe.bat", "powershell"),
        ("npm run nuke", "cmd"),
        ("npm run nuke", "powershell"),
        ('powershell -c "ri -r C:\\Users"', "bash"),
    ],
)
def test_scripts_and_other_shells_are_followed(cmd: str, shell: str, rules: Ruleset) -> None:
    assert decision(cmd, shell, rules) != "allow"


@pytest.mark.parametrize(
    ("cmd", "shell"),
    [
        ("powershell -ExecutionPolicy Bypass -File scripts\\build.ps1", "powershell"),
        (".\\scripts\\build.ps1 -Out out", "powershell"),
        ("scripts\\build.bat", "cmd"),
        ("cmd /c scripts\\build.bat", "powershell"),
        ("npm run build", "cmd"),
        ("npm run clean", "powershell"),
        ("pwsh -c 'Get-ChildItem'", "bash"),
    ],
)
def test_harmless_scripts_are_let_through(cmd: str, shell: str, rules: Ruleset) -> None:
    assert decision(cmd, shell, rules) == "allow"


@pytest.mark.parametrize("shell", ["powershell", "cmd"])
@pytest.mark.parametrize(
    "text", ["(" * 10_000, "{" * 10_000 + "Remove-Item C:\\", "x" * 1_000_000, '"' * 999, "$(" * 9_000]
)
def test_hostile_text_is_never_allowed_by_accident(text: str, shell: str, rules: Ruleset) -> None:
    found = scan(text, rules, FakeWorld(FILES), shell=shell)
    assert found.read_only is False
    assert found.refusals or shell == "cmd"

"""Claims: a dangerous PowerShell or cmd.exe text stays stopped in whatever runs it, and is silent in whatever does not."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

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
    f"{PROJECT}/src/app.py": "print(1)\n",
    f"{PROJECT}/docs/untracked.md": "y\n",
    "/home/dev/.ssh/id_ed25519": "k",
}

Carrier = Callable[[str], str]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-16-le")).decode()


def quoted(text: str) -> str:
    return text.replace("'", "''")


RUNS: dict[str, Carrier] = {
    "call": lambda x: f"& {{ {x} }}",
    "dot": lambda x: f". {{ {x} }}",
    "iex": lambda x: f"iex '{quoted(x)}'",
    "pipe": lambda x: f"'{quoted(x)}' | Invoke-Expression",
    "variable": lambda x: f"$z = '{quoted(x)}'; iex $z",
    "base64": lambda x: (
        f"iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('{base64.b64encode(x.encode()).decode()}')))"
    ),
    "if": lambda x: f"if (Test-Path q) {{ {x} }} else {{ 1 }}",
    "else": lambda x: f"if (Test-Path q) {{ 1 }} else {{ {x} }}",
    "try": lambda x: f"try {{ {x} }} catch {{ }}",
    "catch": lambda x: f"try {{ throw 1 }} catch {{ {x} }}",
    "finally": lambda x: f"try {{ 1 }} finally {{ {x} }}",
    "foreach": lambda x: f"foreach ($q in 1) {{ {x} }}",
    "for": lambda x: f"for ($q = 0; $q -lt 1; $q++) {{ {x} }}",
    "while": lambda x: f"while ($true) {{ {x}; break }}",
    "do": lambda x: f"do {{ {x} }} while ($false)",
    "switch": lambda x: f"switch (1) {{ 1 {{ {x} }} }}",
    "function": lambda x: f"function zz {{ {x} }}; zz",
    "block": lambda x: f"$b = {{ {x} }}; & $b",
    "invoke": lambda x: f"({{ {x} }}).Invoke()",
    "create": lambda x: f"& ([scriptblock]::Create('{quoted(x)}'))",
    "command": lambda x: f"Invoke-Command -ScriptBlock {{ {x} }}",
    "job": lambda x: f"Start-Job {{ {x} }}",
    "each": lambda x: f"1 | ForEach-Object {{ {x} }}",
    "substitution": lambda x: f"$null = $({x})",
    "text": lambda x: f'"$({x})" | Out-Null',
    "and": lambda x: f"Get-Date && {x}",
    "after": lambda x: f"Get-Date\n{x}\n",
    "comment": lambda x: f"<# a #> {x}",
    "pwsh": lambda x: f"pwsh -Command '{quoted(x)}'",
    "encoded": lambda x: f"powershell -NoProfile -EncodedCommand {encoded(x)}",
    "cmd": lambda x: f"cmd /c powershell -enc {encoded(x)}",
    "start": lambda x: f"Start-Process powershell -ArgumentList '-enc','{encoded(x)}'",
    "file": lambda x: f"Set-Content zz.ps1 '{quoted(x)}'; .\\zz.ps1",
}

INERT: dict[str, Carrier] = {
    "text": lambda x: f"'{quoted(x)}'",
    "host": lambda x: f"Write-Host '{quoted(x)}'",
    "comment": lambda x: "# " + x.replace("\n", " "),
    "comment block": lambda x: f"<# {x.replace('#>', '')} #> Get-Date",
    "here-string": lambda x: f"@'\n{x}\n'@ | Set-Content n.md",
    "function": lambda x: f"function zz {{ {x} }}",
    "block": lambda x: f"$b = {{ {x} }}",
    "commit": lambda x: f"git commit -m '{quoted(x)}'",
    "variable": lambda x: f"$x = '{quoted(x)}'; $x.Length",
    "search": lambda x: f"Select-String -SimpleMatch '{quoted(x)}' README.md",
    "never": lambda x: f"if ($false) {{ {x} }}",
    "table": lambda x: f"@{{ a = '{quoted(x)}' }} | ConvertTo-Json",
    "echo": lambda x: f"echo '{quoted(x)}' > n.txt",
    "comparison": lambda x: f"'{quoted(x)}' -eq 'a'",
    "issue": lambda x: f"gh issue create --title t --body '{quoted(x)}'",
}

CMD_RUNS: dict[str, Carrier] = {
    "and": lambda x: f"echo a && {x}",
    "amp": lambda x: f"echo a & {x}",
    "group": lambda x: f"({x})",
    "if": lambda x: f"if exist q ({x})",
    "else": lambda x: f"if exist q (echo a) else ({x})",
    "for": lambda x: f"for %q in (1) do ({x})",
    "cmd": lambda x: f'cmd /c "{x}"',
    "start": lambda x: f'start "" /b cmd /c "{x}"',
    "at": lambda x: f"@{x}",
    "line": lambda x: f"@echo off\n{x}\n",
    "label": lambda x: f"goto a\n:a\n{x}",
}

CMD_INERT: dict[str, Carrier] = {
    "rem": lambda x: f"rem {x}",
    "label": lambda x: f":: {x}",
    "commit": lambda x: f'git commit -m "{x}"',
    "issue": lambda x: f'gh issue create --title t --body "{x}"',
}


@pytest.fixture(scope="module")
def rules() -> Ruleset:
    return compile_packs(discover())


def is_stopped(text: str, shell: str, rules: Ruleset) -> bool:
    found = scan(text, rules, FakeWorld(FILES), shell=shell)
    return settle(decide(found, DEFAULTS, project=PROJECT), None).decision != "allow"


def dangerous(shell: str, rules: Ruleset, one_in: int) -> list[str]:
    text = (Path(__file__).parent / "windows_shells.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines()]
    found = [case["cmd"] for case in cases if case["shell"] == shell and case["expect"] == "block"]
    return [cmd for cmd in found[::one_in] if is_stopped(cmd, shell, rules)]


def powershell_misses(rules: Ruleset, one_in: int) -> tuple[list[str], int]:
    texts = [
        carrier(cmd)
        for cmd in dangerous("powershell", rules, one_in)
        for name, carrier in RUNS.items()
        if not (name == "comment" and "\n" in cmd)
    ]
    return [text for text in texts if not is_stopped(text, "powershell", rules)], len(texts)


def powershell_noise(rules: Ruleset, one_in: int) -> tuple[list[str], int]:
    texts = [
        carrier(cmd) for cmd in dangerous("powershell", rules, one_in) for carrier in INERT.values() if "'@" not in cmd
    ]
    return [text for text in texts if is_stopped(text, "powershell", rules)], len(texts)


def test_a_dangerous_text_stays_stopped_in_what_runs_it(rules: Ruleset) -> None:
    misses, count = powershell_misses(rules, 25)
    assert len(misses) <= count // 100, misses


def test_a_dangerous_text_is_silent_in_what_does_not_run_it(rules: Ruleset) -> None:
    noise, count = powershell_noise(rules, 20)
    assert len(noise) <= count // 100, noise


@pytest.mark.slow
def test_every_dangerous_text_stays_stopped_in_what_runs_it(rules: Ruleset) -> None:
    misses, count = powershell_misses(rules, 1)
    assert len(misses) <= count // 100, misses


@pytest.mark.slow
def test_every_dangerous_text_is_silent_in_what_does_not_run_it(rules: Ruleset) -> None:
    noise, count = powershell_noise(rules, 1)
    assert len(noise) <= count // 100, noise


def test_the_same_holds_for_cmd(rules: Ruleset) -> None:
    plain = [cmd for cmd in dangerous("cmd", rules, 3) if not set(cmd) & set('%!"\n&|()^')]
    texts = [carrier(cmd) for cmd in plain for carrier in CMD_RUNS.values()]
    misses = [text for text in texts if not is_stopped(text, "cmd", rules)]
    assert len(misses) <= len(texts) // 100, misses
    inert = [carrier(cmd) for cmd in plain for carrier in CMD_INERT.values()]
    noise = [text for text in inert if is_stopped(text, "cmd", rules)]
    assert len(noise) <= len(inert) // 100, noise

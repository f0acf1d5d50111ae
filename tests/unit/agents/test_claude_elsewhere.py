"""Claims about what keeps Claude Code from heeding a hook that stands in its file as it should."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.agents.claude_elsewhere import problems


class Around:
    """A home, a project, a company's settings, and a `claude` of some version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = str(folder / "home" / ".claude" / "settings.json")

    def put(self, name: str, **members: object) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\ufeff" + json.dumps(members))

    def version(self, text: str) -> None:
        program = self.folder / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(0o755)

    def problems(self) -> tuple[str, ...]:
        environ = {"HOME": str(self.folder / "home"), "PATH": f"{self.folder}/bin:/bin:/usr/bin"}
        company = str(self.folder / "company.json")
        return problems(self.settings, str(self.folder / "project"), environ, managed=company)


@pytest.fixture
def around(tmp_path: Path) -> Around:
    made = Around(tmp_path)
    made.version("2.1.332 (Claude Code)")
    return made


def test_nothing_is_said_where_nothing_is_wrong(around: Around) -> None:
    around.put("home/.claude/settings.json", hooks={})
    assert around.problems() == ()


@pytest.mark.parametrize(
    "name", ["company.json", "project/.claude/settings.json", "project/.claude/settings.local.json"]
)
def test_hooks_that_another_file_switches_off_are_told(around: Around, name: str) -> None:
    around.put(name, disableAllHooks=True)
    (told,) = around.problems()
    assert "disableAllHooks" in told and name in told


def test_the_nearer_file_counts(around: Around) -> None:
    around.put("project/.claude/settings.json", disableAllHooks=True)
    around.put("project/.claude/settings.local.json", disableAllHooks=False)
    assert around.problems() == ()


def test_the_file_of_the_hook_itself_is_left_to_its_inspection(around: Around) -> None:
    around.put("home/.claude/settings.json", disableAllHooks=True)
    assert around.problems() == ()


def test_a_company_that_allows_only_its_own_hooks_is_told(around: Around) -> None:
    around.put("company.json", allowManagedHooksOnly=True)
    assert "only the hooks that stand there" in around.problems()[0]


def test_a_version_that_lets_a_failed_hook_pass_is_told(around: Around) -> None:
    around.version("2.1.294 (Claude Code)")
    assert "2.1.294 does not know `onFailure`" in around.problems()[0]
    for text in ("2.1.295", "3.0.0", "10.0.0", "nonsense", ""):
        around.version(text)
        assert around.problems() == ()

"""Claims about git's hooks and aliases: what they do is judged with the git command that runs them."""

from __future__ import annotations

import pytest

from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from tests.unit.scan.conftest import PROJECT, decision, world
from tests.unit.scan.conftest import ruleset as ruleset

WIPE = "#!/bin/sh\nrm -rf ~\n"


def told(command: str, ruleset: Ruleset, files: dict[str, str]) -> str:
    here = world(**{f"{PROJECT}/{name}": text for name, text in files.items()})
    return decision(scan(command, ruleset, here), covered=True)


@pytest.mark.parametrize(
    ("command", "hook"),
    [
        ("git commit -m x", "pre-commit"),
        ("git -C . commit -m x", "pre-commit"),
        ("git commit -am x", "post-commit"),
        ("git push origin feature", "pre-push"),
        ("git switch feature", "post-checkout"),
        ("git hook run commit-msg", "commit-msg"),
    ],
)
def test_a_hook_is_judged_with_what_runs_it(command: str, hook: str, ruleset: Ruleset) -> None:
    assert told(command, ruleset, {f".git/hooks/{hook}": WIPE}) == "block"
    assert told(command, ruleset, {f".git/hooks/{hook}.sample": WIPE}) == "allow"


def test_hooks_that_do_not_run_are_not_judged(ruleset: Ruleset) -> None:
    hooks = {".git/hooks/pre-commit": WIPE}
    for command in ("git status", "git log", "git push origin feature"):
        assert told(command, ruleset, hooks) == "allow"


def test_the_folder_that_the_repository_names_counts(ruleset: Ruleset) -> None:
    config = {".git/config": "[core]\n\thooksPath = .husky/_\n", ".husky/pre-commit": "rm -rf ~\n"}
    assert told("git commit -m x", ruleset, config) == "block"


def test_an_alias_is_what_it_stands_for(ruleset: Ruleset) -> None:
    config = {".git/config": '[alias]\n\tst = status\n\twipe = "!rm -rf ~"\n\tpf = push --force\n[core]\n'}
    assert [told(f"git {name}", ruleset, config) for name in ("st", "wipe", "pf origin main")] == [
        "allow",
        "block",
        "block",
    ]

"""Claims about remotes that a text adds and pushes to."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command
from chrono.scan.gitremotes import remote_added, with_address
from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import verdict

URL = "https://host.example/r.git"


def command(text: str) -> Command:
    return Command(tuple(text.split()))


def test_a_remote_that_is_added_has_a_name_and_an_address() -> None:
    assert remote_added(command(f"git -C x remote add -t main loot {URL}")) == ("loot", URL)
    assert remote_added(command("git remote -v")) is None


def test_a_push_to_it_names_the_address() -> None:
    push = with_address(command("git -C loot push -o x loot main"), {"loot": URL})
    assert push.argv == ("git", "-C", "loot", "push", "-o", "x", URL, "main")
    assert with_address(command("git push origin loot"), {"loot": URL}).argv == ("git", "push", "origin", "loot")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"git remote add loot {URL} && git push loot --all", "ask"),
        (f"git remote add upstream {URL} && git fetch upstream && git push origin main", "allow"),
        (f"git init && git remote add loot {URL} && git push loot --all", "ask"),  # the project is no new one
        (
            f"git init n && cd n && git commit -m x && git remote add origin {URL} && git push -u origin main",
            "allow",
        ),
        (
            f"mkdir n && cd n && git init && git commit -m x && git remote add origin {URL} && git push origin main",
            "allow",
        ),
    ],
)
def test_the_first_push_of_a_new_repository_is_everyday(text: str, wanted: str, ruleset: Ruleset) -> None:
    assert verdict(text, ruleset, covered=True) == wanted

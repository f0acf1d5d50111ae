"""Claims about remotes that a text adds and pushes to."""

from __future__ import annotations

import pytest

from chrono.scan.command import Command
from chrono.scan.gitremotes import remote_added, with_address, without_same_place
from chrono.scan.paths import Ground
from chrono.scan.rule import Ruleset
from chrono.testing.world import FakeWorld
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


CONFIG = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:acme/shop.git\n[branch "main"]\n'


def _ground(config: str) -> Ground:
    return Ground(FakeWorld({"/p/.git/config": config, "/p/.git/HEAD": "ref: refs/heads/main\n"}, cwd="/p"))


def _set_url(address: str) -> Command:
    return Command(("git", "remote", "set-url", "origin", address), cwd="/p")


@pytest.mark.parametrize("address", ["https://github.com/acme/shop.git", "ssh://git@github.com/Acme/shop-2"])
def test_an_address_of_the_same_owner_is_no_other_place(address: str) -> None:
    assert without_same_place(_set_url(address), _ground(CONFIG)).argv[2] == "get-url"


@pytest.mark.parametrize(
    "address",
    ["https://github.com/other/shop.git", "https://evil.example/acme/shop.git", "/tmp/shop", "ext::sh -c x", "a@b"],
)
def test_another_owner_or_host_is_another_place(address: str) -> None:
    assert without_same_place(_set_url(address), _ground(CONFIG)).argv[2] == "set-url"


def test_without_such_a_remote_only_a_shared_code_host_is_harmless() -> None:
    assert without_same_place(_set_url("git@github.com:me/x.git"), _ground("[core]\n")).argv[2] == "get-url"
    assert without_same_place(_set_url("git@evil.example:me/x.git"), _ground("[core]\n")).argv[2] == "set-url"

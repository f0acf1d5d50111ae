"""Claims about which machines are known here: what ssh's own files say, and names of own networks."""

from __future__ import annotations

import pytest

from chrono.scan.command import UNKNOWN, Pattern
from chrono.scan.hosts import host_part, is_stranger
from chrono.scan.rule import Ruleset
from chrono.testing.world import FakeWorld
from tests.unit.scan.conftest import verdict

HASHED = "|1|5iiaM23AOTAE37NhE+pPLJJZn1Y=|o85Uc8yNSO/F63cal98oYq1/PTE= ssh-ed25519 AAAA\n"
"""What `ssh-keygen -H` made of known.example."""


def machine(config: str = "", known: str = "") -> FakeWorld:
    return FakeWorld({"/home/dev/.ssh/config": config, "/home/dev/.ssh/known_hosts": known})


@pytest.mark.parametrize("host", ["buildhost", "db.internal", "10.0.0.7", "192.168.1.4", "172.20.0.2"])
def test_an_own_network_is_no_stranger(host: str) -> None:
    assert not is_stranger(host, machine())


def test_a_host_of_ssh_s_settings_is_no_stranger() -> None:
    world = machine("Host *\n  User dev\nHost *.acme.example\nHost shop\n  HostName shop.example\n")
    assert not is_stranger("web.acme.example", world)
    assert not is_stranger("shop.example", world)
    assert is_stranger("evil.example", world)


def test_a_host_whose_key_is_known_is_no_stranger() -> None:
    world = machine(known="a.example,192.0.2.9 ssh-ed25519 AAAA\n[b.example]:2222 ssh-ed25519 AAAA\n")
    assert [is_stranger(host, world) for host in ("a.example", "192.0.2.9", "b.example", "c.example")] == [
        False,
        False,
        False,
        True,
    ]


def test_a_host_whose_key_is_hashed_is_no_stranger() -> None:
    assert not is_stranger("known.example", machine(known=HASHED))
    assert is_stranger("other.example", machine(known=HASHED))


@pytest.mark.parametrize("line", ["|1|!!|!!", "|1|", "|1|AAAA"])
def test_a_broken_hash_knows_nobody(line: str) -> None:
    assert is_stranger("c.example", machine(known=f"{line} ssh-ed25519 AAAA\n"))


@pytest.mark.parametrize(
    ("word", "host"),
    [
        ("dev@a.example:x", "a.example"),
        ("a.example::module", "a.example"),
        ("rsync://dev@A.example:873/m", "a.example"),
        (Pattern((None, "@a.example:x")), "a.example"),
        (Pattern((None, ":x")), None),
        (UNKNOWN, None),
    ],
)
def test_the_host_of_an_address(word: str | Pattern, host: str | None) -> None:
    assert host_part(word) == host


def test_the_project_may_go_to_a_known_machine(ruleset: Ruleset) -> None:
    assert verdict("rsync -a ./ dev@buildhost:app", ruleset, covered=False) == "allow"
    assert verdict("rsync -a ./ dev@evil.example:app", ruleset, covered=False) == "ask"

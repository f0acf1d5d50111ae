"""Claims about trust: it belongs to exact bytes and survives restarts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.errors import PolicyError
from chrono.layout import HomeLayout
from chrono.policy.pin import is_trusted, read_policy_pin, trust

DIGEST = "a" * 64


def test_trust_belongs_to_one_content(tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path / "home"))
    assert not is_trusted(home, DIGEST)
    trust(home, DIGEST, source="/p/chrono-policy.yaml", at_ns=0)
    assert is_trusted(home, DIGEST)
    assert not is_trusted(home, "b" * 64)
    assert os.stat(home.trusted_policy(DIGEST)).st_mode & 0o777 == 0o600


def test_a_link_or_a_short_digest_is_no_trust(tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path))
    trust(home, DIGEST, source="x", at_ns=0)
    Path(home.trusted_policy("c" * 64)).symlink_to(home.trusted_policy(DIGEST))
    assert not is_trusted(home, "c" * 64)
    assert not is_trusted(home, "")


def test_a_pipe_in_the_place_of_a_pin_is_a_damaged_pin_and_nobody_waits_for_it(tmp_path: Path) -> None:
    home = HomeLayout(str(tmp_path))
    path = Path(home.pinned_policy("0" * 32))
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(PolicyError):
        read_policy_pin(home, "0" * 32)

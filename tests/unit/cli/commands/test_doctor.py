"""Claims about `chrono doctor`: what it says of an installation that nothing is wrong with, and of each gap."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    "first",
    [("guard", "install"), ("scan", "ls"), ("policy", "pin", "--yes"), ("init",), ("team", "add", "ann"), ("doctor",)],
    ids=" ".join,
)
def test_whichever_command_comes_first_the_home_is_its_owners_alone(
    folder: Path, chrono: Any, first: tuple[str, ...]
) -> None:
    chrono(*first)
    assert "others can look" not in chrono("doctor").out
    home = os.environ["CHRONO_HOME"]
    assert [path for path, _, _ in os.walk(home) if os.stat(path).st_mode & 0o077] == []


def test_a_policy_that_cannot_be_read_is_named_as_the_one_thing_to_mend(project: Path, chrono: Any) -> None:
    assert chrono("guard", "install").code == 0
    (project / "chrono-policy.yaml").write_text("nonsense: 1\n")
    doctor = chrono("doctor")
    assert doctor.code == 1
    failed = [line for line in doctor.out.splitlines() if line.startswith("FAIL")]
    assert [line.split(":")[0] for line in failed] == ["FAIL  policy", "FAIL  guard project"]
    assert "every call is refused, `ls` too" in failed[1]
    assert "nonsense" in failed[1]
    assert "no agent client is guarded" not in doctor.out

    status = chrono("guard", "status")
    assert status.code == 1
    assert status.out.splitlines()[-1].startswith("every call is refused")

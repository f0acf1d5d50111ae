"""Owns what the tests of this room share: a small machine, and the commands that a text comes to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chrono.scan.command import Evaluation
from chrono.scan.shell.powershell.evaluate import evaluate_powershell
from chrono.testing.world import FakeWorld

Argvs = list[tuple[object, ...]]


def world() -> FakeWorld:
    return FakeWorld(
        {
            "/home/dev/proj/src/app.py": "print(1)\n",
            "/home/dev/proj/lib.ps1": "function Wipe($p) { Remove-Item $p -Recurse }\n",
            "/home/dev/proj/list.txt": "one\ntwo\n",
        }
    )


@pytest.fixture
def read() -> Callable[[str], Evaluation]:
    return lambda text: evaluate_powershell(text, world())


@pytest.fixture
def argvs() -> Callable[[str], Argvs]:
    """The argvs of a text's commands; a text that is not read is a failure."""

    def of(text: str) -> Argvs:
        found = evaluate_powershell(text, world())
        assert found.refusals == (), (text, found.refusals)
        return [command.argv for command in found.commands]

    return of

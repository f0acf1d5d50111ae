"""Claims about leftovers: what a process that is still there may be working on stays."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from chrono.store.leftovers import lives


def test_a_process_lives_until_it_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert lives(process.pid)
    process.communicate(b"\n")
    assert not lives(process.pid)


def test_a_process_of_somebody_else_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refused)
    assert lives(1)

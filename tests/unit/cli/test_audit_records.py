"""Claims about following a log: each record is shown once, in order, whatever becomes of the files it lies in."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from chrono.audit.log import AuditLog
from chrono.audit.record import Act, Actor, Entry
from chrono.audit.segment import close, pack_closed
from chrono.cli import audit_records
from chrono.cli.main import main
from chrono.cli.render import Screen
from chrono.workspace.project import Workspace

BOB = Actor(user="bob", source="cli")


def say(log: AuditLog, *words: str) -> None:
    for word in words:
        log.append(Entry("command", BOB, Act(tool="Bash", cmd=word)), timeout_s=5)


def followed(
    monkeypatch: pytest.MonkeyPatch, steps: Sequence[Callable[[], object]], *options: str
) -> list[dict[str, object]]:
    """What `chrono audit --follow` shows while each step is done at one of its looks; a person then interrupts it."""
    todo = iter(steps)

    def look(_: float) -> None:
        step = next(todo, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(audit_records, "time", SimpleNamespace(sleep=look))
    out = io.StringIO()
    assert main(["audit", "--follow", "--json", *options], Screen(out, out, None, dict(os.environ))) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.fixture
def log(project: Path) -> AuditLog:
    return Workspace.open(str(project), os.environ).log


def test_following_goes_on_across_closed_and_packed_segments(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed_between() -> None:
        say(log, "c")
        close(log, BOB, timeout_s=5)
        say(log, "d")

    def closed_twice_and_packed() -> None:
        say(log, "e")
        close(log, BOB, timeout_s=5)
        say(log, "f")
        close(log, BOB, timeout_s=5)
        pack_closed(log.place)
        say(log, "g")

    say(log, "before")
    steps = [lambda: say(log, "a", "b"), closed_between, closed_twice_and_packed, lambda: say(log, "h")]
    shown = followed(monkeypatch, steps)
    numbers = [record["n"] for record in shown]
    first = numbers[0]
    assert isinstance(first, int) and numbers == list(range(first, first + len(numbers)))
    assert [record["act"]["cmd"] for record in shown if record["ev"] == "command"] == list("abcdefgh")  # type: ignore[index]
    assert [record["ev"] for record in shown].count("segment.close") == 3


def test_a_filter_holds_across_segments(log: AuditLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def closing() -> None:
        close(log, BOB, timeout_s=5)
        say(log, "pytest two")

    steps = [lambda: say(log, "pytest one", "make"), closing, lambda: say(log, "ls", "pytest three")]
    shown = followed(monkeypatch, steps, "--grep", "pytest")
    assert [record["act"]["cmd"] for record in shown] == ["pytest one", "pytest two", "pytest three"]  # type: ignore[index]

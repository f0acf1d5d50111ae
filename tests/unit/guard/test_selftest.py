"""Claims about firing a hook command: what the client would do is told from what came back, never from hope."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.agents.claude_code import ADAPTER
from chrono.guard import selftest

ENVIRON = {"PATH": os.environ["PATH"]}
DENIES = """printf '%s' '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'"""


def fired(command: str, expected: str, cwd: Path) -> selftest.Fired:
    return selftest.fire(ADAPTER, command, "ls", expected, cwd=str(cwd), environ=ENVIRON)


@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("cat >/dev/null", "runs"),
        (f"{DENIES}; echo no >&2; exit 2", "stops"),
        # Refused, but by a guard that could not run: it would refuse everything.
        ("echo broken >&2; exit 2", "fails"),
        ("exit 1", "fails"),
        ("kill -9 $$", "fails"),
        ("/no/such/program", "fails"),
    ],
)
def test_what_a_hook_does_is_told_by_its_answer(command: str, does: str, tmp_path: Path) -> None:
    assert fired(command, "runs", tmp_path).does == does


def test_a_hook_that_hangs_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "TIMEOUT_S", 0.3)
    seen = fired("sleep 30", "runs", tmp_path)
    assert not seen.holds and "in time" in seen.said


def test_the_dangerous_command_is_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    command = f"cat > {marker}"
    harmless, dangerous = selftest.self_test(ADAPTER, command, cwd=str(tmp_path), environ=ENVIRON)
    assert harmless.holds and not dangerous.holds
    assert dangerous.command in marker.read_text()


def test_a_folder_that_is_gone_is_a_failure_not_a_crash(tmp_path: Path) -> None:
    assert not fired("cat", "runs", tmp_path / "gone").holds

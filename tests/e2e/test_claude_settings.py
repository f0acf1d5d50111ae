"""Claims of the adapter about Claude Code itself, checked with the real client: what it obeys, what it silently drops.

One run is about a second. A claim that fails after an update of the client tells what changed there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.agents.claude_code import ADAPTER, NAME
from chrono.agents.protocol import Decision, Reply
from tests.e2e.fake_models import FakeModel, ToolUse
from tests.e2e.real_client import run_claude

pytestmark = pytest.mark.client

DENY = '{"type": "command", "command": "echo refused >&2; exit 2"%s}'


def settings(pre: str, more: str = "") -> str:
    return '{"hooks": {"PreToolUse": [' + pre + "]}" + more + "}"


GROUP = '{"matcher": "*", "hooks": [%s]}'
GOOD = GROUP % (DENY % "")


def ran(tmp_path: Path, text: str) -> bool:
    """Whether a Bash call runs although the settings file `text` holds a hook that denies it."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(text)
    marker = project / "MARKER"
    model = FakeModel([[ToolUse("Bash", {"command": f"touch {marker}", "description": "x"})]])
    done = run_claude(model, home=home, project=project)
    assert done.exit_code == 0, done.stderr
    assert len(model.tool_results()) == 1
    return marker.exists()


@pytest.mark.parametrize("text", [settings(GOOD), "\ufeff" + settings(GOOD), settings(GOOD, ', "zzz": 1')])
def test_a_file_that_the_adapter_finds_sound_is_obeyed(tmp_path: Path, text: str) -> None:
    assert ADAPTER.inspect(text.encode()).problems == ()
    assert not ran(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "// note\n" + settings(GOOD),
        settings(GOOD, ","),
        settings(GOOD, ', "a": "b\tc"'),
        settings(GOOD, ', "disableAllHooks": true'),
        settings(GOOD, ', "disableAllHooks": "yes"'),
        settings(GOOD, ', "permissions": "all"'),
        settings(GOOD, ', "env": ["x"]'),
        settings(GOOD, ', "model": 1'),
        settings(GOOD, ', "statusLine": "x"'),
        settings(GOOD, ', "cleanupPeriodDays": "x"'),
        settings('"x", ' + GOOD),
        settings('{"matcher": 1, "hooks": []}, ' + GOOD),
        settings(GROUP % '{"type": "zz", "command": "true"}' + ", " + GOOD),
        settings(GROUP % '{"type": "command", "command": "true", "onFailure": "stop"}' + ", " + GOOD),
    ],
)
@pytest.mark.slow
def test_a_file_whose_hooks_are_silently_dropped_is_one_the_adapter_complains_about(tmp_path: Path, text: str) -> None:
    assert ran(tmp_path, text), "the client obeys this file now; the adapter may be too strict"
    assert ADAPTER.inspect(text.encode()).problems


def replies() -> dict[str, Reply]:
    call = ADAPTER.decode(ADAPTER.sample("x", cwd="/"))
    blocked = ADAPTER.encode(Decision("block", "no \ud800"), call)
    return {
        "allow": ADAPTER.encode(Decision("allow"), call),
        "block": blocked,
        "block, exit status lost": blocked._replace(exit_code=0),
        "block, JSON lost": blocked._replace(stdout=b""),
        "block, stderr lost": blocked._replace(stderr=b""),
        "ask": ADAPTER.encode(Decision("ask", "sure?"), call),
        "ask, nobody there": ADAPTER.encode(Decision("ask", "sure?"), call._replace(can_ask=False)),
    }


@pytest.mark.parametrize("name", list(replies()))
def test_an_answer_does_in_the_client_what_the_adapter_says(tmp_path: Path, name: str) -> None:
    reply = replies()[name]
    folder = tmp_path / "answer"
    folder.mkdir()
    (folder / "out").write_bytes(reply.stdout)
    (folder / "err").write_bytes(reply.stderr)
    command = f"cat {folder}/out; cat {folder}/err >&2; exit {reply.exit_code}"
    handler = {"type": "command", "command": command, "timeout": 30, "onFailure": "block"}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [handler]}]}})
    runs = {"runs": True, "stops": False, "asks": False}[ADAPTER.outcome(reply)]
    assert ran(tmp_path, text) is runs


def test_a_missing_guard_stops_the_client(tmp_path: Path) -> None:
    command = ADAPTER.hook_command(str(tmp_path / "gone" / "python"), "/gone/chrono/guard/boot.py", "the settings")
    assert NAME in command
    assert not ran(tmp_path, ADAPTER.installed(None, command).decode())

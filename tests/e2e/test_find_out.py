"""Claims about blame and bisect after a real session: hook calls as the client sends them, through the installed hook."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hooked import Hooked


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    made = Hooked(tmp_path, service="off")
    made.chrono("init")
    yield made
    made.end()


def call(hooked: Hooked, session: str, call_id: str, tool: str, given: dict[str, Any], change: str | None) -> None:
    """One allowed call of a session; `change` is what a.txt is afterwards."""
    said = hooked.fire(hooked.payload(tool, given, call_id, session_id=session))
    assert said.exit_code == 0, said
    if change is not None:
        (hooked.project / "a.txt").write_text(change)
    done = {"hook_event_name": "PostToolUse", "tool_response": {"success": True}, "session_id": session}
    assert hooked.fire(hooked.payload(tool, given, call_id, **done)).exit_code == 0


def write(hooked: Hooked, session: str, call_id: str, text: str) -> None:
    path = str(hooked.project / "a.txt")
    call(hooked, session, call_id, "Write", {"file_path": path, "content": text}, text)


def test_each_line_and_the_bad_edit_are_traced_to_their_calls(hooked: Hooked) -> None:
    write(hooked, "session-1", "toolu_1", "first\nfrom one\n")
    sed = {"command": "sed -i 's/from one/from two/' a.txt"}
    call(hooked, "session-2", "toolu_2", "Bash", sed, "first\nfrom two\n")
    write(hooked, "session-3", "toolu_3", "first\nfrom two\nfrom three\n")
    hooked.chrono("snapshot", "-m", "mine next")
    (hooked.project / "a.txt").write_text("by hand\nfrom two\nfrom three\n")
    write(hooked, "session-1", "toolu_4", "by hand\nfrom two\nfrom three\nbroken\n")
    write(hooked, "session-2", "toolu_5", "by hand\nfrom two\nfrom three\nbroken\nmore\n")
    value = json.loads(hooked.chrono("blame", "a.txt", "--json").stdout)
    causes = [value["causes"][line["cause"]] for line in value["lines"]]
    assert [cause["kind"] for cause in causes] == ["person", "call", "call", "call", "call"]
    calls = [cause["call"] for cause in causes[1:]]
    assert [one["tool_use"] for one in calls] == ["toolu_2", "toolu_3", "toolu_4", "toolu_5"]
    assert [one["session"] for one in calls] == ["session-2", "session-3", "session-1", "session-2"]
    assert calls[0]["command"] == sed["command"] and calls[1]["paths"] == ["a.txt"]
    check = "import sys; sys.exit('broken' in open('a.txt').read())"
    found = json.loads(hooked.chrono("bisect", "run", "--json", "--", sys.executable, "-c", check).stdout)
    assert found["cause"]["call"]["tool_use"] == "toolu_4" and found["cause"]["call"]["agent"] == "claude-code"
    assert "+broken" in found["patch"] and len(found["runs"]) <= 4
    assert hooked.chrono("audit", "--verify").exit_code == 0


def test_an_agent_cannot_hide_a_command_behind_bisect(hooked: Hooked) -> None:
    for command in ("chrono bisect run -- rm -rf ~", "chrono run -- rm -rf ~", "chrono push --include-secrets"):
        said = hooked.bash(command)
        assert said.exit_code == 2 and "chrono blocked this call" in said.stderr, said
    assert hooked.bash("chrono bisect run -- ls").exit_code == 0

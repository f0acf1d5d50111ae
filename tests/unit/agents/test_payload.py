"""Claims about reading a client's payload by its table: what is made of a tool that the table does not name."""

from __future__ import annotations

import pytest

from chrono.agents.payload import Dialect, Tool, decode
from chrono.agents.protocol import Call

DIALECT = Dialect(
    client="some-client",
    events={"before": "pre"},
    tools={"shell": Tool("shell", "command", True)},
    harmless=frozenset(["look"]),
)


def pre(tool: str, **given: object) -> Call:
    body = {"hook_event_name": "before", "cwd": "/p", "session_id": "s", "tool_name": tool, "tool_input": given}
    return decode(DIALECT, body)


@pytest.mark.parametrize("tool", ["files-write_file", "files___write_file", "files.write_file", "WriteFileSafely"])
def test_what_an_unknown_tool_writes_is_judged_by_where_it_goes(tool: str) -> None:
    call = pre(tool, path=".chrono/x", text="y")
    assert call.paths == (".chrono/x",) and call.changes and call.given


@pytest.mark.parametrize("tool", ["box-run", "terminal", "execute_in_box"])
def test_what_looks_like_a_command_of_an_unknown_tool_is_one(tool: str) -> None:
    assert pre(tool, command="rm -rf /").commands == ("rm -rf /",)


def test_a_path_of_an_unknown_tool_that_only_reads_is_none_that_it_writes() -> None:
    call = pre("files-read_file", path=".chrono/x")
    assert call.paths == () and call.changes


def test_a_tool_that_is_known_to_change_nothing_changes_nothing() -> None:
    assert not pre("look", path=".chrono/x").changes

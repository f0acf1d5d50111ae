"""Owns the hook protocol of Windsurf's Cascade, from its documentation; no run of the client stands behind it.

Each kind of action is an event of its own, and every status but 2 lets the action go on.
"""

from __future__ import annotations

from chrono.agents.hooktree import HookTree, Place
from chrono.agents.payload import Body, Dialect, Tool, to_stderr
from chrono.agents.protocol import OPEN_FAILURE, Reply
from chrono_agents.client import UNTRIED, Client, Listed

_EVENTS = (
    "pre_run_command",
    "pre_write_code",
    "pre_read_code",
    "pre_mcp_tool_use",
    "post_run_command",
    "post_write_code",
    "post_mcp_tool_use",
)


def _entry(command: str) -> dict[str, object]:
    return {"command": command, "show_output": True}


def _closed(place: Place) -> bool:
    return True


TREE = HookTree(
    client="windsurf",
    title="Windsurf",
    root=("hooks",),
    entries=dict.fromkeys(_EVENTS, _entry),
    guards="pre_run_command",
    closed=_closed,
    nested=False,
)


def reshape(body: dict[str, object]) -> dict[str, object]:
    """The payload with the names of the others; the folder is the hook's own where the event names none."""
    action = body.get("agent_action_name")
    info = body.get("tool_info")
    given = dict(info) if isinstance(info, dict) else info
    tool = str(action).partition("_")[2]
    if isinstance(given, dict) and tool == "mcp_tool_use":
        arguments = given.get("mcp_tool_arguments")
        tool = f"mcp__{given.get('mcp_server_name')}__{given.get('mcp_tool_name')}"
        given = dict(arguments) if isinstance(arguments, dict) else {}
    cwd = given.get("cwd") if isinstance(given, dict) else None
    return {**body, "tool_name": tool, "tool_input": given, "cwd": cwd}


def refuse(reason: str) -> Reply:
    """Status 2 and the reason on standard error."""
    return Reply(reason.encode("utf-8", "backslashreplace") + b"\n", to_stderr(reason), 2)


def does(reply: Reply) -> str:
    """Only status 2 stops."""
    return "stops" if reply.exit_code == 2 else "runs"


def probe(command: str, cwd: str) -> dict[str, object]:
    """A command that is about to run."""
    return {
        "agent_action_name": "pre_run_command",
        "trajectory_id": "chrono-self-test",
        "execution_id": "chrono-self-test",
        "tool_info": {"command_line": command, "cwd": cwd},
    }


def server_of(tool: str, body: Body) -> str | None:
    """The server that `reshape` put into the tool's name."""
    return tool.split("__")[1] if tool.startswith("mcp__") else None


ADAPTER = Client(
    title="Windsurf",
    dialect=Dialect(
        folder_may_lack=True,
        client="windsurf",
        events={event: event.partition("_")[0] for event in _EVENTS},
        tools={
            "run_command": Tool("shell", "command_line", True),
            "write_code": Tool("edit", "file_path", True),
            "read_code": Tool("read", "file_path"),
        },
        harmless=frozenset(),
        event_key="agent_action_name",
        session_key="trajectory_id",
        call_key="execution_id",
        server=server_of,
    ),
    settings=Listed(TREE),
    paths={"project": ".windsurf/hooks.json", "user": ".codeium/windsurf/hooks.json"},
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=reshape,
    after_exit=2,
    programs=("windsurf",),
    misses={"": (UNTRIED, OPEN_FAILURE)},
)

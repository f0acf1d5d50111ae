"""Owns the hook protocol of Crush, from its source; no run of the client stands behind it.

It has no event after a tool, and its subagents pass no hook at all.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, long_enough, scalar
from chrono.agents.payload import SEARCH, Body, Dialect, Tool, to_stderr
from chrono.agents.protocol import OPEN_FAILURE, Reply
from chrono_agents.client import UNTRIED, Client, Listed, as_json, does_like_claude


def _entry(command: str) -> dict[str, object]:
    return {"name": "chrono", "matcher": ".*", "command": command, "timeout": TIMEOUT_S}


def _closed(place: Place) -> bool:
    handler = place.handler
    return scalar(handler, "matcher") in (None, "", ".*") and long_enough(scalar(handler, "timeout"))


TREE = HookTree(
    client="crush",
    title="Crush",
    root=("hooks",),
    entries={"PreToolUse": _entry},
    guards="PreToolUse",
    closed=_closed,
    nested=False,
)


def server_of(tool: str, body: Body) -> str | None:
    """`mcp_SERVER_TOOL`."""
    return tool.split("_")[1] if tool.startswith("mcp_") and tool.count("_") >= 2 else None


def refuse(reason: str) -> Reply:
    """Status 2, the reason on standard error and as JSON."""
    return Reply(as_json({"decision": "deny", "reason": reason}) + b"\n", to_stderr(reason), 2)


def probe(command: str, cwd: str) -> dict[str, object]:
    """A call of the shell tool."""
    return {
        "event": "PreToolUse",
        "session_id": "chrono-self-test",
        "cwd": cwd,
        "tool_name": "bash",
        "tool_input": {"command": command},
    }


ADAPTER = Client(
    title="Crush",
    dialect=Dialect(
        client="crush",
        events={"PreToolUse": "pre"},
        tools={
            "bash": Tool("shell", "command", True),
            "write": Tool("write", "file_path", True),
            "edit": Tool("edit", "file_path", True),
            "multiedit": Tool("edit", "file_path", True),
            "view": Tool("read", "file_path"),
            "grep": SEARCH,
        },
        harmless=frozenset(
            "agent agentic_fetch diagnostics fetch glob job_kill job_output ls references sourcegraph todos "
            "web_fetch web_search".split()
        ),
        event_key="event",
        server=server_of,
    ),
    settings=Listed(TREE),
    paths={"project": "crush.json", "user": ".config/crush/crush.json"},
    refuse=refuse,
    does=does_like_claude,
    probe=probe,
    programs=("crush",),
    misses={"": (UNTRIED, "subagents of this client pass no hook", OPEN_FAILURE)},
)

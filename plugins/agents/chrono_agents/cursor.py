"""Owns the hook protocol of Cursor, from its documentation; no run of the client stands behind it.

One event name that the client does not know may void the whole file, so only the two generic ones are used.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, long_enough, scalar
from chrono.agents.payload import SEARCH, Body, Dialect, Tool, to_stderr
from chrono.agents.protocol import Reply
from chrono_agents.client import UNTRIED, Client, Listed, as_json, said

_EVENTS = ("preToolUse", "postToolUse")


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        found: dict[str, object] = {"command": command, "matcher": "*", "timeout": TIMEOUT_S}
        return {**found, "failClosed": True} if event == "preToolUse" else found

    return entry


def _closed(place: Place) -> bool:
    handler = place.handler
    everything = scalar(handler, "matcher") in (None, "", "*", ".*")
    return everything and scalar(handler, "failClosed") is True and long_enough(scalar(handler, "timeout"))


TREE = HookTree(
    client="cursor",
    title="Cursor",
    root=("hooks",),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="preToolUse",
    closed=_closed,
    nested=False,
    first={"version": 1},
    problems=lambda root: ["`version` is not 1: Cursor reads none of it"] if scalar(root, "version") != 1 else [],
)


def reshape(body: dict[str, object]) -> dict[str, object]:
    """The payload with a folder: `cwd` may be empty, the first root of the workspace then counts."""
    roots = body.get("workspace_roots")
    if not body.get("cwd") and isinstance(roots, list) and roots:
        return {**body, "cwd": roots[0]}
    return body


def server_of(tool: str, body: Body) -> str | None:
    """`MCP:TOOL` or `MCP`: the server is not named."""
    return "" if tool.startswith("MCP") else None


def refuse(reason: str) -> Reply:
    """The JSON that denies, with status 0: with 2 the reason would be lost."""
    answer = {"permission": "deny", "user_message": reason, "agent_message": reason}
    return Reply(as_json(answer) + b"\n", to_stderr(reason), 0)


def does(reply: Reply) -> str:
    """Any failure refuses, through `failClosed`."""
    if reply.exit_code != 0:
        return "stops"
    return {"deny": "stops", "ask": "asks"}.get(str(said(reply).get("permission")), "runs")


def probe(command: str, cwd: str) -> dict[str, object]:
    """A call of the shell tool."""
    return {
        "hook_event_name": "preToolUse",
        "conversation_id": "chrono-self-test",
        "workspace_roots": [cwd],
        "cwd": cwd,
        "tool_name": "Shell",
        "tool_input": {"command": command},
    }


ADAPTER = Client(
    title="Cursor",
    dialect=Dialect(
        client="cursor",
        events={"preToolUse": "pre", "postToolUse": "post", "postToolUseFailure": "fail"},
        tools={
            "Shell": Tool("shell", "command", True),
            "Write": Tool("write", "file_path", True),
            "Delete": Tool("write", "file_path", True),
            "Read": Tool("read", "file_path"),
            "Grep": SEARCH,
        },
        harmless=frozenset("Glob List Ls ReadLints SemanticSearch Task TodoWrite WebFetch WebSearch".split()),
        session_key="conversation_id",
        server=server_of,
    ),
    settings=Listed(TREE),
    paths={"project": ".cursor/hooks.json", "user": ".cursor/hooks.json"},
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=reshape,
    programs=("cursor-agent", "cursor"),
    misses={"": (UNTRIED, "look whether Settings, Hooks lists chrono")},
)

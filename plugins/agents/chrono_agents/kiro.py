"""Owns the hook protocol of Kiro, from its documentation; no run of the client stands behind it."""

from __future__ import annotations

import json

from chrono.agents.payload import SEARCH, Body, Dialect, Tool
from chrono.agents.protocol import OPEN_FAILURE, PayloadRefused
from chrono_agents.client import UNTRIED, Client, Own, does_like_claude, probe_like_claude, refuse_like_claude


def render(command: str) -> str:
    """A hook file of chrono's own; the client reads every file of the folder."""
    hooks = [
        {
            "name": f"chrono-{trigger}",
            "trigger": trigger,
            "matcher": ".*",
            "action": {"type": "command", "command": command},
            "timeout": 30,
            "enabled": True,
        }
        for trigger in ("PreToolUse", "PostToolUse")
    ]
    return json.dumps({"version": "v1", "hooks": hooks}, indent=2) + "\n"


def reshape(body: dict[str, object]) -> dict[str, object]:
    """The payload with an operation list of `fs_read` brought to one member."""
    given = body.get("tool_input")
    operations = given.get("operations") if isinstance(given, dict) else None
    if isinstance(operations, list):
        paths = [one.get("path") for one in operations if isinstance(one, dict)]
        if not all(isinstance(path, str) for path in paths):
            raise PayloadRefused("an operation names no path")
        return {**body, "tool_input": {"path": paths}}
    return body


def server_of(tool: str, body: Body) -> str | None:
    """`@SERVER/TOOL`."""
    return tool[1:].partition("/")[0] if tool.startswith("@") else None


_SHELL = Tool("shell", "command", True)
_WRITE = Tool("write", "path", True)
_READ = Tool("read", "path", many=True)

ADAPTER = Client(
    title="Kiro",
    dialect=Dialect(
        client="kiro",
        events={"PreToolUse": "pre", "preToolUse": "pre", "PostToolUse": "post", "postToolUse": "post"},
        tools={
            "shell": _SHELL,
            "execute_bash": _SHELL,
            "execute_cmd": _SHELL,
            "write": _WRITE,
            "fs_write": _WRITE,
            "grep": SEARCH,
            "str_replace": Tool("edit", "path", True),
            "read": _READ,
            "fs_read": _READ,
        },
        harmless=frozenset("glob introspect knowledge report_issue thinking todo_list web_fetch web_search".split()),
        server=server_of,
    ),
    settings=Own("kiro", "PreToolUse", render),
    paths={"project": ".kiro/hooks/chrono.json", "user": ".kiro/hooks/chrono.json"},
    refuse=refuse_like_claude,
    does=does_like_claude,
    probe=probe_like_claude("execute_bash"),
    reshape=reshape,
    after_exit=2,
    programs=("kiro-cli", "kiro"),
    misses={"": (UNTRIED, OPEN_FAILURE)},
)

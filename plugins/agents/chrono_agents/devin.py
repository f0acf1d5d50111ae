"""Owns the hook protocol of the Devin CLI, as other public adapters speak it; no run of the client stands behind it."""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, every_tool
from chrono.agents.payload import SEARCH, Dialect, Tool
from chrono.agents.protocol import OPEN_FAILURE
from chrono_agents.client import UNTRIED, Client, Listed, does_like_claude, probe_like_claude, refuse_like_claude


def _entry(command: str) -> dict[str, object]:
    return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}


TREE = HookTree(
    client="devin",
    title="Devin",
    root=("hooks",),
    entries={"PreToolUse": _entry, "PostToolUse": _entry},
    guards="PreToolUse",
    closed=every_tool(),
)

ADAPTER = Client(
    title="Devin CLI",
    dialect=Dialect(
        client="devin",
        events={"PreToolUse": "pre", "PostToolUse": "post"},
        tools={
            "exec": Tool("shell", "command", True),
            "write": Tool("write", "file_path", True),
            "edit": Tool("edit", "file_path", True),
            "read": Tool("read", "file_path"),
            "grep": SEARCH,
        },
        harmless=frozenset("glob ls task todo_write web_fetch web_search".split()),
    ),
    settings=Listed(TREE),
    paths={"project": ".devin/config.json", "user": ".config/devin/config.json"},
    refuse=refuse_like_claude,
    does=does_like_claude,
    probe=probe_like_claude("exec"),
    after_exit=2,
    programs=("devin",),
    misses={"": (UNTRIED, OPEN_FAILURE)},
)

"""Owns the hook protocol of Factory's Droid (runs of version 0.225.2).

Its file lists the events at the top, its calls have no id, and an `ask` lets the call run where nobody is there.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, every_tool
from chrono.agents.payload import SEARCH, Dialect, Tool
from chrono.agents.protocol import OPEN_FAILURE, WORKTREE
from chrono_agents.client import Client, Listed, does_like_claude, probe_like_claude, refuse_like_claude

_MATCHED = ("PreToolUse", "PostToolUse")
_EVENTS = (*_MATCHED, "SessionStart", "SessionEnd")


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        handler = {"type": "command", "command": command, "timeout": TIMEOUT_S}
        return {"matcher": "*", "hooks": [handler]} if event in _MATCHED else {"hooks": [handler]}

    return entry


TREE = HookTree(
    client="droid",
    title="Droid",
    root=(),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="PreToolUse",
    closed=every_tool(".*"),
)

ADAPTER = Client(
    title="Factory Droid",
    dialect=Dialect(
        client="droid",
        events={
            "PreToolUse": "pre",
            "PostToolUse": "post",
            "SessionStart": "session.start",
            "SessionEnd": "session.end",
        },
        tools={
            "Execute": Tool("shell", "command", True),
            "Create": Tool("write", "file_path", True),
            "Edit": Tool("edit", "file_path", True),
            "MultiEdit": Tool("edit", "file_path", True),
            "ApplyPatch": Tool("patch", "input", True),
            "Read": Tool("read", "file_path"),
            "Grep": SEARCH,
        },
        harmless=frozenset(
            "AskUser ExitSpecMode FetchUrl Glob LS Skill Task TaskOutput TodoWrite ToolSearch WebSearch".split()
        ),
    ),
    settings=Listed(TREE),
    paths={"project": ".factory/hooks.json", "user": ".factory/hooks.json"},
    refuse=refuse_like_claude,
    does=does_like_claude,
    probe=probe_like_claude("Execute", permission_mode="off"),
    after_exit=2,
    programs=("droid",),
    misses={"project": (WORKTREE,), "": (OPEN_FAILURE,)},
)

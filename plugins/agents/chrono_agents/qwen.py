"""Owns the hook protocol of Qwen Code (runs of version 0.24.4): Claude Code's answers, Gemini CLI's tools.

A timeout of 1000 or more means milliseconds, and of two hooks with one name only the first runs.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, long_enough, scalar
from chrono.agents.jsontext import Node
from chrono.agents.payload import Dialect
from chrono.agents.protocol import OPEN_FAILURE, SUBFOLDER, WORKTREE
from chrono_agents.client import (
    Client,
    Listed,
    ask_like_claude,
    does_like_claude,
    probe_like_claude,
    refuse_like_claude,
)
from chrono_agents.gemini import HARMLESS, TOOLS

_MATCHED = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_EVENTS = (*_MATCHED, "SessionStart", "SessionEnd")


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        handler = {"name": f"chrono-{event}", "type": "command", "command": command, "timeout": TIMEOUT_S}
        return {"matcher": "*", "hooks": [handler]} if event in _MATCHED else {"hooks": [handler]}

    return entry


def _closed(place: Place) -> bool:
    timeout = scalar(place.handler, "timeout")
    unit_s = 0.001 if isinstance(timeout, int | float) and timeout >= 1000 else 1.0
    everything = scalar(place.group, "matcher") in (None, "", "*", ".*")
    return everything and long_enough(timeout, unit_s=unit_s) and scalar(place.handler, "async") in (None, False)


def _problems(root: Node) -> list[str]:
    return (
        ["`disableAllHooks` is set: Qwen Code runs no hook at all"] if scalar(root, "disableAllHooks") is True else []
    )


TREE = HookTree(
    client="qwen",
    title="Qwen Code",
    root=("hooks",),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="PreToolUse",
    closed=_closed,
    comments=True,
    problems=_problems,
)

ADAPTER = Client(
    title="Qwen Code",
    dialect=Dialect(
        client="qwen",
        events={
            "PreToolUse": "pre",
            "PostToolUse": "post",
            "PostToolUseFailure": "fail",
            "SessionStart": "session.start",
            "SessionEnd": "session.end",
        },
        tools=TOOLS,
        harmless=HARMLESS,
        asks=frozenset(("default", "plan", "auto_edit")),
    ),
    settings=Listed(TREE),
    paths={"project": ".qwen/settings.json", "user": ".qwen/settings.json"},
    refuse=refuse_like_claude,
    ask=ask_like_claude,
    does=does_like_claude,
    probe=probe_like_claude("run_shell_command", permission_mode="default", tool_use_id="chrono-self-test"),
    after_exit=2,
    programs=("qwen",),
    misses={"project": (SUBFOLDER, WORKTREE, "a folder that is not trusted has no hooks"), "": (OPEN_FAILURE,)},
)

"""Owns the hook protocol of OpenAI's Codex CLI (runs of version 0.171.0, and its source).

Two things are unlike the others: a hook runs only after a person has reviewed it with /hooks, and what is typed into
a program that already runs (write_stdin) is shown to no hook at all.
"""

from __future__ import annotations

import re

from chrono.agents.hooktree import TIMEOUT_S, HookTree, every_tool
from chrono.agents.payload import Dialect, Tool
from chrono.agents.protocol import OPEN_FAILURE, WORKTREE, Call, PayloadRefused
from chrono_agents import codex_trust
from chrono_agents.client import Client, Listed, does_like_claude, probe_like_claude, refuse_like_claude

_SHELLS = (
    r"(?:ba|da|z|k|fi|c|tc)?sh|pwsh|python[\d.]*|ipython|bpython|node|deno|bun|ruby|irb|perl|php|lua|R|ghci|jshell"
)
_CLIENTS = r"psql|mysql|mariadb|sqlite3|redis-cli|mongosh?|telnet|nc|ncat|gdb|lldb"
_OPEN_PROGRAM = re.compile(
    rf"\s*(?:(?:\w+=\S*|exec|env|command|sudo)\s+)*(?:\S*/)?"
    rf"(?:(?:{_SHELLS})(?:\s+(?:-(?!-?c(?:ommand)?\b|-?e(?:val)?\b|-?version\b|-?help\b|[vVhm]\b)\S*))*"
    rf"|(?:{_CLIENTS})(?:\s+(?!-[ce]\b|-f\b|--(?:command|eval|file|execute|version|help)\b)\S+)?"
    r"|ssh(?:\s+-\S+)*\s+[^\s-]\S*)\s*"
)
_FED_SHELL = re.compile(rf"\s*cat\s*-?\s*\|\s*(?:\S*/)?(?:{_SHELLS})(?:\s+-\S+)*\s*")

_EVENTS = ("PreToolUse", "PostToolUse", "SessionStart", "SessionEnd")


def check(call: Call) -> None:
    """Refuses a program that waits for input: what Codex types into it later passes no hook (openai/codex#46372)."""
    for text in call.commands:
        if _OPEN_PROGRAM.fullmatch(text) or _FED_SHELL.fullmatch(text):
            raise PayloadRefused(
                f"`{text.strip()}` waits for input, and what Codex types into a running program is shown to no guard",
                "give the program its commands at once, for example with -c or a script file",
            )


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        timeout_s = 3 if event == "SessionEnd" else TIMEOUT_S  # Codex clamps it, and complains of more
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}

    return entry


TREE = HookTree(
    client="codex",
    title="Codex",
    root=("hooks",),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="PreToolUse",
    closed=every_tool(),
    bom=False,
)

ADAPTER = Client(
    title="Codex CLI",
    dialect=Dialect(
        client="codex",
        events={
            "PreToolUse": "pre",
            "PostToolUse": "post",
            "SessionStart": "session.start",
            "SessionEnd": "session.end",
        },
        tools={"Bash": Tool("shell", "command", True), "apply_patch": Tool("patch", "command", True)},
        harmless=frozenset("spawn_agent view_image update_plan web_search wait_agent close_agent send_input".split()),
    ),
    settings=Listed(TREE),
    paths={"project": ".codex/hooks.json", "user": ".codex/hooks.json"},
    refuse=refuse_like_claude,
    does=does_like_claude,
    probe=probe_like_claude(permission_mode="default", model="chrono-self-test", tool_use_id="chrono-self-test"),
    check=check,
    asks=codex_trust.problems,
    after_exit=2,
    programs=("codex",),
    misses={
        "project": (WORKTREE,),
        "": (
            "Codex runs a hook only after you reviewed it: start codex, type /hooks, and trust chrono's",
            "what Codex types into a program that already runs is shown to no guard",
            OPEN_FAILURE,
        ),
    },
)

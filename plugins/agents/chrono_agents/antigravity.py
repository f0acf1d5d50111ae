"""Owns the hook protocol of the Antigravity CLI, as other public adapters speak it; no run stands behind it."""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, every_tool, scalar
from chrono.agents.jsontext import Node
from chrono.agents.payload import SEARCH, Dialect, Tool
from chrono.agents.protocol import OPEN_FAILURE
from chrono_agents.client import UNTRIED, Client, Listed
from chrono_agents.gemini import does, refuse


def _entry(command: str) -> dict[str, object]:
    return {"matcher": ".*", "hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}


def _problems(root: Node) -> list[str]:
    group = root.get("chrono")
    off = group is not None and scalar(group, "enabled") is False
    return ["`chrono.enabled` is false: Antigravity runs none of these hooks"] if off else []


TREE = HookTree(
    client="antigravity",
    title="Antigravity",
    root=("chrono",),
    entries={"PreToolUse": _entry, "PostToolUse": _entry},
    guards="PreToolUse",
    closed=every_tool(".*"),
    problems=_problems,
)


def reshape(body: dict[str, object]) -> dict[str, object]:
    """The payload with the names of the others."""
    call = body.get("toolCall")
    name, given = (call.get("name"), call.get("args")) if isinstance(call, dict) else (None, None)
    roots = body.get("workspacePaths")
    cwd = roots[0] if isinstance(roots, list) and roots else None
    event = body.get("hook_event_name") or ("PostToolUse" if "toolResult" in body else "PreToolUse")
    return {**body, "hook_event_name": event, "tool_name": name, "tool_input": given, "cwd": cwd}


def probe(command: str, cwd: str) -> dict[str, object]:
    """A call of the shell tool."""
    return {
        "toolCall": {"name": "run_command", "args": {"CommandLine": command}},
        "conversationId": "chrono-self-test",
        "workspacePaths": [cwd],
    }


ADAPTER = Client(
    title="Antigravity CLI",
    dialect=Dialect(
        folder_may_lack=True,
        client="antigravity",
        events={"PreToolUse": "pre", "PostToolUse": "post"},
        tools={
            "run_command": Tool("shell", "CommandLine", True),
            "write_to_file": Tool("write", "TargetFile", True),
            "replace_file_content": Tool("edit", "TargetFile", True),
            "multi_replace_file_content": Tool("edit", "TargetFile", True),
            "view_file": Tool("read", "AbsolutePath"),
            "grep_search": SEARCH,
        },
        harmless=frozenset(
            """
            codebase_search command_status find_by_name list_dir read_url_content search_web task_boundary
            view_code_item view_content_chunk view_file_outline
            """.split()
        ),
        session_key="conversationId",
    ),
    settings=Listed(TREE),
    paths={"project": ".gemini/config/hooks.json", "user": ".gemini/config/hooks.json"},
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=reshape,
    programs=("agy", "antigravity"),
    misses={"": (UNTRIED, OPEN_FAILURE)},
)

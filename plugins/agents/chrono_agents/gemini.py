"""Owns the hook protocol of Gemini CLI (runs of version 0.61.0, and its source).

Its timeouts are milliseconds, an `ask` waits for ever where no person is there, and an exit status counts only where
standard output holds no JSON.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, long_enough, scalar
from chrono.agents.jsontext import Node
from chrono.agents.payload import SEARCH, Body, Dialect, Tool, to_stderr
from chrono.agents.protocol import OPEN_FAILURE, SUBFOLDER, WORKTREE, Reply
from chrono_agents.client import Client, Listed, as_json, said

_MATCHED = ("BeforeTool", "AfterTool")
_EVENTS = (*_MATCHED, "SessionStart", "SessionEnd")
TOOLS = {
    "run_shell_command": Tool("shell", "command", True),
    "write_file": Tool("write", "file_path", True),
    "replace": Tool("edit", "file_path", True),
    "edit": Tool("edit", "file_path", True),
    "notebook_edit": Tool("edit", "notebook_path", True),
    "read_file": Tool("read", "file_path"),
    **dict.fromkeys(("read_many_files", "grep", "grep_search", "search_file_content"), SEARCH),
}
HARMLESS = frozenset(
    """
    activate_skill agent ask_user codebase_investigator complete_task enter_plan_mode exit_plan_mode get_internal_docs
    glob google_web_search invoke_agent list_directory save_memory skill task todo_write web_fetch web_search
    write_todos
    """.split()
)


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        handler = {"name": "chrono", "type": "command", "command": command, "timeout": TIMEOUT_S * 1000}
        return {"matcher": ".*", "hooks": [handler]} if event in _MATCHED else {"hooks": [handler]}

    return entry


def _closed(place: Place) -> bool:
    everything = scalar(place.group, "matcher") in (None, "", "*", ".*")
    return everything and long_enough(scalar(place.handler, "timeout"), unit_s=0.001)


def _problems(root: Node) -> list[str]:
    config = root.get("hooksConfig")
    if config is None or config.kind != "object":
        return []
    problems = []
    if scalar(config, "enabled") is False:
        problems.append("`hooksConfig.enabled` is false: Gemini CLI runs no hook at all")
    disabled = config.get("disabled")
    if disabled is not None and any(name.scalar == "chrono" for name in disabled.children):
        problems.append("`hooksConfig.disabled` names chrono")
    return problems


TREE = HookTree(
    client="gemini",
    title="Gemini CLI",
    root=("hooks",),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="BeforeTool",
    closed=_closed,
    comments=True,
    bom=False,
    problems=_problems,
)


def server_of(tool: str, body: Body) -> str | None:
    """`mcp_SERVER_TOOL`; the server's name is the payload's, since it may hold underscores itself."""
    context = body.get("mcp_context")
    name = context.get("server_name") if isinstance(context, dict) else None
    if isinstance(name, str) and name:
        return name
    return "" if tool.startswith("mcp_") else None


def refuse(reason: str) -> Reply:
    """JSON first: with it the status does not count, without it status 2 would stop the call too."""
    return Reply(as_json({"decision": "deny", "reason": reason}) + b"\n", to_stderr(reason), 2)


def does(reply: Reply) -> str:
    """A JSON answer counts alone; without one, status 2 and above stops where standard error says why."""
    answer = said(reply)
    if answer:
        return {"deny": "stops", "block": "stops", "ask": "asks"}.get(str(answer.get("decision")), "runs")
    return "stops" if reply.exit_code >= 2 and reply.stderr.strip() and not reply.stdout.strip() else "runs"


def probe(command: str, cwd: str) -> dict[str, object]:
    """A call of the shell tool."""
    return {
        "session_id": "chrono-self-test",
        "transcript_path": "",
        "cwd": cwd,
        "hook_event_name": "BeforeTool",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "tool_name": "run_shell_command",
        "tool_input": {"command": command},
    }


ADAPTER = Client(
    title="Gemini CLI",
    dialect=Dialect(
        client="gemini",
        events={
            "BeforeTool": "pre",
            "AfterTool": "post",
            "SessionStart": "session.start",
            "SessionEnd": "session.end",
        },
        tools=TOOLS,
        harmless=HARMLESS,
        server=server_of,
    ),
    settings=Listed(TREE),
    paths={"project": ".gemini/settings.json", "user": ".gemini/settings.json"},
    refuse=refuse,
    does=does,
    probe=probe,
    programs=("gemini",),
    misses={"project": (SUBFOLDER, WORKTREE, "a folder that is not trusted has no hooks"), "": (OPEN_FAILURE,)},
)

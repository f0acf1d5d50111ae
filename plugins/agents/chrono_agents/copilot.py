"""Owns the hook protocol of GitHub's Copilot CLI (runs of version 1.0.102).

A payload names no event: what it holds tells which one it is. A refusal must come with status 0, or
the model is told nothing but "exited with code 2".
"""

from __future__ import annotations

import json

from chrono.agents.payload import SEARCH, Dialect, Tool, to_stderr
from chrono.agents.protocol import SUBFOLDER, WORKTREE, PayloadRefused, Reply
from chrono_agents.client import Body, Client, Own, as_json, said


def render(command: str) -> str:
    """A hook file of chrono's own. The client reads every file of the folder; unknown members do no harm."""
    entry = {"type": "command", "bash": command, "timeoutSec": 30}
    hooks = {event: [entry] for event in ("preToolUse", "postToolUse", "postToolUseFailure")}
    return json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"


def reshape(body: Body) -> Body:
    """The payload with an event and an object as input: older versions send the arguments as a JSON text."""
    if "hook_event_name" in body:
        raise PayloadRefused("the hook's input has the shape of another client", "install the hook again")
    if "sessionId" not in body:
        raise PayloadRefused("the hook's input names no session (sessionId)")
    arguments = body.get("toolArgs")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            raise PayloadRefused("the arguments of the tool are not JSON") from None
    event = "other"
    if "toolName" in body:
        event = "fail" if "error" in body else "post" if "toolResult" in body else "pre"
    return {**body, "toolArgs": arguments, "hook_event_name": event}


def refuse(reason: str) -> Reply:
    """Status 0 and the JSON that denies."""
    answer = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return Reply(as_json(answer) + b"\n", to_stderr(reason), 0)


def does(reply: Reply) -> str:
    """Any other status than 0 refuses; with 0 the JSON counts."""
    if reply.exit_code != 0:
        return "stops"
    return {"deny": "stops", "ask": "asks"}.get(str(said(reply).get("permissionDecision")), "runs")


def probe(command: str, cwd: str) -> Body:
    """A call of the shell tool."""
    return {
        "sessionId": "chrono-self-test",
        "timestamp": 0,
        "cwd": cwd,
        "toolName": "bash",
        "toolArgs": {"command": command, "description": "chrono self-test", "mode": "sync"},
    }


ADAPTER = Client(
    title="GitHub Copilot CLI",
    dialect=Dialect(
        client="copilot",
        events={"pre": "pre", "post": "post", "fail": "fail"},
        tools={
            "bash": Tool("shell", "command", True),
            "powershell": Tool("shell", "command", True, "powershell"),
            "run_in_terminal": Tool("shell", "command", True),
            "create": Tool("write", "path", True),
            "create_file": Tool("write", "filePath", True),
            "edit": Tool("edit", "path", True),
            "replace_string_in_file": Tool("edit", "filePath", True),
            "apply_patch": Tool("patch", "patch", True),
            "view": Tool("read", "path"),
            "grep": SEARCH,
        },
        harmless=frozenset(
            "ask_user glob list_agents list_bash read_agent read_bash report_intent skill stop_bash task "
            "update_todo web_fetch web_search".split()
        ),
        tool_key="toolName",
        input_key="toolArgs",
        session_key="sessionId",
        agent_key="agentId",
        call_key="toolCallId",
    ),
    settings=Own("copilot", "preToolUse", render),
    paths={"project": ".github/hooks/chrono.json", "user": ".copilot/hooks/chrono.json"},
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=reshape,
    programs=("copilot",),
    misses={
        "project": (SUBFOLDER, WORKTREE, "a folder that is not trusted has no hooks"),
        "": ("where the hook outlasts its time, this client lets the call run",),
    },
)

"""Owns the hook protocol of Cline (runs of the CLI 3.0.65, and its source).

A hook is a script named after its event. Exit statuses do not count, only a JSON object on standard output; so the
script itself says the refusal where the guard could not.
"""

from __future__ import annotations

import json

from chrono.agents.payload import SEARCH, Dialect, Tool, to_stderr
from chrono.agents.protocol import OPEN_FAILURE, WORKTREE, PayloadRefused, Reply
from chrono_agents.client import Body, Client, Own, as_json, said


def render(command: str) -> str:
    """The script. What the guard printed is passed on; where it printed nothing and failed, the call is cancelled."""
    failed = json.dumps({"cancel": True, "errorMessage": "chrono: the guard could not run, so this call is denied."})
    return (
        "#!/bin/sh\n"
        f"# chrono's hook for Cline; `chrono guard uninstall cline` removes it. {json.dumps(command)}\n"
        f"status=0; said=$({command}) || status=$?\n"
        'if [ -n "$said" ]; then printf \'%s\\n\' "$said"\n'
        f"elif [ $status -ne 0 ]; then printf '%s\\n' '{failed}'\n"
        "fi\n"
    )


def reshape(body: Body) -> Body:
    """The payload with the names of the others: the CLI's form, and that of the editor's extension."""
    call = body.get("tool_call") or body.get("tool_result")
    editor = body.get("preToolUse")
    if isinstance(call, dict):
        name, given, call_id = call.get("name"), call.get("input"), call.get("id")
    elif isinstance(editor, dict):
        name, given, call_id = editor.get("toolName"), editor.get("parameters"), None
    else:
        name = given = call_id = None
    roots = body.get("workspaceRoots")
    cwd = roots[0] if isinstance(roots, list) and roots else None
    if body.get("hookName") in ("tool_call", "PreToolUse") and name is None:
        raise PayloadRefused("the hook's input names no tool")
    return {**body, "cwd": cwd, "tool_name": name, "tool_input": given, "tool_use_id": call_id}


def refuse(reason: str) -> Reply:
    """The JSON that cancels; it ends the whole run of the agent, with the reason."""
    return Reply(as_json({"cancel": True, "errorMessage": reason}) + b"\n", to_stderr(reason), 0)


def does(reply: Reply) -> str:
    """Only `cancel` stops."""
    return "stops" if said(reply).get("cancel") is True else "runs"


def probe(command: str, cwd: str) -> Body:
    """A call of the shell tool."""
    return {
        "clineVersion": "",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "taskId": "chrono-self-test",
        "workspaceRoots": [cwd],
        "hookName": "tool_call",
        "tool_call": {"id": "chrono-self-test", "name": "run_commands", "input": {"commands": [command]}},
    }


ADAPTER = Client(
    title="Cline",
    dialect=Dialect(
        folder_may_lack=True,
        client="cline",
        events={"tool_call": "pre", "PreToolUse": "pre", "tool_result": "post", "PostToolUse": "post"},
        tools={
            "run_commands": Tool("shell", "commands", True, many=True),
            "execute_command": Tool("shell", "command", True),
            "editor": Tool("edit", "path", True),
            "write_to_file": Tool("write", "path", True),
            "replace_in_file": Tool("edit", "path", True),
            "apply_patch": Tool("patch", "input", True),
            "read_file": Tool("read", "path"),
            "read_files": SEARCH,
            "search_files": SEARCH,
        },
        harmless=frozenset(
            """
            ask_followup_question ask_question attempt_completion fetch_web_content list_files new_task
            plan_mode_respond search_codebase skills spawn_agent submit_and_exit
            """.split()
        ),
        event_key="hookName",
        session_key="taskId",
    ),
    settings=Own("cline", "PreToolUse", render),
    paths={"project": ".cline/hooks/PreToolUse", "user": ".cline/hooks/PreToolUse"},
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=reshape,
    programs=("cline",),
    misses={"project": (WORKTREE,), "": ("a refusal ends the whole run of the agent", OPEN_FAILURE)},
)

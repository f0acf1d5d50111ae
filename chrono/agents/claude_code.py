"""Owns the hook protocol of Claude Code: what its payloads mean, and how an answer must look so that it holds.

Its settings files are left to `claude_settings`. Source: the vendor's hook reference, and runs of version 2.1.332.
"""

from __future__ import annotations

import os

from chrono.agents.payload import SEARCH, Dialect, Tool, plain, read_object, to_stderr
from chrono.agents.payload import decode as decode_body
from chrono.agents.protocol import API_VERSION, SELF_TEST, SUBFOLDER, WORKTREE, Call, Decision, Inspection, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "claude-code"

DIALECT = Dialect(
    client=NAME,
    events={
        "PreToolUse": "pre",
        "PostToolUse": "post",
        "PostToolUseFailure": "fail",
        "SessionStart": "session.start",
        "SessionEnd": "session.end",
    },
    tools={
        "Bash": Tool("shell", "command", True),
        "PowerShell": Tool("shell", "command", True, "powershell"),
        "Write": Tool("write", "file_path", True),
        "Edit": Tool("edit", "file_path", True),
        "MultiEdit": Tool("edit", "file_path", True),
        "NotebookEdit": Tool("edit", "notebook_path", True),
        "Read": Tool("read", "file_path"),
        "NotebookRead": Tool("read", "notebook_path"),
        "Grep": SEARCH,
    },
    # What a subagent does comes as calls of its own.
    harmless=frozenset(
        """
        Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode Glob KillBash KillShell LS
        ListMcpResourcesTool LSP ReadMcpResourceTool SendMessage Skill Task TaskCreate TaskGet TaskList TaskOutput
        TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebFetch WebSearch
        """.split()
    ),
    # In the other modes nobody is asked, so `ask` becomes a refusal.
    asks=frozenset(("default", "acceptEdits", "plan")),
)


def decode(payload: bytes) -> Call:
    """The event in `payload`, one JSON object. Raises PayloadRefused."""
    return decode_body(DIALECT, read_object(payload))


def encode(decision: Decision, call: Call | None) -> Reply:
    """`decision` as bytes and exit status.

    A refusal is said three times (JSON, stderr, exit 2): there were versions and platforms that lost one of them.
    """
    before_a_tool = call is None or call.event == "pre"
    if decision.decision == "allow":
        return Reply(b"", b"", 0)
    reason = plain(decision.reason)
    if decision.decision == "ask" and call is not None and call.event == "pre" and call.can_ask:
        return Reply(_permission("ask", reason), b"", 0)
    return Reply(_permission("deny", reason) if before_a_tool else b"", to_stderr(reason), 2)


def _permission(word: str, reason: str) -> bytes:
    import json

    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }
    return json.dumps(answer).encode("ascii") + b"\n"


def outcome(reply: Reply) -> str:
    """What the client does on `reply`: "runs", "asks" or "stops" (hooks.md, table of answers)."""
    if reply.exit_code == 2:
        return "stops"
    if reply.exit_code != 0:
        return "stops"  # through `onFailure: block`
    import json

    try:
        said = json.loads(reply.stdout)["hookSpecificOutput"]
        if said["hookEventName"] != "PreToolUse":
            return "runs"
        return {"deny": "stops", "ask": "asks"}.get(said["permissionDecision"], "runs")
    except (ValueError, KeyError, TypeError):
        return "runs"


def hook_command(interpreter: str, boot: str, settings_path: str) -> str:
    """The command line for the settings file. Raises SettingsRefused for a path that no shell word can hold."""
    from chrono.agents.hookcommand import posix_command

    return posix_command(NAME, interpreter, boot, settings_path)


def settings_path(scope: str, *, project: str, user_home: str) -> str:
    """`.claude/settings.json` of the project or of the person."""
    folder = {"project": project, "user": user_home}[scope]
    return os.path.join(folder, ".claude", "settings.json")


def sample(command: str, *, cwd: str) -> bytes:
    """The payload for a Bash call of `command`."""
    import json

    body = {
        "session_id": SELF_TEST,
        "transcript_path": "",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "chrono self-test"},
        "tool_use_id": SELF_TEST,
    }
    return json.dumps(body).encode("ascii") + b"\n"


class _ClaudeCode:
    """The adapter object; see `protocol.AgentAdapter`."""

    api_version = API_VERSION
    name = NAME
    title = "Claude Code"
    programs = ("claude",)
    decode = staticmethod(decode)
    encode = staticmethod(encode)
    outcome = staticmethod(outcome)
    settings_path = staticmethod(settings_path)
    hook_command = staticmethod(hook_command)
    sample = staticmethod(sample)

    def gaps(self, scope: str) -> tuple[str, ...]:
        return (SUBFOLDER, WORKTREE) if scope == "project" else ()

    def installed(self, settings: bytes | None, command: str) -> bytes:
        from chrono.agents import claude_settings

        return claude_settings.installed(settings, command)

    def uninstalled(self, settings: bytes) -> bytes | None:
        from chrono.agents import claude_settings

        return claude_settings.uninstalled(settings)

    def inspect(self, settings: bytes | None) -> Inspection:
        from chrono.agents import claude_settings

        return claude_settings.inspect(settings)

    def client_problems(self, settings_path: str, project: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        from chrono.agents import claude_elsewhere

        return claude_elsewhere.problems(settings_path, project, environ)

    def without_shells(self, settings: bytes) -> tuple[bytes, tuple[str, ...]]:
        from chrono.agents import claude_settings

        return claude_settings.without_shells(settings)

    def with_shells(self, settings: bytes, added: tuple[str, ...]) -> bytes | None:
        from chrono.agents import claude_settings

        return claude_settings.with_shells(settings, added)


ADAPTER = _ClaudeCode()

"""Owns the hook protocol of Claude Code: what its payloads mean, and how an answer must look so that it holds.

Its settings files are left to `claude_settings`. Source: the vendor's hook reference, and runs of version 2.1.332.
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from chrono.agents.protocol import API_VERSION, Call, Decision, Inspection, PayloadRefused, Reply, SettingsRefused

NAME = "claude-code"

_EVENTS = {
    "PreToolUse": "pre",
    "PostToolUse": "post",
    "PostToolUseFailure": "fail",
    "SessionStart": "session.start",
    "SessionEnd": "session.end",
}

_ASKING_MODES = frozenset(("default", "acceptEdits", "plan"))
"""Modes in which `ask` opens a dialogue. In the others nobody is asked, so `ask` becomes a refusal."""

MAX_REASON = 4000
"""Characters of a reason; a model that is sent a novel does not read the first line either."""


class _Tool(NamedTuple):
    kind: str
    keys: tuple[str, ...] = ()
    changes: bool = False
    shell: str = "bash"


_TOOLS = {
    "Bash": _Tool("shell", ("command",), True),
    "PowerShell": _Tool("shell", ("command",), True, "powershell"),
    "Write": _Tool("write", ("file_path",), True),
    "Edit": _Tool("edit", ("file_path",), True),
    "MultiEdit": _Tool("edit", ("file_path",), True),
    "NotebookEdit": _Tool("edit", ("notebook_path",), True),
    "Read": _Tool("read", ("file_path",)),
    "NotebookRead": _Tool("read", ("notebook_path",)),
}
_HARMLESS = frozenset(
    """
    Agent AskUserQuestion BashOutput EnterPlanMode ExitPlanMode Glob Grep KillBash KillShell LS ListMcpResourcesTool
    LSP ReadMcpResourceTool SendMessage Skill Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead
    TodoWrite ToolSearch WebFetch WebSearch
    """.split()
)
"""Tools that change no file by themselves; what a subagent does comes as calls of its own."""

_COMMAND_KEYS = ("command", "cmd", "commands", "script", "shell", "shell_command", "bash", "sh")
_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file", "paths", "source", "destination", "target", "to")
_CHANGE_WORDS = frozenset(
    """
    append apply chmod copy cp create delete edit insert mkdir move mv overwrite patch put remove rename replace rm
    save set touch truncate unlink update upload write
    """.split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def decode(payload: bytes) -> Call:
    """The event in `payload`, one JSON object. Raises PayloadRefused."""
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise PayloadRefused(f"the hook's input is not JSON ({str(error) or 'nested too deeply'})") from None
    if not isinstance(body, dict):
        raise PayloadRefused("the hook's input is no JSON object")
    name = body.get("hook_event_name")
    if not isinstance(name, str) or not name:
        raise PayloadRefused("the hook's input names no event (hook_event_name)")
    event = _EVENTS.get(name, "other")
    call = Call(
        client=NAME,
        event=event,
        cwd=_cwd(body, event),
        session=_optional(body, "session_id"),
        agent_id=_optional(body, "agent_id"),
        mode=_optional(body, "permission_mode"),
    )
    if event in ("pre", "post", "fail"):
        return _tool_call(body, call)
    return call._replace(outcome=_optional(body, "source") or _optional(body, "reason"))


def _tool_call(body: dict[str, object], call: Call) -> Call:
    tool = body.get("tool_name")
    if not isinstance(tool, str) or not tool:
        raise PayloadRefused("the hook's input names no tool (tool_name)")
    given = body.get("tool_input")
    if not isinstance(given, dict):
        raise PayloadRefused(f"the hook's input for {tool} has no tool_input")
    call = call._replace(
        tool=tool,
        call_id=_optional(body, "tool_use_id"),
        can_ask=call.mode in _ASKING_MODES,
    )
    call = _with_tool(call, tool, given, body)
    if call.event == "pre":
        return call
    duration = body.get("duration_ms")
    return call._replace(
        outcome=_outcome(call.event, body),
        dur_ms=duration if isinstance(duration, int) and not isinstance(duration, bool) else None,
    )


def _with_tool(call: Call, tool: str, given: dict[str, object], body: dict[str, object]) -> Call:
    known = _TOOLS.get(tool)
    if known is not None:
        value = given.get(known.keys[0])
        if not isinstance(value, str):
            raise PayloadRefused(f"the hook's input for {tool} has no {known.keys[0]}")
        call = call._replace(kind=known.kind, changes=known.changes, shell=known.shell)
        return call._replace(commands=(value,)) if known.kind == "shell" else call._replace(paths=(value,))
    if tool.startswith("mcp__"):
        return _mcp(call, tool, given, body)
    return call._replace(kind="other", changes=tool not in _HARMLESS)


def _mcp(call: Call, tool: str, given: dict[str, object], body: dict[str, object]) -> Call:
    """A tool of an MCP server: what looks like a command is one; what looks like a path counts for tools that write."""
    info = body.get("mcp_server")
    server = info.get("name") if isinstance(info, dict) else None
    if not isinstance(server, str) or not server:
        server = tool.split("__")[1] if tool.count("__") >= 2 else None
    short = tool.removeprefix(f"mcp__{server}__")
    words = {word.lower() for word in _WORD.findall(short)}
    commands = [text for key in _COMMAND_KEYS for text in _texts(given.get(key), join=key != "commands")]
    paths = [text for key in _PATH_KEYS for text in _texts(given.get(key), join=False)] if words & _CHANGE_WORDS else []
    return call._replace(kind="mcp", server=server, commands=tuple(commands), paths=tuple(paths), changes=True)


def _texts(value: object, *, join: bool) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        if join:
            import shlex

            return [shlex.join(value)]
        return list(value)
    return []


def _outcome(event: str, body: dict[str, object]) -> str:
    response = body.get("tool_response")
    if body.get("is_interrupt") is True or (isinstance(response, dict) and response.get("interrupted") is True):
        return "interrupted"
    return "failed" if event == "fail" else "ok"


def _cwd(body: dict[str, object], event: str) -> str:
    cwd = body.get("cwd")
    if not isinstance(cwd, str) or not os.path.isabs(cwd) or "\0" in cwd:
        if event == "other":
            return ""
        raise PayloadRefused("the hook's input names no folder (cwd)")
    return os.path.normpath(cwd)


def _optional(body: dict[str, object], key: str) -> str | None:
    value = body.get(key)
    return value if isinstance(value, str) and value else None


def encode(decision: Decision, call: Call | None) -> Reply:
    """`decision` as bytes and exit status.

    A refusal is said three times (JSON, stderr, exit 2): there were versions and platforms that lost one of them.
    """
    before_a_tool = call is None or call.event == "pre"
    if decision.decision == "allow":
        return Reply(b"", b"", 0)
    reason = _plain(decision.reason.strip() or "chrono refused this call")
    if decision.decision == "ask" and call is not None and call.event == "pre" and call.can_ask:
        return Reply(_permission("ask", reason), b"", 0)
    error = reason.encode("utf-8", "backslashreplace") + b"\n"
    return Reply(_permission("deny", reason) if before_a_tool else b"", error, 2)


def _permission(word: str, reason: str) -> bytes:
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }
    return json.dumps(answer).encode("ascii") + b"\n"


def _plain(text: str) -> str:
    """Text without what could write elsewhere on a terminal, or turn the reading direction."""
    text = _HOSTILE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return text if len(text) <= MAX_REASON else text[:MAX_REASON] + " …"


def outcome(reply: Reply) -> str:
    """What the client does on `reply`: "runs", "asks" or "stops" (hooks.md, table of answers)."""
    if reply.exit_code == 2:
        return "stops"
    if reply.exit_code != 0:
        return "stops"  # through `onFailure: block`
    try:
        said = json.loads(reply.stdout)["hookSpecificOutput"]
        if said["hookEventName"] != "PreToolUse":
            return "runs"
        return {"deny": "stops", "ask": "asks"}.get(said["permissionDecision"], "runs")
    except (ValueError, KeyError, TypeError):
        return "runs"


def hook_command(interpreter: str, boot: str, settings_path: str) -> str:
    """The command line for the settings file. Raises SettingsRefused for a path that no shell word can hold.

    boot exits 0 or 42 only. Anything else (2 is what Python says for a missing file) is a guard that could not run.
    """
    for path in (interpreter, boot):
        if not os.path.isabs(path):
            raise SettingsRefused(f"{path} is not an absolute path")
    return (
        f"{_quoted(interpreter)} -I -S {_quoted(boot)} {NAME}; case $? in 0) ;; 42) exit 2;; *) echo "
        f"{_quoted(_COULD_NOT_RUN + settings_path)} >&2; exit 2;; esac"
    )


_COULD_NOT_RUN = (
    "chrono: the guard could not run, so this call is denied. Reinstall chrono-toolkit or remove the entry in "
)


def _quoted(text: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 or "\ud800" <= char <= "\udfff" for char in text):
        raise SettingsRefused(
            f"the path {text!r} holds a character that no settings file can hold", "install chrono into another folder"
        )
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'


def settings_path(scope: str, *, project: str, user_home: str) -> str:
    """`.claude/settings.json` of the project or of the person."""
    folder = {"project": project, "user": user_home}[scope]
    return os.path.join(folder, ".claude", "settings.json")


def sample(command: str, *, cwd: str) -> bytes:
    """The payload for a Bash call of `command`."""
    body = {
        "session_id": "chrono-self-test",
        "transcript_path": "",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "chrono self-test"},
        "tool_use_id": "chrono-self-test",
    }
    return json.dumps(body).encode("ascii") + b"\n"


class _ClaudeCode:
    """The adapter object; see `protocol.AgentAdapter`."""

    api_version = API_VERSION
    name = NAME
    title = "Claude Code"
    decode = staticmethod(decode)
    encode = staticmethod(encode)
    outcome = staticmethod(outcome)
    settings_path = staticmethod(settings_path)
    hook_command = staticmethod(hook_command)
    sample = staticmethod(sample)

    def installed(self, settings: bytes | None, command: str) -> bytes:
        from chrono.agents import claude_settings

        return claude_settings.installed(settings, command)

    def uninstalled(self, settings: bytes) -> bytes | None:
        from chrono.agents import claude_settings

        return claude_settings.uninstalled(settings)

    def inspect(self, settings: bytes | None) -> Inspection:
        from chrono.agents import claude_settings

        return claude_settings.inspect(settings)


ADAPTER = _ClaudeCode()

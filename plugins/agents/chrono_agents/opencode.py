"""Owns the hook protocol of opencode (runs of version 1.18.33): a plugin that asks chrono before each tool.

A throw in the plugin refuses the call; a plugin that does not load at all guards nothing, which only a test finds.
"""

from __future__ import annotations

import json

from chrono.agents.payload import SEARCH, Dialect, Tool, to_stderr
from chrono.agents.protocol import WORKTREE, Reply
from chrono_agents.client import Body, Client, Own

_PLUGIN = """\
// chrono's guard; `chrono guard uninstall %(client)s` removes it.
import { spawnSync } from "node:child_process"

const COMMAND = %(command)s
const COULD_NOT = "chrono: the guard could not run, so this call is denied."

export const ChronoGuard = async (context) => {
  const ask = (event, call, given) => {
    const payload = {
      hook_event_name: event,
      session_id: call.sessionID,
      tool_use_id: call.callID,
      tool_name: call.tool,
      tool_input: given ?? {},
      cwd: context.directory || process.cwd(),
    }
    return spawnSync("/bin/sh", ["-c", COMMAND], {
      input: JSON.stringify(payload), timeout: 30000, encoding: "utf8", cwd: payload.cwd,
    })
  }
  return {
    "tool.execute.before": async (call, output) => {
      const said = ask("tool.execute.before", call, output.args)
      if (said.error || said.status !== 0) throw new Error((said.stderr || "").trim() || COULD_NOT)
    },
    "tool.execute.after": async (call) => {
      ask("tool.execute.after", call, call.args)
    },
  }
}
"""

TOOLS = {
    "bash": Tool("shell", "command", True),
    "write": Tool("write", "filePath", True),
    "edit": Tool("edit", "filePath", True),
    "multiedit": Tool("edit", "filePath", True),
    "patch": Tool("patch", "patchText", True),
    "apply_patch": Tool("patch", "patchText", True),
    "read": Tool("read", "filePath"),
    "grep": SEARCH,
}
HARMLESS = frozenset(
    "codesearch glob invalid list lsp plan_enter plan_exit question skill task todoread todowrite webfetch "
    "websearch".split()
)


def server_of(tool: str, body: object) -> str | None:
    """A tool that is not opencode's own is an MCP server's, called `SERVER_TOOL`."""
    if tool in HARMLESS or "_" not in tool:
        return None
    return tool.split("_")[0]


def refuse(reason: str) -> Reply:
    """Status 2 and the reason: the plugin throws it."""
    return Reply(reason.encode("utf-8", "backslashreplace") + b"\n", to_stderr(reason), 2)


def does(reply: Reply) -> str:
    """Every other status than 0 makes the plugin throw."""
    return "runs" if reply.exit_code == 0 else "stops"


def probe(command: str, cwd: str) -> Body:
    """A call of the shell tool."""
    return {
        "hook_event_name": "tool.execute.before",
        "session_id": "chrono-self-test",
        "tool_use_id": "chrono-self-test",
        "tool_name": "bash",
        "tool_input": {"command": command, "description": "chrono self-test"},
        "cwd": cwd,
    }


def adapter(client: str, title: str, project: str, user: str, *, project_misses: tuple[str, ...] = ()) -> Client:
    """The adapter for opencode or a client that grew out of it."""

    def render(command: str) -> str:
        return _PLUGIN % {"client": client, "command": json.dumps(command)}

    return Client(
        title=title,
        dialect=Dialect(
            client=client,
            events={"tool.execute.before": "pre", "tool.execute.after": "post"},
            tools=TOOLS,
            harmless=HARMLESS,
            server=server_of,
        ),
        settings=Own(client, "tool.execute.before", render),
        paths={"project": project, "user": user},
        refuse=refuse,
        does=does,
        probe=probe,
        programs=(client,),
        misses={
            "project": project_misses,
            "": ("a plugin that does not load, or --pure, leaves this client without a guard",),
        },
    )


ADAPTER = adapter(
    "opencode",
    "opencode",
    ".opencode/plugin/chrono.js",
    ".config/opencode/plugin/chrono.js",
    project_misses=(WORKTREE,),
)

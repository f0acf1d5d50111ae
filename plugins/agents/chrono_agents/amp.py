"""Owns the hook protocol of Amp, from its plugin documentation; no run of the client stands behind it.

A plugin answers `tool.call` with an action. One that does not load guards nothing, which only a test finds.
"""

from __future__ import annotations

import json

from chrono.agents.payload import SEARCH, Dialect, Tool
from chrono_agents.client import UNTRIED, Body, Client, Own
from chrono_agents.opencode import does, refuse

_PLUGIN = """\
// chrono's guard; `chrono guard uninstall amp` removes it.
import { spawnSync } from "node:child_process"

const COMMAND = %(command)s
const COULD_NOT = "chrono: the guard could not run, so this call is denied."

function ask(event: string, call: any) {
  const payload = {
    hook_event_name: event,
    session_id: call.thread?.id,
    tool_use_id: call.toolUseID,
    tool_name: call.tool,
    tool_input: call.input ?? {},
    cwd: process.cwd(),
  }
  return spawnSync("/bin/sh", ["-c", COMMAND], {
    input: JSON.stringify(payload), timeout: 30000, encoding: "utf8",
  })
}

export default function (amp: any) {
  amp.on("tool.call", async (call: any) => {
    try {
      const said = ask("tool.call", call)
      if (!said.error && said.status === 0) return { action: "allow" }
      return { action: "reject-and-continue", message: (said.stderr || "").trim() || COULD_NOT }
    } catch {
      return { action: "reject-and-continue", message: COULD_NOT }
    }
  })
  amp.on("tool.result", async (call: any) => {
    try {
      ask("tool.result", call)
    } catch {}
  })
}
"""


def render(command: str) -> str:
    """The plugin's text."""
    return _PLUGIN % {"command": json.dumps(command)}


def probe(command: str, cwd: str) -> Body:
    """A call of the shell tool."""
    return {
        "hook_event_name": "tool.call",
        "session_id": "chrono-self-test",
        "tool_use_id": "chrono-self-test",
        "tool_name": "shell_command",
        "tool_input": {"command": command},
        "cwd": cwd,
    }


ADAPTER = Client(
    title="Amp",
    dialect=Dialect(
        client="amp",
        events={"tool.call": "pre", "tool.result": "post"},
        tools={
            "shell_command": Tool("shell", "command", True),
            "Bash": Tool("shell", "cmd", True),
            "create_file": Tool("write", "path", True),
            "edit_file": Tool("edit", "path", True),
            "apply_patch": Tool("patch", "patchText", True),
            "Read": Tool("read", "path"),
            "Grep": SEARCH,
            "look_at": SEARCH,
        },
        harmless=frozenset(
            "finder glob librarian mermaid oracle read_thread find_thread read_web_page skill Task "
            "todo_read todo_write web_search".split()
        ),
    ),
    settings=Own("amp", "tool.call", render),
    paths={"project": ".amp/plugins/chrono.ts", "user": ".config/amp/plugins/chrono.ts"},
    refuse=refuse,
    does=does,
    probe=probe,
    programs=("amp",),
    misses={
        "": (
            UNTRIED,
            "a plugin that does not load leaves this client without a guard; look at amp plugins list",
            "a plugin must answer: its `allow` also answers Amp's own question, so keep its permission rules strict",
        )
    },
)

"""Owns what the adapters have in common: an adapter is a table of a client's words, its file, and its answers.

The words are told by each client's own module; what an adapter must do by `chrono.agents.protocol`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chrono.agents import hooktree, ownfile
from chrono.agents.hookcommand import posix_command
from chrono.agents.hooktree import HookTree
from chrono.agents.payload import Dialect, decode, plain, read_object, to_stderr
from chrono.agents.protocol import API_VERSION, Call, Decision, Inspection, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

Body = dict[str, object]


class Settings(Protocol):
    """Where the hooks stand; the members are those of `AgentAdapter`."""

    def installed(self, settings: bytes | None, command: str) -> bytes: ...
    def uninstalled(self, settings: bytes) -> bytes | None: ...
    def inspect(self, settings: bytes | None) -> Inspection: ...


@dataclass(frozen=True)
class Listed:
    """Hooks in a JSON file that may hold other things too."""

    tree: HookTree

    def installed(self, settings: bytes | None, command: str) -> bytes:
        return hooktree.installed(self.tree, settings, command)

    def uninstalled(self, settings: bytes) -> bytes | None:
        return hooktree.uninstalled(self.tree, settings)

    def inspect(self, settings: bytes | None) -> Inspection:
        return hooktree.inspect(self.tree, settings)


@dataclass(frozen=True)
class Own:
    """A file that is chrono's alone; `render` makes its text from the command, `event` is what it listens to."""

    client: str
    event: str
    render: Callable[[str], str]

    def installed(self, settings: bytes | None, command: str) -> bytes:
        return ownfile.installed(self.client, settings, command, self.render)

    def uninstalled(self, settings: bytes) -> bytes | None:
        return ownfile.uninstalled(self.client, settings)

    def inspect(self, settings: bytes | None) -> Inspection:
        return ownfile.inspect(self.client, settings, self.event, self.render)


@dataclass(frozen=True)
class Client:
    """One adapter; see `chrono.agents.protocol.AgentAdapter`.

    - `paths`: for each scope, the settings file below the project or the person's home.
    - `refuse`: the answer that stops a call, for a reason; `ask`: the answer that asks, None where none is safe.
    - `does`: what the client does on an answer before a tool: "runs", "asks" or "stops".
    - `probe`: the payload that the client sends before its shell tool runs a command in a folder.
    - `reshape`: turns a payload into the form that `dialect` describes; `check` refuses what no hook can judge.
    - `after_exit`: the status with which a word after the call reaches the model.
    - `asks`: the client's own word about hooks in a settings file (file, project, environment), problems for people.
    - `programs`: the commands that start the client. `misses`: for each scope, what hooks there do not guard; "" for
      both.
    """

    title: str
    dialect: Dialect
    settings: Settings
    paths: Mapping[str, str]
    refuse: Callable[[str], Reply]
    does: Callable[[Reply], str]
    probe: Callable[[str, str], Body]
    ask: Callable[[str], Reply] | None = None
    reshape: Callable[[Body], Body] = field(default=lambda body: body)
    check: Callable[[Call], None] = field(default=lambda call: None)
    asks: Callable[[str, str, Mapping[str, str]], tuple[str, ...]] = field(default=lambda path, project, environ: ())
    after_exit: int = 0
    programs: tuple[str, ...] = ()
    misses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    api_version: int = API_VERSION

    @property
    def name(self) -> str:
        return self.dialect.client

    def gaps(self, scope: str) -> tuple[str, ...]:
        return (*self.misses.get(scope, ()), *self.misses.get("", ()))

    def decode(self, payload: bytes) -> Call:
        call = decode(self.dialect, self.reshape(read_object(payload)))
        if call.event == "pre":
            self.check(call)
        return call

    def encode(self, decision: Decision, call: Call | None) -> Reply:
        if decision.decision == "allow":
            return Reply(b"", b"", 0)
        reason = plain(decision.reason)
        if call is not None and call.event != "pre":
            return Reply(b"", to_stderr(reason), self.after_exit)
        if decision.decision == "ask" and self.ask is not None and call is not None and call.can_ask:
            return self.ask(reason)
        return self.refuse(reason)

    def client_problems(self, settings_path: str, project: str, environ: Mapping[str, str]) -> tuple[str, ...]:
        return self.asks(settings_path, project, environ)

    def outcome(self, reply: Reply) -> str:
        return self.does(reply)

    def settings_path(self, scope: str, *, project: str, user_home: str) -> str:
        return os.path.join({"project": project, "user": user_home}[scope], self.paths[scope])

    def hook_command(self, interpreter: str, boot: str, settings_path: str) -> str:
        return posix_command(self.name, interpreter, boot, settings_path)

    def installed(self, settings: bytes | None, command: str) -> bytes:
        return self.settings.installed(settings, command)

    def uninstalled(self, settings: bytes) -> bytes | None:
        return self.settings.uninstalled(settings)

    def inspect(self, settings: bytes | None) -> Inspection:
        return self.settings.inspect(settings)

    def sample(self, command: str, *, cwd: str) -> bytes:
        return as_json(self.probe(command, cwd)) + b"\n"


UNTRIED = "this adapter follows documentation; the client itself was never run against it"


def as_json(value: Mapping[str, object]) -> bytes:
    """JSON in ASCII: a lone surrogate survives as an escape."""
    return json.dumps(value).encode("ascii")


def said(reply: Reply) -> dict[str, object]:
    """The JSON object on standard output, {} where there is none."""
    try:
        value = json.loads(reply.stdout)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def refuse_like_claude(reason: str) -> Reply:
    """Status 2 with the reason on standard error and as the JSON that Claude Code introduced."""
    return Reply(_permission("deny", reason), to_stderr(reason), 2)


def ask_like_claude(reason: str) -> Reply:
    """Status 0 and the JSON that asks."""
    return Reply(_permission("ask", reason), b"", 0)


def _permission(word: str, reason: str) -> bytes:
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }
    return as_json(answer) + b"\n"


def does_like_claude(reply: Reply) -> str:
    """Status 2 with a word on standard error stops; other failures let the call run."""
    if reply.exit_code == 2:
        return "stops" if reply.stderr.strip() else "runs"
    if reply.exit_code != 0:
        return "runs"
    word = said(reply).get("hookSpecificOutput")
    decision = word.get("permissionDecision") if isinstance(word, dict) else None
    return {"deny": "stops", "ask": "asks"}.get(str(decision), "runs")


def probe_like_claude(tool: str = "Bash", **more: object) -> Callable[[str, str], Body]:
    """The payload of a shell call in the shape that Claude Code introduced."""

    def probe(command: str, cwd: str) -> Body:
        return {
            "session_id": "chrono-self-test",
            "transcript_path": "",
            "cwd": cwd,
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": {"command": command, "description": "chrono self-test"},
            **more,
        }

    return probe

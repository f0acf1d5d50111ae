"""Owns the hook protocol of Goose, from its documentation; no run of the client stands behind it.

Its hooks belong to a plugin, a folder; chrono's has nothing but the hooks file. With `on_failure` the client itself
refuses a call whose hook came to no decision.
"""

from __future__ import annotations

from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, long_enough, scalar
from chrono.agents.payload import Body, Dialect, Tool, to_stderr
from chrono.agents.protocol import Reply
from chrono_agents.client import UNTRIED, Client, Listed, as_json, said

_EVENTS = {
    "PreToolUse": "pre",
    "PostToolUse": "post",
    "PostToolUseFailure": "fail",
    "SessionStart": "session.start",
    "SessionEnd": "session.end",
}


def _entry(event: str) -> object:
    def entry(command: str) -> dict[str, object]:
        handler: dict[str, object] = {"type": "command", "command": command, "timeout": TIMEOUT_S}
        if event == "PreToolUse":
            handler["on_failure"] = "block"  # any other value than "allow" and "block" voids the whole file
        return {"hooks": [handler]}

    return entry


def _closed(place: Place) -> bool:
    """A matcher is a regular expression; a bare `*` is none, and the client passes over such an entry."""
    handler = place.handler
    return (
        scalar(place.group, "matcher") in (None, "", ".*")
        and long_enough(scalar(handler, "timeout"))
        and scalar(handler, "on_failure") == "block"
    )


TREE = HookTree(
    client="goose",
    title="Goose",
    root=("hooks",),
    entries={event: _entry(event) for event in _EVENTS},  # type: ignore[misc]
    guards="PreToolUse",
    closed=_closed,
    needs='no matcher, "on_failure": "block" and a timeout of 30 s or more',
)


def _reshaped(body: dict[str, object]) -> dict[str, object]:
    """The working folder under the name that the other clients use."""
    return {**body, "cwd": body.get("working_dir", body.get("cwd"))}


def server_of(tool: str, body: Body) -> str | None:
    """`EXTENSION__TOOL`: every tool belongs to an extension, and those that are not Goose's own are MCP servers."""
    extension, two, _ = tool.partition("__")
    return extension if two and extension != "developer" else None


def refuse(reason: str) -> Reply:
    """Status 2, which takes the reason from standard error; the JSON says the same for older versions."""
    return Reply(as_json({"decision": "block", "reason": reason}) + b"\n", to_stderr(reason), 2)


def does(reply: Reply) -> str:
    """Silence and status 0, or an explicit word, let the call run; with `on_failure` all that is unclear stops it."""
    if reply.exit_code == 0 and (not reply.stdout or said(reply).get("decision") == "allow"):
        return "runs"
    return "stops"


def probe(command: str, cwd: str) -> dict[str, object]:
    """A call of the shell tool."""
    return {
        "event": "PreToolUse",
        "session_id": "chrono-self-test",
        "matcher_context": "developer__shell",
        "tool_call_id": "chrono-self-test",
        "tool_name": "developer__shell",
        "tool_input": {"command": command},
        "working_dir": cwd,
    }


ADAPTER = Client(
    title="Goose",
    dialect=Dialect(
        client="goose",
        events=_EVENTS,
        tools={
            "developer__shell": Tool("shell", "command", True),
            "developer__write": Tool("write", "path", True),
            "developer__edit": Tool("edit", "path", True),
            "developer__text_editor": Tool("edit", "path", True),
            "developer__read_image": Tool("read", "source"),
        },
        harmless=frozenset(
            "developer__tree developer__list_windows developer__screen_capture developer__image_processor".split()
        ),
        event_key="event",
        call_key="tool_call_id",
        folder_may_lack=True,
        server=server_of,
    ),
    settings=Listed(TREE),
    paths={
        "project": ".agents/plugins/chrono/hooks/hooks.json",
        "user": ".agents/plugins/chrono/hooks/hooks.json",
    },
    refuse=refuse,
    does=does,
    probe=probe,
    reshape=_reshaped,
    programs=("goose",),
    misses={"": (UNTRIED, "an older Goose does not know on_failure: there a hook that fails lets the call run")},
)

"""Owns what chrono's entries in a settings file of Claude Code are, and what makes that client drop them.

Putting them in and taking them out is left to `hooktree`, reading and writing the file to `settings`.
"""

from __future__ import annotations

from chrono.agents import hooktree, jsontext
from chrono.agents.hooktree import TIMEOUT_S, HookTree, Place, scalar
from chrono.agents.jsontext import Node
from chrono.agents.protocol import Inspection, SettingsRefused

EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd")

_MATCHED = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure"))
_ALL = (None, "", "*")
_HANDLER_TYPES = frozenset(("command", "prompt", "agent", "http", "mcp_tool"))
_TYPES = {
    "hooks": "an object",
    "permissions": "an object",
    "env": "an object",
    "statusLine": "an object",
    "disableAllHooks": "true or false",
    "model": "text",
    "cleanupPeriodDays": "a number",
}
"""Members whose wrong type was seen to void the file (runs of version 2.1.332)."""


def installed(settings: bytes | None, command: str) -> bytes:
    """The file with chrono's five hooks, each in a group of its own at the end.

    Raises SettingsRefused, also where Claude Code would not run them there.
    """
    return hooktree.installed(TREE, settings, command)


def uninstalled(settings: bytes) -> bytes | None:
    """The file without chrono's hooks and without what only held them; None where nothing is left.

    Raises SettingsRefused.
    """
    return hooktree.uninstalled(TREE, settings)


def inspect(settings: bytes | None) -> Inspection:
    """chrono's hooks in the file, and why Claude Code would not run them. Never raises."""
    return hooktree.inspect(TREE, settings)


RAW_SHELLS = ("Bash", "PowerShell")
"""The client's own shell tools, as its permission rules name them."""


def without_shells(settings: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The file with `permissions.deny` for the client's own shell tools, and the entries that were added for it.

    Raises SettingsRefused.
    """
    text = hooktree.text_of(settings)
    added = []
    for name in RAW_SHELLS:
        for depth, key in enumerate(("permissions", "deny")):
            parent = hooktree.descend(hooktree.root_of(TREE, text), ("permissions", "deny")[:depth])
            if parent.get(key) is None:
                text = jsontext.insert_member(text, parent, key, [] if key == "deny" else {}, depth)
        listed = hooktree.descend(hooktree.root_of(TREE, text), ("permissions",)).get("deny")
        if listed is None or listed.kind != "array":
            raise SettingsRefused("`permissions.deny` in the settings file is not a list", "correct it, then try again")
        if not any(item.scalar == name for item in listed.children):
            text = jsontext.append_item(text, listed, name, 2)
            added.append(name)
    return hooktree.encoded(text, settings), tuple(added)


def with_shells(settings: bytes, added: tuple[str, ...]) -> bytes | None:
    """The file without those entries, and without a list or object that then holds nothing; None: nothing is left."""
    text = hooktree.text_of(settings)
    for name in added:
        root = hooktree.root_of(TREE, text)
        permissions = root.get("permissions")
        listed = permissions.get("deny") if permissions is not None else None
        at = [n for n, item in enumerate(listed.children) if item.scalar == name] if listed is not None else []
        if not at or permissions is None or listed is None:
            continue
        if len(listed.children) > 1:
            text = jsontext.remove_child(text, listed, at[0])
        elif len(permissions.children) > 1:
            text = jsontext.remove_child(text, permissions, permissions.keys.index("deny"))
        else:
            text = jsontext.remove_child(text, root, root.keys.index("permissions"))
    return hooktree.encoded(text, settings) if hooktree.root_of(TREE, text).children else None


def _group(event: str, command: str) -> dict[str, object]:
    handler: dict[str, object] = {"type": "command", "command": command, "timeout": TIMEOUT_S}
    if event == "PreToolUse":
        handler["onFailure"] = "block"
    return {"matcher": "*", "hooks": [handler]} if event in _MATCHED else {"hooks": [handler]}


def _problems(root: Node) -> list[str]:
    problems = [*_mistyped(root), *_malformed(root)]
    if scalar(root, "disableAllHooks") is True:
        problems.append("`disableAllHooks` is set: Claude Code runs no hook at all")
    return problems


def _mistyped(root: Node) -> list[str]:
    """Members of a wrong type: over one of these Claude Code drops the whole file."""
    problems = []
    for key, kind in _TYPES.items():
        member = root.get(key)
        if member is not None and _type(member) != kind:
            problems.append(f"`{key}` is not {kind}: Claude Code ignores the whole file, with every hook in it")
    return problems


def _malformed(root: Node) -> list[str]:
    """Entries, anyone's, over which Claude Code drops all hooks of the same event."""
    problems: list[str] = []
    hooks = root.get("hooks")
    if hooks is None or hooks.kind != "object":
        return problems
    for event, groups in zip(hooks.keys, hooks.children, strict=True):
        if event not in EVENTS:
            continue
        if groups.kind != "array":
            problems.append(f"`hooks.{event}` is not a list: Claude Code drops it")
        for index, group in enumerate(groups.children if groups.kind == "array" else ()):
            why = _wrong_group(group)
            if why is not None:
                problems.append(f"`hooks.{event}[{index}]` {why}: Claude Code drops every {event} hook of this file")
    return problems


def _wrong_group(group: Node) -> str | None:
    handlers = group.get("hooks")
    if group.kind != "object" or handlers is None or handlers.kind != "array":
        return "has no list `hooks`"
    matcher = group.get("matcher")
    if matcher is not None and matcher.kind != "string":
        return "has a `matcher` that is not text"
    for handler in handlers.children:
        if scalar(handler, "type") not in _HANDLER_TYPES:
            return "holds a handler of an unknown `type`"
        if handler.get("onFailure") is not None and scalar(handler, "onFailure") not in ("continue", "block"):
            return "has an `onFailure` that is neither `continue` nor `block`"
        timeout = handler.get("timeout")
        if timeout is not None and timeout.kind != "number":
            return "has a `timeout` that is not a number"
    return None


def _type(node: Node) -> str:
    if node.kind == "literal":
        return "null" if node.scalar is None else "true or false"
    return {"object": "an object", "array": "a list", "string": "text", "number": "a number"}[node.kind]


def _is_closed(place: Place) -> bool:
    """Whether the client waits for this hook on every tool and refuses the call where the hook fails."""
    handler = place.handler
    if scalar(place.group, "matcher") not in _ALL:
        return False
    timeout = scalar(handler, "timeout")
    if isinstance(timeout, int | float) and timeout < TIMEOUT_S:
        return False
    return (
        scalar(handler, "type") == "command"
        and scalar(handler, "onFailure") == "block"
        and scalar(handler, "async") in (None, False)
        and handler.get("if") is None
    )


TREE = HookTree(
    client="claude-code",
    title="Claude Code",
    root=("hooks",),
    entries={event: lambda command, event=event: _group(event, command) for event in EVENTS},  # type: ignore[misc]
    guards="PreToolUse",
    closed=_is_closed,
    needs=f'`"matcher": "*"`, `"onFailure": "block"` and a timeout of {TIMEOUT_S} s or more',
    problems=_problems,
)

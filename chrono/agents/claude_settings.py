"""Owns chrono's entries in a settings file of Claude Code: putting them in, taking them out, finding what is wrong.

Reading and writing the file itself is left to `settings`, JSON in place to `jsontext`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from chrono.agents import jsontext
from chrono.agents.jsontext import Node, NotJson
from chrono.agents.protocol import Hook, Inspection, SettingsRefused

EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd")
TIMEOUT_S = 30
"""Over the guard's own deadline of 20 s, so that the guard answers before the client gives up on it."""

_MATCHED = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure"))
_ALL = (None, "", "*")
_OURS = re.compile(r'[/\\]chrono[/\\]guard[/\\]boot\.py"? claude-code(?:;|$)')
_BOM = "\ufeff"
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


def is_ours(command: object) -> bool:
    """Whether a hook command is chrono's, of this version or an earlier one."""
    return isinstance(command, str) and _OURS.search(command) is not None


def installed(settings: bytes | None, command: str) -> bytes:
    """The file with chrono's five hooks, each in a group of its own at the end.

    Raises SettingsRefused, also where Claude Code would not run them there.
    """
    text = "{}\n" if settings is None or not settings.strip() else _text(settings)
    if not is_ours(command):
        raise SettingsRefused("the hook command is not chrono's own form")
    if _complete(text, command):
        return settings or b""
    text = _without_ours(text)
    root = _root(text)
    if root.get("hooks") is None:
        text = jsontext.insert_member(text, root, "hooks", {}, 0)
    for event in EVENTS:
        hooks = _hooks(_root(text))
        if hooks.get(event) is None:
            text = jsontext.insert_member(text, hooks, event, [], 1)
        groups = _hooks(_root(text)).get(event)
        if groups is None or groups.kind != "array":
            raise _not_a(f"hooks.{event}", "a list")
        text = jsontext.append_item(text, groups, _group(event, command), 2)
    data = _encoded(text, settings)
    problems = inspect(data).problems
    if problems:
        raise SettingsRefused(problems[0], "correct it, then run the command again; nothing was written")
    return data


def _group(event: str, command: str) -> dict[str, object]:
    handler: dict[str, object] = {"type": "command", "command": command, "timeout": TIMEOUT_S}
    if event == "PreToolUse":
        handler["onFailure"] = "block"
    return {"matcher": "*", "hooks": [handler]} if event in _MATCHED else {"hooks": [handler]}


def uninstalled(settings: bytes) -> bytes | None:
    """The file without chrono's hooks and without what only held them; None where nothing is left.

    Raises SettingsRefused.
    """
    text = _without_ours(_text(settings))
    if not _root(text).children:
        return None
    return _encoded(text, settings)


def inspect(settings: bytes | None) -> Inspection:
    """chrono's hooks in the file, and why Claude Code would not run them. Never raises."""
    if settings is None:
        return Inspection((), ())
    try:
        root = _root(_text(settings))
        hooks = _ours(root)
        problems = [*_mistyped(root), *_malformed(root)]
    except SettingsRefused as error:
        return Inspection((), (error.message,))
    if _scalar(root, "disableAllHooks") is True:
        problems.append("`disableAllHooks` is set: Claude Code runs no hook at all")
    if hooks:
        present = {hook.event for hook in hooks}
        problems.extend(f"the hook for {event} is missing" for event in EVENTS if event not in present)
        if not any(hook.event == "PreToolUse" and hook.closed for hook in hooks):
            problems.append(
                "the hook for PreToolUse does not guard every tool "
                f'(it needs `"matcher": "*"`, `"onFailure": "block"` and a timeout of {TIMEOUT_S} s or more)'
            )
    return Inspection(hooks, tuple(problems))


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
    if root.get("hooks") is None:
        return problems
    hooks = _hooks(root)
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
        if _scalar(handler, "type") not in _HANDLER_TYPES:
            return "holds a handler of an unknown `type`"
        if handler.get("onFailure") is not None and _scalar(handler, "onFailure") not in ("continue", "block"):
            return "has an `onFailure` that is neither `continue` nor `block`"
        timeout = handler.get("timeout")
        if timeout is not None and timeout.kind != "number":
            return "has a `timeout` that is not a number"
    return None


def _type(node: Node) -> str:
    if node.kind == "literal":
        return "null" if node.scalar is None else "true or false"
    return {"object": "an object", "array": "a list", "string": "text", "number": "a number"}[node.kind]


class _Place(NamedTuple):
    """One handler and what it stands in: hooks.EVENT[group_at].hooks[handler_at]."""

    event: str
    groups: Node
    group_at: int
    handlers: Node
    handler_at: int

    @property
    def group(self) -> Node:
        return self.groups.children[self.group_at]

    @property
    def handler(self) -> Node:
        return self.handlers.children[self.handler_at]

    @property
    def pointer(self) -> str:
        return f"hooks.{self.event}[{self.group_at}].hooks[{self.handler_at}]"


def _places(root: Node) -> Iterator[_Place]:
    if root.get("hooks") is None:
        return
    hooks = _hooks(root)
    for event, groups in zip(hooks.keys, hooks.children, strict=True):
        for group_at, group in enumerate(groups.children if groups.kind == "array" else ()):
            handlers = group.get("hooks")
            if handlers is not None and handlers.kind == "array":
                for handler_at in range(len(handlers.children)):
                    yield _Place(event, groups, group_at, handlers, handler_at)


def _ours(root: Node) -> tuple[Hook, ...]:
    return tuple(
        Hook(place.event, place.pointer, str(_scalar(place.handler, "command")), _is_closed(place))
        for place in _places(root)
        if is_ours(_scalar(place.handler, "command"))
    )


def _is_closed(place: _Place) -> bool:
    """Whether the client waits for this hook on every tool and refuses the call where the hook fails."""
    handler = place.handler
    if place.event != "PreToolUse" or _scalar(place.group, "matcher") not in _ALL:
        return False
    timeout = _scalar(handler, "timeout")
    if isinstance(timeout, int | float) and timeout < TIMEOUT_S:
        return False
    return (
        _scalar(handler, "type") == "command"
        and _scalar(handler, "onFailure") == "block"
        and _scalar(handler, "async") in (None, False)
        and handler.get("if") is None
    )


def _complete(text: str, command: str) -> bool:
    hooks = _ours(_root(text))
    right = [hook for hook in hooks if hook.command == command]
    return (
        len(hooks) == len(right) == len(EVENTS)
        and {hook.event for hook in right} == set(EVENTS)
        and any(hook.closed for hook in right)
    )


def _without_ours(text: str) -> str:
    """`text` without chrono's handlers; a group, an event or a `hooks` that thereby became empty goes too."""
    while True:
        shorter = _without_one(text)
        if shorter is None:
            return text
        text = shorter


def _without_one(text: str) -> str | None:
    root = _root(text)
    for place in _places(root):
        if not is_ours(_scalar(place.handler, "command")):
            continue
        if len(place.handlers.children) > 1:
            return jsontext.remove_child(text, place.handlers, place.handler_at)
        if len(place.groups.children) > 1:
            return jsontext.remove_child(text, place.groups, place.group_at)
        hooks = _hooks(root)
        if len(hooks.children) > 1:
            return jsontext.remove_child(text, hooks, hooks.keys.index(place.event))
        return jsontext.remove_child(text, root, root.keys.index("hooks"))
    return None


def _text(settings: bytes) -> str:
    try:
        return settings.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError:
        raise SettingsRefused("the settings file is not UTF-8 text") from None


def _encoded(text: str, before: bytes | None) -> bytes:
    mark = _BOM if before is not None and before.startswith(_BOM.encode()) else ""
    return (mark + text).encode("utf-8")


def _root(text: str) -> Node:
    try:
        root = jsontext.read(text)
    except NotJson as error:
        raise SettingsRefused(
            f"the settings file is not strict JSON ({error}): Claude Code ignores it, with every hook in it, "
            "and says nothing",
            "correct that place, then run the command again",
        ) from None
    if root.kind != "object":
        raise SettingsRefused("the settings file is not a JSON object", "it has the form {…}; correct it")
    return root


def _hooks(root: Node) -> Node:
    hooks = root.get("hooks")
    if hooks is None or hooks.kind != "object":
        raise _not_a("hooks", "an object")
    return hooks


def _not_a(pointer: str, kind: str) -> SettingsRefused:
    return SettingsRefused(f"`{pointer}` in the settings file is not {kind}", "correct it, then run the command again")


def _scalar(node: Node, key: str) -> object:
    member = node.get(key)
    return None if member is None else member.scalar

"""Owns chrono's entries in a JSON settings file that lists hooks by event: putting them in, taking them out, finding.

What one client's entry looks like, and what keeps that client from running it, is told by its `HookTree`. Reading and
writing the file itself is left to `settings`, JSON in place to `jsontext`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chrono.agents import jsontext
from chrono.agents.hookcommand import is_ours
from chrono.agents.jsontext import Node, NotJson
from chrono.agents.protocol import Hook, Inspection, SettingsRefused
from chrono.tuples import NamedTuple

TIMEOUT_S = 30
"""Over the guard's own deadline of 20 s, so that the guard answers before the client gives up on it."""

_BOM = "\ufeff"


class Place(NamedTuple):
    """One handler and what it stands in: EVENT[group_at].hooks[handler_at], or EVENT[group_at] in a flat file."""

    event: str
    groups: Node
    group_at: int
    handlers: Node | None
    handler_at: int

    @property
    def group(self) -> Node:
        return self.groups.children[self.group_at]

    @property
    def handler(self) -> Node:
        return self.group if self.handlers is None else self.handlers.children[self.handler_at]


class HookTree(NamedTuple):
    """The file of one client.

    - `client`: the word in the installed command; `title` for people.
    - `root`: the members that lead to the object of events, () where the file is that object itself.
    - `entries`: for each event that chrono listens to, what is added to its list, given the command.
    - `guards`: the event before a tool; `closed`: whether an entry there stands before every tool.
    - `nested`: an entry holds a list `hooks` of handlers; else it is the handler.
    - `first`: members that a new file needs beside the hooks (`version`).
    - `comments`: the client's reader knows comments; `bom`: it knows a byte order mark.
    - `needs`: what an entry needs to stand before every tool, for people.
    - `problems`: what else in the file keeps the client from running hooks, for people.
    """

    client: str
    title: str
    root: tuple[str, ...]
    entries: Mapping[str, Callable[[str], dict[str, object]]]
    guards: str
    closed: Callable[[Place], bool]
    nested: bool = True
    first: Mapping[str, object] = {}
    comments: bool = False
    bom: bool = True
    needs: str = ""
    problems: Callable[[Node], list[str]] = lambda root: []


def installed(tree: HookTree, settings: bytes | None, command: str) -> bytes:
    """The file with chrono's entries, each at the end of its event's list; all else as it was.

    Raises SettingsRefused, also where the client would not run them there.
    """
    if not is_ours(command, tree.client):
        raise SettingsRefused("the hook command is not chrono's own form")
    text = "{}\n" if settings is None or not settings.strip() else text_of(settings)
    if _complete(tree, root_of(tree, text), command):
        return settings or b""
    text = _without_ours(tree, text)
    for key, value in tree.first.items():
        root = root_of(tree, text)
        if root.get(key) is None:
            text = jsontext.insert_member(text, root, key, value, 0)
    for depth, key in enumerate(tree.root):
        parent = descend(root_of(tree, text), tree.root[:depth])
        if parent.get(key) is None:
            text = jsontext.insert_member(text, parent, key, {}, depth)
    depth = len(tree.root)
    for event, entry in tree.entries.items():
        events = descend(root_of(tree, text), tree.root)
        if events.get(event) is None:
            text = jsontext.insert_member(text, events, event, [], depth)
        groups = descend(root_of(tree, text), tree.root).get(event)
        if groups is None or groups.kind != "array":
            raise _not_a(".".join((*tree.root, event)), "a list")
        text = jsontext.append_item(text, groups, entry(command), depth + 1)
    data = encoded(text, settings)
    problems = inspect(tree, data).problems
    if problems:
        raise SettingsRefused(problems[0], "correct it, then run the command again; nothing was written")
    return data


def uninstalled(tree: HookTree, settings: bytes) -> bytes | None:
    """The file without chrono's entries and without what only held them; None where nothing is left.

    Raises SettingsRefused.
    """
    before = text_of(settings)
    text = _without_ours(tree, before)
    root = root_of(tree, text)
    if text != before and set(root.keys) <= set(tree.first):
        return None
    return encoded(text, settings)


def inspect(tree: HookTree, settings: bytes | None) -> Inspection:
    """chrono's entries in the file, and why the client would not run them. Never raises."""
    if settings is None:
        return Inspection((), ())
    problems: list[str] = []
    if not tree.bom and settings.startswith(_BOM.encode()):
        problems.append(f"the file begins with a byte order mark, which {tree.title} does not read")
    try:
        root = root_of(tree, text_of(settings))
        hooks = ours(tree, root)
        problems.extend(tree.problems(root))
    except SettingsRefused as error:
        return Inspection((), (error.message,))
    if hooks:
        present = {hook.event for hook in hooks}
        problems.extend(f"the hook for {event} is missing" for event in tree.entries if event not in present)
        if tree.guards in present and not any(hook.closed for hook in hooks):
            problems.append(
                f"the hook for {tree.guards} does not guard every tool{tree.needs and f' (it needs {tree.needs})'}"
            )
    return Inspection(hooks, tuple(problems))


def ours(tree: HookTree, root: Node) -> tuple[Hook, ...]:
    """chrono's entries below the root of the file."""
    found = []
    for place in _places(tree, root):
        command = scalar(place.handler, "command")
        if is_ours(command, tree.client):
            inner = "" if place.handlers is None else f".hooks[{place.handler_at}]"
            pointer = ".".join((*tree.root, place.event)) + f"[{place.group_at}]{inner}"
            closed = place.event == tree.guards and tree.closed(place)
            found.append(Hook(place.event, pointer, str(command), closed))
    return tuple(found)


def scalar(node: Node, key: str) -> object:
    """The value of a text, number or literal called `key`; None where there is none."""
    member = node.get(key)
    return None if member is None else member.scalar


def long_enough(timeout: object, *, unit_s: float = 1.0) -> bool:
    """Whether a timeout as the file has it (None: the client's default) lets the guard answer first."""
    return timeout is None or (isinstance(timeout, int | float) and timeout * unit_s >= TIMEOUT_S)


def every_tool(*also: str) -> Callable[[Place], bool]:
    """Tells whether a hook is asked of every tool, by no matcher, "", "*" or one of `also`, and has time to answer."""

    def closed(place: Place) -> bool:
        named = scalar(place.group, "matcher")
        return named in (None, "", "*", *also) and long_enough(scalar(place.handler, "timeout"))

    return closed


def _places(tree: HookTree, root: Node) -> Iterator[Place]:
    events: Node | None = root
    for key in tree.root:
        events = events.get(key) if events is not None else None
    if events is None:
        return
    if events.kind != "object":
        raise _not_a(".".join(tree.root), "an object")
    for event, groups in zip(events.keys, events.children, strict=True):
        for at, group in enumerate(groups.children if groups.kind == "array" else ()):
            handlers = group.get("hooks") if tree.nested else None
            if not tree.nested:
                yield Place(event, groups, at, None, 0)
            elif handlers is not None and handlers.kind == "array":
                for handler_at in range(len(handlers.children)):
                    yield Place(event, groups, at, handlers, handler_at)


def _complete(tree: HookTree, root: Node, command: str) -> bool:
    hooks = ours(tree, root)
    right = [hook for hook in hooks if hook.command == command]
    return (
        len(hooks) == len(right) == len(tree.entries)
        and {hook.event for hook in right} == set(tree.entries)
        and any(hook.closed for hook in right)
    )


def _without_ours(tree: HookTree, text: str) -> str:
    """`text` without chrono's handlers; a group, a list or an object that thereby became empty goes too."""
    while True:
        shorter = _without_one(tree, text)
        if shorter is None:
            return text
        text = shorter


def _without_one(tree: HookTree, text: str) -> str | None:
    root = root_of(tree, text)
    for place in _places(tree, root):
        if not is_ours(scalar(place.handler, "command"), tree.client):
            continue
        if place.handlers is not None and len(place.handlers.children) > 1:
            return jsontext.remove_child(text, place.handlers, place.handler_at)
        if len(place.groups.children) > 1:
            return jsontext.remove_child(text, place.groups, place.group_at)
        chain = [root]
        for key in tree.root:
            member = chain[-1].get(key)
            assert member is not None
            chain.append(member)
        names = (*tree.root, place.event)
        while len(chain) > 1 and len(chain[-1].children) == 1:
            chain.pop()
        return jsontext.remove_child(text, chain[-1], chain[-1].keys.index(names[len(chain) - 1]))
    return None


def descend(root: Node, keys: tuple[str, ...]) -> Node:
    """The object that `keys` lead to. Raises SettingsRefused where there is none."""
    node = root
    for at, key in enumerate(keys):
        member = node.get(key)
        if member is None or member.kind != "object":
            raise _not_a(".".join(keys[: at + 1]), "an object")
        node = member
    return node


def text_of(settings: bytes) -> str:
    """The text of the file, without a byte order mark. Raises SettingsRefused."""
    try:
        return settings.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError:
        raise SettingsRefused("the settings file is not UTF-8 text") from None


def encoded(text: str, before: bytes | None) -> bytes:
    """The bytes of `text`, with the byte order mark that `before` had."""
    mark = _BOM if before is not None and before.startswith(_BOM.encode()) else ""
    return (mark + text).encode("utf-8")


def root_of(tree: HookTree, text: str) -> Node:
    """The object of the file, read as strictly as the client does. Raises SettingsRefused."""
    try:
        root = jsontext.read(text, comments=tree.comments)
    except NotJson as error:
        raise SettingsRefused(
            f"the settings file is not {'JSON' if tree.comments else 'strict JSON'} ({error}): {tree.title} runs none "
            "of its hooks, and may not say so",
            "correct that place, then run the command again",
        ) from None
    if root.kind != "object":
        raise SettingsRefused("the settings file is not a JSON object", "it has the form {…}; correct it")
    return root


def _not_a(pointer: str, kind: str) -> SettingsRefused:
    return SettingsRefused(f"`{pointer}` in the settings file is not {kind}", "correct it, then run the command again")

"""Owns reading what clients write to a hook's standard input: one JSON object, in the shape that most of them share.

Which words a client uses is told by its `Dialect`; what a call means for the machine is left to `guard` and `scan`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping

from chrono.agents.protocol import Call, PayloadRefused
from chrono.scan.expression import expression
from chrono.tuples import NamedTuple

Body = Mapping[str, object]

MAX_REASON = 4000
"""Characters of a reason; a model that is sent a novel does not read the first line either."""


class Tool(NamedTuple):
    """What a tool of a client does. `key`: the member of its input that names the command, the file or the patch.

    `kind` as in Call; "patch" is an edit whose `key` holds a patch that names its files itself. `many`: the member is
    a list of texts (one text is taken too). A "read" without a `key` reads whatever its members name, if any.
    """

    kind: str
    key: str
    changes: bool = False
    shell: str = "bash"
    many: bool = False


SEARCH = Tool("read", "")
"""A tool that looks through files and says what stands in them: of one that it is given, all of it."""


def server_of(tool: str, body: Body) -> str | None:
    """The MCP server of a tool called `mcp__SERVER__TOOL`; the payload's own word for it counts first."""
    if not tool.startswith("mcp__"):
        return None
    info = body.get("mcp_server")
    name = info.get("name") if isinstance(info, dict) else None
    if isinstance(name, str) and name:
        return name
    return tool.split("__")[1] if tool.count("__") >= 2 else ""


class Dialect(NamedTuple):
    """How one client says what a hook needs to know.

    - `events`: its event names to those of Call. One that is not among them is "other", but where the payload names a
      tool: a client that calls its event by another name some day must not find the guard open.
    - `tools`: the tools that run commands or name files; `harmless`: those that change no file by themselves. A tool
      in neither may change files.
    - `asks`: permission modes in which an `ask` reaches a person.
    - the `..._key` members: where the payload holds what. `named_event`: the event of a payload that names none.
    - `folder_may_lack`: a payload may name no folder.
    - `server`: the MCP server of a tool, given its name and the payload; None where it is no MCP tool.
    """

    client: str
    events: Mapping[str, str]
    tools: Mapping[str, Tool]
    harmless: frozenset[str]
    asks: frozenset[str] = frozenset()
    event_key: str = "hook_event_name"
    tool_key: str = "tool_name"
    input_key: str = "tool_input"
    session_key: str = "session_id"
    agent_key: str = "agent_id"
    call_key: str = "tool_use_id"
    mode_key: str = "permission_mode"
    folder_may_lack: bool = False
    server: Callable[[str, Body], str | None] = server_of


_COMMAND_KEYS = frozenset("command cmd commands commandline script shell shellcommand bash sh".split())
_TYPED_KEYS = frozenset("chars data input keys stdin text".split())
_PATH_KEYS = frozenset(
    """
    absolutepath destination dirpath directory file filename filepath filepaths files include path paths searchpath
    source target targetfile to
    """.split()
)
"""Members in small letters without `_`: servers and clients write them as they like."""

_SHELL_WORDS = frozenset("bash command console powershell process pty shell stdin terminal tty".split())
_CHANGE_WORDS = frozenset(
    """
    append apply chmod copy cp create delete edit insert mkdir move mv overwrite patch put remove rename replace rm
    save set touch truncate unlink update upload write
    """.split()
)
_WORD = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PATCHED = expression(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
_DIFFED = expression(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.M)
_HOSTILE = expression("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def read_object(payload: bytes) -> dict[str, object]:
    """The JSON object in `payload`. Raises PayloadRefused."""
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise PayloadRefused(f"the hook's input is not JSON ({str(error) or 'nested too deeply'})") from None
    if not isinstance(body, dict):
        raise PayloadRefused("the hook's input is no JSON object")
    return body


def decode(dialect: Dialect, body: Body) -> Call:
    """The event in `body`. Raises PayloadRefused where it is not what the client sends."""
    name = body.get(dialect.event_key)
    if not isinstance(name, str) or not name:
        raise PayloadRefused(f"the hook's input names no event ({dialect.event_key})")
    unknown = "pre" if optional(body, dialect.tool_key) else "other"
    event = dialect.events.get(name, unknown)
    call = Call(
        client=dialect.client,
        event=event,
        cwd=folder(body.get("cwd"), needed=event != "other" and not dialect.folder_may_lack),
        session=optional(body, dialect.session_key),
        agent_id=optional(body, dialect.agent_key),
        mode=optional(body, dialect.mode_key),
    )
    if event in ("pre", "post", "fail"):
        return _tool_call(dialect, body, call)
    return call._replace(outcome=optional(body, "source") or optional(body, "reason"))


def _tool_call(dialect: Dialect, body: Body, call: Call) -> Call:
    tool = body.get(dialect.tool_key)
    if not isinstance(tool, str) or not tool:
        raise PayloadRefused(f"the hook's input names no tool ({dialect.tool_key})")
    given = body.get(dialect.input_key)
    if not isinstance(given, dict):
        raise PayloadRefused(f"the hook's input for {tool} has no {dialect.input_key}")
    call = call._replace(
        tool=tool,
        call_id=optional(body, dialect.call_key),
        can_ask=call.mode in dialect.asks,
    )
    call = with_tool(dialect, call, tool, given, body)
    if call.event != "pre":
        return call._replace(outcome=_outcome(call.event, body), dur_ms=_duration(body))
    return call if call.kind == "shell" else call._replace(given=_digest(given))


def _digest(given: Body) -> str:
    from chrono.digest import sha256

    return sha256(json.dumps(given, sort_keys=True).encode("ascii")).hexdigest()


def with_tool(dialect: Dialect, call: Call, tool: str, given: Body, body: Body) -> Call:
    """`call` with what its tool and the tool's input say. Raises PayloadRefused."""
    known = dialect.tools.get(tool)
    if known is not None:
        return _known_tool(known, call, tool, given)
    server = dialect.server(tool, body)
    if server is not None or tool not in dialect.harmless:
        # Clients name the tools of servers in many ways, and get new ones of their own: both are looked at alike.
        return _mcp(call, tool, server or "", given)
    return call._replace(kind="other")


def _known_tool(known: Tool, call: Call, tool: str, given: Body) -> Call:
    if known.kind == "read" and not known.key:
        paths = _found(given, _PATH_KEYS)
        return call._replace(kind="read" if paths else "other", paths=paths)
    value = given.get(known.key)
    given_texts: list[object] = value if known.many and isinstance(value, list) else [value]
    texts = [text for text in given_texts if isinstance(text, str)]
    if not texts or len(texts) != len(given_texts):
        raise PayloadRefused(f"the hook's input for {tool} has no {known.key}")
    call = call._replace(kind=known.kind, changes=known.changes, shell=known.shell)
    if known.kind == "shell":
        return call._replace(commands=tuple(texts))
    if known.kind == "patch":
        return call._replace(kind="edit", paths=patched("\n".join(texts), tool))
    return call._replace(paths=tuple(texts))


def patched(text: str, tool: str = "the patch") -> tuple[str, ...]:
    """The files that a patch adds, changes, deletes or moves to. Raises PayloadRefused where it names none."""
    found = [added or moved for added, moved in _PATCHED.findall(text)]
    if not found:
        found = [path for path in _DIFFED.findall(text) if path != "/dev/null"]
    if not found:
        raise PayloadRefused(f"the hook's input for {tool} names no file")
    return tuple(dict.fromkeys(path.strip() for path in found))


def _mcp(call: Call, tool: str, server: str, given: Body) -> Call:
    """A tool of an MCP server, or one that nobody knows: what looks like a command is one, and so is what is typed into
    a shell; what looks like a path counts for tools that write."""
    words = {word.lower() for word in _WORD.findall(tool)}  # the server's name, too: some adapters only guess it
    commands = _found(given, _COMMAND_KEYS | _TYPED_KEYS if words & _SHELL_WORDS else _COMMAND_KEYS, join=True)
    paths = _found(given, _PATH_KEYS) if words & _CHANGE_WORDS else ()
    return call._replace(kind="mcp", server=server or None, commands=commands, paths=paths, changes=True)


def _found(given: Body, keys: frozenset[str], *, join: bool = False) -> tuple[str, ...]:
    """The texts of all members called as `keys` say, at any depth. `join`: a list of texts is one command's words."""
    found: list[str] = []
    left: list[object] = [given]
    while left:
        value = left.pop(0)
        if isinstance(value, list):
            left.extend(item for item in value if isinstance(item, dict | list))
        if not isinstance(value, dict):
            continue
        for name, inner in value.items():
            key = name.lower().replace("_", "")
            texts = _texts(inner, join=join and key != "commands") if key in keys else []
            if texts:
                found.extend(texts)
            elif isinstance(inner, dict | list):
                left.append(inner)
    return tuple(found)


def _texts(value: object, *, join: bool) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        if join:
            import shlex

            return [shlex.join(value)]
        return list(value)
    return []


def _outcome(event: str, body: Body) -> str:
    response = body.get("tool_response")
    if body.get("is_interrupt") is True or (isinstance(response, dict) and response.get("interrupted") is True):
        return "interrupted"
    if isinstance(response, dict) and response.get("error"):
        return "failed"
    return "failed" if event == "fail" else "ok"


def _duration(body: Body) -> int | None:
    duration = body.get("duration_ms")
    return duration if isinstance(duration, int) and not isinstance(duration, bool) else None


def folder(value: object, *, needed: bool = True) -> str:
    """A payload's working folder, absolute; "" where it names none and none is needed. Raises PayloadRefused."""
    if not isinstance(value, str) or not os.path.isabs(value) or "\0" in value:
        if not needed:
            return ""
        raise PayloadRefused("the hook's input names no folder (cwd)")
    return os.path.normpath(value)


def optional(body: Body, key: str) -> str | None:
    """The text called `key`; None where there is none."""
    value = body.get(key)
    return value if isinstance(value, str) and value else None


def plain(text: str) -> str:
    """A reason without what could write elsewhere on a terminal, or turn the reading direction; never empty."""
    text = _HOSTILE.sub(lambda found: f"\\u{ord(found.group()):04x}", text.strip() or "chrono refused this call")
    return text if len(text) <= MAX_REASON else text[:MAX_REASON] + " …"


def to_stderr(reason: str) -> bytes:
    """A reason as bytes for standard error; a lone surrogate survives as an escape."""
    return reason.encode("utf-8", "backslashreplace") + b"\n"

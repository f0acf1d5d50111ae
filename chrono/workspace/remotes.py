"""Owns the list of a project's remotes, and the names under which its refs travel.

The list lies in CHRONO_HOME, readable by its owner only: what is in the project cannot send savepoints elsewhere.
Sending is `workspace.push`'s, fetching `workspace.fetch`'s; talking to git is left to `store`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import AuditUnverifiable, RemoteError, UsageError
from chrono.files import atomic_write, own_folder, read_own
from chrono.policy.cover import within
from chrono.store.gitprogram import Address, address
from chrono.store.names import quote, unquote
from chrono.tuples import NamedTuple
from chrono.workspace.project import CLI_WAIT_S

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.layout import HomeLayout, ProjectLayout
    from chrono.workspace.project import Workspace

DEFAULT = "origin"
LOGS = "refs/chrono/logs/"
"""Below it each log has a name space of its own on the remote; only its owner writes there."""
TRACKING = "refs/chrono/remotes/"

_MAX_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_LOG_REF = re.compile(re.escape(LOGS) + r"([0-9a-f]{32})/(.+)")


class Remote(NamedTuple):
    """One remote. `secrets`: credential-class paths that a person agreed to send. `keys`: (log, public key) of other
    machines' logs as they were first seen there."""

    name: str
    address: Address
    secrets: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


def listed(ws: Workspace) -> tuple[Remote, ...]:
    """All remotes, by name. Raises RemoteError where the list is damaged."""
    return tuple(sorted(_read(ws), key=lambda remote: remote.name))


def get(ws: Workspace, name: str | None) -> Remote:
    """The remote called `name`; without one `origin`, or the only one. Raises UsageError."""
    found = {remote.name: remote for remote in _read(ws)}
    if name is None:
        name = DEFAULT if DEFAULT in found or len(found) != 1 else next(iter(found))
    if name not in found:
        hint = f"there are: {', '.join(sorted(found))}" if found else "add one: chrono remote add origin URL"
        raise UsageError(f"there is no remote called {name}", hint)
    return found[name]


def add(ws: Workspace, name: str, typed: str, by: Actor, *, start: str, timeout_s: float = CLI_WAIT_S) -> Remote:
    """Adds a remote; `start` is the folder that a relative path is meant from. Nothing is sent.

    Raises UsageError (a name that exists, an address that is not fit), Denied.
    """
    ws.require_own()
    remotes = _read(ws)
    if not _NAME.fullmatch(name) or name.endswith((".lock", ".")) or ".." in name:
        raise UsageError(f"{name!r} cannot be the name of a remote", "use letters and digits, for example: origin")
    if any(remote.name == name for remote in remotes):
        raise UsageError(f"there is a remote called {name} already", f"chrono remote remove {name}, then add it again")
    made = Remote(name, where(typed, start, ws.root))
    _note(ws, by, "add", made, timeout_s)
    _write(ws, (*remotes, made))
    return made


def remove(ws: Workspace, name: str, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> Remote:
    """Forgets a remote, and what was known of it; over there nothing changes. Raises UsageError, Denied."""
    ws.require_own()
    found = get(ws, name)
    _note(ws, by, "remove", found, timeout_s)
    _write(ws, tuple(remote for remote in _read(ws) if remote.name != found.name))
    exchange = ws.store.exchange
    with ws.store.lock(timeout_s):
        exchange.drop_refs(exchange.refs(f"{TRACKING}{found.name}/"))
    return found


def forget_all(layout: ProjectLayout, home: HomeLayout) -> bool:
    """Deletes the list of a project that is about to go: addresses may hold passwords.

    False where there are lists, and the project's log does not say which one is its own.
    """
    from chrono.audit.place import log_id, project_place

    try:
        log = log_id(project_place(layout))
    except AuditUnverifiable:
        log = None
    if log is None:
        folder = os.path.dirname(home.remotes(""))
        return not os.path.isdir(folder) or not os.listdir(folder)
    try:
        os.unlink(home.remotes(log))
    except FileNotFoundError:
        pass
    return True


def keep(ws: Workspace, remote: Remote) -> None:
    """Writes back what was learnt of a remote."""
    others = [one for one in _read(ws) if one.name != remote.name]
    _write(ws, (*others, remote))


def where(typed: str, start: str, root: str | None) -> Address:
    """The address that a person typed; a relative path is meant from `start`. Raises UsageError.

    A repository inside the project is refused: it would be lost with it, and its hooks are the project's.
    """
    text = typed
    if typed.startswith((".", os.sep)) or (os.path.isdir(os.path.join(start, typed)) and ":" not in typed):
        text = os.path.normpath(os.path.join(start, typed))
    found = address(text)
    if found.protocol == "file" and root is not None:
        path = os.path.realpath(found.text.removeprefix("file://").removeprefix("localhost"))
        if within(path, root):
            raise UsageError(f"{typed} lies inside the project: it would be lost with it", "choose another place")
    return found


# --- names


def sent(refs: dict[str, str], log: str) -> dict[str, str]:
    """Local refs under the names that they have on a remote: branches for all, and everything in the log's space."""
    found = {}
    for name, oid in refs.items():
        if name.startswith("refs/heads/"):
            found[name] = oid
            found[f"{LOGS}{log}/heads/{name.removeprefix('refs/heads/')}"] = oid
        elif name.startswith("refs/chrono/") and not name.startswith(TRACKING):
            found[f"{LOGS}{log}/{name.removeprefix('refs/chrono/')}"] = oid
    return found


def log_of(ref: str) -> tuple[str, str] | None:
    """(log, name in its space) of a remote's ref, None for every other ref."""
    match = _LOG_REF.fullmatch(ref)
    return (match[1], match[2]) if match is not None else None


def logs_in(there: dict[str, str]) -> dict[str, dict[str, str]]:
    """The refs of a remote by log; only logs that have records there."""
    logs: dict[str, dict[str, str]] = {}
    for name, oid in there.items():
        found = log_of(name)
        if found is not None:
            logs.setdefault(found[0], {})[found[1]] = oid
    return {log: refs for log, refs in logs.items() if "audit" in refs}


def known_logs(ws: Workspace) -> set[str]:
    """The project's log and those that its savepoints name: what makes a remote one of this project."""
    from chrono.workspace.verify import StoreCommits

    return {trailer.log for trailer in StoreCommits(ws.store).trailers() if trailer.log} | {ws.log.log_id}


def require_same(ws: Workspace, remote: Remote, there: dict[str, str]) -> None:
    """Raises RemoteError where the remote holds something else than this project."""
    refs = {name for name in there if name != "HEAD"}
    if not refs:
        return
    logs = logs_in(there)
    if not logs:
        raise RemoteError(
            f"{remote.address.shown} is not empty, and no chrono project is in it",
            "use an empty bare repository for the savepoints, never that of the code itself",
        )
    if known_logs(ws).isdisjoint(logs):
        raise RemoteError(
            f"{remote.address.shown} holds another project (log {min(logs)})",
            "use an empty bare repository; to work on that project: chrono clone URL DIR",
        )


# --- the list


def _note(ws: Workspace, by: Actor, phase: str, remote: Remote, timeout_s: float) -> None:
    from chrono.audit.record import Act, Entry

    more: tuple[tuple[str, Json], ...] = (("remote", remote.name), ("url", remote.address.shown))
    ws.log.append(Entry("remote.push", by, Act(phase=phase, more=more)), timeout_s=timeout_s)


def _write(ws: Workspace, remotes: tuple[Remote, ...]) -> None:
    path = ws.home.remotes(ws.log.log_id)
    own_folder(os.path.dirname(path))
    rows: list[Json] = []
    for remote in sorted(remotes):
        secrets: list[Json] = [_text(one) for one in remote.secrets]
        keys: dict[str, Json] = dict(remote.keys)
        rows.append({"keys": keys, "name": remote.name, "secrets": secrets, "url": _text(remote.address.text)})
    value: dict[str, Json] = {"remotes": rows, "version": 1}
    atomic_write(path, canonical_bytes(value) + b"\n")


def _read(ws: Workspace) -> tuple[Remote, ...]:
    path = ws.home.remotes(ws.log.log_id)
    try:
        value = parse(read_own(path, _MAX_BYTES).removesuffix(b"\n"))
        if not isinstance(value, dict) or value.get("version") != 1:
            raise ValueError("another version")
        rows = value["remotes"]
        if not isinstance(rows, list):
            raise ValueError("no list")
        return tuple(_remote(row) for row in rows)
    except FileNotFoundError:
        return ()
    except (OSError, NotCanonical, ValueError, KeyError, UsageError) as error:
        raise RemoteError(f"the list of remotes {path} is damaged: {error}", "delete it, then add them again") from None


def _remote(row: Json) -> Remote:
    if not isinstance(row, dict):
        raise ValueError("an entry that is no object")
    name, url, secrets, keys = (row[key] for key in ("name", "url", "secrets", "keys"))
    if not (isinstance(name, str) and isinstance(url, str) and isinstance(secrets, list) and isinstance(keys, dict)):
        raise ValueError("an entry of other kinds of values")
    return Remote(
        name,
        address(_plain(url)),
        tuple(_plain(str(one)) for one in secrets),
        tuple((log, str(key)) for log, key in sorted(keys.items())),
    )


def _text(path: str) -> str:
    return quote(os.fsencode(path)).decode("utf-8")


def _plain(text: str) -> str:
    return os.fsdecode(unquote(text.encode("utf-8")))

"""Owns who made a git commit: the call of an agent that is under way, found in the log; and the record that ties both.

A git hook learns nothing about agents from git. But each call is recorded before it runs and again after it, so the
commit belongs to the one that is between the two. What git's own repository holds is left to `workspace.usergit`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.audit.place import LogPlace
from chrono.audit.record import Act, Actor, Entry, Record
from chrono.errors import ChronoError
from chrono.guard.recall import backwards
from chrono.tuples import NamedTuple
from chrono.workspace.project import HOOK_WAIT_S

if TYPE_CHECKING:
    from chrono.canonical import Json
    from chrono.workspace.project import Workspace

_GENERATIONS = 32


class Running(NamedTuple):
    """A call that was let through and has not come back: its record, client, session and id."""

    n: int
    client: str
    session: str | None
    call_id: str | None
    text: str


class GitCommit(NamedTuple):
    """A commit in the user's own repository, and the branch it is on (None: detached)."""

    commit: str
    tree: str
    subject: str
    ref: str | None


class Made(NamedTuple):
    """One git commit as the log knows it. `agent` and `mark` None: nothing says that an agent made it.

    `mark`: the variable by which an agent gave itself away although none of its calls was seen.
    `savepoint` holds the files as they were right after it; `record` is that of the call.
    """

    at: str
    commit: str
    subject: str
    ref: str | None
    agent: str | None
    session: str | None
    mark: str | None
    user: str | None
    savepoint: str | None
    record: int | None


def running(place: LogPlace) -> tuple[Running, ...]:
    """The calls under way, newest first, as far as the end of the log tells."""
    ended: set[str] = set()
    quiet: set[str | None] = set()
    found = []
    for record in backwards(place):
        session = _text(record.by, "session")
        if record.ev == "session.end" or (record.ev == "session.start" and session is not None):
            quiet.add(session)
        if record.ev not in ("command", "file") or session in quiet:
            continue
        key = _text(record.by, "tool_use_id") or f"session {session}"
        if record.act.get("phase") == "end" or record.act.get("decision") == "block":
            ended.add(key)
        elif key not in ended and _text(record.by, "agent"):
            ended.add(key)
            text = _text(record.act, "cmd") or ""
            found.append(Running(record.n, str(record.by["agent"]), session, _text(record.by, "tool_use_id"), text))
    return tuple(found)


def author(place: LogPlace, *, marked: bool, programs: Mapping[str, tuple[str, ...]], pid: int) -> Running | None:
    """The call that a process of this machine belongs to, None for a person's.

    `marked`: its environment says that an agent started it. `programs`: the commands of each client; one of them among
    the ancestors of `pid` says so, too. Without either it is a person's, whatever else is under way.
    """
    names = _ancestors(pid)
    above = [client for client, commands in programs.items() if not names.isdisjoint(commands)]
    if not marked and not above:
        return None
    found = [one for one in running(place) if not above or one.client in above]
    return next((one for one in found if "git" in one.text), found[0] if found else None)


def record(ws: Workspace, by: Actor, call: Running | None, made: GitCommit, *, mark: str | None) -> str | None:
    """Takes a savepoint of the files as committed and ties it, the git commit and the call to each other in the log.

    `mark`: the variable by which an agent gives itself away, None where there is none. Returns the savepoint; None
    where the project is not this home's own or a lock was busy. Raises as `AuditLog`.
    """
    if not ws.standing().own:
        return None
    if call is not None:
        by = by._replace(agent=call.client, session=call.session, tool_use_id=call.call_id, source="hook")
    saved = _savepoint(ws, by, made)
    said: dict[str, Json] = {
        "git_commit": made.commit,
        "git_tree": made.tree,
        "git_ref": made.ref,
        "savepoint": saved,
        "record": call.n if call is not None else None,
        "mark": mark,
    }
    act = Act(cwd=ws.root, message=made.subject, more=tuple((key, value) for key, value in said.items() if value))
    ws.log.append(Entry("git.commit", by, act), timeout_s=HOOK_WAIT_S)
    return saved


def listed(ws: Workspace, limit: int) -> tuple[Made, ...]:
    """The newest `limit` git commits that the log knows (0: all), newest first. Raises AuditUnverifiable."""
    from chrono.audit.index import found
    from chrono.audit.place import project_place
    from chrono.audit.query import Query

    rows = found(project_place(ws.layout), ws.home, ws.log.log_id, Query(event="git.commit"), limit)
    return tuple(_made(record) for _, record in reversed(rows) if record is not None)


def _made(record: Record) -> Made:
    n = record.act.get("record")
    return Made(
        record.at,
        _text(record.act, "git_commit") or "",
        _text(record.act, "message") or "",
        _text(record.act, "git_ref"),
        _text(record.by, "agent"),
        _text(record.by, "session"),
        _text(record.act, "mark"),
        _text(record.by, "user"),
        _text(record.act, "savepoint"),
        n if isinstance(n, int) else None,
    )


def _savepoint(ws: Workspace, by: Actor, made: GitCommit) -> str | None:
    from chrono.workspace.savepoints import save

    line = " ".join(made.subject.split())[:100]
    trailers = [("Chrono-Git-Commit", made.commit)]
    if by.session:
        trailers.append(("Chrono-Session", by.session))
    try:
        message = f"git commit {made.commit[:10]}: {line}"
        return save(ws, "auto", message, by, trailers=tuple(trailers), timeout_s=HOOK_WAIT_S).commit
    except (ChronoError, OSError):
        return None


def _ancestors(pid: int) -> frozenset[str]:
    """The names of the programs that started process `pid`, where the system shows them."""
    names: set[str] = set()
    for _ in range(_GENERATIONS):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read(4096).split(b"\0")[:2]
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        names.update(os.fsdecode(word.rpartition(b"/")[2]) for word in words if word)
        if pid <= 1:
            break
    return frozenset(names)


def _text(members: Mapping[str, Json], key: str) -> str | None:
    value = members.get(key)
    return value if isinstance(value, str) and value else None

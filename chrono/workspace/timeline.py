"""Owns the history of the work tree as a line: the states that savepoints hold, and what ran between two of them.

The order is that of the audit log, not of any clock. Savepoints that no log knows come first, by their own trailers.
What is concluded from it is left to `workspace.bisect` and `workspace.blame`; docs/howto/find-what-broke-it.md says in
words what counts as whose change.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from chrono.clock import from_rfc3339
from chrono.errors import AuditTampered, AuditUnverifiable, NoSuchSavepoint
from chrono.ids import CommitId
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.audit.text import Text
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

ORDINARY = frozenset({"manual", "auto", "rescue", "crash", "commit"})
"""Kinds of savepoints that only note what the files were. Behind every other kind a verb of chrono made them so."""

_JUMPS = frozenset({"checkout", "undo", "redo"})
_RUNS = {"command": "command", "file": "file", "run.start": "run"}
_ENDS = frozenset({"command", "file", "run.end"})
_FILES = ("refs/heads/", "refs/chrono/auto/", "refs/chrono/rescue/", "refs/chrono/merge")
_MARKS = (b'"anchor":{', b'"savepoint":"', b'"phase":"end"', b'"target":"')


class Call(NamedTuple):
    """One tool call or command that ran after a savepoint.

    `kind`: "command", "file" (a tool that names the files it writes) or "run" (`chrono run`). `record` is its number
    in the audit log, None where only the savepoint's trailers tell of it. `paths` are relative to the project. `ended`
    is when its end was reported, None where nobody did.
    """

    kind: str
    record: int | None
    at: str
    tool: str | None
    command: str | None
    paths: tuple[str, ...]
    agent: str | None
    session: str | None
    tool_use: str | None
    user: str | None
    savepoint: CommitId | None
    ended: str | None = None


class State(NamedTuple):
    """The work tree as a savepoint holds it. `verb`: what of chrono itself made it so, "" for all else.

    `written`: when files that changed before it were written, at the earliest, in ns; not known of all.
    """

    savepoint: Savepoint
    verb: str
    user: str | None
    written: Mapping[str, int] = {}

    @property
    def commit(self) -> CommitId:
        return self.savepoint.id


class Step(NamedTuple):
    """From one state to the next; `before` None at the beginning, `after` None for the files as they are now.

    `calls` are those that may have changed something meanwhile, the latest first.
    """

    before: State | None
    after: State | None
    calls: tuple[Call, ...]


class Cause(NamedTuple):
    """Whose a change is. `kind`: "call", "person" (nothing that chrono saw was running), "verb" (a rollback, merge, …)
    or "start" (it was there in the first savepoint). `others`: calls that ran at the same time and cannot be ruled
    out; of a person's change calls that had ended when the file was last written, and may have written a part of it."""

    kind: str
    step: Step
    call: Call | None = None
    others: tuple[Call, ...] = ()


class _Seen(NamedTuple):
    """A call and the positions in the log where it began and ended (None: nobody said)."""

    call: Call
    begin: int
    end: int | None


class _Told(NamedTuple):
    """What a line of the log says, as far as it matters here."""

    n: int
    ev: str
    at: str
    by: dict[str, object]
    act: dict[str, object]
    anchor: dict[str, object] | None


class Timeline(NamedTuple):
    """All states, oldest first, and the steps to each of them and to now: `steps[i]` leads to `states[i]`."""

    states: tuple[State, ...]
    steps: tuple[Step, ...]


def read(ws: Workspace) -> Timeline:
    """Reads the log of the project, and those it went on from. Raises StoreError; an unreadable log is passed over."""
    states: list[tuple[int, State]] = []
    begun: dict[str, int] = {}
    seen: list[_Seen] = []
    known: set[str] = set()
    history = {one.id: one for one in ws.store.history()}
    for position, record in enumerate(_records(ws)):
        state = _state(ws, record, history)
        if state is not None:
            states.append((position, state))
            known.add(state.commit)
        call = _call(ws, record)
        if call is not None:
            seen.append(_Seen(call, position, None))
            if call.tool_use is not None:
                begun[call.tool_use] = len(seen) - 1
        elif record.ev in _ENDS and record.act.get("phase") == "end":
            index = begun.pop(_text(record.by.get("tool_use_id")) or "", None)
            if index is not None:
                one = seen[index]
                seen[index] = one._replace(end=position, call=one.call._replace(ended=record.at))
    told = {one.call.savepoint for one in seen}
    for position, state in states:  # a record that was too long for the log has lost its details
        call = _trailer_call(state.savepoint)
        if call is not None and state.commit not in told:
            seen.append(_Seen(call, position + 1, None))
    seen.sort(key=lambda one: one.begin)
    _check_ran(seen)
    early = [State(one, _verb(one), one.author) for one in history.values() if one.id not in known]
    early.reverse()
    return _laid_out(early, states, seen)


def _check_ran(seen: list[_Seen]) -> None:
    """A call that was denied did not run, unless its end was reported."""
    seen[:] = [one for one in seen if one.end is not None or one.call.kind != "denied"]
    for index, one in enumerate(seen):
        if one.call.kind == "denied":
            seen[index] = one._replace(call=one.call._replace(kind="file" if one.call.paths else "command"))


def _laid_out(early: list[State], anchored: list[tuple[int, State]], seen: list[_Seen]) -> Timeline:
    states = [*early, *(state for _, state in anchored)]
    positions = [position for position, _ in anchored]
    active: list[list[_Seen]] = [[] for _ in range(len(states) + 1)]
    for index, state in enumerate(early):
        call = _trailer_call(state.savepoint)
        if call is not None:
            active[index + 1].append(_Seen(call, -1, None))
    for one in seen:
        first = bisect_left(positions, one.begin)
        last = bisect_left(positions, one.end) if one.end is not None else first
        for index in range(first, last + 1):
            active[len(early) + index].append(one)
    steps = []
    for index in range(len(states) + 1):
        before = states[index - 1] if index else None
        after = states[index] if index < len(states) else None
        steps.append(Step(before, after, _possible(active[index])))
    return Timeline(tuple(states), tuple(steps))


def _possible(active: list[_Seen]) -> tuple[Call, ...]:
    """The latest first, without those after which a savepoint still found nothing changed.

    An unchanged tree gets no new savepoint: two calls that name the same one had the same files before them.
    """
    kept: list[_Seen] = []
    for one in reversed(active):
        ruled_out = any(
            later.call.savepoint == one.call.savepoint
            and (one.end < later.begin if one.end is not None else one.call.session == later.call.session)
            for later in kept
        )
        if not ruled_out:
            kept.append(one)
    return tuple(one.call for one in kept)


def cause(step: Step, path: str | None, *, changed_at_ns: int | None = None) -> Cause:
    """Whose the change of `path` in `step` is; of anything at all for None.

    A tool that names its files is only charged with those. A command is charged with whatever changed until the next
    savepoint, since it may write anywhere; but not with what is known to have changed when it had ended: at
    `changed_at_ns`, or as the savepoint noted.
    """
    from chrono.canonical import recordable  # the log holds no bytes that are not UTF-8

    if step.after is not None and step.after.verb:
        return Cause("verb", step)
    if step.before is None:
        return Cause("start", step)
    if changed_at_ns is None and step.after is not None and path is not None:
        changed_at_ns = step.after.written.get(recordable(path))
    ended = [call for call in step.calls if changed_at_ns is not None and _ended_before(call, changed_at_ns)]
    fitting = _fitting([call for call in step.calls if call not in ended], path)
    if not fitting:
        return Cause("person", step, None, _fitting(ended, path))
    return Cause("call", step, fitting[0], fitting[1:])


def _fitting(calls: list[Call], path: str | None) -> tuple[Call, ...]:
    """Those of `calls` that may have written `path`: tools that named it, or else all that name nothing."""
    named = [call for call in calls if call.kind == "file" and path is not None and _names(call, path)]
    return tuple(named or [call for call in calls if path is None or call.kind != "file" or not call.paths])


def _ended_before(call: Call, at_ns: int) -> bool:
    return call.ended is not None and from_rfc3339(call.ended) < at_ns


def _names(call: Call, path: str) -> bool:
    """Whether the call named `path`. A project that was moved since has its old place in the records."""
    from chrono.canonical import recordable

    told = recordable(path)  # the log holds no bytes that are not UTF-8
    return told in call.paths or any(one[:1] == "/" and one.endswith("/" + told) for one in call.paths)


# --- reading records


def _records(ws: Workspace) -> Iterator[_Told]:
    """The records that matter here, of the logs that this one goes on from first."""
    from chrono.audit.place import open_aside, open_text, project_place

    place = project_place(ws.layout)
    for path in [*_earlier_logs(place.log), place.log]:
        try:
            text = open_text(place) if path == place.log else open_aside(path)
        except (FileNotFoundError, AuditUnverifiable, AuditTampered):
            continue
        with text, suppress(AuditTampered):
            yield from _telling(text)


def _telling(text: Text) -> Iterator[_Told]:
    """Lines that matter, taken apart without a proof of their form: that is the verifier's work, and slow."""
    import json

    from chrono.audit.text import lines

    for line in lines(text):
        data = line.data
        if line.whole and data is not None and any(mark in data for mark in _MARKS):
            try:
                value = json.loads(data)
                told = _Told(
                    value["n"], value["ev"], value["at"], value["by"], value.get("act", {}), value.get("anchor")
                )
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            if isinstance(told.by, dict) and isinstance(told.act, dict) and isinstance(told.anchor, dict | None):
                yield told


def _earlier_logs(log: str) -> list[str]:
    """Logs that were moved aside when this one began, oldest first."""
    folder, name = os.path.split(log)
    begins = (name + ".", name.removesuffix(".jsonl") + "-")
    found = [entry for entry in os.listdir(folder) if entry.startswith(begins)]
    paths = [os.path.join(folder, entry) for entry in found if not entry.endswith((".jsonl", ".gz", ".new"))]
    return sorted(paths, key=_begun)


def _begun(path: str) -> str:
    from chrono.audit.place import open_aside
    from chrono.audit.record import MAX_LINE_BYTES
    from chrono.audit.record import read as read_record
    from chrono.canonical import NotCanonical

    try:
        with open_aside(path) as text:
            return read_record(text.pread(MAX_LINE_BYTES, 0).partition(b"\n")[0]).at
    except (FileNotFoundError, AuditUnverifiable, AuditTampered, NotCanonical):
        return ""


def _state(ws: Workspace, record: _Told, history: dict[CommitId, Savepoint]) -> State | None:
    """The state that a record tells of: an anchored savepoint, or the end of a verb that went to one."""
    user = _text(record.by.get("user"))
    anchor = record.anchor or {}
    ref, commit = anchor.get("ref"), anchor.get("commit")
    if isinstance(commit, str) and (not isinstance(ref, str) or ref.startswith(_FILES)):
        found = _savepoint(ws, commit, history)
        return State(found, _verb(found), user, _written(record)) if found is not None else None
    whole = not record.act.get("paths") and "worktree" not in record.act
    if record.ev in _JUMPS and whole and record.act.get("phase", "end") == "end":
        target = record.act.get("target")
        found = _savepoint(ws, target, history) if isinstance(target, str) else None
        return State(found, record.ev, user) if found is not None else None
    return None


def _written(record: _Told) -> dict[str, int]:
    told = record.act.get("written")
    found = {}
    for one in told if isinstance(told, list) else ():
        try:
            found[str(one["path"])] = from_rfc3339(one["at"])
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _savepoint(ws: Workspace, commit: str, history: dict[CommitId, Savepoint]) -> Savepoint | None:
    """None where it was pruned. `history` is what was read already."""
    known = history.get(CommitId(commit))
    if known is not None:
        return known
    try:
        return ws.store.savepoint(CommitId(commit))
    except NoSuchSavepoint:
        return None


def _verb(savepoint: Savepoint) -> str:
    return "" if savepoint.kind in ORDINARY else savepoint.kind


def _call(ws: Workspace, record: _Told) -> Call | None:
    """The call that a record tells of; its kind is "denied" where it was not let through."""
    kind = _RUNS.get(record.ev)
    savepoint = record.act.get("savepoint")
    if kind is None or not isinstance(savepoint, str) or record.act.get("phase") == "end":
        return None
    by, act = record.by, record.act
    typed = act.get("paths")
    paths = [path for path in typed if isinstance(path, str)] if isinstance(typed, list) else []
    cwd = _text(act.get("cwd")) or ws.root
    return Call(
        kind="denied" if act.get("decision") == "block" else kind,
        record=record.n,
        at=record.at,
        tool=_text(act.get("tool")),
        command=_text(act.get("cmd")),
        paths=tuple(_in_project(ws.root, os.path.join(cwd, path)) for path in paths),
        agent=_text(by.get("agent")),
        session=_text(by.get("session")),
        tool_use=_text(by.get("tool_use_id")),
        user=_text(by.get("user")),
        savepoint=CommitId(savepoint),
    )


def _trailer_call(savepoint: Savepoint) -> Call | None:
    """What a savepoint itself says of the call that it was taken before."""
    command = savepoint.trailer("Chrono-Command")
    if savepoint.kind != "auto" or command is None:
        return None
    return Call(
        kind="command",
        record=None,
        at="",
        tool=None,
        command=command,
        paths=(),
        agent=savepoint.trailer("Chrono-Agent"),
        session=savepoint.trailer("Chrono-Session"),
        tool_use=savepoint.trailer("Chrono-Tool-Use"),
        user=savepoint.author,
        savepoint=savepoint.id,
    )


def _in_project(root: str, path: str) -> str:
    """`path` relative to the project; what lies elsewhere (the project was moved) as it is, absolute."""
    plain = os.path.normpath(path)
    if plain.startswith(root.rstrip("/") + "/"):
        return plain[len(root.rstrip("/")) + 1 :]
    folder = os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain))
    return os.path.relpath(folder, root) if folder.startswith(root.rstrip("/") + "/") else plain


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

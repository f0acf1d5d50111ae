"""Owns a restore from its journal to its end: audit records, commit on the branch, operation, refs; after a crash too.

What to restore is planned by the verbs (`workspace.rollback`, `.branches`, `.merging`, `.undoing`). Files are changed
by `store`; `workspace.recover` goes on with a restore that a crash cut short.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chrono.ids import CommitId, OpId
from chrono.tuples import NamedTuple
from chrono.workspace.oplog import (
    EVENTS,
    Operation,
    RefMove,
    carry_out,
    move_of,
    newest_operation,
    text_of,
    write_operation,
)
from chrono.workspace.ring import AtStep, RingNote, go_on, turn_ring

if TYPE_CHECKING:
    from chrono.audit.record import Act, Actor
    from chrono.canonical import Json
    from chrono.store.journal import Journal
    from chrono.store.restore import Left, Restored, RestorePlan
    from chrono.store.snapshot import Content
    from chrono.workspace.project import Workspace

STEPS = ("journal", "begin", "applied", "commit", "end", "moved", "finished")
"""The steps of every restore in order, for crash tests; "commit" only where it ends in one."""


class Intent(NamedTuple):
    """What a verb wants beside the files.

    `head` is the ref that HEAD names afterwards, `moves` the refs to move. `commit` is the kind of the commit that
    ends the restore (None: none), `ref` where it goes, with `parents` after what the ref holds; `trailers` are
    further ones of it.
    """

    verb: str
    message: str
    head: str
    commit: str | None = None
    ref: str | None = None
    parents: tuple[CommitId, ...] = ()
    trailers: tuple[tuple[str, str], ...] = ()
    moves: tuple[RefMove, ...] = ()
    undoes: CommitId | None = None

    def written(self) -> tuple[tuple[str, str], ...]:
        """As the journal keeps it."""
        optional = (("commit", self.commit), ("ref", self.ref), ("undoes", self.undoes))
        return (
            ("verb", self.verb),
            ("message", self.message),
            ("head", self.head),
            *((key, value) for key, value in optional if value is not None),
            *(("parent", parent) for parent in self.parents),
            *((f"trailer {key}", value) for key, value in self.trailers),
            *(("move", text_of(move)) for move in self.moves),
        )


def read_intent(ws: Workspace, journal: Journal) -> Intent:
    """What the journal's verb wants; a journal without a note is a rollback."""
    note = dict(journal.note)
    head = note.get("head") or ws.store.head_ref()
    if "verb" not in note:
        return Intent("rollback", f"rollback to {journal.target[:12]}", head, "rollback", head)
    undoes = note.get("undoes")
    return Intent(
        note["verb"],
        note.get("message", ""),
        head,
        note.get("commit"),
        note.get("ref"),
        tuple(CommitId(value) for key, value in journal.note if key == "parent"),
        tuple((key.removeprefix("trailer "), value) for key, value in journal.note if key.startswith("trailer ")),
        tuple(move for key, text in journal.note if key == "move" and (move := move_of(text)) is not None),
        CommitId(undoes) if undoes else None,
    )


class Carried(NamedTuple):
    """A restore that happened: its commit (None: it makes none), its operation, what was written and left alone."""

    commit: CommitId | None
    operation: CommitId
    written: int
    deleted: int
    left: tuple[Left, ...]


def carry(
    ws: Workspace, steps: RestorePlan, intent: Intent, by: Actor, *, timeout_s: float, at_step: AtStep = go_on
) -> Carried:
    """Does `steps` and then what `intent` says, under the store lock, so that a crash anywhere is rolled forward.

    Raises Conflict where the work tree is not as in `steps.pre` any more (nothing was touched), Locked, StoreError.
    """
    store = ws.store
    journal = store.begin(steps, OpId(os.urandom(16).hex()), intent.written())
    at_step("journal")
    note_restore(ws, by, journal, "begin", timeout_s)
    at_step("begin")
    try:
        restored = store.apply(steps, journal)
    except BaseException:
        if store.pending() is None:  # nothing was touched
            note_restore(ws, by, journal, "failed", timeout_s)
        raise
    at_step("applied")
    commit, operation = finish(ws, journal, journal.target, restored, by, timeout_s=timeout_s, at_step=at_step)
    return Carried(commit, operation, restored.written, restored.deleted, restored.left)


def note_restore(
    ws: Workspace, by: Actor, journal: Journal, phase: str, timeout_s: float, *, target: CommitId | None = None
) -> None:
    """Records where a restore stands: `phase` "begin", "failed" (nothing was touched) or "end" of one taken back."""
    from chrono.audit.record import Entry

    event = EVENTS.get(read_intent(ws, journal).verb, "restore")
    ws.log.append(Entry(event, by, _act(journal, phase, target or journal.target)), timeout_s=timeout_s)


def _act(journal: Journal, phase: str, target: CommitId) -> Act:
    from chrono.audit.record import Act

    paths: list[Json] = list(journal.paths)
    more: tuple[tuple[str, Json], ...] = (("paths", paths), ("pre", journal.pre), ("target", target))
    return Act(phase=phase, op=journal.op, more=more)


def finish(
    ws: Workspace,
    journal: Journal,
    target: CommitId,
    restored: Restored,
    by: Actor,
    *,
    timeout_s: float,
    at_step: AtStep = go_on,
) -> tuple[CommitId | None, CommitId]:
    """(commit, operation): the end of a restore after `target` is on the disk. The record of the end is the
    operation's own.

    Idempotent by the journal's `op` and the target: what a crash left done is not done again. Where `target` is the
    journal's `pre` the restore was taken back: a rollback then ends in a commit of that, other verbs move nothing.
    """
    store = ws.store
    intent = read_intent(ws, journal)
    if target != journal.target:
        intent = _taken_back(ws, journal, intent)
    newest = newest_operation(ws)
    if newest is not None and (newest.run, newest.target) == (journal.op, target):
        op, commit = newest, newest.after
    else:
        commit = _end_commit(ws, journal, intent, target, restored, by, timeout_s) if intent.commit else None
        at_step("commit")
        moves = intent.moves
        if commit is not None and intent.ref is not None and intent.ref != intent.head:
            moves += (RefMove(intent.ref, None, commit),)
        op = Operation(
            CommitId(""),
            intent.verb,
            intent.message,
            0,
            "",
            head_before=store.head_ref(),
            head_after=intent.head,
            before=journal.pre,
            after=commit or target,
            paths=journal.paths,
            moves=moves,
            undoes=intent.undoes,
            run=journal.op,
            target=target,
        )
        op = write_operation(ws, op, by, act=_act(journal, "end", target), timeout_s=timeout_s)
    at_step("end")
    carry_out(ws, op)
    at_step("moved")
    store.finish(journal)
    at_step("finished")
    return commit, op.id


def _taken_back(ws: Workspace, journal: Journal, intent: Intent) -> Intent:
    head = ws.store.head_ref()
    if intent.verb == "rollback":
        return Intent("rollback", f"rollback to {journal.pre[:12]}", head, "rollback", head)
    return Intent(intent.verb, f"{intent.message} (taken back)", head)


def _end_commit(
    ws: Workspace,
    journal: Journal,
    intent: Intent,
    target: CommitId,
    restored: Restored,
    by: Actor,
    timeout_s: float,
) -> CommitId:
    """The commit on the branch; what is on the disk where that is not all of `target`."""
    store = ws.store
    ref = intent.ref or intent.head
    head = store.ref(ref)
    if head is not None:
        savepoint = store.savepoint(head)
        if savepoint.trailer("Chrono-Restore") == journal.op and savepoint.trailer("Chrono-Target") == target:
            return head
    content: Content
    capture = store.capture() if journal.paths or restored.left else None
    content = capture.content if capture is not None else store.content(target)
    note = RingNote(
        kind=intent.commit or "rollback",
        message=intent.message,
        by=by,
        act=None,
        trailers=(
            ("Chrono-Restore", journal.op),
            ("Chrono-Target", target),
            ("Chrono-Rescue", journal.pre),
            *intent.trailers,
        ),
        ref=ref,
        old=head,
        parents=(*((head,) if head else ()), *intent.parents),
    )
    commit = turn_ring(ws, content, note, timeout_s=timeout_s)
    if capture is not None:
        store.remember(capture, commit)
    return commit


def noted(ws: Workspace, journal: Journal, phase: str, target: CommitId) -> bool:
    """Whether the log already says this of the restore. Reads all of it: for use after a crash only."""
    from chrono.audit.place import project_place
    from chrono.audit.verify import read_records

    wanted = {"op": journal.op, "phase": phase, "target": target}
    return any(
        record is not None and wanted.items() <= record.act.items() for record in read_records(project_place(ws.layout))
    )

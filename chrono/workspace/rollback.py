"""Owns going back: plan, rescue, restore, commit. A rollback adds to history and can itself be rolled back.

The restore is done by `store`, a crash in its middle is rolled forward by `workspace.recover`; asking a person and
printing the plan first is left to `cli`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from chrono.errors import Conflict, NoSuchSavepoint
from chrono.ids import CommitId, OpId
from chrono.workspace.history import RESCUES, branch_name, newest
from chrono.workspace.savepoints import CLI_WAIT_S, AtStep, RingNote, go_on, save_locked, turn_ring

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.diff import Change
    from chrono.store.journal import Journal
    from chrono.store.restore import Left, Restored
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

STEPS = ("rescue", "journal", "begin", "applied", "commit", "end", "finished")
"""The steps of a rollback in order; those of the two savepoints in it lie between them."""


class RollbackPlan(NamedTuple):
    """What a rollback would do, shown before anything is touched.

    `changes` run from the work tree as it is to `target`. Empty: there is nothing to roll back, and `before` names
    the newest earlier savepoint that differs, if there is one.
    """

    target: Savepoint
    paths: tuple[str, ...]
    changes: tuple[Change, ...]
    before: CommitId | None

    @property
    def written(self) -> tuple[str, ...]:
        """Paths that get other content, type or mode, or come back."""
        return tuple(change.path for change in self.changes if change.new is not None)

    @property
    def removed(self) -> tuple[str, ...]:
        """Paths created since; the rescue keeps them."""
        return tuple(change.path for change in self.changes if change.new is None)


class RolledBack(NamedTuple):
    """A rollback that happened. `commit` is the new commit on the branch, `rescue` the state before."""

    target: CommitId
    commit: CommitId
    rescue: CommitId
    written: int
    deleted: int
    left: tuple[Left, ...]

    @property
    def undo(self) -> str:
        return f"chrono rollback {self.rescue}"


def plan(ws: Workspace, text: str | None = None, paths: tuple[str, ...] = ()) -> RollbackPlan:
    """The plan for `chrono rollback [ID] [PATH…]`. Writes nothing.

    Without `text` the target is the newest savepoint of the branch, automatic ones included, never a rescue.
    `paths` are relative to the project, "/"-separated. Raises NoSuchSavepoint.
    """
    store = ws.store
    target = store.resolve(text) if text is not None else newest(ws)
    if target is None:
        raise NoSuchSavepoint("there is no savepoint to roll back to yet", "run chrono snapshot")
    changes = _backwards(store.changes(target, None, paths))
    before = None if changes else _before(ws, target)
    return RollbackPlan(store.savepoint(target), paths, changes, before)


def _backwards(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    kinds = {"added": "deleted", "deleted": "added"}
    return tuple(
        change._replace(kind=kinds.get(change.kind, change.kind), old=change.new, new=change.old) for change in changes
    )


def _before(ws: Workspace, target: CommitId) -> CommitId | None:
    """The newest savepoint of the branch, older than `target`, that holds something else."""
    store = ws.store
    branch = branch_name(store.head_ref())
    content = store.content(target)
    seen = False
    for savepoint in store.history():
        if savepoint.id == target:
            seen = True
        elif (
            seen
            and savepoint.kind not in RESCUES
            and (savepoint.trailer("Chrono-Branch") or branch) == branch
            and store.content(savepoint.id) != content
        ):
            return savepoint.id
    return None


def apply(
    ws: Workspace, shown: RollbackPlan, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on
) -> RolledBack:
    """Does what `shown` says: rescue savepoint, restore under a journal, commit on the branch.

    Raises Conflict where the work tree is no longer the one the plan was made for (nothing was touched; the rescue
    stays), Denied, Locked, StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    target = shown.target.id
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        rescue = save_locked(ws, "rescue", f"before the rollback to {target[:12]}", by, timeout_s=timeout_s).commit
        at_step("rescue")
        if _backwards(store.changes(target, rescue, shown.paths)) != shown.changes:
            raise Conflict(
                "the work tree has changed since the plan was shown",
                f"look at it again: chrono rollback {target[:12]} --dry-run",
            )
        steps = store.plan_restore(rescue, target, shown.paths)
        journal = store.begin(steps, OpId(os.urandom(16).hex()))
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
        commit = finish(ws, journal, target, restored, by, timeout_s=timeout_s, at_step=at_step)
    return RolledBack(target, commit, rescue, restored.written, restored.deleted, restored.left)


def note_restore(
    ws: Workspace, by: Actor, journal: Journal, phase: str, timeout_s: float, *, target: CommitId | None = None
) -> None:
    """Records where a restore stands: `phase` "begin", "end" or "failed" (nothing was touched)."""
    from chrono.audit.record import Act, Entry

    paths: list[Json] = list(journal.paths)
    more: tuple[tuple[str, Json], ...] = (
        ("paths", paths),
        ("pre", journal.pre),
        ("target", target or journal.target),
    )
    ws.log.append(Entry("restore", by, Act(phase=phase, op=journal.op, more=more)), timeout_s=timeout_s)


def finish(
    ws: Workspace,
    journal: Journal,
    target: CommitId,
    restored: Restored,
    by: Actor,
    *,
    timeout_s: float,
    at_step: AtStep = go_on,
) -> CommitId:
    """The rollback's commit, the `restore end` record, and the end of the journal; `target` was just restored.

    Idempotent by the journal's `op` and the target: what a crash left done is not done again.
    """
    store = ws.store
    commit = _committed(ws, journal, target)
    if commit is None:
        capture = store.capture() if journal.paths or restored.left else None
        head_ref = store.head_ref()
        head = store.ref(head_ref)
        note = RingNote(
            kind="rollback",
            message=f"rollback to {target[:12]}",
            by=by,
            act=None,
            trailers=(("Chrono-Restore", journal.op), ("Chrono-Target", target), ("Chrono-Rescue", journal.pre)),
            ref=head_ref,
            old=head,
            parents=(head,) if head else (),
        )
        commit = turn_ring(ws, capture.content if capture else store.content(target), note, timeout_s=timeout_s)
        at_step("commit")
        ended = False
    else:
        ended = noted(ws, journal, "end", target)
    if not ended:
        note_restore(ws, by, journal, "end", timeout_s, target=target)
    at_step("end")
    store.finish(journal)
    at_step("finished")
    return commit


def _committed(ws: Workspace, journal: Journal, target: CommitId) -> CommitId | None:
    """The branch head, where it is the commit of this very restore."""
    head = ws.store.ref(ws.store.head_ref())
    if head is None:
        return None
    savepoint = ws.store.savepoint(head)
    same = savepoint.trailer("Chrono-Restore") == journal.op and savepoint.trailer("Chrono-Target") == target
    return head if same else None


def noted(ws: Workspace, journal: Journal, phase: str, target: CommitId) -> bool:
    """Whether the log already says this of the restore. Reads all of it: for use after a crash only."""
    from chrono.audit.place import project_place
    from chrono.audit.verify import read_records

    wanted = {"op": journal.op, "phase": phase, "target": target}
    return any(
        record is not None and record.ev == "restore" and wanted.items() <= record.act.items()
        for record in read_records(project_place(ws.layout))
    )

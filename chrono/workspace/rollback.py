"""Owns going back: plan, rescue, restore, commit. A rollback adds to history and can itself be rolled back.

The restore is done by `store`, a crash in its middle is rolled forward by `workspace.recover`; asking a person and
printing the plan first is left to `cli`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.errors import Conflict, NoSuchSavepoint
from chrono.ids import CommitId
from chrono.tuples import NamedTuple
from chrono.workspace.history import RESCUES, branch_name, newest
from chrono.workspace.mergestate import dropped_merge
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.restoring import STEPS as RESTORE_STEPS
from chrono.workspace.restoring import Intent, carry
from chrono.workspace.ring import AtStep, go_on, save_locked

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.store.diff import Change
    from chrono.store.restore import Left
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

STEPS = ("rescue", *RESTORE_STEPS)
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
        head = store.head_ref()
        # Everything goes back: so does a merge that waits for people.
        moves = dropped_merge(ws) if not shown.paths else ()
        intent = Intent("rollback", f"rollback to {target[:12]}", head, "rollback", head, moves=moves)
        done = carry(ws, steps, intent, by, timeout_s=timeout_s, at_step=at_step)
    assert done.commit is not None
    return RolledBack(target, done.commit, rescue, done.written, done.deleted, done.left)

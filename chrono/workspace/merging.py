"""Owns merging a branch into the current one: clean, or with conflicts that wait for people, then ended or abandoned.

What the merged files are is computed by `store.merge` in memory; they reach the work tree as in a rollback
(`workspace.restoring`). While conflicts wait, `refs/chrono/merge` names a commit that holds both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.errors import Conflict
from chrono.ids import CommitId
from chrono.store.bases import ancestors
from chrono.store.filemerge import Labels
from chrono.store.merge import MergeConflict
from chrono.store.refs import BRANCHES, MERGE
from chrono.tuples import NamedTuple
from chrono.workspace.branches import Parents
from chrono.workspace.history import branch_name
from chrono.workspace.mergestate import conclude, conflict_text, refuse_during_merge, required_merge
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.restoring import STEPS as RESTORE_STEPS
from chrono.workspace.restoring import Intent, carry
from chrono.workspace.ring import AtStep, RingNote, go_on, save_locked, turn_ring
from chrono.workspace.undoing import REDONE, UNDONE

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.store.restore import Left
    from chrono.workspace.project import Workspace

MERGE_STEPS = ("saved", "merged", *RESTORE_STEPS)
CONTINUE_STEPS = ("commit", "operation", "moved")
"""The steps of a merge and of its end in order, for crash tests."""


class MergeDone(NamedTuple):
    """A merge that changed the files. `commit` is None while `conflicts` wait for people; `saved` held the files
    before it."""

    name: str
    commit: CommitId | None
    saved: CommitId
    operation: CommitId
    conflicts: tuple[MergeConflict, ...]
    notes: tuple[str, ...]
    written: int
    deleted: int
    left: tuple[Left, ...]


def merge(
    ws: Workspace, name: str, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on
) -> MergeDone | None:
    """Merges `name` (a branch or any savepoint) into the current branch; None: the branch holds it already.

    The files are saved on the current branch first. Without conflicts the merge is a commit; else the files hold both
    sides and `end` or `abandon` is next. Raises Conflict where another merge waits, or where something that no
    savepoint holds is in the way (nothing was touched), NoSuchSavepoint, Denied, Locked, StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        refuse_during_merge(ws)
        theirs = store.resolve(name)
        saved = save_locked(ws, "manual", f"before merge of {name}", by, timeout_s=timeout_s).commit
        at_step("saved")
        graph = _Graph(ws, saved)
        if theirs in ancestors((saved,), graph):
            return None
        head_ref = store.head_ref()
        labels = _labels(head_ref, name)
        result = store.merge(saved, theirs, labels, graph)
        target = store.write_commit(
            result.content,
            parents=(saved, theirs),
            message="what a merge is about to write",
            trailers=(("Chrono-Kind", "draft"),),
            at_ns=ws.clock.now_ns(),
            author=by.user or "unknown",
        )
        at_step("merged")
        steps = store.plan_restore(saved, target)
        if steps.left:
            raise Conflict(
                f"{steps.left[0].path} is in the way of the merge: {steps.left[0].why}",
                "move it away; nothing was touched",
            )
        intent = _intent(head_ref, labels, saved, theirs, result.conflicts)
        done = carry(ws, steps, intent, by, timeout_s=timeout_s, at_step=at_step)
        commit = None if result.conflicts else done.commit
    return MergeDone(
        name, commit, saved, done.operation, result.conflicts, result.notes, done.written, done.deleted, done.left
    )


def _labels(head_ref: str, name: str) -> Labels:
    ours = branch_name(head_ref)
    theirs = name.removeprefix(BRANCHES)
    return Labels("base", ours, theirs if theirs != ours else f"{theirs}-theirs")


def _intent(
    head_ref: str, labels: Labels, ours: CommitId, theirs: CommitId, conflicts: tuple[MergeConflict, ...]
) -> Intent:
    message = f"merge {labels.theirs} into {labels.ours}"
    if not conflicts:
        return Intent("merge", message, head_ref, "merge", head_ref, (theirs,))
    trailers = (
        ("Chrono-Merge-Name", labels.theirs),
        ("Chrono-Merge-Theirs", theirs),
        *(("Chrono-Conflict", conflict_text(conflict)) for conflict in conflicts),
    )
    return Intent("merge", f"{message} (conflicts)", head_ref, "merging", MERGE, (ours, theirs), trailers)


class _Graph(Parents):
    """The graph in which the base is looked for. A merge that was undone on our line has only its first parent: its
    other side is not in our files any more, so merging that again must bring it back."""

    def __init__(self, ws: Workspace, ours: CommitId) -> None:
        super().__init__(ws)
        undone: dict[str, int] = {}
        for commit in ancestors((ours,), super().__call__):
            found = ws.store.savepoint(commit)
            for key, value in found.trailers:
                if key in (UNDONE, REDONE):
                    undone[value] = undone.get(value, 0) + (1 if key == UNDONE else -1)
        self._undone = {commit for commit, times in undone.items() if times > 0}

    def __call__(self, commit: CommitId) -> tuple[CommitId, ...]:
        found = super().__call__(commit)
        return found[:1] if commit in self._undone else found


def end(ws: Workspace, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on) -> CommitId:
    """Commits the files as they are as the merge that waited for people.

    Raises Conflict where markers or `name~branch` files are left, NoSuchSavepoint where no merge waits.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        found = required_merge(ws)
        if found.unresolved:
            first = found.unresolved[0]
            more = f" and {len(found.unresolved) - 1} more" if len(found.unresolved) > 1 else ""
            left = "has conflict markers" if first.why == "content" else f"is undecided: {', '.join(first.files)}"
            raise Conflict(
                f"{first.path}{more} {left}",
                "edit the marked lines; of files name~branch keep what you want under its own name, delete the rest",
            )
        capture = store.capture()
        head_ref = store.head_ref()
        head = store.ref(head_ref)
        note = RingNote(
            "merge",
            f"merge {found.name} into {branch_name(head_ref)}",
            by,
            None,
            (("Chrono-Merge-Of", found.commit),),
            head_ref,
            head,
            (*((head,) if head else ()), found.theirs),
        )
        commit = turn_ring(ws, capture.content, note, timeout_s=timeout_s)
        at_step("commit")
        store.remember(capture, commit)
        conclude(ws, by, timeout_s=timeout_s, at_step=at_step)
    return commit

"""Owns undo and redo: going back to the files, branches and HEAD of before an operation. Nothing is ever cut.

An undo is a restore like any other (`workspace.restoring`): the state before it is a rescue, branches only grow, and it
is an operation itself, so it can be undone. The log it works on is `workspace.oplog`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.errors import Conflict, NoSuchSavepoint
from chrono.ids import CommitId
from chrono.store.refs import BRANCHES, MERGE, RESCUE
from chrono.tuples import NamedTuple
from chrono.workspace.branches import is_held, reversed_changes
from chrono.workspace.history import branch_name
from chrono.workspace.mergestate import dropped_merge
from chrono.workspace.oplog import Operation, RefMove, carry_out, find_operation, operations, write_operation
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.restoring import STEPS as RESTORE_STEPS
from chrono.workspace.restoring import Intent, carry
from chrono.workspace.ring import AtStep, go_on, save_locked

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.store.diff import Change
    from chrono.store.restore import Left
    from chrono.workspace.project import Workspace

STEPS = ("rescue", *RESTORE_STEPS)
"""The steps of an undo in order, for crash tests."""


UNDONE, REDONE = _MERGE_TRAILERS = ("Chrono-Undone", "Chrono-Redone")


class UndoPlan(NamedTuple):
    """What an undo or redo (`verb`) would do, shown before anything is touched.

    It goes back to the state before `operation`: the files of savepoint `target` (None: no file was touched since),
    limited to `paths`, `head` as the current branch, and `moves` of refs. `kept` are branches that stay although the
    operation made them: they have savepoints of their own by now. `merges` are trailers that tell later merges which
    ones are no longer in the files (`Chrono-Undone`), or again (`Chrono-Redone`).
    """

    verb: str
    operation: Operation
    target: CommitId | None
    paths: tuple[str, ...]
    changes: tuple[Change, ...]
    head: str
    moves: tuple[RefMove, ...]
    kept: tuple[str, ...]
    merges: tuple[tuple[str, CommitId], ...]

    @property
    def nothing(self) -> bool:
        return self.target is None and not self.moves

    @property
    def written(self) -> tuple[str, ...]:
        """Paths that get other content, type or mode, or come back."""
        return tuple(change.path for change in self.changes if change.new is not None)

    @property
    def removed(self) -> tuple[str, ...]:
        """Paths that were not there then; the rescue keeps them."""
        return tuple(change.path for change in self.changes if change.new is None)


class Undone(NamedTuple):
    """An undo or redo that happened. `rescue` is the state before it, `commit` the branch's (None: it needed none)."""

    verb: str
    operation: CommitId
    commit: CommitId | None
    rescue: CommitId | None
    written: int
    deleted: int
    left: tuple[Left, ...]


class Stacks(NamedTuple):
    """What can be undone and redone now, the next one last. An entry of `undone` is the undo to take back."""

    done: tuple[Operation, ...]
    undone: tuple[Operation, ...]


def stacks(ws: Workspace) -> Stacks:
    """Replays the operation log as an editor would: an undo takes operations from one pile, a redo puts them back,
    anything else begins anew."""
    done: list[Operation] = []
    undone: list[tuple[Operation, list[Operation]]] = []
    for op in reversed(list(operations(ws))):
        if _moved_nothing(op):
            continue
        at = next((index for index, one in enumerate(done) if one.id == op.undoes), None)
        if op.verb == "undo" and at is not None:
            undone.append((op, done[at:]))
            del done[at:]
        elif op.verb in ("undo", "redo") and undone and undone[-1][0].id == op.undoes:
            done += undone.pop()[1]
        else:
            if op.replaces is not None and done and done[-1].id == op.replaces:
                done.pop()
            done.append(op)
            undone.clear()
    return Stacks(tuple(done), tuple(op for op, _ in undone))


def _moved_nothing(op: Operation) -> bool:
    """An operation that was taken back while it was under way."""
    return op.before is not None and op.before == op.target and op.head_before == op.head_after and not op.moves


def plan_undo(ws: Workspace, text: str | None = None) -> UndoPlan:
    """The plan for `chrono undo [OPERATION]`: the state before it, or before the newest that was not undone yet.

    Writes nothing. Raises NoSuchSavepoint where there is nothing to undo, or where the files of then were pruned.
    """
    if text is not None:
        return _plan(ws, "undo", find_operation(ws, text))
    done = stacks(ws).done
    if not done:
        raise NoSuchSavepoint("there is nothing to undo", "chrono log lists savepoints; chrono rollback ID goes to one")
    return _plan(ws, "undo", done[-1])


def plan_redo(ws: Workspace) -> UndoPlan:
    """The plan for `chrono redo`: the state before the newest undo. Raises NoSuchSavepoint where there is none."""
    undone = stacks(ws).undone
    if not undone:
        raise NoSuchSavepoint("there is nothing to redo", "redo takes back an undo that nothing has followed")
    return _plan(ws, "redo", undone[-1])


def _plan(ws: Workspace, verb: str, operation: Operation) -> UndoPlan:
    store = ws.store
    since = _since(ws, operation)
    touched = [op for op in since if op.before is not None]
    target = touched[0].before if touched else None
    paths = touched[0].paths if len(touched) == 1 else ()
    changes: tuple[Change, ...] = ()
    if target is not None:
        try:
            changes = reversed_changes(store.changes(target, None, paths))
        except NoSuchSavepoint:
            raise NoSuchSavepoint(
                f"the files of before operation {operation.id[:12]} have been pruned", "chrono log lists what there is"
            ) from None
    moves, kept = _backwards(ws, since, operation.head_before)
    return UndoPlan(verb, operation, target, paths, changes, operation.head_before, moves, kept, _merges_in(ws, since))


def _merges_in(ws: Workspace, since: list[Operation]) -> tuple[tuple[str, CommitId], ...]:
    """Going back before a merge takes it out of the files; going back before an undo of one brings it in again."""
    times: dict[CommitId, int] = {}
    for op in since:
        if op.after is None:
            continue
        after = ws.store.savepoint(op.after)
        if op.verb == "merge" and after.kind == "merge":
            times[op.after] = times.get(op.after, 0) + 1
        for key, value in after.trailers if op.verb in ("undo", "redo") and after.kind == op.verb else ():
            if key in _MERGE_TRAILERS:
                times[CommitId(value)] = times.get(CommitId(value), 0) + (-1 if key == UNDONE else 1)
    return tuple((UNDONE if count > 0 else REDONE, commit) for commit, count in sorted(times.items()) if count)


def _since(ws: Workspace, operation: Operation) -> list[Operation]:
    """What going back to before `operation` takes back, the oldest first.

    What was undone in between is no part of it, so files that nobody's operation changed are left as they are. An
    operation that is neither done nor undone now is gone back to step by step.
    """
    log = list(operations(ws))
    piles = stacks(ws)
    at = next((index for index, op in enumerate(piles.done) if op.id == operation.id), None)
    if at is not None:
        found = list(piles.done[at:])
    elif piles.undone and piles.undone[-1].id == operation.id:
        found = [operation]
    else:
        index = next((index for index, op in enumerate(log) if op.id == operation.id), None)
        if index is None:
            raise NoSuchSavepoint(f"operation {operation.id[:12]} is not in the log any more", "run chrono op log")
        return log[index::-1]
    # The end of a merge stands for its beginning, too.
    begun = {op.id: op for op in log}
    return [one for op in found for one in (begun.get(op.replaces or CommitId("")), op) if one is not None]


def _backwards(ws: Workspace, since: list[Operation], head: str) -> tuple[tuple[RefMove, ...], tuple[str, ...]]:
    """(moves, kept): how the refs get back to where they were. Branches never move back: they only come and go."""
    store = ws.store
    wanted: dict[str, CommitId | None] = {}
    for op in since:
        for move in op.moves:
            wanted.setdefault(move.ref, move.old)
    moves: list[RefMove] = []
    kept: list[str] = []
    for ref, old in wanted.items():
        now = store.ref(ref)
        if now == old or ref.startswith(RESCUE):  # a rescue is never taken away
            continue
        if ref.startswith(BRANCHES):
            if now is not None and old is not None:
                continue
            if now is not None and (ref == head or not is_held(ws, now, without=ref)):
                kept.append(branch_name(ref))
                continue
        moves.append(RefMove(ref, now, old))
    return tuple(moves), tuple(kept)


def _parked(ws: Workspace, moves: tuple[RefMove, ...]) -> tuple[RefMove, ...]:
    """A waiting merge that goes away stays as a rescue."""
    others = tuple(move for move in moves if move.ref != MERGE or move.new is not None)
    return moves if others == moves else (*others, *dropped_merge(ws))


def apply(
    ws: Workspace, shown: UndoPlan, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on
) -> Undone:
    """Does what `shown` says: rescue, restore under a journal, a commit on the branch where it holds something else.

    Raises Conflict where files, branches or operations are no longer those the plan was made for, Denied, Locked,
    StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        message = _message(shown)
        if shown.target is None:
            _check(ws, shown)
            op = Operation(
                CommitId(""), shown.verb, message, 0, "", store.head_ref(), shown.head, moves=_parked(ws, shown.moves),
                undoes=shown.operation.id,
            )  # fmt: skip
            op = write_operation(ws, op, by, timeout_s=timeout_s)
            at_step("end")
            carry_out(ws, op)
            at_step("moved")
            return Undone(shown.verb, op.id, None, None, 0, 0, ())
        rescue = save_locked(ws, "rescue", f"before the {message}", by, timeout_s=timeout_s).commit
        at_step("rescue")
        _check(ws, shown)
        if reversed_changes(store.changes(shown.target, rescue, shown.paths)) != shown.changes:
            raise Conflict("the work tree has changed since the plan was shown", f"look again: chrono {shown.verb}")
        steps = store.plan_restore(rescue, shown.target, shown.paths)
        done = carry(ws, steps, _intent(ws, shown, message), by, timeout_s=timeout_s, at_step=at_step)
    return Undone(shown.verb, done.operation, done.commit, rescue, done.written, done.deleted, done.left)


def _message(shown: UndoPlan) -> str:
    """`redo of rollback to …`: a redo is of what was undone, not of the undo."""
    what = shown.operation.message
    return f"{shown.verb} of {what.removeprefix('undo of ') if shown.verb == 'redo' else what}"


def _check(ws: Workspace, shown: UndoPlan) -> None:
    """The refs must still be where the plan takes them from, and no other operation may have come in between."""
    moves, kept = _backwards(ws, _since(ws, shown.operation), shown.head)
    if (moves, kept) != (shown.moves, shown.kept):
        raise Conflict("branches have moved since the plan was shown", f"look again: chrono {shown.verb}")


def _intent(ws: Workspace, shown: UndoPlan, message: str) -> Intent:
    store = ws.store
    tip = store.ref(shown.head)
    # A branch that comes back comes back as it was, and with a waiting merge nothing is committed yet; else the branch
    # gets a commit where it holds something else.
    waits = any(move.ref == MERGE and move.new is not None for move in shown.moves)
    same = tip is None or waits or (shown.target is not None and store.content(tip) == store.content(shown.target))
    return Intent(
        shown.verb,
        message,
        shown.head,
        commit=None if same else shown.verb,
        ref=shown.head,
        trailers=shown.merges,
        moves=_parked(ws, shown.moves),
        undoes=shown.operation.id,
    )

"""Owns the operation log: one commit without files for each verb that moved a branch, HEAD or the work tree.

An operation is written before the refs that it names are moved, so a crash in between is rolled forward from it. What
to take back is decided by `workspace.undoing`; savepoints are not operations: they add, and move nothing back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from chrono.errors import NoSuchSavepoint
from chrono.ids import CommitId
from chrono.store.refs import OPERATIONS
from chrono.tuples import NamedTuple
from chrono.workspace.ring import AtStep, RingNote, go_on, turn_ring

if TYPE_CHECKING:
    from chrono.audit.record import Act, Actor
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

_NONE = "-"
_SHORTEST_PREFIX = 4

EVENTS = {
    "rollback": "restore",
    "checkout": "checkout",
    "merge": "merge",
    "branch": "branch",
    "undo": "undo",
    "redo": "redo",
}
"""The kind of the audit records of each verb."""


class RefMove(NamedTuple):
    """One ref and what becomes of it; None: it does not exist."""

    ref: str
    old: CommitId | None
    new: CommitId | None


class Operation(NamedTuple):
    """What one verb did. `id` is "" until it is written.

    `head_before` and `head_after` are the refs that HEAD named. `before` and `after` are savepoints that hold the work
    tree then (None: it was not touched), limited to `paths` where there are any. `undoes` is the operation before
    which an undo or a redo went back to; `replaces` one whose place this takes (the end of a merge for its beginning).
    `run` and `target` tie it to the restore that it ends.
    """

    id: CommitId
    verb: str
    message: str
    at_ns: int
    author: str
    head_before: str
    head_after: str
    before: CommitId | None = None
    after: CommitId | None = None
    paths: tuple[str, ...] = ()
    moves: tuple[RefMove, ...] = ()
    undoes: CommitId | None = None
    replaces: CommitId | None = None
    run: str | None = None
    target: str | None = None


def operations(ws: Workspace) -> Iterator[Operation]:
    """The operation log, newest first."""
    return map(read_operation, ws.store.operations())


def newest_operation(ws: Workspace) -> Operation | None:
    return next(operations(ws), None)


def find_operation(ws: Workspace, text: str) -> Operation:
    """The operation that an id or a unique prefix of one names. Raises NoSuchSavepoint."""
    wanted = text.strip().lower()
    fits = [op for op in operations(ws) if op.id.startswith(wanted)] if len(wanted) >= _SHORTEST_PREFIX else []
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise NoSuchSavepoint(f"{text} fits several operations", "give more digits")
    raise NoSuchSavepoint(f"no operation {text!r}", "run chrono op log to see what there is")


def read_operation(commit: Savepoint) -> Operation:
    """An operation from its commit; members that are not there, or malformed, are as if nothing had been moved."""
    values: dict[str, list[str]] = {}
    for key, value in commit.trailers:
        values.setdefault(key, []).append(value)

    def one(key: str) -> str | None:
        found = values.get(key)
        return found[0] if found else None

    def commit_id(key: str) -> CommitId | None:
        value = one(key)
        return CommitId(value) if value else None

    before, _, after = (one("Chrono-Head") or "").partition(" ")
    return Operation(
        commit.id,
        one("Chrono-Verb") or "unknown",
        commit.message,
        commit.at_ns,
        commit.author,
        before,
        after or before,
        commit_id("Chrono-Before"),
        commit_id("Chrono-After"),
        tuple(values.get("Chrono-Path", ())),
        tuple(move for text in values.get("Chrono-Move", ()) if (move := move_of(text)) is not None),
        commit_id("Chrono-Undoes"),
        commit_id("Chrono-Replaces"),
        one("Chrono-Restore"),
        one("Chrono-Target"),
    )


def text_of(move: RefMove) -> str:
    """`refs/heads/x - 1f2e…`: a ref has no blanks in its name."""
    return f"{move.ref} {move.old or _NONE} {move.new or _NONE}"


def move_of(text: str) -> RefMove | None:
    """The inverse of `text_of`; None for anything else."""
    parts = text.split(" ")
    if len(parts) != 3:
        return None
    old, new = (CommitId(part) if part != _NONE else None for part in parts[1:])
    return RefMove(parts[0], old, new)


def write_operation(
    ws: Workspace,
    op: Operation,
    by: Actor,
    *,
    act: Act | None = None,
    timeout_s: float,
    at_step: AtStep = go_on,
) -> Operation:
    """Appends `op` under the store lock: commit, audit record, ref. Its moves are left to `carry_out`."""
    optional = (
        ("Chrono-Before", op.before),
        ("Chrono-After", op.after),
        ("Chrono-Undoes", op.undoes),
        ("Chrono-Replaces", op.replaces),
        ("Chrono-Restore", op.run),
        ("Chrono-Target", op.target),
    )
    trailers = (
        ("Chrono-Verb", op.verb),
        ("Chrono-Head", f"{op.head_before} {op.head_after}"),
        *((key, value) for key, value in optional if value is not None),
        *(("Chrono-Path", path) for path in op.paths),
        *(("Chrono-Move", text_of(move)) for move in op.moves),
    )
    old = ws.store.ref(OPERATIONS)
    note = RingNote(
        "op", op.message, by, act, trailers, OPERATIONS, old, (old,) if old else (), EVENTS.get(op.verb, "branch")
    )
    commit = turn_ring(ws, ws.store.nothing(), note, timeout_s=timeout_s, at_step=at_step)
    return op._replace(id=commit)


def carry_out(ws: Workspace, op: Operation) -> None:
    """Moves what `op` says, as far as it is not moved yet. What somebody else has moved meanwhile is left alone."""
    store = ws.store
    creations = [move for move in op.moves if move.new is not None]
    for move in creations:
        _move(ws, move)
    if op.head_after != op.head_before and store.head_ref() == op.head_before:
        store.set_head(op.head_after)
    for move in op.moves:
        if move.new is None:
            _move(ws, move)


def _move(ws: Workspace, move: RefMove) -> None:
    if move.old != move.new and ws.store.ref(move.ref) == move.old:
        ws.store.move_ref(move.ref, move.old, move.new)

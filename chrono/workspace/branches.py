"""Owns branches: listing, making and deleting them, and switching from one to another with all files.

Switching saves first, so nothing can get lost by it; the files are changed as in a rollback (`workspace.restoring`).
Merging is left to `workspace.merging`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.errors import Conflict, NoSuchSavepoint, StoreError, UsageError
from chrono.ids import CommitId
from chrono.store.bases import ancestors
from chrono.store.refs import BRANCHES, check_name
from chrono.tuples import NamedTuple
from chrono.workspace.history import branch_name
from chrono.workspace.mergestate import refuse_during_merge
from chrono.workspace.oplog import Operation, RefMove, carry_out, write_operation
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

CHECKOUT_STEPS = ("saved", *RESTORE_STEPS)
"""The steps of a checkout in order, for crash tests."""

BRANCH_STEPS = ("operation", "moved")

_NAMES = "letters, digits, - _ . and / will do, with a letter or digit first"


class Branch(NamedTuple):
    """One branch. `tip` is None for one that has no savepoint yet; `merged`: the current branch holds all of it."""

    name: str
    tip: Savepoint | None
    current: bool
    merged: bool


class CheckoutPlan(NamedTuple):
    """What a checkout would do to the files as they are; `unsaved`: it saves them on the current branch first."""

    name: str
    target: Savepoint
    current: str
    changes: tuple[Change, ...]
    unsaved: bool


class CheckedOut(NamedTuple):
    """A checkout that happened. `saved` is what held the files before it."""

    name: str
    target: CommitId
    saved: CommitId
    operation: CommitId
    written: int
    deleted: int
    left: tuple[Left, ...]


def branches(ws: Workspace) -> tuple[Branch, ...]:
    """All branches by name; the current one is there even before its first savepoint."""
    store = ws.store
    head_ref = store.head_ref()
    found = dict(store.refs(BRANCHES))
    head = found.get(head_ref)
    held = ancestors((head,), parents_of(ws)) if head is not None else set()
    listed = [
        Branch(branch_name(ref), store.savepoint(tip), ref == head_ref, tip in held) for ref, tip in found.items()
    ]
    if head is None:
        listed.append(Branch(branch_name(head_ref), None, True, True))
    return tuple(sorted(listed))


class Parents:
    """The parents of a commit, read once; none where history was cut."""

    def __init__(self, ws: Workspace) -> None:
        self._store = ws.store
        self._known: dict[CommitId, tuple[CommitId, ...]] = {}

    def __call__(self, commit: CommitId) -> tuple[CommitId, ...]:
        found = self._known.get(commit)
        if found is None:
            try:
                found = self._store.savepoint(commit).parents
            except NoSuchSavepoint:
                found = ()
            self._known[commit] = found
        return found


def parents_of(ws: Workspace) -> Parents:
    return Parents(ws)


def branch_ref(name: str) -> str:
    """The ref of a branch called so. Raises UsageError for a name that git would not take."""
    try:
        ref = check_name(BRANCHES + name)
    except StoreError:
        raise UsageError(f"{name!r} cannot be the name of a branch", _NAMES) from None
    if name.startswith("-") or name in ("HEAD", "@"):
        raise UsageError(f"{name!r} cannot be the name of a branch", _NAMES)
    return ref


def existing_branch(ws: Workspace, name: str) -> tuple[str, CommitId]:
    """(ref, tip). Raises NoSuchSavepoint."""
    ref = branch_ref(name)
    tip = ws.store.ref(ref)
    if tip is None:
        raise NoSuchSavepoint(f"no branch '{name}'", f"run chrono branch to list them, chrono branch {name} to make it")
    return ref, tip


def create(
    ws: Workspace,
    name: str,
    by: Actor,
    start: str | None = None,
    *,
    timeout_s: float = CLI_WAIT_S,
    at_step: AtStep = go_on,
) -> Branch:
    """Makes branch `name` at savepoint `start` (default: the head of the current branch); does not switch to it.

    Raises Conflict where it exists, UsageError for its name, NoSuchSavepoint, Denied, Locked, StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ref = branch_ref(name)
    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        tip = store.resolve(start) if start is not None else store.ref(store.head_ref())
        if tip is None:
            raise NoSuchSavepoint("there is no savepoint to begin a branch at", "run chrono snapshot")
        if store.ref(ref) is not None:
            raise Conflict(f"branch '{name}' exists already", f"switch to it: chrono checkout {name}")
        for other, _ in store.refs(BRANCHES):
            if other.startswith(ref + "/") or ref.startswith(other + "/"):
                raise Conflict(f"branch '{branch_name(other)}' is in the way of '{name}'", "choose another name")
        _move(ws, f"make branch {name}", RefMove(ref, None, tip), by, timeout_s, at_step)
    return Branch(name, store.savepoint(tip), False, start is None)


def delete(ws: Workspace, name: str, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on) -> CommitId:
    """Deletes a branch that another branch holds all of; returns its tip.

    Raises Conflict for the current branch and for one with savepoints of its own, NoSuchSavepoint, Denied, Locked.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        ref, tip = existing_branch(ws, name)
        if ref == store.head_ref():
            raise Conflict(f"'{name}' is the current branch", "switch to another one first: chrono checkout NAME")
        if not is_held(ws, tip, without=ref):
            raise Conflict(
                f"branch '{name}' has savepoints that no other branch holds",
                f"merge it first: chrono merge {name}",
            )
        _move(ws, f"delete branch {name}", RefMove(ref, tip, None), by, timeout_s, at_step)
    return tip


def is_held(ws: Workspace, commit: CommitId, *, without: str) -> bool:
    """Whether a branch other than the ref `without` holds `commit`."""
    tips = [tip for ref, tip in ws.store.refs(BRANCHES) if ref != without]
    return commit in ancestors(tips, parents_of(ws))


def _move(ws: Workspace, message: str, move: RefMove, by: Actor, timeout_s: float, at_step: AtStep) -> None:
    head = ws.store.head_ref()
    op = Operation(CommitId(""), "branch", message, 0, "", head, head, moves=(move,))
    op = write_operation(ws, op, by, timeout_s=timeout_s)
    at_step("operation")
    carry_out(ws, op)
    at_step("moved")


def plan_checkout(ws: Workspace, name: str) -> CheckoutPlan:
    """What `chrono checkout NAME` would do. Writes nothing. Raises NoSuchSavepoint, UsageError."""
    store = ws.store
    _, tip = existing_branch(ws, name)
    head_ref = store.head_ref()
    head = store.ref(head_ref)
    changes = reversed_changes(store.changes(tip, None))
    unsaved = head is None or bool(store.changes(head, None))
    return CheckoutPlan(name, store.savepoint(tip), branch_name(head_ref), changes, unsaved)


def reversed_changes(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """The same seen from the other side: what turns new into old."""
    kinds = {"added": "deleted", "deleted": "added"}
    return tuple(
        change._replace(kind=kinds.get(change.kind, change.kind), old=change.new, new=change.old) for change in changes
    )


def checkout(
    ws: Workspace, name: str, by: Actor, *, timeout_s: float = CLI_WAIT_S, at_step: AtStep = go_on
) -> CheckedOut:
    """Saves the files on the current branch, brings them to the head of `name`, and makes that the current branch.

    Raises Conflict while a merge waits for people, NoSuchSavepoint, Denied, Locked, StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        refuse_during_merge(ws)
        ref, target = existing_branch(ws, name)
        if ref == store.head_ref():
            raise Conflict(f"'{name}' is the current branch already")
        saved = save_locked(ws, "manual", f"before checkout of {name}", by, timeout_s=timeout_s).commit
        at_step("saved")
        steps = store.plan_restore(saved, target)
        done = carry(
            ws, steps, Intent("checkout", f"checkout of {name}", ref), by, timeout_s=timeout_s, at_step=at_step
        )
    return CheckedOut(name, target, saved, done.operation, done.written, done.deleted, done.left)

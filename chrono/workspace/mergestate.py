"""Owns the merge that waits for people: its conflicts, whether they are resolved, and how it ends after a crash.

Beginning one is left to `workspace.merging`, abandoning one to `workspace.undoing`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from chrono.errors import Conflict, NoSuchSavepoint
from chrono.ids import CommitId
from chrono.store.disk import READ_FILE
from chrono.store.names import quote, unquote
from chrono.store.refs import MERGE, RESCUE
from chrono.tuples import NamedTuple
from chrono.workspace.oplog import Operation, RefMove, carry_out, newest_operation, operations, write_operation
from chrono.workspace.ring import AtStep, go_on

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.store.merge import MergeConflict
    from chrono.workspace.project import Workspace

_MARKER = re.compile(rb"^(<{7}|>{7}|\|{7}) ?", re.MULTILINE)
_LOOK_AT_MOST_BYTES = 64 << 20


class Waiting(NamedTuple):
    """A merge that waits for people: the branch that is merged in, its tip, and each conflict with whether it is
    still `open`: a file of it has markers, or a file `name~branch` of it is still there."""

    name: str
    commit: CommitId
    theirs: CommitId
    conflicts: tuple[tuple[MergeConflict, bool], ...]

    @property
    def unresolved(self) -> tuple[MergeConflict, ...]:
        return tuple(conflict for conflict, is_open in self.conflicts if is_open)


def refuse_during_merge(ws: Workspace) -> None:
    """Raises Conflict while a merge waits for people."""
    if ws.store.ref(MERGE) is not None:
        raise Conflict(
            "a merge is waiting for you: chrono status lists its conflicts",
            "run chrono merge --continue when they are resolved, or chrono merge --abort",
        )


def conflict_text(conflict: MergeConflict) -> str:
    """A conflict as the value of a trailer: why, path and files, with `|` between."""
    return "|".join([conflict.why, *(_quoted(path) for path in (conflict.path, *conflict.files))])


def _conflict(text: str) -> MergeConflict | None:
    from chrono.store.merge import MergeConflict

    why, *paths = text.split("|")
    try:
        path, *files = (os.fsdecode(unquote(one.encode("utf-8"))) for one in paths)
    except ValueError:
        return None
    return MergeConflict(path, why, tuple(files))


def _quoted(path: str) -> str:
    return quote(os.fsencode(path)).decode("utf-8").replace("|", "%7C")


def waiting(ws: Workspace) -> Waiting | None:
    """The merge that waits for people, None where there is none. Looks at the files as they are."""
    commit = ws.store.ref(MERGE)
    if commit is None:
        return None
    found = ws.store.savepoint(commit)
    conflicts = [_conflict(value) for key, value in found.trailers if key == "Chrono-Conflict"]
    return Waiting(
        found.trailer("Chrono-Merge-Name") or "?",
        commit,
        CommitId(found.trailer("Chrono-Merge-Theirs") or found.parents[-1]),
        tuple((one, _is_open(ws.root, one)) for one in conflicts if one is not None),
    )


def _is_open(root: str, conflict: MergeConflict) -> bool:
    for path in conflict.files:
        place = os.path.join(root, path)
        if conflict.why != "content":
            if os.path.lexists(place):
                return True
        elif _has_markers(place):
            return True
    return False


def _has_markers(place: str) -> bool:
    try:
        fd = os.open(place, READ_FILE)
    except OSError:
        return False  # deleted, or a link: somebody has decided
    with os.fdopen(fd, "rb") as file:
        return _MARKER.search(file.read(_LOOK_AT_MOST_BYTES)) is not None


def required_merge(ws: Workspace) -> Waiting:
    """As `waiting`. Raises NoSuchSavepoint where no merge waits."""
    found = waiting(ws)
    if found is None:
        raise NoSuchSavepoint("no merge is waiting", "begin one: chrono merge NAME")
    return found


def conclude(ws: Workspace, by: Actor, *, timeout_s: float, at_step: AtStep = go_on) -> bool:
    """Ends the merge that the branch head already holds, if there is one; for `end`, and after a crash in it."""
    store = ws.store
    merging = store.ref(MERGE)
    head_ref = store.head_ref()
    head = store.ref(head_ref)
    if merging is None or head is None:
        return False
    found = store.savepoint(head)
    if found.trailer("Chrono-Merge-Of") != merging:
        return False
    begun = next((op for op in operations(ws) if op.after == merging), None)
    op = Operation(
        CommitId(""),
        "merge",
        found.message,
        0,
        "",
        head_ref,
        head_ref,
        before=begun.before if begun is not None else None,
        after=head,
        moves=dropped_merge(ws),
        replaces=begun.id if begun is not None else None,
    )
    newest = newest_operation(ws)
    if newest is None or newest.after != head:
        op = write_operation(ws, op, by, timeout_s=timeout_s)
    else:
        op = newest
    at_step("operation")
    carry_out(ws, op)
    at_step("moved")
    return True


def dropped_merge(ws: Workspace) -> tuple[RefMove, ...]:
    """The moves by which a waiting merge ends; its commit stays as a rescue. None where no merge waits."""
    merging = ws.store.ref(MERGE)
    if merging is None:
        return ()
    # Its own name, not the next number: a crash may put another rescue under that in between.
    rescue = f"{RESCUE}{merging}"
    return RefMove(rescue, ws.store.ref(rescue), merging), RefMove(MERGE, merging, None)


def begun_by(ws: Workspace) -> Operation:
    """The operation with which the waiting merge began. Raises NoSuchSavepoint where none waits, or its is gone."""
    found = required_merge(ws)
    begun = next((op for op in operations(ws) if op.after == found.commit), None)
    if begun is None:
        raise NoSuchSavepoint("the beginning of the merge is not in the operation log", "go back: chrono rollback ID")
    return begun

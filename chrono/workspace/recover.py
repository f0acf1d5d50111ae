"""Owns what happens after a crash: a recorded savepoint gets its ref, a restore that had begun is brought to its end.

Both are idempotent and run under the store lock, before anything new is written. A torn audit line is repaired by
`audit.log` itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chrono.audit.place import open_plain, project_place
from chrono.audit.record import Act, Actor, Entry, read
from chrono.audit.text import ENDLESS_BYTES
from chrono.canonical import Json, NotCanonical
from chrono.errors import NoSuchSavepoint
from chrono.ids import CommitId
from chrono.store.refs import OPERATIONS
from chrono.tuples import NamedTuple
from chrono.workspace.mergestate import conclude
from chrono.workspace.oplog import carry_out, newest_operation, read_operation
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.restoring import finish, note_restore, noted
from chrono.workspace.ring import save_locked

if TYPE_CHECKING:
    from chrono.store.journal import Journal
    from chrono.workspace.project import Workspace

_ANCHOR = b'"anchor":{'
_FIRST_LOOK_BYTES = 64 * 1024


class LastAnchor(NamedTuple):
    """The newest anchor of the log: the commit, and the ref that was to move from `old` to it."""

    commit: CommitId
    ref: str
    old: CommitId | None
    op: str


class Recovered(NamedTuple):
    """What was rolled forward. `ref` and `commit`: a savepoint that got its ref. `restored`: the end of a restore."""

    ref: str | None = None
    commit: CommitId | None = None
    restored: CommitId | None = None

    @property
    def nothing(self) -> bool:
        return self == Recovered()


def recover(ws: Workspace, by: Actor, *, timeout_s: float = CLI_WAIT_S, abort: bool = False) -> Recovered:
    """Rolls forward what a crash left.

    `abort`: a restore that had begun is taken back instead of finished. Raises Denied, Locked, StoreError.
    """
    ws.require_own()
    with ws.store.lock(timeout_s):
        return recover_locked(ws, by, timeout_s=timeout_s, abort=abort)


def recover_locked(ws: Workspace, by: Actor, *, timeout_s: float, abort: bool = False) -> Recovered:
    """As `recover`, for a caller that holds the store lock and knows that the project is this home's own."""
    anchor = last_anchor(ws)
    done = _recover_ref(ws, anchor, by, timeout_s)
    journal = ws.store.pending()
    if journal is not None:
        done = done._replace(restored=_recover_restore(ws, journal, by, timeout_s, abort))
    elif anchor is not None and anchor.ref == OPERATIONS and ws.store.ref(OPERATIONS) == anchor.commit:
        # Only the newest operation can lack its moves: the next one waited for this recovery.
        carry_out(ws, read_operation(ws.store.savepoint(anchor.commit)))
    conclude(ws, by, timeout_s=timeout_s)
    return done


# Only the newest anchor can lack its ref: the ring is turned under the store lock, after this recovery, and before
# its record is written the ref of the anchor before it is made durable (`doubt_ref`).
def _recover_ref(ws: Workspace, anchor: LastAnchor | None, by: Actor, timeout_s: float) -> Recovered:
    if anchor is None:
        return Recovered()
    store = ws.store
    rescue = f"refs/chrono/rescue/{anchor.op}"
    now = store.ref(anchor.ref)
    if now == anchor.commit:
        store.doubt_ref(anchor.ref)
    if anchor.commit in (now, store.ref(rescue)):
        return Recovered()
    try:
        savepoint = store.savepoint(anchor.commit)
    except NoSuchSavepoint:
        return Recovered()  # the commit is gone: for `audit --verify` to say, nothing can be put back
    if savepoint.trailer("Chrono-Op") != anchor.op:
        return Recovered()
    ref, old = (anchor.ref, anchor.old) if now == anchor.old else (rescue, None)
    store.move_ref(ref, old, anchor.commit)
    more: tuple[tuple[str, Json], ...] = (("commit", anchor.commit), ("ref", ref))
    ws.log.append(Entry("audit.recovered", by, Act(op=anchor.op, more=more)), timeout_s=timeout_s)
    return Recovered(ref, anchor.commit)


def last_anchor(ws: Workspace) -> LastAnchor | None:
    """The newest anchor that names a ref, read from the end of the log. Nothing is proved by it: the commit's own
    `Chrono-Op` must agree before it is acted on."""
    try:
        fd, info = open_plain(project_place(ws.layout).log, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        look_bytes = _FIRST_LOOK_BYTES
        while True:
            start = max(0, info.st_size - look_bytes)
            anchor = _newest_in(os.pread(fd, info.st_size - start, start), from_start=start == 0)
            if anchor is not None or start == 0 or look_bytes >= ENDLESS_BYTES:
                return anchor  # no file that grows is longer: what lies before was looked at by those who wrote since
            look_bytes = min(8 * look_bytes, ENDLESS_BYTES)
    finally:
        os.close(fd)


def _newest_in(data: bytes, *, from_start: bool) -> LastAnchor | None:
    end = data.rfind(b"\n") + 1  # what follows is a torn line
    while True:
        found = data.rfind(_ANCHOR, 0, end)
        if found < 0:
            return None
        start = data.rfind(b"\n", 0, found) + 1
        if start == 0 and not from_start:
            return None
        anchor = _anchor(data[start : data.find(b"\n", found)])
        if anchor is not None:
            return anchor
        end = start


def _anchor(line: bytes) -> LastAnchor | None:
    try:
        members = read(line).anchor
    except NotCanonical:
        return None
    if members is None:
        return None
    commit, ref, old, op = (members.get(key) for key in ("commit", "ref", "old", "op"))
    if not isinstance(commit, str) or not isinstance(ref, str) or not isinstance(op, str):
        return None
    return LastAnchor(CommitId(commit), ref, CommitId(old) if isinstance(old, str) else None, op)


def _recover_restore(ws: Workspace, journal: Journal, by: Actor, timeout_s: float, abort: bool) -> CommitId:
    """Brings the work tree to the journal's target (`abort`: back to where it was); what lies there now is kept."""
    store = ws.store
    newest = newest_operation(ws)
    if newest is not None and newest.run == journal.op and newest.verb != "rollback":
        abort = False  # its operation is written already: an undo takes it back
    target = journal.pre if abort else journal.target
    crash = save_locked(ws, "crash", "as found after a crash", by, timeout_s=timeout_s).commit
    if not noted(ws, journal, "begin", target):
        note_restore(ws, by, journal, "begin", timeout_s, target=target)
    restored = store.apply(store.plan_restore(crash, target, journal.paths), journal)
    commit, operation = finish(ws, journal, target, restored, by, timeout_s=timeout_s)
    return commit or operation

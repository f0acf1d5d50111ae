"""Owns the ring: a savepoint is a commit, an audit record and a ref, in an order that survives a crash at each step.

Objects and refs are written by `store`, records by `audit`. Everything here runs under the store lock after a recovery:
callers are `workspace.savepoints`, `workspace.restoring` and `workspace.recover`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.clock import rfc3339
from chrono.digest import sha256
from chrono.ids import CommitId, OpId
from chrono.policy.model import Cover, Excluded
from chrono.scan.gitindex import is_tracked
from chrono.tuples import NamedTuple
from chrono.workspace.history import branch_name, newest
from chrono.workspace.machine_world import read_file
from chrono.workspace.project import HOOK_WAIT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.audit.append import Writing
    from chrono.audit.record import Act, Actor
    from chrono.canonical import Json
    from chrono.store.snapshot import Capture, Content, Skip
    from chrono.workspace.project import Workspace

    Also = Callable[["Saved", Writing | None], None]

STEPS = ("objects", "commit", "record", "ref", "cache")
"""The steps of the ring in order (specs: audit section 4, decision 116); a crash test stops after each."""

_TIMES_CHARS = 8_000
"""Longer paths than this in all are not noted: a record has only so much room."""

AtStep = Callable[[str], None]


def go_on(step: str) -> None:
    """Nothing happens between two steps, outside a crash test."""


class Saved(NamedTuple):
    """A savepoint that exists. `created` False: nothing had changed and `commit` is the one that holds it.

    `skips` are paths that could not be captured as they are, `live` SQLite databases with an open write-ahead log.
    `scan`: "full", or "hinted" where the kernel's notices spared it looking at every folder.
    """

    commit: CommitId
    created: bool
    cover: Cover
    skips: tuple[Skip, ...]
    live: tuple[str, ...]
    file_count: int
    changed_count: int
    scan: str = "full"


class RingNote(NamedTuple):
    """What one turn of the ring is about: who, why, and where the commit hangs.

    `ref` moves from `old` to the new commit; `old` None: it must not exist yet. `event` is the kind of the record.
    """

    kind: str
    message: str
    by: Actor
    act: Act | None
    trailers: tuple[tuple[str, str], ...]
    ref: str
    old: CommitId | None
    parents: tuple[CommitId, ...]
    event: str = "savepoint"


def save_locked(
    ws: Workspace,
    kind: str,
    message: str,
    by: Actor,
    *,
    act: Act | None = None,
    trailers: tuple[tuple[str, str], ...] = (),
    timeout_s: float = HOOK_WAIT_S,
    at_step: AtStep = go_on,
    hinted: bool = False,
    also: Also | None = None,
) -> Saved:
    """Takes a savepoint as `savepoints.save` does, for a caller that holds the store lock and has recovered.

    `also` is called here only where a savepoint is made.
    """
    store = ws.store
    capture = store.capture(hinted=hinted)
    if act is not None:
        act = act._replace(scan=_scan_of(capture))
    at_step("objects")
    head_ref = store.head_ref()
    head = store.ref(head_ref)
    holder = _holder(ws, kind, head, capture.content)
    if holder is not None:
        store.remember(capture, holder)
        return _saved(ws, holder, False, capture)
    if kind == "manual":
        ref, old = head_ref, head
    else:
        ref, old = store.next_auto_ref() if kind == "auto" else store.next_rescue_ref(), None
    note = RingNote(kind, message, by, _with_times(act, capture), trailers, ref, old, (head,) if head else ())

    def record_more(commit: CommitId, writing: Writing) -> None:
        if also is not None:
            also(_saved(ws, commit, True, capture), writing)

    commit = turn_ring(ws, capture.content, note, timeout_s=timeout_s, at_step=at_step, record_more=record_more)
    store.remember(capture, commit)
    at_step("cache")
    return _saved(ws, commit, True, capture)


def _scan_of(capture: Capture) -> str:
    return "full" if capture.full else "hinted"


def _with_times(act: Act | None, capture: Capture) -> Act | None:
    """`act`, with when each changed file was written: what is younger than a call's end is not that call's."""
    from chrono.audit.record import Act
    from chrono.canonical import recordable

    if not 0 < sum(len(path) for path, _ in capture.written) <= _TIMES_CHARS:
        return act
    base = act or Act()
    written: list[Json] = [{"path": recordable(path), "at": rfc3339(at_ns)} for path, at_ns in capture.written]
    return base._replace(more=(*base.more, ("written", written)))


def _holder(ws: Workspace, kind: str, head: CommitId | None, content: Content) -> CommitId | None:
    """The savepoint that already holds `content`, where one may stand in for a new one.

    A manual savepoint is only stood in for by the branch head: an automatic one may be pruned. A rescue never is.
    """
    if kind == "rescue":
        return None
    candidate = head if kind == "manual" else newest(ws)
    return candidate if candidate is not None and ws.store.content(candidate) == content else None


def _saved(ws: Workspace, commit: CommitId, created: bool, capture: Capture) -> Saved:
    cover = cover_of(ws.root, capture.excluded, commit)
    return Saved(
        commit,
        created,
        cover,
        capture.skips,
        capture.live,
        capture.file_count,
        capture.changed_count,
        _scan_of(capture),
    )


def cover_of(root: str, excluded: tuple[tuple[str, str], ...], commit: CommitId | None) -> Cover:
    """What the policy needs to know of a savepoint: the root, what it does not hold, and what of that git tracks."""
    return Cover(root, tuple(Excluded(path, kind, _tracked(path, kind, root)) for path, kind in excluded), commit)


def _tracked(path: str, kind: str, root: str) -> bool:
    """Whether git's verbs may change what is left out: `git reset --hard` does nothing to a file git does not know."""
    if kind not in ("ignored", "over-cap", "unreadable"):
        return True
    linked = os.path.isfile(os.path.join(root, ".git"))
    return linked or is_tracked(path, root, read_file)


def turn_ring(
    ws: Workspace,
    content: Content,
    note: RingNote,
    *,
    timeout_s: float,
    at_step: AtStep = go_on,
    record_more: Callable[[CommitId, Writing], None] | None = None,
) -> CommitId:
    """Commit, record, ref: steps 2 to 5 of the ring, under the store lock.

    The record is number `size` of the log, and the commit's `Chrono-Audit` names the root of the records before it:
    each proves the other. `record_more` may write further records under the same lock and sync; what it raises is
    raised when the savepoint is whole. Raises Locked, StoreError, AuditTampered, AuditUnverifiable, KeyRefused,
    OSError.
    """
    from chrono.audit.record import Anchor, Entry

    store = ws.store
    op = OpId(os.urandom(16).hex())
    failed: Exception | None = None
    with ws.log.writing(timeout_s) as writing:
        commit = store.write_commit(
            content,
            parents=note.parents,
            message=note.message,
            trailers=(
                ("Chrono-Kind", note.kind),
                ("Chrono-Branch", branch_name(store.head_ref())),
                *note.trailers,
                ("Chrono-Audit", f"v2 {writing.log_id} {writing.size} {writing.root}"),
                ("Chrono-Op", op),
            ),
            at_ns=ws.clock.now_ns(),
            author=note.by.user or "unknown",
        )
        at_step("commit")
        digest = sha256(store.raw_commit(commit)).hexdigest()
        anchor = Anchor(commit, digest, content.tree, ref=note.ref, old=note.old, op=op)
        writing.append(Entry(note.event, note.by, note.act, anchor))
        if record_more is not None:
            try:
                record_more(commit, writing)
            except Exception as error:
                failed = error
    at_step("record")
    store.move_ref(note.ref, note.old, commit, may_wait=True)  # the record can make it again
    at_step("ref")
    if failed is not None:
        raise failed
    return commit

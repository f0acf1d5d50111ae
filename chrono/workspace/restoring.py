"""Owns the end of a restore: its audit records, its commit on the branch, its journal. The same after a crash.

Planning and beginning one is left to `workspace.rollback`, going on with one to `workspace.recover`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.ids import CommitId
from chrono.workspace.ring import AtStep, RingNote, go_on, turn_ring

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.journal import Journal
    from chrono.store.restore import Restored
    from chrono.workspace.project import Workspace


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

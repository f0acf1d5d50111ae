"""Owns the files of the audit log as a person sees them: closing one, packing, pruning old ones once the log verifies.

What happens to the files is left to `audit.segment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.errors import AuditTampered

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.audit.segment import PrunePlan, Segment
    from chrono.workspace.project import Workspace

_WAIT_S = 30.0
_INTACT = (0, 22)


def listed(ws: Workspace) -> tuple[Segment, ...]:
    """The files of the log, oldest first. Raises AuditUnverifiable, AuditTampered, FileNotFoundError."""
    from chrono.audit import segment
    from chrono.audit.place import project_place

    return segment.listed(project_place(ws.layout))


def close(ws: Workspace, by: Actor) -> None:
    """Closes the file that grows, whatever its size. Raises as an append."""
    from chrono.audit import segment

    ws.require_own()
    segment.close(ws.log, by, timeout_s=_WAIT_S)


def pack(ws: Workspace) -> int:
    """Packs the closed segments that are not; how many. Raises OSError, Locked, AuditTampered."""
    from chrono.audit import segment
    from chrono.audit.place import project_place

    ws.require_own()
    return len(segment.pack_closed(project_place(ws.layout)))


def needs_packing(ws: Workspace) -> bool:
    """Whether a closed segment lies there as it was written. Costs one look at the folder."""
    from chrono.audit.place import project_place, segments
    from chrono.audit.text import PLAIN

    return any(PLAIN in forms for forms in segments(project_place(ws.layout)).values())


def plan_prune(ws: Workspace, before: str) -> PrunePlan:
    """Which segments hold nothing newer than `before` (RFC 3339). Raises AuditUnverifiable, AuditTampered."""
    from chrono.audit import segment
    from chrono.audit.place import project_place

    return segment.plan_prune(project_place(ws.layout), before)


def prune(ws: Workspace, plan: PrunePlan, by: Actor) -> tuple[Segment, ...]:
    """Prunes what was planned, if the log verifies: afterwards nobody could tell what was wrong with it.

    Raises AuditTampered, OSError, Locked.
    """
    from chrono.audit import segment
    from chrono.workspace.verify import verify

    ws.require_own()
    report = verify(ws, full=True)
    if report.exit_code not in _INTACT:
        raise AuditTampered(
            f"nothing is pruned from a log that does not verify: {report.integrity}", "run chrono audit --verify"
        )
    return segment.prune(ws.log, plan, by, timeout_s=_WAIT_S)

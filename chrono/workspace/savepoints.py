"""Owns taking a savepoint: lock, recovery of what a crash left, one turn of the ring, then upkeep if it is due.

The ring is in `workspace.ring`, the recovery in `workspace.recover`.
"""

from __future__ import annotations

from chrono.workspace.project import HOOK_WAIT_S
from chrono.workspace.ring import STEPS, AtStep, Saved, cover_of, go_on, save_locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.audit.record import Act, Actor
    from chrono.workspace.project import Workspace
    from chrono.workspace.ring import Also

__all__ = ["STEPS", "AtStep", "Saved", "cover_of", "save"]


def save(
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
    """Takes a savepoint of the work tree after a full scan, or a `hinted` one where the store uses hints.

    `kind`: "manual" (on the branch), "auto" (on a ref of its own) or "rescue" (the same, and always a new commit).
    `trailers` are further ones, such as `Chrono-Agent`; `act` goes into the audit record. `also` is called once with
    what is saved, and with the log held where it can write its own record into the same turn, else None. Raises Denied
    where the project is not this home's own, Locked, StoreError, and what `also` raises; a savepoint that did not
    happen is never returned.
    """
    from chrono.workspace.recover import recover_locked
    from chrono.workspace.upkeep import after_savepoint

    ws.require_own()
    with ws.store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        saved = save_locked(
            ws,
            kind,
            message,
            by,
            act=act,
            trailers=trailers,
            timeout_s=timeout_s,
            at_step=at_step,
            hinted=hinted,
            also=also,
        )
    if saved.created:
        after_savepoint(ws, saved.commit)
    elif also is not None:
        also(saved, None)
    return saved

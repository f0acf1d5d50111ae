"""Owns what follows a savepoint in the resident service: asking about every folder, which also proves the hints.

Nobody waits for it. What was missed is written into the log, and hints end for that project; what hints are is left to
`store.hints`. Format: docs/formats/audit-v2.md (`scan`).
"""

from __future__ import annotations

import os
import time

from chrono.audit.record import Act, Actor, Entry
from chrono.workspace.project import HOOK_WAIT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType

    from chrono.canonical import Json
    from chrono.workspace.project import Workspace

PAUSE_S = 0.25
"""After a savepoint the command that it was for starts: it has the machine first."""

TRIES = 20
"""Where calls come all the time, one of them is a full scan soon (`store.hints`)."""

FOLDERS_AT_MOST = 50


def check_again(ws: Workspace, holding: LockType) -> str:
    """Checks the hints of `ws` until it is done or there is nothing more to check; what to tell, empty for nothing.

    `holding` serialises the calls of this project; it is taken only to write a record. Raises OSError, ChronoError.
    """
    hints = ws.store.hints
    if hints is None:
        return ""
    for _ in range(TRIES):
        if not hints.due:
            return ""
        time.sleep(PAUSE_S)
        found = hints.check()
        if found.missed:
            with holding:
                _record(ws, found.missed)
            return f"changes in {len(found.missed)} folders of {ws.root} were not noticed: no more hints there"
        if found.done:
            return ""
        if hints.stopped:
            return f"no hints in {ws.root}: {hints.stopped}"
    return ""


def _record(ws: Workspace, missed: tuple[bytes, ...]) -> None:
    from chrono.canonical import recordable

    folders: list[Json] = [recordable(os.fsdecode(path) or ".") for path in missed[:FOLDERS_AT_MOST]]
    act = Act(
        scan="full",
        message="hinted savepoints since the last full one may lack changes",
        more=(("count", len(missed)), ("missed", folders)),
    )
    with ws.log.writing(HOOK_WAIT_S) as writing:
        writing.append(Entry("scan", Actor(source="chrono"), act))

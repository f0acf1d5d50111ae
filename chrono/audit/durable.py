"""Owns making records durable: one fdatasync serves every writer whose record it covers (group commit).

What is written, and in which order, is left to `audit.append`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from chrono.audit.witness import Witness
from chrono.files import lock_in_line

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
except ImportError:  # Windows: each writer syncs for itself
    _TURNS = False
else:
    _TURNS = True

PATIENCE_S = 0.25
"""How long a writer waits while no sync of another ends; then it syncs for itself, whoever holds the turn and why ever.
On a disk that serves one at a time, giving up too early makes the line longer, and others give up, too."""
MOST_S = 2.0
"""How long it waits in all."""
_APART_S = 0.002


def settle(fd: int, path: str, size: int, witness: Witness, at_step: Callable[[str], None]) -> None:
    """Returns when the first `size` records of the log `fd` are on the disk and the witness says so. Raises OSError.

    Whoever has the turn (a lock on the open log at `path` that only orders these calls; nothing rests on it) and had to
    wait for it speaks for all records that the witness had seen before the sync began; the others find themselves
    acknowledged by it.
    """
    turn = _try_turn(fd)
    covered = size
    if turn is False:
        turn = _wait(fd, path, size, witness)
        if turn is None:
            return
        if turn:
            covered = _written(fd, path, size, witness)
    try:
        os.fdatasync(fd)
        at_step("synced")
        witness.acknowledged(covered)
    finally:
        if turn:
            flock(fd, LOCK_UN)


def _try_turn(fd: int) -> bool | None:
    """True: it is this writer's turn; False: it is another's; None: there are no turns here."""
    if not _TURNS:
        return None
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _wait(fd: int, path: str, size: int, witness: Witness) -> bool | None:
    """As `_try_turn`, after syncs of others. None: one of them covered this writer's record, too; False: this writer
    has waited for long enough.

    All who wait share the lock when it comes free, so a sync releases at once all whom it covered, and the first of the
    others is next.
    """
    most, heard = time.monotonic() + MOST_S, witness.news().acknowledged
    while True:
        has = lock_in_line(fd, min(most, time.monotonic() + PATIENCE_S), path, shared=True)
        acknowledged = witness.news().acknowledged
        if has:
            if acknowledged < size and (_try_turn(fd) or _after_a_moment(fd)):
                acknowledged = witness.news().acknowledged  # by whoever had the turn in that moment
                if acknowledged < size:
                    return True
            flock(fd, LOCK_UN)
        if acknowledged >= size:
            return None
        if (not has and acknowledged <= heard) or time.monotonic() >= most:
            return False
        heard = acknowledged


def _after_a_moment(fd: int) -> bool | None:
    """The turn, for one of several that share the lock: as long as all of them do, none can have it alone."""
    flock(fd, LOCK_UN)
    time.sleep(_APART_S * os.urandom(1)[0] / 255)
    return _try_turn(fd)


def _written(fd: int, path: str, size: int, witness: Witness) -> int:
    """How many records a sync of `fd` covers: those of the writers that came meanwhile, too, if into the same file."""
    mark = witness.news().mark
    if mark is None or mark.size <= size:
        return size
    try:
        return mark.size if os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False)) else size
    except OSError:
        return size

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

PATIENCE_S = 0.1
"""How long a writer waits for another's sync; then it syncs for itself, whoever holds the turn and why ever."""


def settle(fd: int, path: str, size: int, witness: Witness, at_step: Callable[[str], None]) -> None:
    """Returns when the first `size` records of the log `fd` are on the disk and the witness says so. Raises OSError.

    Whoever has the turn (a lock on the open log at `path` that only orders these calls; nothing rests on it) and had to
    wait for it speaks for all records that the witness had seen before the sync began; the others find themselves
    acknowledged by it.
    """
    turn, waited = _turn(fd, path)
    try:
        if waited and witness.news().acknowledged >= size:
            return
        covered = _written(fd, path, size, witness) if waited else size
        os.fdatasync(fd)
        at_step("synced")
        witness.acknowledged(covered)
    finally:
        if turn:
            flock(fd, LOCK_UN)


def _turn(fd: int, path: str) -> tuple[bool, bool]:
    """Whether it is this writer's turn now, and whether it waited for it. No turn: there are none here, or it waited
    for long enough."""
    if not _TURNS:
        return False, False
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        turn = lock_in_line(fd, time.monotonic() + PATIENCE_S, path)
        return turn, turn
    except OSError:
        return False, False
    return True, False


def _written(fd: int, path: str, size: int, witness: Witness) -> int:
    """How many records a sync of `fd` covers: those of the writers that came meanwhile, too, if into the same file."""
    mark = witness.news().mark
    if mark is None or mark.size <= size:
        return size
    try:
        return mark.size if os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False)) else size
    except OSError:
        return size

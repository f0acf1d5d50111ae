"""Owns holding the store lock in turns: a part of a long work at a time, and time for others between two parts.

What is done in a turn is left to `store.upkeep` and `store.garbage`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

HOLD_S = 0.05
"""So long may a turn go on; it ends with the step under way then."""

PAUSE_S = 0.06
"""So long nobody of us holds the lock: who waits for it looks every 20 ms (`files.file_lock`), and a lock that is
taken again at once is never found free."""

Lock = Callable[[float], AbstractContextManager[None]]


class Turn:
    """One turn. `is_over` tells when to stop."""

    def __init__(self) -> None:
        self._until = time.monotonic() + HOLD_S

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until


def in_turns(lock: Lock, timeout_s: float, work: Callable[[Turn], bool]) -> None:
    """Calls `work` under the lock until it returns True; others get the lock between two calls. Raises Locked."""
    while True:
        with lock(timeout_s):
            if work(Turn()):
                return
        time.sleep(PAUSE_S)

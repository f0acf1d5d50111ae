"""Owns how the delivery thread shares the interpreter with the program: it works in short pieces and rests between.

What a piece is, is left to who does the work (`record.window`, `record.client`, `record.delivery`): it calls `rest`
after each. Why it is needed: decision 0096.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Protocol

PIECE_S = 80e-6
"""So long the delivery thread works before it lets others go on; what a recorded call takes is of this order."""
REST_S = 50e-6
MOST_RESTS = 8
"""So often it steps back for a thread that is appending: one that does nothing else must not stop delivery."""


class Appending(Protocol):
    """What is asked about the program: whether a thread of it is in the middle of an append."""

    @property
    def busy(self) -> bool: ...


class Courtesy:
    """The pace of one thread. It takes no rest while somebody waits for what it does."""

    def __init__(self, writer: Appending) -> None:
        self._writer = writer
        self._since = 0.0
        self._awaited = 0

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """While a thread waits for the work. Not for several threads at once: the caller holds a lock."""
        self._awaited += 1
        try:
            yield
        finally:
            self._awaited = max(0, self._awaited - 1)

    def forked(self) -> None:
        """In a child, who waited is not there."""
        self._awaited = 0

    def rest(self) -> None:
        """To be called between two small pieces of work; returns at once while the last rest is not long ago.

        CPython takes the interpreter from a thread that computes after 5 ms only, so a thread that gives it up for a
        write of 3 us would wait 5 ms for it. After a sleep it is most often in such a write that the interpreter was
        free: then it is the caller's turn again.
        """
        if self._awaited or (perf_counter() - self._since < PIECE_S and not self._writer.busy):
            return
        for _ in range(MOST_RESTS):
            sleep(REST_S)
            if not self._writer.busy:
                break
        self._since = perf_counter()

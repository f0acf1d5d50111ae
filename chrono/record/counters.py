"""Owns what is counted about recording in this process, and the one look at it: `stats()`.

Who counts: `record.storesink` and `record.delivery`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from chrono.tuples import NamedTuple


class Stats(NamedTuple):
    """Counts since the process began (a forked child begins at 0). Records are traces, spans and envelopes.

    `written` records acknowledged, `unwritable` refused by the disk; `delivered` taken by a control plane, of which
    `deduplicated` it had already; `set_aside` refused by it for good (they stay in the local store), `retries`
    attempts that failed for a while, `repaired` sent with U+FFFD for a lone surrogate, `damaged` places of store files
    that could not be read; `waiting` records of this process not delivered yet; `pruned_undelivered` bytes of records
    that the store's size bound removed before a plane had them; `last_error` text of the newest failure.
    """

    written: int
    unwritable: int
    delivered: int
    deduplicated: int
    set_aside: int
    retries: int
    repaired: int
    damaged: int
    waiting: int
    pruned_undelivered: int
    last_error: str | None


@dataclass(slots=True)
class Counters:
    """The same, while they grow. Each member is written by one thread at a time."""

    written: int = 0
    unwritable: int = 0
    delivered: int = 0
    deduplicated: int = 0
    set_aside: int = 0
    retries: int = 0
    repaired: int = 0
    damaged: int = 0
    waiting: int = 0
    pruned_undelivered: int = 0
    last_error: str | None = None


COUNTERS = Counters()


def stats() -> Stats:
    """What has been recorded, delivered and refused in this process."""
    return Stats(*(getattr(COUNTERS, name) for name in Stats._fields))


def _begin_again() -> None:
    fresh = Counters()
    for field in fields(Counters):
        setattr(COUNTERS, field.name, getattr(fresh, field.name))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)

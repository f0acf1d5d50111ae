"""Owns the comparison of a log with its witness: what is a loss, what a rewrite, what only a crash. Pure."""

from __future__ import annotations

from chrono.audit.witness import State
from chrono.tuples import NamedTuple


class Mismatch(NamedTuple):
    """`code`: "witness-missing", "truncated", "forked" or "not-adopted"; `text` for people."""

    code: str
    text: str


class Compared(NamedTuple):
    """A mismatch, or what is no more than a crash: `lost` unacknowledged records gone with a power cut, `adopted` ones
    that were written but not witnessed."""

    mismatch: Mismatch | None
    lost: int = 0
    adopted: int = 0


def compare(state: State, size: int, leaf_at_mark: str | None, *, boot_id: str = "") -> Compared:
    """A log of `size` records against the witness; `leaf_at_mark` is its leaf hash (hex) at the witness's mark.

    specs: audit section 4, "What the witness proves". `boot_id` is this boot's, "" where unknown.
    """
    mark = state.mark
    if mark is None:
        if size == 0:
            return Compared(None)
        return Compared(Mismatch("witness-missing", f"the witness of this log is gone; the log has {size} records"))
    if size < state.acknowledged:
        lost = state.acknowledged - size
        return Compared(
            Mismatch("truncated", f"truncated: {lost} acknowledged records are missing, the log ends at {size}")
        )
    if size < mark.size:
        lost = mark.size - size
        if may_be_lost(state, size, boot_id):
            return Compared(None, lost=lost)
        return Compared(Mismatch("truncated", f"truncated: {lost} records that the witness saw are missing"))
    if leaf_at_mark != mark.leaf:
        return Compared(Mismatch("forked", f"record {mark.size - 1} is not the one that the witness saw"))
    if size > mark.size:
        return Compared(None, adopted=size - mark.size)
    return Compared(None)


def may_be_lost(state: State, size: int, boot_id: str) -> bool:
    """Whether a power cut explains that a log has no more than `size` records: nobody was told of the others, and the
    machine was started anew since. Witness and head are not synced, so either may have reached the disk before the log.
    """
    mark = state.mark
    return mark is not None and size >= state.acknowledged and bool(boot_id) and mark.boot_id not in ("-", boot_id)

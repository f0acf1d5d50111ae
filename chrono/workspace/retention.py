"""Owns which savepoints may go by their age and number: pure, over values that the caller read.

Finding and removing them is left to `workspace.prune`. Branches, manual savepoints, merges and the operation log are
not even looked at here: they never go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chrono.ids import CommitId
from chrono.tuples import NamedTuple

HOUR_NS = 3_600_000_000_000
DAY_NS = 24 * HOUR_NS

KEPT_AUTO = 200
"""The last so many automatic savepoints stay whatever anybody says: clocks are wrong sometimes."""
KEPT_RESCUES = 50
RESCUE_DAYS = 30
JUMP_DAYS = 7

_ALL_FOR_NS = DAY_NS
_HOURLY_FOR_NS = 7 * DAY_NS
_DAILY_FOR_NS = 30 * DAY_NS


class Aged(NamedTuple):
    """One savepoint that may go some day: its ref, when it was taken, and the branch that was current then."""

    ref: str
    commit: CommitId
    at_ns: int
    branch: str


class Rules(NamedTuple):
    """How many of the automatic savepoints stay, and from which age they go. Both None: the default ladder."""

    keep_auto: int | None = None
    older_than_days: int | None = None

    @property
    def ladder(self) -> bool:
        return self.keep_auto is None and self.older_than_days is None


class Jump(NamedTuple):
    """Two savepoints that were taken one after the other and differ by more than seven days. `days` has a sign."""

    before: Aged
    after: Aged
    days: float


def removable(
    autos: Sequence[Aged], rescues: Sequence[Aged], newest_ns: int, rules: Rules, needed: frozenset[CommitId]
) -> tuple[Aged, ...]:
    """Those that may go. Both lists are in the order in which they were taken, the newest last.

    Ages count against `newest_ns`, the newest savepoint of any kind, never against the clock of now. `needed` are
    commits that the operation log still leads to.
    """
    going = [one for one in _old_autos(autos, newest_ns, rules) if one.commit not in needed]
    going += [one for one in _old_rescues(rescues, newest_ns, rules) if one.commit not in needed]
    return tuple(going)


def _old_autos(autos: Sequence[Aged], newest_ns: int, rules: Rules) -> Iterable[Aged]:
    last_of_branch = {one.branch: one.ref for one in autos}.values()
    kept = {one.ref for one in autos[-max(KEPT_AUTO, rules.keep_auto or 0) :]} | set(last_of_branch)
    if rules.ladder:
        kept |= _ladder(autos, newest_ns)
    elif rules.older_than_days is not None:
        limit = rules.older_than_days * DAY_NS
        kept |= {one.ref for one in autos if newest_ns - one.at_ns <= limit}
    return [one for one in autos if one.ref not in kept]


def _ladder(autos: Sequence[Aged], newest_ns: int) -> set[str]:
    """All of a day, the last of each hour for a week, the last of each day for thirty days."""
    kept = set()
    last: dict[tuple[str, int], str] = {}
    for one in autos:
        age = newest_ns - one.at_ns
        if age <= _ALL_FOR_NS:
            kept.add(one.ref)
        elif age <= _HOURLY_FOR_NS:
            last["hour", one.at_ns // HOUR_NS] = one.ref
        elif age <= _DAILY_FOR_NS:
            last["day", one.at_ns // DAY_NS] = one.ref
    return kept | set(last.values())


def _old_rescues(rescues: Sequence[Aged], newest_ns: int, rules: Rules) -> Iterable[Aged]:
    limit = max(RESCUE_DAYS, rules.older_than_days or 0) * DAY_NS
    return [one for one in rescues[:-KEPT_RESCUES] if newest_ns - one.at_ns > limit]


def jump(autos: Sequence[Aged]) -> Jump | None:
    """The newest place where the clock seems to have been set, forward or back; None where there is none."""
    for before, after in zip(reversed(autos[:-1]), reversed(autos[1:]), strict=True):
        days = (after.at_ns - before.at_ns) / DAY_NS
        if abs(days) > JUMP_DAYS:
            return Jump(before, after, days)
    return None

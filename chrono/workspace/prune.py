"""Owns `prune` and `stats`: which savepoints would go and what that frees, shown first, checked again, then done.

Who may go is decided by `workspace.retention`; objects are removed by `store.upkeep`; the audit record that names the
removed commits is written before any ref goes, so that a crash leaves no anchor unexplained.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from chrono.errors import Conflict, NoSuchSavepoint
from chrono.files import atomic_write
from chrono.ids import CommitId
from chrono.store.refs import AUTO, BRANCHES, RESCUE
from chrono.tuples import NamedTuple
from chrono.workspace import retention
from chrono.workspace.history import branch_name
from chrono.workspace.oplog import operations
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.retention import DAY_NS, KEPT_RESCUES, RESCUE_DAYS, Aged, Jump, Rules
from chrono.workspace.ring import AtStep, go_on

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.garbage import Freed
    from chrono.store.savepoint import Savepoint
    from chrono.store.upkeep import Holdings
    from chrono.workspace.project import Workspace

STEPS = ("record", "refs", "collected")

BUDGET_BYTES = 2 << 30
BUDGET_SHARE = 0.1
"""The store may take 2 GiB, or a tenth of what is free where that is less."""
LEAST_BUDGET_BYTES = 64 << 20

_COMMITS_A_RECORD = 1000


class PrunePlan(NamedTuple):
    """What `prune` would remove. `commits` are all that nothing would lead to any more, `refs` those that lead to them
    now. `freed` is what leaves the disk at once, `later` what a later prune takes. `jump`: the clock was set by more
    than a week, so that ages may be wrong; a person has to confirm."""

    rules: Rules
    refs: tuple[Aged, ...]
    commits: frozenset[CommitId]
    freed: Freed
    later: Freed
    kept_auto: int
    kept_rescues: int
    newest_ns: int
    jump: Jump | None

    @property
    def nothing(self) -> bool:
        return not self.refs and not self.freed.objects


class Pruned(NamedTuple):
    """What a prune did."""

    savepoints: int
    freed: Freed


class Stats(NamedTuple):
    """What the store holds: savepoints by kind, the disk, and the budget. `plan` is what `chrono prune` would do."""

    kinds: tuple[tuple[str, int], ...]
    oldest_ns: int | None
    newest_ns: int | None
    holdings: Holdings
    budget_bytes: int
    free_bytes: int
    plan: PrunePlan

    @property
    def over_budget(self) -> bool:
        return self.holdings.total_bytes > self.budget_bytes


class _Ages(NamedTuple):
    autos: tuple[Aged, ...]
    rescues: tuple[Aged, ...]
    newest_ns: int
    needed: frozenset[CommitId]


def plan(ws: Workspace, rules: Rules | None = None) -> PrunePlan:
    """What would go under `rules` (None: the policy's, else the default ladder). Changes nothing. Raises StoreError."""
    chosen = rules if rules is not None else policy_rules(ws)
    ages = _ages(ws)
    going = retention.removable(*ages[:3], chosen, ages.needed)
    found = ws.store.upkeep.unreachable_without((one.ref for one in going), ages.needed)
    refs = tuple(one for one in going if one.commit in found.commits)
    return PrunePlan(
        chosen,
        refs,
        found.commits,
        found.now,
        found.later,
        len(ages.autos) - sum(one.ref.startswith(AUTO) for one in refs),
        len(ages.rescues) - sum(one.ref.startswith(RESCUE) for one in refs),
        ages.newest_ns,
        _jump(ws, ages.autos) if refs else None,
    )


def policy_rules(ws: Workspace) -> Rules:
    """The policy's `retention`. Raises PolicyError."""
    found = ws.policy().retention
    return Rules(found.keep_auto, found.older_than_days)


def apply(
    ws: Workspace,
    shown: PrunePlan,
    by: Actor,
    *,
    confirmed: bool = False,
    timeout_s: float = CLI_WAIT_S,
    at_step: AtStep = go_on,
) -> Pruned:
    """Removes what `shown` names, and then all that nothing leads to and that is older than an hour.

    `confirmed`: a person has seen the jump of the clock. Raises Conflict where one of the savepoints may not go any
    more (nothing was removed) or the clock jumped and nobody has confirmed, Denied, Locked, StoreError.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    store = ws.store
    if shown.jump is not None and not confirmed:
        raise Conflict(
            f"the clock seems to have been set by {abs(shown.jump.days):.0f} days: ages may be wrong",
            "look at chrono log; if the times are right: chrono prune --yes",
        )
    with store.lock(timeout_s):
        recover_locked(ws, by, timeout_s=timeout_s)
        _check(ws, shown)
        if shown.jump is not None:
            _confirm(ws)
        if shown.commits:
            _record(ws, shown, by, timeout_s)
            at_step("record")
        removed = store.remove_refs({one.ref: one.commit for one in shown.refs})
        at_step("refs")
    freed = store.upkeep.collect(timeout_s, removable=shown.commits, also=needed_by_operations(ws, shown.newest_ns))
    at_step("collected")
    return Pruned(removed, freed)


def _check(ws: Workspace, shown: PrunePlan) -> None:
    """Whether all that was shown may still go, and nobody came to need one of the commits. Raises Conflict."""
    ages = _ages(ws)
    now = set(retention.removable(*ages[:3], shown.rules, ages.needed))
    if not now.issuperset(shown.refs):
        raise Conflict("savepoints that were to go are needed by now", "look again: chrono prune --dry-run")
    going = {one.ref for one in shown.refs}
    store = ws.store
    waiting = [commit for name, commit in store.refs("refs/") if name not in going]
    seen: set[CommitId] = set(waiting)
    while waiting:
        commit = waiting.pop()
        if commit in shown.commits:
            raise Conflict(f"savepoint {commit[:12]} is needed by now", "look again: chrono prune --dry-run")
        try:
            parents = store.savepoint(commit).parents
        except NoSuchSavepoint:
            continue
        waiting += [parent for parent in parents if parent not in seen]
        seen.update(parents)


def _record(ws: Workspace, shown: PrunePlan, by: Actor, timeout_s: float) -> None:
    from chrono.audit.record import Act, Entry

    commits: list[Json] = [*sorted(shown.commits)]
    rules: dict[str, Json] = {"keep_auto": shown.rules.keep_auto, "older_than_days": shown.rules.older_than_days}
    with ws.log.writing(timeout_s) as writing:
        for start in range(0, len(commits), _COMMITS_A_RECORD):
            part = commits[start : start + _COMMITS_A_RECORD]
            writing.append(Entry("prune", by, Act(more=(("commits", part), ("retention", rules)))))


def _ages(ws: Workspace) -> _Ages:
    store = ws.store
    branch = branch_name(store.head_ref())
    autos = tuple(_aged(ws, AUTO, branch))
    rescues = tuple(_aged(ws, RESCUE, branch))
    heads = [store.savepoint(commit).at_ns for _, commit in store.refs(BRANCHES)]
    newest_ns = max([*heads, *(line[-1].at_ns for line in (autos, rescues) if line)], default=0)
    return _Ages(autos, rescues, newest_ns, needed_by_operations(ws, newest_ns))


def _aged(ws: Workspace, prefix: str, branch: str) -> Iterable[Aged]:
    """In the order of their numbers; rescues that bear the name of an operation have none and come by time."""
    numbered: list[Aged] = []
    named: list[Aged] = []
    for ref, commit in ws.store.refs(prefix):
        found = ws.store.savepoint(commit)
        one = Aged(ref, commit, found.at_ns, found.trailer("Chrono-Branch") or branch)
        (numbered if ref[len(prefix) :].isdecimal() else named).append(one)
    if not named:
        return numbered
    return sorted([*numbered, *named], key=lambda one: one.at_ns)


def needed_by_operations(ws: Workspace, newest_ns: int) -> frozenset[CommitId]:
    """What `undo` and `redo` go back to: all of the last fifty operations, and of those of the last thirty days."""
    needed: set[CommitId | None] = set()
    for number, op in enumerate(operations(ws)):
        if number >= KEPT_RESCUES and newest_ns - op.at_ns > RESCUE_DAYS * DAY_NS:
            break
        needed |= {op.before, op.after}
        for move in op.moves:
            needed |= {move.old, move.new}
    needed.discard(None)
    return frozenset(commit for commit in needed if commit is not None and _exists(ws, commit))


def _exists(ws: Workspace, commit: CommitId) -> bool:
    try:
        ws.store.savepoint(commit)
    except NoSuchSavepoint:
        return False
    return True


# --- clocks


def _jump(ws: Workspace, autos: tuple[Aged, ...]) -> Jump | None:
    """The newest jump of the clock that nobody has confirmed."""
    seen = _confirmed(ws)
    return retention.jump([one for one in autos if int(one.ref[len(AUTO) :]) >= seen])


def _confirmed(ws: Workspace) -> int:
    """The number of the automatic savepoint up to which a person has looked at the times."""
    try:
        with open(ws.layout.clock_confirmed, "rb") as file:
            text = file.read(32).strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0


def _confirm(ws: Workspace) -> None:
    numbers = [int(ref[len(AUTO) :]) for ref, _ in ws.store.refs(AUTO)]
    atomic_write(ws.layout.clock_confirmed, b"%d\n" % max(numbers, default=0))


# --- what there is


def stats(ws: Workspace) -> Stats:
    """What the store holds and what `chrono prune` would free. Writes nothing. Raises StoreError, PolicyError."""
    kinds: dict[str, int] = {}
    oldest: Savepoint | None = None
    newest: Savepoint | None = None
    for found in ws.store.history():
        kinds[found.kind] = kinds.get(found.kind, 0) + 1
        newest = newest or found
        if oldest is None or found.at_ns < oldest.at_ns:
            oldest = found
    holdings = ws.store.upkeep.holdings()
    free = free_bytes(ws)
    return Stats(
        tuple(sorted(kinds.items())),
        oldest.at_ns if oldest is not None else None,
        newest.at_ns if newest is not None else None,
        holdings,
        budget_bytes(ws, holdings.total_bytes),
        free,
        plan(ws),
    )


def free_bytes(ws: Workspace, statvfs: Callable[[str], os.statvfs_result] = os.statvfs) -> int:
    """What this user may still write to the disk of the project."""
    found = statvfs(ws.layout.dir)
    return found.f_bavail * found.f_frsize


def budget_bytes(ws: Workspace, held_bytes: int) -> int:
    """How much the store may take: the policy's `retention.budget_mib`, else 2 GiB or a tenth of the free disk."""
    chosen = ws.policy().retention.budget_mib
    if chosen is not None:
        return chosen << 20
    share = int((free_bytes(ws) + held_bytes) * BUDGET_SHARE)
    return max(LEAST_BUDGET_BYTES, min(BUDGET_BYTES, share))

"""Owns the upkeep that nobody asks for: packing after savepoints, pruning when the policy or the budget says so.

It runs in a process of its own, below everybody's priority, so that no savepoint waits for it. Packing and removing
objects are left to `store.upkeep`, which savepoints go to `workspace.prune`.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from chrono.errors import ChronoError, Locked
from chrono.ids import CommitId
from chrono.tuples import NamedTuple
from chrono.workspace import segments

if TYPE_CHECKING:
    import subprocess

    from chrono.audit.record import Actor
    from chrono.workspace.project import Workspace

LOOK_EVERY_S = 3600
"""Budget and retention are looked at no more often than this: that reads the whole store."""

_LOOKED_AT = "048c"
_WAIT_S = 30.0


class Done(NamedTuple):
    """What an upkeep did: objects and refs packed, packs joined, savepoints removed, and what keeps it from more."""

    packed: int = 0
    refs: int = 0
    joined: int = 0
    pruned: int = 0
    warning: str = ""


def after_savepoint(ws: Workspace, commit: CommitId) -> bool:
    """Starts an upkeep in the background where one is due; whether it did. Looks after each fourth savepoint only."""
    if commit[0] not in _LOOKED_AT or not due(ws):
        return False
    return start(ws)


def due(ws: Workspace) -> bool:
    """Whether there is something to pack, or it is time to look at the budget. Costs less than a millisecond."""
    keep = ws.store.upkeep
    store = keep.needs_packing() or keep.needs_ref_packing() or keep.needs_joining()
    return store or segments.needs_packing(ws) or _time_to_look(ws)


def start(ws: Workspace) -> bool:
    """Starts `run` for this project in a session of its own. False where no process could be started."""
    import subprocess

    command = [sys.executable, "-I", "-m", "chrono.workspace.upkeep", ws.root]
    try:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=dict(ws.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    _started[:] = [*(one for one in _started if one.poll() is None), process]
    return True


_started: list[subprocess.Popen[bytes]] = []
"""Nobody waits for them, but a resident process must take note of their ends."""


def run(ws: Workspace, by: Actor, *, look: bool | None = None) -> Done:
    """Does what is due; returns at once where another process is at it.

    `look`: whether to look at budget and retention, too (None: if an hour has passed). Raises StoreError, PolicyError.
    """
    from chrono.files import file_lock

    ws.require_own()
    looks = _time_to_look(ws) if look is None else look
    try:
        with file_lock(ws.layout.upkeep_lock, timeout_s=0):
            done = _pack(ws)
            if looks:
                _stamp(ws)
                done = _prune(ws, by, done)
            return done
    except Locked:
        return Done()


def _pack(ws: Workspace) -> Done:
    keep = ws.store.upkeep
    packed = keep.pack_loose(_WAIT_S) if keep.needs_packing() else 0
    refs = keep.pack_refs(_WAIT_S) if keep.needs_ref_packing() else 0
    joined = keep.join_packs(_WAIT_S) if keep.needs_joining() else 0
    if segments.needs_packing(ws):
        segments.pack(ws)
    return Done(packed, refs, joined)


def _prune(ws: Workspace, by: Actor, done: Done) -> Done:
    """Where the policy has a `retention`, by it; else by the ladder, once the budget is exceeded."""
    from chrono.workspace import prune

    rules = prune.policy_rules(ws)
    over = over_budget(ws)
    if rules.ladder and not over:
        return done
    plan = prune.plan(ws, rules)
    if plan.jump is not None:
        return done._replace(warning="the clock was set by more than a week; confirm with chrono prune")
    if not plan.nothing:
        done = done._replace(pruned=prune.apply(ws, plan, by, timeout_s=_WAIT_S).savepoints)
    return done._replace(warning=over_budget(ws))


def over_budget(ws: Workspace) -> str:
    """What to tell a person where the store takes more than it may, else "". Raises PolicyError."""
    from chrono.workspace.prune import budget_bytes

    held = ws.store.upkeep.holdings().total_bytes
    budget = budget_bytes(ws, held)
    if held <= budget:
        return ""
    return f"savepoints take {held >> 20:,} MiB, more than their budget of {budget >> 20:,} MiB"


def _time_to_look(ws: Workspace) -> bool:
    try:
        return time.time() - os.stat(ws.layout.upkeep_stamp).st_mtime > LOOK_EVERY_S
    except FileNotFoundError:
        _stamp(ws)  # a new project has an hour
        return False


def _stamp(ws: Workspace) -> None:
    fd = os.open(ws.layout.upkeep_stamp, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.utime(fd)
    finally:
        os.close(fd)


def main(arguments: list[str]) -> int:
    """The background process: `python -m chrono.workspace.upkeep ROOT`. Says nothing; what fails is tried again."""
    from chrono.workspace.actors import actor
    from chrono.workspace.config import environment
    from chrono.workspace.project import Workspace

    if hasattr(os, "nice"):
        os.nice(10)
    try:
        ws = Workspace.open(arguments[0], environment())
        run(ws, actor(environment()))
    except (ChronoError, OSError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

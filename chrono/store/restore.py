"""Owns bringing the work tree to a savepoint so that a crash at any instant leaves no torn file.

The rescue savepoint and the audit records are the caller's; what is on the disk is written by `store.disk`.
"""

from __future__ import annotations

from typing import NamedTuple

from chrono.ids import CommitId
from chrono.store.diff import Entry


class Step(NamedTuple):
    """One path to change. `act`: "write", "link", "mkdir", "chmod", "delete" or "rmdir"."""

    act: str
    path: str
    old: Entry | None
    new: Entry | None


class Left(NamedTuple):
    """A path that differs but is left alone, and why (for people)."""

    path: str
    why: str


class RestorePlan(NamedTuple):
    """What would make the work tree equal to `target` within `paths` (empty: everywhere), given that it is `pre`."""

    pre: CommitId
    target: CommitId
    paths: tuple[str, ...]
    steps: tuple[Step, ...]
    left: tuple[Left, ...]

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps if step.act in ("write", "link"))

    @property
    def deletes(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps if step.act == "delete")


class Restored(NamedTuple):
    """What a restore did, and what it left alone."""

    written: int
    deleted: int
    left: tuple[Left, ...]

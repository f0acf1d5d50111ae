"""Owns `restore.journal`: the note that a restore is under way, which survives a crash."""

from __future__ import annotations

from typing import NamedTuple

from chrono.ids import CommitId, OpId


class Journal(NamedTuple):
    """A restore that has begun: bring `paths` (empty: everything) from `pre` to `target`."""

    op: OpId
    pre: CommitId
    target: CommitId
    paths: tuple[str, ...]

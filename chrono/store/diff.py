"""Owns the differences between two savepoints, or between one and the work tree."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One path on one side: full `mode` bits as in stat (file type included) and the hex object id."""

    mode: int
    oid: str


class Change(NamedTuple):
    """A path that differs. `kind`: "added", "deleted", "modified", "type" or "mode" (only the permission bits)."""

    path: str
    kind: str
    old: Entry | None
    new: Entry | None

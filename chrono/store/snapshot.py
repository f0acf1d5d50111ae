"""Owns what a scan of the work tree found: the values that leave this room after a capture.

Scanning itself is left to `store.scanning`, writing to `store.objects`.
"""

from __future__ import annotations

from chrono.ids import TreeId
from chrono.tuples import NamedTuple


class Excluded(NamedTuple):
    """A path that a savepoint does not hold.

    `path` is absolute; `kind` is "git", "control", "chrono", "heavy", "ignored", "over-cap", "unreadable" or
    "nested" (policy: Cover). "unreadable" also stands for sockets, FIFOs, devices and files that kept changing.
    """

    path: str
    kind: str


class Skip(NamedTuple):
    """A path that could not be captured as it is.

    `path` is relative to the project, "/"-separated. `reason` is "unreadable", "over-cap", "special", "unstable" or
    "git". `kept`: the entry of the last savepoint stands in for it.
    """

    path: str
    reason: str
    kept: bool


class Totals(NamedTuple):
    """What a savepoint says of one folder and all below it; `metadata` are the lines of the metadata blob."""

    file_count: int
    metadata: bytes
    excluded: tuple[Excluded, ...]
    skips: tuple[Skip, ...]
    live: tuple[str, ...]


class Content(NamedTuple):
    """What a savepoint holds: the tree, and the metadata blob (None: every mode is the usual one, nothing skipped)."""

    tree: TreeId
    meta: str | None


class Capture(NamedTuple):
    """The work tree as of a scan; its objects become durable with a commit of it. `full`: no hint spared it looking
    at a folder.

    `file_count` files and links are held, `changed_count` of them are new, changed or gone since the last savepoint.
    `live` names SQLite databases that had a write-ahead log beside them. `written` are (path, time in ns) of new and
    changed ones, whose content is not older than that. Empty where they are many.
    """

    tree: TreeId
    meta: str | None
    skips: tuple[Skip, ...]
    excluded: tuple[Excluded, ...]
    live: tuple[str, ...]
    file_count: int
    changed_count: int
    written: tuple[tuple[str, int], ...]
    full: bool

    @property
    def content(self) -> Content:
        return Content(self.tree, self.meta)


class Survey(NamedTuple):
    """What a capture would leave out, found without writing anything."""

    excluded: tuple[Excluded, ...]
    skips: tuple[Skip, ...]
    file_count: int

"""Owns following one file through many savepoints: what it was in each, and which lines two contents share.

Modes and metadata do not matter here, so they are not read. Whose a line is is concluded by `workspace.blame`.
"""

from __future__ import annotations

import re

from chrono.errors import StoreError
from chrono.store import tree
from chrono.store.names import tree_name
from chrono.store.objects import Objects
from chrono.tuples import NamedTuple

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_KINDS = {tree.FOLDER: "folder", tree.LINK: "link", tree.GITLINK: "folder"}


class Found(NamedTuple):
    """What is at a path: `kind` "file", "link" or "folder", and the object's id (20 bytes)."""

    kind: str
    oid: bytes


class Run(NamedTuple):
    """`lines` lines that both contents have, from line `old` of one and `new` of the other on (from 0)."""

    old: int
    new: int
    lines: int


class Tracer:
    """Looks paths up in many trees; what two savepoints share is read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[tuple[bytes, bytes], Found | None] = {}

    def find(self, root: bytes, path: bytes) -> Found | None:
        """What the tree `root` holds at `path`. Raises StoreError."""
        key = (root, path)
        if key not in self._known:
            name, _, rest = path.partition(b"/")
            self._known[key] = self._below(root, name, rest)
        return self._known[key]

    def _below(self, folder: bytes, name: bytes, rest: bytes) -> Found | None:
        names = (name, tree_name(name, forced=True))
        for mode_text, found, oid in _ENTRY.findall(self._objects.read_as(folder, b"tree")):
            if found in names:
                mode = int(mode_text, 8)
                if not rest:
                    return Found(_KINDS.get(mode, "file"), oid)
                return self.find(oid, rest) if mode == tree.FOLDER else None
        return None

    def content(self, oid: bytes, limit_bytes: int) -> bytes | None:
        """A blob, None where it is larger than `limit_bytes`. Raises StoreError."""
        head = self._objects.head(oid)
        if head is None:
            raise StoreError(f"the store lacks object {oid.hex()}", StoreError.BRING_BACK)
        return self._objects.read_as(oid, b"blob") if head[1] <= limit_bytes else None


def line_count(data: bytes) -> int:
    """Lines of a text; one without a line feed at its end counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def shared_lines(old: bytes, new: bytes) -> list[Run]:
    """The lines that stayed, as git's own diff sees them, in rising order."""
    if old == new:
        return [Run(0, 0, line_count(new))] if new else []
    if not old or not new:
        return []
    import pygit2

    made = pygit2.Patch.create_from(
        old, new, flag=pygit2.enums.DiffOption.FORCE_TEXT, context_lines=0, interhunk_lines=0
    )
    runs = []
    at_old = at_new = 0
    for hunk in made.hunks:
        # Where a side has no line, git names the line before the gap.
        old_start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        new_start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        if old_start > at_old:
            runs.append(Run(at_old, at_new, old_start - at_old))
        at_old, at_new = old_start + hunk.old_lines, new_start + hunk.new_lines
    rest = line_count(new) - at_new
    if rest > 0:
        runs.append(Run(at_old, at_new, rest))
    return runs

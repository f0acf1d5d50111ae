"""Owns one folder's content while it is listed anew, beside what it was at the last savepoint.

Deciding what belongs in is left to `store.scanning`.
"""

from __future__ import annotations

from chrono.store.names import control_names
from chrono.store.statcache import ZERO, Folder, Key


class Listing:
    """Filled in the order of names; `trust` turns False where the listing must be made again next time."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.old = {
            name: (key, mode, oid)
            for name, key, mode, oid in zip(folder.names, folder.keys, folder.modes, folder.oids, strict=True)
        }
        self.old_children = {child.name: child for child in folder.children}
        self.names: list[bytes] = []
        self.keys: list[Key] = []
        self.modes: list[int] = []
        self.oids: list[bytes] = []
        self.children: list[Folder] = []
        self.excluded: list[tuple[bytes, str]] = []
        self.skips: list[tuple[bytes, str, bool]] = []
        self.forced: set[bytes] = set()
        self.trust = True
        self.control = control_names(folder.path)

    def add(self, name: bytes, key: Key, mode: int, oid: bytes, *, forced: bool) -> None:
        self.names.append(name)
        self.keys.append(key)
        self.modes.append(mode)
        self.oids.append(oid)
        if forced:
            self.forced.add(name)

    def keep(self, name: bytes, reason: str) -> None:
        """What cannot be captured keeps its entry of the last savepoint, and is listed."""
        old = self.old.get(name)
        if old is not None:
            self.add(name, ZERO, old[1], old[2], forced=name in self.folder.forced)
        self.skips.append((name, reason, old is not None))

    def changes(self) -> int:
        """How many files are new, changed or gone."""
        count = len(self.old.keys() - set(self.names))
        for name, mode, oid in zip(self.names, self.modes, self.oids, strict=True):
            old = self.old.get(name)
            if old is None or old[1:] != (mode, oid):
                count += 1
        return count

    def differs(self) -> bool:
        """Whether the folder's tree or metadata must be made again."""
        folder = self.folder
        return (
            self.names != folder.names
            or self.modes != folder.modes
            or self.oids != folder.oids
            or self.excluded != folder.excluded
            or self.skips != folder.skips
            or self.forced != folder.forced
            or [child.path for child in self.children] != [child.path for child in folder.children]
        )

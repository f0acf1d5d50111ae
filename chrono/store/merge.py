"""Owns merging two states in memory: what each side changed since their base, brought together path by path.

Renames and lines are libgit2's part (`store.filemerge`), writing trees `store.building`'s; changing the work tree is
left to a restore. Nothing is guessed: where the sides disagree, both versions are kept and the path is a conflict.
Cases and their cross-check against git: specs, savepoints section 5.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TypeVar

from chrono.store import tree
from chrono.store.contents import Contents, Entry
from chrono.store.filemerge import MERGE_AT_MOST_BYTES, Labels, Libgit2, is_binary
from chrono.tuples import NamedTuple

ReadBlob = Callable[[str], bytes | None]
"""A blob by its id in hexadecimal; None where it is too large to be merged line by line."""

WriteBlob = Callable[[bytes], str]
"""Takes the bytes of a new blob, returns its id in hexadecimal."""

Edits = dict[bytes, Entry | None]
"""What to change in our side to get the merged state; None: the path goes."""


class MergeConflict(NamedTuple):
    """One path on which the sides disagree.

    `why` is "content" (markers are in the file), "binary", "deleted", "mode", "type", "link", "rename" or
    "folder"; `files`
    are the paths that were written for it: the file with the markers, or `name~<branch>` for each side that has one.
    """

    path: str
    why: str
    files: tuple[str, ...]


class Merged(NamedTuple):
    """The merged state as edits of our side. `notes` are remarks for people on what a merge cannot know."""

    edits: Edits
    conflicts: tuple[MergeConflict, ...]
    notes: tuple[str, ...]


class _Slot(NamedTuple):
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


class Merger:
    """One merge. `virtual`: the result is the base of another merge, so nothing may be kept beside its path."""

    def __init__(
        self,
        base: Contents,
        ours: Contents,
        theirs: Contents,
        labels: Labels,
        libgit2: Libgit2,
        read: ReadBlob,
        write: WriteBlob,
        *,
        virtual: bool = False,
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._labels = labels
        self._libgit2 = libgit2
        self._read, self._write = read, write
        self._virtual = virtual
        self._edits: Edits = {}
        self._conflicts: list[MergeConflict] = []
        self._notes: list[str] = []

    def run(self) -> Merged:
        """Raises StoreError where an object cannot be read."""
        mine = {item.path: item.new for item in self._base.differences(self._ours)}
        yours = {item.path: item.new for item in self._base.differences(self._theirs)}
        files: dict[bytes, _Slot] = {}
        folders: list[bytes] = []
        for path in mine.keys() | yours.keys():
            slot = _Slot(self._base.find(path), self._ours.find(path), self._theirs.find(path))
            if all(entry is None or entry.is_folder for entry in slot[:3]):
                folders.append(path)
            else:
                files[path] = slot
        self._follow_renames(files, mine, yours)
        for path in sorted(files):
            self._resolve(path, files[path])
        self._keep_folders(folders)
        self._part_files_from_folders()
        return Merged(self._edits, tuple(self._conflicts), tuple(self._notes))

    # --- renames

    def _follow_renames(
        self, files: dict[bytes, _Slot], mine: dict[bytes, Entry | None], yours: dict[bytes, Entry | None]
    ) -> None:
        """Brings together what lies under two names because one side, or both, renamed a file."""
        if not any(entry is None or entry.is_folder for entry in (*mine.values(), *yours.values())):
            return  # nothing went away
        ours = self._libgit2.renames(self._base.root, self._ours.root)
        theirs = self._libgit2.renames(self._base.root, self._theirs.root)
        for old in sorted(ours.keys() | theirs.keys()):
            to_ours, to_theirs = ours.get(old), theirs.get(old)
            if old not in files or any(name is not None and name not in files for name in (to_ours, to_theirs)):
                continue
            if to_ours is not None and to_theirs is not None:
                self._renamed_twice(files, old, to_ours, to_theirs)
            elif to_ours is not None:
                self._renamed_once(files, old, to_ours, by_us=True)
            elif to_theirs is not None:
                self._renamed_once(files, old, to_theirs, by_us=False)
        self._note_moved_folders(ours, yours, self._labels.ours, self._labels.theirs)
        self._note_moved_folders(theirs, mine, self._labels.theirs, self._labels.ours)

    def _renamed_once(self, files: dict[bytes, _Slot], old: bytes, new: bytes, *, by_us: bool) -> None:
        before, after = files[old], files[new]
        if by_us:
            stayed, met = before.theirs, after.theirs
        else:
            stayed, met = before.ours, after.ours
        if met is not None or before.base is None:
            return  # the other side has something else under the new name: each name is merged for itself
        if stayed is None:  # renamed here, deleted there
            moved = after.ours if by_us else after.theirs
            label = self._labels.ours if by_us else self._labels.theirs
            del files[new], files[old]
            self._edits[old] = None
            self._aside(new, "deleted", ((label, moved),))
            return
        del files[old]
        self._edits[old] = None
        if by_us:
            files[new] = _Slot(before.base, after.ours, stayed)
        else:
            files[new] = _Slot(before.base, stayed, after.theirs)

    def _renamed_twice(self, files: dict[bytes, _Slot], old: bytes, to_ours: bytes, to_theirs: bytes) -> None:
        base = files[old].base
        mine, yours = files[to_ours], files[to_theirs]
        if to_ours == to_theirs:
            files.pop(old)
            self._edits[old] = None
            files[to_ours] = mine._replace(base=base)
            return
        if mine.theirs is not None or yours.ours is not None:
            return
        for path in (old, to_ours, to_theirs):
            files.pop(path, None)
        self._edits[old] = None
        ours, theirs = self._both_changes(base, mine.ours, yours.theirs)
        if self._virtual:
            self._edits[to_ours] = ours
            return
        placed = [self._beside(to_ours, self._labels.ours, ours), self._beside(to_theirs, self._labels.theirs, theirs)]
        self._edits[to_ours] = None
        self._conflicts.append(MergeConflict(os.fsdecode(old), "rename", tuple(map(os.fsdecode, placed))))

    def _both_changes(
        self, base: Entry | None, ours: Entry | None, theirs: Entry | None
    ) -> tuple[Entry | None, Entry | None]:
        """A file that got two names: each has the changes of both sides, where they go together."""
        if base is None or ours is None or theirs is None or not all(map(_is_file, (base, ours, theirs))):
            return ours, theirs
        oid, clean = self._lines(base.oid, ours.oid, theirs.oid)
        if oid is None or not clean:
            return ours, theirs
        return ours._replace(oid=oid), theirs._replace(oid=oid)

    def _note_moved_folders(
        self, renames: dict[bytes, bytes], others: dict[bytes, Entry | None], mover: str, adder: str
    ) -> None:
        """A file that one side added to a folder which the other side has moved stays where it was added."""
        moved: dict[bytes, bytes] = {}
        for old, new in renames.items():
            source, target = old.rpartition(b"/")[0], new.rpartition(b"/")[0]
            if source and source != target and old.rpartition(b"/")[2] == new.rpartition(b"/")[2]:
                moved[source] = target
        for path, entry in sorted(others.items()):
            folder = path.rpartition(b"/")[0]
            if entry is None or folder not in moved or self._base.find(path) is not None:
                continue
            side = self._ours if mover == self._labels.ours else self._theirs
            if side.find(folder) is None:
                self._notes.append(
                    f"{os.fsdecode(path)} was added on {adder}, while {mover} moved {os.fsdecode(folder)} "
                    f"to {os.fsdecode(moved[folder]) or 'the project folder'}: it stays where it was added"
                )

    # --- one path

    def _resolve(self, path: bytes, slot: _Slot) -> None:
        base, ours, theirs = slot.base, slot.ours, slot.theirs
        if ours == theirs or base == theirs:
            self._put(path, ours)
        elif base == ours:
            self._put(path, theirs)
        elif ours is None or theirs is None:
            if all(entry is None or not entry.is_folder for entry in slot[:3]):
                self._aside(path, "deleted", ((self._labels.ours, ours), (self._labels.theirs, theirs)), base)
            else:
                self._put(path, ours if theirs is None else theirs)
        elif stat.S_IFMT(ours.mode) != stat.S_IFMT(theirs.mode):
            self._types(path, base, ours, theirs)
        elif ours.is_link:
            self._both_aside(path, "link", base, ours, theirs)
        else:
            self._files(path, base, ours, theirs)

    def _types(self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry) -> None:
        if ours.is_folder or theirs.is_folder:  # the file makes room for the folder
            label, entry = (self._labels.theirs, theirs) if ours.is_folder else (self._labels.ours, ours)
            self._put(path, ours if ours.is_folder else theirs)
            if base is None or base.is_folder or (base.oid, base.mode) != (entry.oid, entry.mode):
                self._aside(path, "folder", ((label, entry),), keep=True)
            return
        self._both_aside(path, "type", base, ours, theirs)

    def _files(self, path: bytes, base: Entry | None, ours: Entry, theirs: Entry) -> None:
        was_file = base is not None and _is_file(base)
        mode = _three_way(base.mode if base is not None and was_file else None, ours.mode, theirs.mode)
        if mode is None:
            self._both_aside(path, "mode", base, ours, theirs)
            return
        base_oid = base.oid if base is not None and was_file else None
        oid = _three_way(base_oid, ours.oid, theirs.oid)
        if oid is not None:
            self._put(path, Entry(mode, oid))
            return
        merged, clean = self._lines(base_oid, ours.oid, theirs.oid)
        if merged is None:
            self._both_aside(path, "binary", base, ours, theirs)
            return
        self._put(path, Entry(mode, merged))
        if not clean:
            name = os.fsdecode(path)
            self._conflicts.append(MergeConflict(name, "content", (name,)))

    def _lines(self, base: str | None, ours: str, theirs: str) -> tuple[str | None, bool]:
        """(id of the merged blob, whether it is clean); None where the content has no lines to merge."""
        for oid in (base, ours, theirs):
            data = self._read(oid) if oid is not None else b""
            if data is None or len(data) > MERGE_AT_MOST_BYTES or is_binary(data):
                return None, False
        merged = self._libgit2.text(base, ours, theirs, self._labels)
        return self._write(merged.data), merged.clean

    def _both_aside(self, path: bytes, why: str, base: Entry | None, ours: Entry, theirs: Entry) -> None:
        self._aside(path, why, ((self._labels.ours, ours), (self._labels.theirs, theirs)), base)

    def _aside(
        self,
        path: bytes,
        why: str,
        sides: tuple[tuple[str, Entry | None], ...],
        base: Entry | None = None,
        *,
        keep: bool = False,
    ) -> None:
        """Keeps what each side has as `path~<branch>`; nothing is left under `path` itself, unless `keep`."""
        if self._virtual:
            if not keep:
                self._put(path, base)
            return
        placed = [self._beside(path, label, entry) for label, entry in sides if entry is not None]
        if not keep:
            self._put(path, None)
        self._conflicts.append(MergeConflict(os.fsdecode(path), why, tuple(map(os.fsdecode, placed))))

    def _beside(self, path: bytes, label: str, entry: Entry | None) -> bytes:
        stem = path + b"~" + label.replace("/", "-").encode("utf-8", "surrogateescape")
        name, number = stem, 2
        while name in self._edits or any(side.find(name) is not None for side in (self._ours, self._theirs)):
            name, number = b"%s~%d" % (stem, number), number + 1
        self._edits[name] = entry
        return name

    def _put(self, path: bytes, entry: Entry | None) -> None:
        self._edits[path] = entry

    # --- folders

    def _keep_folders(self, folders: list[bytes]) -> None:
        """Folders by themselves: those that are empty, and modes. One that holds files is there in any case."""
        for path in folders:
            base, ours, theirs = (side.find(path) for side in (self._base, self._ours, self._theirs))
            if ours is not None and theirs is not None:
                mode = _three_way(base.mode if base is not None else None, ours.mode, theirs.mode)
                # Neither side may open what the other has closed.
                self._put(path, Entry(mode if mode is not None else ours.mode & theirs.mode, ours.oid))
            elif base is None:
                self._put(path, ours if ours is not None else theirs)
            else:
                self._put(path, None)

    def _part_files_from_folders(self) -> None:
        """A file cannot lie where something else needs a folder: it is kept beside it."""
        needed: set[bytes] = set()
        for path, entry in self._edits.items():
            if entry is not None:
                needed.update(_folders_above(path))
        for path in sorted(needed):
            entry = self._edits.get(path, self._ours.find(path))
            if entry is None or entry.is_folder:
                continue
            ours = self._ours.find(path)
            label = self._labels.ours if ours is not None and ours.oid == entry.oid else self._labels.theirs
            self._edits[path] = None
            if not self._virtual:
                placed = self._beside(path, label, entry)
                self._conflicts.append(MergeConflict(os.fsdecode(path), "folder", (os.fsdecode(placed),)))
        for path, entry in list(self._edits.items()):
            if entry is not None and not entry.is_folder and self._has_content(path):
                label = self._labels.ours if self._ours.find(path) == entry else self._labels.theirs
                self._edits[path] = self._ours.find(path)
                if not self._virtual:
                    placed = self._beside(path, label, entry)
                    self._conflicts.append(MergeConflict(os.fsdecode(path), "folder", (os.fsdecode(placed),)))

    def _has_content(self, path: bytes) -> bool:
        """Whether our side has a folder at `path` of which something stays."""
        found = self._ours.find(path)
        if found is None or not found.is_folder:
            return False
        stack = [path]
        while stack:
            folder = stack.pop()
            at = self._ours.find(folder)
            if at is None or not at.is_folder:
                continue
            for name, entry in self._ours.list(bytes.fromhex(at.oid)).items():
                below = folder + b"/" + name
                if entry.mode == tree.FOLDER:
                    stack.append(below)
                elif self._edits.get(below, self._ours.find(below)) is not None:
                    return True
        return False


_T = TypeVar("_T")


def _three_way(base: _T | None, ours: _T, theirs: _T) -> _T | None:
    """The side that changed; None where both did, and differently."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _is_file(entry: Entry) -> bool:
    return stat.S_ISREG(entry.mode)


def _folders_above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]

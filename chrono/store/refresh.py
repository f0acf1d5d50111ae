"""Owns bringing the stat cache up to date after a restore, so that the next scan need not read what was just written.

A file that was what had been staged for it right after its rename is known by its stat of that instant: whoever
writes later leaves another one. Every other file is read back, as a scan would, and only what reads as it was meant is
believed. The restore itself is left to `store.apply`, keeping the cache to `store.memory`.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from chrono.store.belongings import SET_ID
from chrono.store.contents import Entry
from chrono.store.handles import FolderHandles
from chrono.store.names import fsck_reads
from chrono.store.reading import FileReader
from chrono.store.restore import Step
from chrono.store.statcache import ZERO, Folder, Key


class Refresh:
    """Changes `base`, which held the state before the restore, in place; after an exception it must not be used.

    `placed`: by the number of the step, the stat keys of restored files right after their renames.
    """

    def __init__(self, root: bytes, base: Folder, reader: FileReader, placed: Mapping[int, Key]) -> None:
        self._root = root
        self._reader = reader
        self._placed = placed
        self._folders = {folder.path: folder for folder in base.walk()}
        self._gone: list[bytes] = []

    def run(self, steps: Iterable[Step]) -> tuple[bytes, ...]:
        """Follows `steps` in their order; returns the folders that went away. Raises OSError."""
        self._folders[b""].totals = None
        with FolderHandles(self._root) as handles:
            folder = None
            for number, step in enumerate(steps):
                path = os.fsencode(step.path)
                above, _, name = path.rpartition(b"/")
                if folder is None or folder.path != above:
                    folder = self._folders.get(above)
                    if folder is None:
                        continue  # below a folder that the cache does not follow
                    self._changed(folder)
                if step.act == "delete":
                    _drop(folder, name)
                elif step.act == "rmdir":
                    self._remove(folder, path)
                elif step.new is None:
                    continue
                elif step.new.is_folder:
                    self._enter(folder, path, step.new.mode)
                else:
                    self._enter_file(handles, folder, name, step.new, self._placed.get(number))
        return tuple(self._gone)

    def _changed(self, folder: Folder) -> None:
        """It is listed anew by the next scan: others may have put something there."""
        folder.key = ZERO
        folder.dirty()
        parent = folder.parent
        while parent is not None and parent.tree is not None:
            parent.tree = None
            parent.touched = True
            parent = parent.parent

    def _remove(self, folder: Folder, path: bytes) -> None:
        folder.children = [child for child in folder.children if child.path != path]
        self._gone.append(path)

    def _enter(self, folder: Folder, path: bytes, mode: int) -> None:
        known = next((child for child in folder.children if child.path == path), None)
        if known is None:
            known = self._folders[path] = Folder(path, folder)
            folder.children.append(known)
            folder.children.sort(key=lambda child: child.name)
        self._changed(known)
        known.mode = stat.S_IMODE(mode)

    def _enter_file(self, handles: FolderHandles, folder: Folder, name: bytes, new: Entry, placed: Key | None) -> None:
        oid = bytes.fromhex(new.oid)
        if placed is not None and not fsck_reads(name):
            _put(folder, name, placed, new.mode & ~SET_ID, oid)
            if name in folder.forced:
                folder.forced -= {name}
            return
        fd = handles.fd(folder.path)
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        taken = self._reader.take(fd, name, found)
        same = taken.oid == oid and taken.reason is None
        _put(folder, name, taken.key if same else ZERO, taken.mode, oid)
        folder.forced = folder.forced | {name} if taken.forced else folder.forced - {name}


def _drop(folder: Folder, name: bytes) -> None:
    index = bisect_left(folder.names, name)
    if index < len(folder.names) and folder.names[index] == name:
        for column in (folder.names, folder.keys, folder.modes, folder.oids):
            del column[index]
    folder.forced -= {name}


def _put(folder: Folder, name: bytes, key: Key, mode: int, oid: bytes) -> None:
    index = bisect_left(folder.names, name)
    if index < len(folder.names) and folder.names[index] == name:
        folder.keys[index], folder.modes[index], folder.oids[index] = key, mode, oid
        return
    folder.names.insert(index, name)
    folder.keys.insert(index, key)
    folder.modes.insert(index, mode)
    folder.oids.insert(index, oid)

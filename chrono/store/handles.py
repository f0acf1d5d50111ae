"""Owns the way down into the work tree: descriptors of folders, opened name by name so that no link is followed.

What is read or changed through a descriptor is left to `store.scanning` and `store.restore`.
"""

from __future__ import annotations

import os

from chrono.store.disk import READ_FOLDER

_KEEP_OPEN = 128
"""So many levels stay open; deeper trees are walked down again (descriptors are few)."""


class FolderHandles:
    """Open descriptors along one path below `root`; asking for a near-by folder reuses the common part.

    Folders are relative bytes, b"" for the root. The descriptor stays valid until the next call of `fd`.
    """

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._names: list[bytes] = []
        self._fds: list[int] = []
        self._current: bytes | None = None

    def __enter__(self) -> FolderHandles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._current = None
        self._drop_to(0)

    def fd(self, folder: bytes) -> int:
        """Raises OSError: ENOENT, ENOTDIR or ELOOP where the path is no longer one of folders only."""
        if folder == self._current and self._fds[-1] >= 0:
            return self._fds[-1]
        self._current = None
        names = folder.split(b"/") if folder else []
        if not self._fds:
            self._fds.append(os.open(self._root, READ_FOLDER & ~getattr(os, "O_NOFOLLOW", 0)))
        common = 0
        for mine, wanted in zip(self._names, names, strict=False):
            if mine != wanted:
                break
            common += 1
        self._drop_to(common + 1)
        if self._fds[-1] < 0:
            self._drop_to(1)
        for name in names[len(self._names) :]:
            self._push(name)
        self._current = folder
        return self._fds[-1]

    def _push(self, name: bytes) -> None:
        self._fds.append(os.open(name, READ_FOLDER, dir_fd=self._fds[-1]))
        self._names.append(name)
        middle = len(self._fds) - 2
        if middle > _KEEP_OPEN and self._fds[middle] >= 0:
            os.close(self._fds[middle])
            self._fds[middle] = -1

    def _drop_to(self, count: int) -> None:
        while len(self._fds) > count:
            fd = self._fds.pop()
            if fd >= 0:
                os.close(fd)
        del self._names[max(count - 1, 0) :]

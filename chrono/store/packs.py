"""Owns which packs there are, and which of them holds an object.

What is in a pack is left to `store.pack`; when packs are made into one, to `store.upkeep`.
"""

from __future__ import annotations

import os
import time

from chrono.store.pack import PackIndex

_SMALL = 1024
_ASKED_OFTEN = 64
"""After so many questions the packs of up to `_SMALL` objects are searched as one: each savepoint of more than a few
changes leaves such a pack, and what is new is in none of them."""

_SETTLED_NS = 50_000_000


class Packs:
    """The packs in `folder`. They stay open from call to call."""

    def __init__(self, folder: bytes) -> None:
        self.folder = folder
        self._open: dict[bytes, PackIndex] = {}
        self._stamp: tuple[int, int] | None = None
        self._last: PackIndex | None = None
        self._asked = 0
        self._small: dict[bytes, PackIndex] | None = None
        self._large: list[PackIndex] = []

    def indexes(self) -> list[PackIndex]:
        """The packs of now: the folder is listed again when it changed."""
        try:
            found = os.stat(self.folder)
        except FileNotFoundError:
            return []
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._list()
            # A folder that changed within the clock's grain of now may change again unseen.
            fresh = os.stat(self.folder).st_mtime_ns
            self._stamp = stamp if fresh == stamp[0] and time.time_ns() - fresh > _SETTLED_NS else None
        return list(self._open.values())

    def _list(self) -> None:
        with os.scandir(self.folder) as found_names:
            names = {entry.name for entry in found_names if entry.name.endswith(b".idx")}
        gone, new = self._open.keys() - names, sorted(names - self._open.keys())
        if gone or new:
            self._last = self._small = None
        for name in gone:
            self._open.pop(name).close()
        for name in new:
            self._open[name] = PackIndex(os.path.join(self.folder, name))

    def find(self, oid: bytes, *, listed: bool = False) -> tuple[PackIndex, int] | None:
        """The pack that holds an object, and where it begins in it. `listed`: the packs as they were listed last."""
        if not (listed and self._open):
            self.indexes()
        last = self._last
        if last is not None:  # what is read together was mostly written together
            offset = last.offset(oid)
            if offset is not None:
                return last, offset
        self._asked += 1
        if self._small is None and self._asked > _ASKED_OFTEN:
            self._join()
        candidates: list[PackIndex] = self._large
        if self._small is None:
            candidates = list(self._open.values())
        elif (home := self._small.get(oid)) is not None:
            candidates = [home]
        for index in candidates:
            offset = index.offset(oid)
            if offset is not None:
                self._last = index
                return index, offset
        return None

    def _join(self) -> None:
        small = [index for index in self._open.values() if len(index) <= _SMALL]
        self._small = {oid: index for index in small for oid in index.ids()}
        self._large = [index for index in self._open.values() if len(index) > _SMALL]

    def close(self) -> None:
        for index in self._open.values():
            index.close()
        self._open.clear()
        self._stamp = self._last = self._small = None
        self._large = []

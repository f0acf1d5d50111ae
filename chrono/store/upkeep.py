"""Owns keeping the store small: loose objects into packs, refs into one file, what nothing leads to off the disk.

Which savepoints may go is decided by `workspace.retention`; what can be reached is found out by `store.reach`, packs
are made by `store.repack`. Order of deletions: docs/formats/savepoint.md.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store import repack, statcache, tree
from chrono.store.disk import Disk
from chrono.store.leftovers import OLD_S
from chrono.store.objects import STREAM_ABOVE_BYTES, NewObjects, Objects
from chrono.store.pack import PackIndex
from chrono.store.reach import Marks
from chrono.store.refs import AUTO, META, Refs

PACK_ABOVE = 2000
"""With more loose objects than this they are packed (specs: savepoints section 6)."""
PACK_REFS_ABOVE = 500
PACKS_ABOVE = 40
"""With more packs than this the small ones are made into one: each costs every look-up a search."""

_SMALL_PACK_BYTES = 64 << 20
_SAMPLED = 16
_GARBAGE_WORTH_BYTES = 16 << 20
_REFS_AT_ONCE = 256
_HOLD_S = 0.5
"""No longer than this is the lock held at once while files go."""
_MOST_DEFLATE = 1032
"""zlib makes at most so many bytes of one."""


class Holdings(NamedTuple):
    """What the store takes on the disk. Bytes are what files occupy; `other_bytes` are refs and what else there is."""

    loose_count: int
    loose_bytes: int
    packed_count: int
    pack_count: int
    pack_bytes: int
    other_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.loose_bytes + self.pack_bytes + self.other_bytes


class Freed(NamedTuple):
    """What left the store, or would: objects, and the bytes on the disk that they took."""

    objects: int
    size_bytes: int


class _Loose(NamedTuple):
    size_bytes: int
    disk_bytes: int
    mtime: float


Lock = Callable[[float], AbstractContextManager[None]]


class Upkeep:
    """The upkeep of one store. The methods take the store lock by themselves, and only while something changes."""

    def __init__(
        self, layout: ProjectLayout, objects: Objects, refs: Refs, disk: Disk, lock: Lock, also: Callable[[], list[str]]
    ) -> None:
        self._layout = layout
        self._objects = objects
        self._refs = refs
        self._disk = disk
        self._lock = lock
        self._also = also

    # --- looking

    def holdings(self) -> Holdings:
        """What there is now. Raises StoreError."""
        loose = self._loose()
        indexes = self._objects.indexes()
        pack_bytes = sum(_occupied(index.path) + _occupied(_pack_of(index)) for index in indexes)
        total = 0
        for place, _, names in os.walk(os.fsencode(self._layout.repo)):
            total += sum(_occupied(os.path.join(place, name)) for name in names)
        loose_bytes = sum(one.disk_bytes for one in loose.values())
        packed = sum(len(index) for index in indexes)
        other = max(0, total - loose_bytes - pack_bytes)
        return Holdings(len(loose), loose_bytes, packed, len(indexes), pack_bytes, other)

    def needs_packing(self) -> bool:
        """Whether there is much that is loose. Cheap: a sixteenth of the folders is counted."""
        found = 0
        for first in range(0, 256, 256 // _SAMPLED):
            try:
                found += len(os.listdir(os.path.join(self._objects.folder, b"%02x" % first)))
            except FileNotFoundError:
                continue
        return found * (256 // _SAMPLED) > PACK_ABOVE

    def needs_ref_packing(self) -> bool:
        """Whether more than 500 automatic savepoints have a file of their own for their ref."""
        return self._refs.count_loose(AUTO) > PACK_REFS_ABOVE

    def needs_joining(self) -> bool:
        """Whether there are many small packs."""
        return len(self._objects.indexes()) > PACKS_ABOVE and len(self._small_packs()) > PACKS_ABOVE // 2

    def unreachable_without(self, refs: Iterable[str], also: Iterable[CommitId]) -> tuple[Freed, frozenset[CommitId]]:
        """What could go if `refs` went, and which commits are among it. `also` stay. Raises StoreError."""
        marks = self._marks(set(refs), also)
        sizes: dict[bytes, int] = {}
        for index in self._objects.indexes():
            for oid, taken in zip(index.ids(), index.sizes(), strict=True):
                if oid not in marks.ids:
                    sizes[oid] = sizes.get(oid, 0) + taken
        for oid, one in self._loose().items():
            if oid not in marks.ids:
                sizes[oid] = sizes.get(oid, 0) + one.disk_bytes
        return Freed(len(sizes), sum(sizes.values())), self._commits_in(sizes)

    def _commits_in(self, ids: Iterable[bytes]) -> frozenset[CommitId]:
        found = set()
        for oid in ids:
            try:
                head = self._objects.head(oid)
            except StoreError:
                continue  # a damaged object is none that anything leads to
            if head is not None and head[0] == b"commit":
                found.add(CommitId(oid.hex()))
        return frozenset(found)

    # --- packing

    def pack_refs(self, timeout_s: float) -> int:
        """Moves the refs of automatic savepoints into one file; how many. Raises Locked, StoreError."""
        count = 0
        while True:
            with self._lock(timeout_s):
                moved = self._refs.pack(AUTO, _REFS_AT_ONCE)
            count += moved
            if moved < _REFS_AT_ONCE:
                return count

    def pack_loose(self, timeout_s: float) -> int:
        """Packs loose objects of up to 8 MiB; how many. Larger ones stay, to be read as streams.

        The packs are made without the lock, it is only held while the loose copies go. Raises Locked, StoreError
        (also where the disk has not twice the room that is needed).
        """
        chosen = {oid: one for oid, one in self._loose().items() if self._may_be_packed(oid, one)}
        if not chosen:
            return 0
        self._pack(chosen, sum(one.size_bytes for one in chosen.values()))
        waiting = [*self._loose()]
        count = 0
        while waiting:
            with self._lock(timeout_s):
                count += self._drop_packed_copies(waiting)
        return count

    def join_packs(self, timeout_s: float) -> int:
        """Makes one pack of the small ones; how many went. Raises Locked, StoreError."""
        small = self._small_packs()
        if len(small) < 2:
            return 0
        return self._replace(small, {oid for index in small for oid in index.ids()}, timeout_s, None)[0]

    def _pack(self, ids: Iterable[bytes], size_bytes: int) -> list[PackIndex]:
        self._require_room(2 * size_bytes)
        try:
            return repack.write(self._objects, ids, os.fsencode(self._layout.dir))
        except OSError as error:
            raise StoreError(f"the store could not be packed: {error.strerror}", "nothing was removed") from error

    def _require_room(self, size_bytes: int) -> None:
        found = os.statvfs(self._layout.dir)
        free = found.f_bavail * found.f_frsize
        if free < size_bytes:
            raise StoreError(
                f"packing needs {size_bytes >> 20} MiB, {free >> 20} MiB are free",
                "free some space; nothing was changed",
            )

    def _may_be_packed(self, oid: bytes, one: _Loose) -> bool:
        if one.size_bytes * _MOST_DEFLATE <= STREAM_ABOVE_BYTES:
            return one.size_bytes > 0
        try:
            head = self._objects.head(oid)
        except StoreError:
            return False  # damaged: for doctor to say
        return head is not None and head[1] <= STREAM_ABOVE_BYTES

    def _drop_packed_copies(self, waiting: list[bytes]) -> int:
        """Removes loose objects that a pack holds, for as long as others may be made to wait."""
        indexes = self._objects.indexes()
        until = time.monotonic() + _HOLD_S
        count = 0
        while waiting and time.monotonic() < until:
            oid = waiting.pop()
            if any(index.offset(oid) is not None for index in indexes):
                count += self._unlink_loose(oid)
        return count

    def _unlink_loose(self, oid: bytes) -> int:
        try:
            self._disk.unlink(self._objects.path(oid))
        except FileNotFoundError:
            return 0  # another process was quicker
        except OSError as error:
            raise StoreError(f"object {oid.hex()} could not be removed: {error.strerror}") from error
        return 1

    # --- what nothing leads to

    def collect(
        self,
        timeout_s: float,
        *,
        removable: frozenset[CommitId],
        also: Iterable[CommitId] = (),
        older_than_s: float = OLD_S,
    ) -> Freed:
        """Removes objects that nothing leads to and that are older than an hour. Raises Locked, StoreError.

        Beside the refs, `also` lead somewhere, and so does every commit that is not `removable`: the audit log must
        have named what goes. What is reached is found out without the lock, and once more under it for refs that came
        since. Nothing is removed where something on the way is missing or damaged.
        """
        marks = self._marks(set(), also)
        kept = self._commits_in(self._ids() - marks.ids) - removable
        marks.add(kept)
        limit = time.time() - older_than_s
        doomed = [index for index in self._objects.indexes() if self._is_worth(index, marks, limit)]
        freed = Freed(0, 0)
        if doomed:
            needed = {oid for index in doomed for oid in index.ids() if oid in marks.ids}
            before = sum(_occupied(_pack_of(index)) + _occupied(index.path) for index in doomed)
            held = sum(len(index) for index in doomed)
            gone, made_bytes = self._replace(doomed, needed, timeout_s, marks)
            if gone:
                freed = Freed(held - len(needed), max(0, before - made_bytes))
        objects, size = self._collect_loose(marks, limit, timeout_s)
        return Freed(freed.objects + objects, freed.size_bytes + size)

    def _collect_loose(self, marks: Marks, limit: float, timeout_s: float) -> tuple[int, int]:
        """A part at a time, so that no savepoint waits for all: (how many went, their bytes)."""
        count = size = 0
        finished = False
        while not finished:
            with self._lock(timeout_s):
                until = time.monotonic() + _HOLD_S
                self._mark_again(marks)
                finished = True
                for oid, one in self._loose().items():
                    if oid not in marks.ids and one.mtime < limit:
                        count += self._unlink_loose(oid)
                        size += one.disk_bytes
                        if time.monotonic() > until:
                            finished = False
                            break
        return count, size

    def _ids(self) -> set[bytes]:
        """Every object there is."""
        return {*self._loose(), *(oid for index in self._objects.indexes() for oid in index.ids())}

    def _marks(self, without: set[str], also: Iterable[CommitId]) -> Marks:
        marks = Marks(self._objects)
        marks.add(also)
        marks.add(oid for name, oid in self._refs.below("refs/") if name not in without and name != META)
        marks.add(self._also())
        return marks

    def _mark_again(self, marks: Marks) -> None:
        """Under the lock: marks what came since, lets go of metadata that no commit names, and of a cache that
        vouches for what is not there."""
        marks.add(oid for name, oid in self._refs.below("refs/") if name != META)
        marks.add(self._also())
        self._keep_metadata(marks.metas)
        kept = self._refs.read(META)
        if kept is not None:
            marks.add([kept])
        cache = os.fsencode(self._layout.stat_cache)
        loaded = statcache.load(cache)
        if loaded is not None and loaded[0].head not in marks.ids:
            self._disk.unlink(cache)

    def _keep_metadata(self, metas: set[bytes]) -> None:
        old = self._refs.read(META)
        if old is None:
            return
        entries = tree.parse(self._objects.read_as(bytes.fromhex(old), b"tree"))
        kept = [entry for entry in entries if entry.oid in metas]
        if len(kept) == len(entries):
            return
        new = None
        if kept:
            sink = NewObjects(self._objects)
            new = sink.put(b"tree", tree.build(kept)).hex()
            sink.flush()
        self._refs.update(META, old, new)

    def _is_worth(self, index: PackIndex, marks: Marks, limit: float) -> bool:
        """Whether a pack is old enough, and enough of it unreachable, to be made anew."""
        pack = _pack_of(index)
        found = os.lstat(pack)
        if found.st_mtime >= limit:
            return False
        garbage = sum(taken for oid, taken in zip(index.ids(), index.sizes(), strict=True) if oid not in marks.ids)
        return garbage * 20 > found.st_size or garbage > _GARBAGE_WORTH_BYTES

    def _small_packs(self) -> list[PackIndex]:
        return [index for index in self._objects.indexes() if _occupied(_pack_of(index)) <= _SMALL_PACK_BYTES]

    def _replace(
        self, doomed: list[PackIndex], needed: set[bytes], timeout_s: float, marks: Marks | None
    ) -> tuple[int, int]:
        """Makes packs of `needed` and removes `doomed`: (how many went, bytes of the new ones).

        Under the lock it is made sure that no object that is reached by then lies in them only.
        """
        paths = [index.path for index in doomed]
        made: list[PackIndex] = []
        if needed:
            made = self._pack(needed, sum(_occupied(_pack_of(index)) for index in doomed))
        new = {index.path for index in made}
        with self._lock(timeout_s):
            if marks is not None:
                self._mark_again(marks)
            elsewhere = [index for index in self._objects.indexes() if index.path not in paths or index.path in new]
            loose = self._loose()
            going = [index for index in self._objects.indexes() if index.path in paths and index.path not in new]
            for index in going:
                for oid in index.ids():
                    wanted = oid in marks.ids if marks is not None else True
                    if wanted and oid not in loose and all(other.offset(oid) is None for other in elsewhere):
                        return 0, 0  # somebody came to need it meanwhile: next time
            for index in going:
                for path in (index.path, _pack_of(index)):  # the index first: without it git looks for no pack
                    self._disk.unlink(path)
            self._disk.fsync_folder(self._objects.pack_folder)
        size = sum(_occupied(index.path) + _occupied(_pack_of(index)) for index in made)
        for index in made:
            index.close()
        return len(going), size

    def _loose(self) -> dict[bytes, _Loose]:
        found = {}
        for first in range(256):
            digits = b"%02x" % first
            try:
                with os.scandir(os.path.join(self._objects.folder, digits)) as entries:
                    for entry in entries:
                        if len(entry.name) != 38:
                            continue
                        try:
                            one = entry.stat(follow_symlinks=False)
                            oid = bytes.fromhex((digits + entry.name).decode("ascii"))
                        except (FileNotFoundError, ValueError):
                            continue
                        if stat.S_ISREG(one.st_mode):
                            found[oid] = _Loose(one.st_size, one.st_blocks * 512, one.st_mtime)
            except FileNotFoundError:
                continue
        return found


def _pack_of(index: PackIndex) -> bytes:
    return index.path[:-4] + b".pack"


def _occupied(path: bytes) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0

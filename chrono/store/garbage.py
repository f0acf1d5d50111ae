"""Owns what nothing leads to: what of it would go now, and taking it off the disk.

What is shown and what is done come from the same look, so that a plan promises exactly what follows. What can be
reached is found out by `store.reach`, packs are made by `store.repack`. Order of deletions: docs/formats/savepoint.md.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store import loose, statcache, tree
from chrono.store.objects import NewObjects, Objects
from chrono.store.pack import PackIndex
from chrono.store.reach import Marks
from chrono.store.refs import META, Refs
from chrono.store.turns import Lock, Turn, in_turns
from chrono.tuples import NamedTuple

_WORTH_BYTES = 16 << 20
_WORTH_SHARE = 20
"""A pack is made anew for a twentieth of it, or for 16 MiB."""

MakePacks = Callable[[set[bytes], int], list[PackIndex]]
"""Makes packs of objects that take so many bytes now."""


class Freed(NamedTuple):
    """What left the store, or would: objects, and the bytes on the disk that they took."""

    objects: int
    size_bytes: int


class Unreachable(NamedTuple):
    """What nothing would lead to: what goes `now`, what goes `later` (it is younger than an hour, or shares a pack
    with so much else that the pack is not made anew for it), and which commits are among both."""

    now: Freed
    later: Freed
    commits: frozenset[CommitId]


class _Garbage(NamedTuple):
    """Packs to be made anew, loose objects to be removed; `going` are the ids that go with either, and their bytes."""

    packs: list[PackIndex]
    loose: list[bytes]
    going: dict[bytes, int]
    staying: dict[bytes, int]


class Garbage:
    """The unreachable part of one store. `also` are commits that must stay whatever the refs say."""

    def __init__(
        self, layout: ProjectLayout, objects: Objects, refs: Refs, lock: Lock, also: Callable[[], list[str]]
    ) -> None:
        self._cache = os.fsencode(layout.stat_cache)
        self._objects = objects
        self._refs = refs
        self._lock = lock
        self._also = also
        self._cache_seen: statcache.Stamp | None = None

    def without(self, refs: Iterable[str], also: Iterable[CommitId], older_than_s: float) -> Unreachable:
        """What could go if `refs` went. Changes nothing. Raises StoreError."""
        marks = self._marks(set(refs), also)
        kept = self._refs.read(META)
        if kept is not None and self._metadata_without(marks.metas) is None:
            marks.add([kept])
        found = self._look(marks, time.time() - older_than_s)
        commits = self._commits_in([*found.going, *found.staying])
        return Unreachable(_freed(found.going), _freed(found.staying), commits)

    def collect(
        self,
        timeout_s: float,
        make_packs: MakePacks,
        *,
        removable: frozenset[CommitId],
        also: Iterable[CommitId],
        older_than_s: float,
    ) -> Freed:
        """Removes it; what was reached is found out without the lock, and once more under it. See `Upkeep.collect`."""
        marks = self._marks(set(), also)
        kept = self._commits_in(self._ids() - marks.ids) - removable
        marks.add(kept)
        with self._lock(timeout_s):
            self._mark_again(marks)
        limit = time.time() - older_than_s
        found = self._look(marks, limit)
        packed = self._renew(found.packs, marks, timeout_s, make_packs) if found.packs else {}
        removed = self._remove_loose(found.loose, marks, limit, timeout_s)
        gone = {oid: found.going[oid] for oid in {*packed, *removed}}
        return _freed(gone)

    def _look(self, marks: Marks, limit: float) -> _Garbage:
        found = _Garbage([], [], {}, {})
        for index in self._objects.indexes():
            dead = [both for both in zip(index.ids(), index.sizes(), strict=True) if both[0] not in marks.ids]
            goes = self._is_worth(index, sum(taken for _, taken in dead), limit)
            if goes:
                found.packs.append(index)
            for oid, taken in dead:
                _add(found.going if goes else found.staying, oid, taken)
        for oid, one in loose.listed(self._objects).items():
            if oid not in marks.ids:
                goes = one.mtime < limit
                if goes:
                    found.loose.append(oid)
                _add(found.going if goes else found.staying, oid, one.disk_bytes)
        return found

    def _is_worth(self, index: PackIndex, dead_bytes: int, limit: float) -> bool:
        """Whether a pack is old enough, and enough of it unreachable, to be made anew."""
        pack = os.lstat(index.pack_path)
        if pack.st_mtime >= limit:
            return False
        return dead_bytes * _WORTH_SHARE > pack.st_size or dead_bytes > _WORTH_BYTES

    # --- what is reached

    def _ids(self) -> set[bytes]:
        """Every object there is."""
        return {*loose.listed(self._objects), *(oid for index in self._objects.indexes() for oid in index.ids())}

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
        self._drop_dead_cache(marks)

    def _drop_dead_cache(self, marks: Marks) -> None:
        now = statcache.stamp(self._cache)
        if now is None or now == self._cache_seen:
            return
        loaded = statcache.load(self._cache)
        if loaded is not None and loaded[0].head not in marks.ids:
            self._objects.disk.unlink(self._cache)
        else:
            self._cache_seen = now

    def _keep_metadata(self, metas: set[bytes]) -> None:
        kept = self._metadata_without(metas)
        if kept is None:
            return
        new = None
        if kept:
            sink = NewObjects(self._objects)
            new = sink.put(b"tree", tree.build(kept)).hex()
            sink.flush()
        self._refs.update(META, self._refs.read(META), new)

    def _metadata_without(self, metas: set[bytes]) -> list[tree.TreeEntry] | None:
        """The entries of the tree of metadata blobs that a commit names; None where all of them are named."""
        old = self._refs.read(META)
        if old is None:
            return None
        entries = tree.parse(self._objects.read_as(bytes.fromhex(old), b"tree"))
        kept = [entry for entry in entries if entry.oid in metas]
        return None if len(kept) == len(entries) else kept

    # --- removing

    def _renew(self, packs: list[PackIndex], marks: Marks, timeout_s: float, make_packs: MakePacks) -> set[bytes]:
        """Makes packs of what is reached in `packs` and removes them; the ids that went."""
        held = {oid for index in packs for oid in index.ids()}
        needed = held & marks.ids
        if not replace(self._objects, packs, needed, self._lock, timeout_s, make_packs, lambda: self._reached(marks)):
            return set()
        return held - needed

    def _reached(self, marks: Marks) -> set[bytes]:
        self._mark_again(marks)
        return marks.ids

    def _remove_loose(self, ids: list[bytes], marks: Marks, limit: float, timeout_s: float) -> list[bytes]:
        """Those that went: neither reached nor used again by the time that it is their turn."""
        waiting = [*ids]
        removed = []

        def work(turn: Turn) -> bool:
            self._mark_again(marks)
            while waiting and not turn.is_over:
                oid = waiting.pop()
                used = loose.mtime(self._objects, oid)
                if oid not in marks.ids and used is not None and used < limit and loose.remove(self._objects, oid):
                    removed.append(oid)
            return not waiting

        if waiting:
            in_turns(self._lock, timeout_s, work)
        return removed


def replace(
    objects: Objects,
    packs: list[PackIndex],
    needed: set[bytes],
    lock: Lock,
    timeout_s: float,
    make_packs: MakePacks,
    reached: Callable[[], set[bytes]],
) -> bool:
    """Makes packs of `needed` without the lock, then removes `packs` under it. False: nothing was removed.

    `reached` is asked under the lock: where it names an object that lies in `packs` only, somebody came to need it
    meanwhile, and the packs stay for the next time. Raises Locked, StoreError.
    """
    size_bytes = sum(occupied(index.pack_path) for index in packs)
    made = make_packs(needed, size_bytes) if needed else []
    new = {index.path for index in made}
    for index in made:
        index.close()
    going = [index for index in packs if index.path not in new]
    alone = {oid for index in going for oid in index.ids()} - needed
    with lock(timeout_s):
        if not alone.isdisjoint(reached()):
            return False
        for index in going:
            for path in (index.path, index.pack_path):  # the index first: without it git looks for no pack
                objects.disk.unlink(path)
        objects.disk.fsync_folder(objects.pack_folder)
    return True


def occupied(path: bytes) -> int:
    """What a file takes on the disk, 0 where there is none."""
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0


def _add(sizes: dict[bytes, int], oid: bytes, taken: int) -> None:
    sizes[oid] = sizes.get(oid, 0) + taken


def _freed(sizes: dict[bytes, int]) -> Freed:
    return Freed(len(sizes), sum(sizes.values()))

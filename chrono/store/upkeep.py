"""Owns keeping the store small: loose objects into packs, refs into one file, what nothing leads to off the disk.

Which savepoints may go is decided by `workspace.retention`; what nothing leads to is left to `store.garbage`, the
making of packs to `store.repack`. Order of deletions: docs/formats/savepoint.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store import loose, repack
from chrono.store.garbage import Freed, Garbage, Unreachable, occupied, replace
from chrono.store.leftovers import OLD_S
from chrono.store.loose import Loose
from chrono.store.objects import STREAM_ABOVE_BYTES, Objects
from chrono.store.pack import PackIndex
from chrono.store.refs import AUTO, Refs
from chrono.store.turns import Lock, Turn, in_turns
from chrono.tuples import NamedTuple

PACK_ABOVE = 2000
"""With more loose objects than this they are packed (specs: savepoints section 6)."""
PACK_REFS_ABOVE = 500
PACKS_ABOVE = 40
"""With more packs than this the small ones are made into one: each costs every look-up a search."""

_SMALL_PACK_BYTES = 64 << 20
_SAMPLED = 16
_REFS_AT_ONCE = 256
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


class Upkeep:
    """The upkeep of one store. The methods take the store lock by themselves, and only while something changes."""

    def __init__(
        self, layout: ProjectLayout, objects: Objects, refs: Refs, lock: Lock, also: Callable[[], list[str]]
    ) -> None:
        self._layout = layout
        self._objects = objects
        self._refs = refs
        self._lock = lock
        self._garbage = Garbage(layout, objects, refs, lock, also)

    # --- looking

    def holdings(self) -> Holdings:
        """What there is now. Raises StoreError."""
        held = loose.listed(self._objects)
        indexes = self._objects.indexes()
        pack_bytes = sum(occupied(index.path) + occupied(index.pack_path) for index in indexes)
        total = 0
        for place, _, names in os.walk(os.fsencode(self._layout.repo)):
            total += sum(occupied(os.path.join(place, name)) for name in names)
        loose_bytes = sum(one.disk_bytes for one in held.values())
        packed = sum(len(index) for index in indexes)
        other = max(0, total - loose_bytes - pack_bytes)
        return Holdings(len(held), loose_bytes, packed, len(indexes), pack_bytes, other)

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

    def unreachable_without(
        self, refs: Iterable[str], also: Iterable[CommitId], *, older_than_s: float = OLD_S
    ) -> Unreachable:
        """What could go if `refs` went; `also` stay. What it says of now is what `collect` does. Raises StoreError."""
        return self._garbage.without(refs, also, older_than_s)

    # --- packing

    def pack_refs(self, timeout_s: float) -> int:
        """Moves the refs of automatic savepoints into one file; how many. Raises Locked, StoreError."""
        count = 0

        def work(_: Turn) -> bool:
            nonlocal count
            moved = self._refs.pack(AUTO, _REFS_AT_ONCE)
            count += moved
            return moved < _REFS_AT_ONCE

        in_turns(self._lock, timeout_s, work)
        return count

    def pack_loose(self, timeout_s: float) -> int:
        """Packs loose objects of up to 8 MiB; how many. Larger ones stay, to be read as streams.

        The packs are made without the lock, it is only held while the loose copies go. Raises Locked, StoreError
        (also where the disk has not twice the room that is needed).
        """
        chosen = {oid: one for oid, one in loose.listed(self._objects).items() if self._may_be_packed(oid, one)}
        if not chosen:
            return 0
        self._pack(chosen, sum(one.size_bytes for one in chosen.values()))
        waiting = self._packed_too(loose.listed(self._objects))
        count = 0

        def work(turn: Turn) -> bool:
            nonlocal count
            while waiting and not turn.is_over:
                if self._packed_too(waiting[-1:]):  # a pack may have gone since
                    count += loose.remove(self._objects, waiting[-1])
                waiting.pop()
            return not waiting

        in_turns(self._lock, timeout_s, work)
        return count

    def join_packs(self, timeout_s: float) -> int:
        """Makes one pack of the small ones; how many went. Raises Locked, StoreError."""
        small = self._small_packs()
        if len(small) < 2:
            return 0
        held = {oid for index in small for oid in index.ids()}
        gone = replace(self._objects, small, held, self._lock, timeout_s, self._pack, lambda: held)
        return len(small) if gone else 0

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

    def _may_be_packed(self, oid: bytes, one: Loose) -> bool:
        if one.size_bytes * _MOST_DEFLATE <= STREAM_ABOVE_BYTES:
            return one.size_bytes > 0
        try:
            head = self._objects.head(oid)
        except StoreError:
            return False  # damaged: for doctor to say
        return head is not None and head[1] <= STREAM_ABOVE_BYTES

    def _packed_too(self, ids: Iterable[bytes]) -> list[bytes]:
        """Those of `ids` that a pack holds."""
        indexes = self._objects.indexes()
        return [oid for oid in ids if any(index.offset(oid) is not None for index in indexes)]

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
        return self._garbage.collect(timeout_s, self._pack, removable=removable, also=also, older_than_s=older_than_s)

    def _small_packs(self) -> list[PackIndex]:
        return [index for index in self._objects.indexes() if occupied(index.pack_path) <= _SMALL_PACK_BYTES]

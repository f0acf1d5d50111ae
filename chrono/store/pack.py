"""Owns pack files: writing one a savepoint without deltas, and reading any without libgit2.

Format: git's gitformat-pack, version 2 of both files. Which pack holds what is left to `store.objects`, deltas to
`store.delta`, packs that are made anew to `store.repack`.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence

from chrono.errors import StoreError
from chrono.store import delta
from chrono.store.deflate import deflate
from chrono.store.disk import READ_FILE, Disk

KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
KIND_NAMES = {number: name for name, number in KINDS.items()}
_SPILL_BYTES = 16 << 20
_READ_BYTES = 1 << 20
_INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_DEEPEST = 4096
"""git's own limit for a chain of deltas is 4095."""
_BASES_BYTES = 4 << 20
_ASKED_OFTEN = 16
_OBJECTS_A_QUESTION = 4
"""After a question for each so many objects the index is read as a whole: that costs as much as the searches did."""
_ROWS_AT_ONCE = 64
"""A search by halves ends where looking through what is left is quicker."""


class PackGone(StoreError):
    """A pack that was there when its folder was listed: its objects are in another one by now."""


class PackWriter:
    """One pack under way: `add` objects, then `finish`, or `abandon` it. In memory up to 16 MiB."""

    def __init__(self, folder: bytes, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self._parts: list[bytes] = []
        self._held = 0
        self._size = 12
        self._entries: list[tuple[bytes, int, int]] = []
        self._temp = os.path.join(folder, b"tmp_pack_" + os.urandom(8).hex().encode())
        self._fd = -1

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, oid: bytes, kind: bytes, data: bytes) -> None:
        body = _object_head(KINDS[kind], len(data)) + deflate(data)
        self._entries.append((oid, zlib.crc32(body), self._size))
        self._parts.append(body)
        self._held += len(body)
        self._size += len(body)
        if self._held > _SPILL_BYTES:
            self._spill()

    def finish(self) -> bytes:
        """Writes, syncs and names the pack, then its index, which makes it visible; returns their common path."""
        header = b"PACK" + struct.pack(">II", 2, len(self._entries))
        if self._fd < 0:
            self._fd = self._disk.create(self._temp, 0o444)
            self._parts.insert(0, header)
            body = b"".join(self._parts)
            trailer = hashlib.sha1(body, usedforsecurity=False).digest()
            self._disk.write(self._fd, body + trailer)
        else:
            self._spill()
            self._disk.write_at(self._fd, header, 0)
            trailer = self._hash_file()
            os.lseek(self._fd, 0, os.SEEK_END)
            self._disk.write(self._fd, trailer)
        self._disk.fsync(self._fd)
        stem = os.path.join(self._folder, b"pack-" + trailer.hex().encode())
        self._disk.rename(self._temp, stem + b".pack")
        self._write_index(stem, trailer)
        self._disk.fsync_folder(self._folder)
        os.close(self._fd)
        self._fd = -1
        return stem

    def abandon(self) -> None:
        """Removes what was written, as far as that is possible."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        try:
            self._disk.unlink(self._temp)
        except OSError:
            pass

    def _spill(self) -> None:
        if self._fd < 0:
            self._fd = self._disk.create(self._temp, 0o444)
            self._disk.write(self._fd, b"\0" * 12)
        self._disk.write(self._fd, b"".join(self._parts))
        self._parts.clear()
        self._held = 0

    def _hash_file(self) -> bytes:
        """The header was not known when the body went out, so the body is read again (from the page cache)."""
        digest = hashlib.sha1(usedforsecurity=False)
        os.lseek(self._fd, 0, os.SEEK_SET)
        while chunk := os.read(self._fd, _READ_BYTES):
            digest.update(chunk)
        return digest.digest()

    def _write_index(self, stem: bytes, trailer: bytes) -> None:
        data = _index(self._entries, trailer)
        temp = self._temp.replace(b"tmp_pack_", b"tmp_idx_")
        fd = self._disk.create(temp, 0o444)
        try:
            self._disk.write(fd, data)
            self._disk.fsync(fd)
        finally:
            os.close(fd)
        self._disk.rename(temp, stem + b".idx")


def _object_head(kind: int, size: int) -> bytes:
    first = (kind << 4) | (size & 0x0F)
    size >>= 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first = size & 0x7F
        size >>= 7
    head.append(first)
    return bytes(head)


def _index(entries: list[tuple[bytes, int, int]], trailer: bytes) -> bytes:
    rows = sorted(entries)
    counts = [0] * 256
    for oid, _, _ in rows:
        counts[oid[0]] += 1
    total = 0
    fanout = array("I")
    for count in counts:
        total += count
        fanout.append(total)
    offsets = array("I")
    large: list[int] = []
    for _, _, offset in rows:
        if offset < 0x80000000:
            offsets.append(offset)
        else:
            offsets.append(0x80000000 | len(large))
            large.append(offset)
    checksums = array("I", [crc for _, crc, _ in rows])
    for numbers in (fanout, offsets, checksums):
        _from_network(numbers)
    data = b"".join(
        (
            _INDEX_MAGIC,
            fanout.tobytes(),
            b"".join([oid for oid, _, _ in rows]),
            checksums.tobytes(),
            offsets.tobytes(),
            struct.pack(f">{len(large)}Q", *large),
            trailer,
        )
    )
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _from_network(numbers: array[int]) -> None:
    """To this machine's order of bytes, or back."""
    if sys.byteorder == "little":
        numbers.byteswap()


class PackIndex:
    """One `.idx` and its pack, mapped into memory. Raises StoreError where the index is malformed."""

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._map = _map(path)
        size = len(self._map)
        if size < 1072 or self._map[:8] != _INDEX_MAGIC:
            raise StoreError(f"{os.fsdecode(path)} is not a pack index of version 2")
        self._fanout = struct.unpack(">256I", self._map[8:1032])
        self._count: int = self._fanout[255]
        if size < 1072 + 28 * self._count or list(self._fanout) != sorted(self._fanout):
            raise StoreError(f"{os.fsdecode(path)} is cut or damaged")
        self._pack: mmap.mmap | None = None
        self._bases: dict[int, tuple[bytes, bytes]] = {}
        self._bases_bytes = 0
        self._asked = 0
        self._table: dict[bytes, int] | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def pack_path(self) -> bytes:
        return self.path[:-4] + b".pack"

    def offset(self, oid: bytes) -> int | None:
        """Where the object begins in the pack, or None."""
        if self._table is not None:
            return self._table.get(oid)
        self._asked += 1
        if self._asked > _ASKED_OFTEN + self._count // _OBJECTS_A_QUESTION:
            self._table = dict(zip(self.ids(), self._offsets(), strict=True))
            return self._table.get(oid)
        first = oid[0]
        low = self._fanout[first - 1] if first else 0
        high = self._fanout[first]
        view = self._map
        while high - low > _ROWS_AT_ONCE:
            middle = (low + high) // 2
            if view[1032 + 20 * middle : 1052 + 20 * middle] <= oid:
                low = middle
            else:
                high = middle
        rows = view[1032 + 20 * low : 1032 + 20 * high]
        at = rows.find(oid)
        while at > 0 and at % 20:  # the end of one id and the beginning of the next
            at = rows.find(oid, at + 1)
        if at < 0:
            return None
        rank = low + at // 20
        return self._offset_of(rank)

    def _offset_of(self, rank: int) -> int:
        view = self._map
        base = 1032 + 24 * self._count
        value = int.from_bytes(view[base + 4 * rank : base + 4 * rank + 4], "big")
        if value & 0x80000000:
            base += 4 * self._count + 8 * (value & 0x7FFFFFFF)
            value = int.from_bytes(view[base : base + 8], "big")
        return value

    def _offsets(self) -> Sequence[int]:
        """Where each object begins, in the order of `ids`."""
        base = 1032 + 24 * self._count
        offsets = array("I", self._map[base : base + 4 * self._count])
        _from_network(offsets)
        if max(offsets, default=0) & 0x80000000:  # of a pack above 2 GiB
            return [self._offset_of(rank) for rank in range(self._count)]
        return offsets

    def read(self, offset: int) -> tuple[bytes, bytes]:
        """(kind, data) of the object at `offset`. Raises StoreError where it is damaged, PackGone."""
        deltas = []
        while (found := self._bases.get(offset)) is None:
            number, size, position, base = self._head(offset)
            data = _inflate(self._file(), position, size)
            if base is None:
                found = KIND_NAMES[number], data
                break
            deltas.append((offset, data))
            if len(deltas) > _DEEPEST:
                raise StoreError("an object in a pack is damaged: its deltas have no end")
            offset = base
        if not deltas:
            return found
        self._keep(offset, found)
        kind, data = found
        for place, change in reversed(deltas):
            data = delta.apply(data, change)
            self._keep(place, (kind, data))
        return kind, data

    def head(self, offset: int) -> tuple[bytes, int]:
        """(kind, size) of the object at `offset`, without its content."""
        number, size, position, base = self._head(offset)
        if base is not None:
            size = delta.result_size(_inflate_some(self._file(), position))
        for _ in range(_DEEPEST + 1):
            if base is None:
                return KIND_NAMES[number], size
            number, _, _, base = self._head(base)
        raise StoreError("an object in a pack is damaged: its deltas have no end")

    def content(self, offset: int, above_bytes: int) -> tuple[bytes, int, Iterator[bytes]]:
        """(kind, size, content in pieces) of the object at `offset`.

        A blob larger than `above_bytes` that is no delta is read a megabyte at a time: remotes pack what a savepoint
        keeps loose. All else is one piece. Raises StoreError where it is damaged, PackGone.
        """
        number, size, position, base = self._head(offset)
        if base is not None:
            kind, data = self.read(offset)
            return kind, len(data), iter((data,))
        if size <= above_bytes or KIND_NAMES[number] != b"blob":
            return KIND_NAMES[number], size, iter((_inflate(self._file(), position, size),))
        path = self.pack_path
        try:
            fd = os.open(path, READ_FILE)
        except FileNotFoundError:
            raise PackGone(f"{os.fsdecode(path)} is gone") from None
        except OSError as error:
            raise StoreError(f"{os.fsdecode(path)} cannot be read: {error}") from None
        return b"blob", size, _pieces(fd, position, size)

    def _head(self, offset: int) -> tuple[int, int, int, int | None]:
        """(kind as a number, size, where the stream begins, offset of the base if it is a delta)."""
        pack = self._file()
        try:
            byte = pack[offset]
            number = (byte >> 4) & 7
            size = byte & 0x0F
            shift = 4
            position = offset + 1
            while byte & 0x80:
                byte = pack[position]
                position += 1
                size |= (byte & 0x7F) << shift
                shift += 7
            if number in KIND_NAMES:
                return number, size, position, None
            if number == delta.OFS_DELTA:
                byte = pack[position]
                back = byte & 0x7F
                while byte & 0x80:
                    position += 1
                    byte = pack[position]
                    back = ((back + 1) << 7) | (byte & 0x7F)
                position += 1
                base: int | None = offset - back if 0 < back < offset else None
            else:
                base = self.offset(pack[position : position + 20]) if number == delta.REF_DELTA else None
                position += 20
        except IndexError:
            base = None
        if base is None:
            raise StoreError("an object in a pack is damaged: it has no header")
        return number, size, position, base

    def _keep(self, offset: int, found: tuple[bytes, bytes]) -> None:
        """Bases are asked for again: neighbours in a pack are versions of one file."""
        self._bases_bytes += len(found[1])
        if self._bases_bytes > _BASES_BYTES:
            self._bases.clear()
            self._bases_bytes = len(found[1])
        self._bases[offset] = found

    def _file(self) -> mmap.mmap:
        if self._pack is None:
            self._pack = _map(self.pack_path)
        return self._pack

    def ids(self) -> list[bytes]:
        """The ids of all objects, sorted."""
        names = self._map[1032 : 1032 + 20 * self._count]
        return [names[start : start + 20] for start in range(0, len(names), 20)]

    def sizes(self) -> list[int]:
        """What each object takes in the pack, in the order of `ids`."""
        offsets = self._offsets()
        ends = sorted(offsets)
        following = dict(zip(ends, [*ends[1:], len(self._file()) - 20], strict=True))
        return [following[offset] - offset for offset in offsets]

    def close(self) -> None:
        self._bases.clear()
        self._table = None
        self._map.close()
        if self._pack is not None:
            self._pack.close()
            self._pack = None


def _inflate(source: mmap.mmap, start: int, size: int) -> bytes:
    """The stream at `start`, which must hold exactly `size` bytes."""
    inflater = zlib.decompressobj()
    step = size + 64  # what does not get smaller gets little larger
    try:
        data = inflater.decompress(source[start : start + step], size + 1)
        while not inflater.eof and len(data) <= size:
            start += step
            more = inflater.unconsumed_tail + source[start : start + step]
            if not more:
                break
            data += inflater.decompress(more, size + 1 - len(data))
    except zlib.error as error:
        raise StoreError(f"an object in a pack is damaged: {error}") from None
    if len(data) != size or not inflater.eof:
        raise StoreError("an object in a pack is damaged: its size differs")
    return data


def _inflate_some(source: mmap.mmap, start: int) -> bytes:
    """The first bytes of a stream."""
    try:
        return zlib.decompressobj().decompress(source[start : start + 64], 32)
    except zlib.error as error:
        raise StoreError(f"an object in a pack is damaged: {error}") from None


def _pieces(fd: int, position: int, size: int) -> Iterator[bytes]:
    """What the stream at `position` holds, a megabyte at a time; closes `fd`."""
    inflater = zlib.decompressobj()
    sent = 0
    try:
        while not inflater.eof and sent <= size:
            chunk = inflater.unconsumed_tail or os.pread(fd, _READ_BYTES, position)
            if not inflater.unconsumed_tail:
                position += len(chunk)
            if not chunk:
                break
            piece = inflater.decompress(chunk, _READ_BYTES)
            sent += len(piece)
            yield piece
    except zlib.error as error:
        raise StoreError(f"an object in a pack is damaged: {error}") from None
    finally:
        os.close(fd)
    if sent != size or not inflater.eof:
        raise StoreError("an object in a pack is damaged: its size differs")


def _map(path: bytes) -> mmap.mmap:
    try:
        fd = os.open(path, READ_FILE)
        try:
            return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise PackGone(f"{os.fsdecode(path)} is gone") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{os.fsdecode(path)} cannot be read: {error}") from None

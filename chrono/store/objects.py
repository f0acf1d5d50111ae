"""Owns objects: reading them by id, and writing new ones so that they are durable before anything names them.

Objects are read without libgit2, so that a hook need not import pygit2. Bytes go in and out exactly: no filter,
attribute or line ending is applied. Packing what is loose is left to `store.repack`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from chrono.errors import StoreError
from chrono.store.deflate import PROBE_BYTES, deflate, level_for
from chrono.store.disk import READ_FILE, Disk
from chrono.store.pack import PackGone, PackIndex, PackWriter
from chrono.store.packs import Packs
from chrono.store.tree import object_id

LOOSE_AT_MOST = 24
"""More new objects than this go into one pack (a loose object costs a whole block and an inode)."""

STREAM_ABOVE_BYTES = 8 << 20
"""Larger files are streamed into a loose object, so that reading them back is a stream too."""

_ASK_AT_MOST = 1000
"""After so many questions whether an object exists, listing the 256 folders is cheaper."""

_CHUNK_BYTES = 1 << 20

_TRIES = 5
"""A pack may be gone that was just listed: another process packs anew."""


class FileChanged(Exception):
    """A file that was not as long as its stat said: it changed while it was read."""


class SourceError(OSError):
    """The file that was to be stored could not be read; everything else that fails is the store's own."""


class Sink(Protocol):
    """Where a scan puts what it reads."""

    def put(self, kind: bytes, data: bytes) -> bytes:
        """Takes an object, returns its 20-byte id."""
        ...

    def put_stream(self, fd: int, size: int) -> bytes:
        """Takes a blob of `size` bytes from `fd`. Raises FileChanged, SourceError."""
        ...


class Objects:
    """The objects of one repository."""

    def __init__(self, folder: bytes, disk: Disk) -> None:
        self.folder = folder
        self.disk = disk
        self.pack_folder = os.path.join(folder, b"pack")
        self._packs = Packs(self.pack_folder)

    def path(self, oid: bytes) -> bytes:
        """Where the object lies if it is loose."""
        digits = oid.hex()
        return b"%s/%s/%s" % (self.folder, digits[:2].encode(), digits[2:].encode())

    def read(self, oid: bytes) -> tuple[bytes, bytes]:
        """(kind, data). Raises KeyError where there is none, StoreError where its content has another id."""
        found = None
        for _ in range(_TRIES):
            try:
                found = (
                    self._read_packed(oid, listed=True) or self._read_loose(oid) or self._read_packed(oid, listed=False)
                )
                break
            except PackGone:
                self.close()
        if found is None:
            raise KeyError(oid.hex())
        if object_id(*found) != oid:
            raise StoreError(f"object {oid.hex()} is damaged: its content has another id")
        return found

    def _read_packed(self, oid: bytes, *, listed: bool) -> tuple[bytes, bytes] | None:
        found = self._packs.find(oid, listed=listed)
        return found[0].read(found[1]) if found is not None else None

    def read_as(self, oid: bytes, kind: bytes) -> bytes:
        """The data of an object that must be a `kind`. Raises StoreError also where it is missing."""
        try:
            found, data = self.read(oid)
        except KeyError:
            raise StoreError(f"the store lacks object {oid.hex()}", StoreError.BRING_BACK) from None
        if found != kind:
            raise StoreError(f"object {oid.hex()} is a {found.decode()}, not a {kind.decode()}")
        return data

    def head(self, oid: bytes, *, listed: bool = False) -> tuple[bytes, int] | None:
        """(kind, size in bytes) without reading the content, or None where there is no such object.

        `listed`: a pack that another process may have added just now does not matter.
        """
        try:
            fd = os.open(self.path(oid), READ_FILE)
        except (FileNotFoundError, NotADirectoryError):
            pass
        else:
            try:
                kind, size, _, _ = _loose_head(fd, oid)
            finally:
                os.close(fd)
            return kind, size
        for _ in range(_TRIES):
            try:
                found = self._packs.find(oid, listed=listed)
                return found[0].head(found[1]) if found is not None else None
            except PackGone:
                self.close()
        return None

    def blob(self, oid: bytes) -> tuple[int, Iterator[bytes]]:
        """A blob's size, and its content in pieces. Large blobs are loose, or whole in a pack that came from a remote,
        so a megabyte at a time is held.

        The content is not checked against the id: the reader does that as it goes. Raises StoreError.
        """
        try:
            found = self._packed_blob(oid, listed=True)
        except PackGone:
            found = None
        if found is not None:
            return found
        try:
            fd = os.open(self.path(oid), READ_FILE)
        except (FileNotFoundError, NotADirectoryError):
            for _ in range(_TRIES):
                try:
                    found = self._packed_blob(oid, listed=False)
                    break
                except PackGone:
                    self.close()
            if found is not None:
                return found
            data = self.read_as(oid, b"blob")
            return len(data), iter((data,))
        return self._open_loose(fd, oid)

    def _packed_blob(self, oid: bytes, *, listed: bool) -> tuple[int, Iterator[bytes]] | None:
        found = self._packs.find(oid, listed=listed)
        if found is None:
            return None
        kind, size, pieces = found[0].content(found[1], STREAM_ABOVE_BYTES)
        if kind != b"blob":
            raise StoreError(f"object {oid.hex()} is a {kind.decode()}, not a blob")
        return size, pieces

    def _open_loose(self, fd: int, oid: bytes) -> tuple[int, Iterator[bytes]]:
        try:
            kind, size, inflater, first = _loose_head(fd, oid)
            if kind != b"blob":
                raise StoreError(f"object {oid.hex()} is a {kind.decode()}, not a blob")
        except BaseException:
            os.close(fd)
            raise
        return size, _stream(fd, oid, size, inflater, first)

    def refresh_time(self, oid: bytes) -> bool:
        """A loose object that is used again counts as new, so that pruning by age spares it. Whether it is loose."""
        try:
            os.utime(self.path(oid), follow_symlinks=False)
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._packs.close()

    def _read_loose(self, oid: bytes) -> tuple[bytes, bytes] | None:
        try:
            fd = os.open(self.path(oid), READ_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"object {oid.hex()} cannot be read: {error.strerror}") from None
        try:
            kind, size, inflater, first = _loose_head(fd, oid)
            parts = [first]
            while not inflater.eof:
                chunk = inflater.unconsumed_tail or os.read(fd, _CHUNK_BYTES)
                if not chunk:
                    break
                parts.append(_decompress(inflater, chunk, oid))
        finally:
            os.close(fd)
        data = b"".join(parts)
        if len(data) != size or not inflater.eof:
            raise StoreError(f"object {oid.hex()} is damaged: its size differs")
        return kind, data

    def indexes(self) -> list[PackIndex]:
        """The packs of now."""
        return self._packs.indexes()

    def is_packed(self, oid: bytes) -> bool:
        """Whether one of the packs that were listed last holds it."""
        return self._packs.find(oid, listed=True) is not None


def _loose_head(fd: int, oid: bytes) -> tuple[bytes, int, zlib._Decompress, bytes]:
    """(kind, size, the inflater, the first data) of an open loose object."""
    inflater = zlib.decompressobj()
    text = _decompress(inflater, os.read(fd, 4096), oid)
    head, null, rest = text.partition(b"\0")
    kind, _, size = head.partition(b" ")
    if not null or kind not in (b"blob", b"tree", b"commit", b"tag") or not size.isdigit():
        raise StoreError(f"object {oid.hex()} is damaged: it has no header")
    return kind, int(size), inflater, rest


def _stream(fd: int, oid: bytes, size: int, inflater: zlib._Decompress, first: bytes) -> Iterator[bytes]:
    try:
        sent = len(first)
        yield first
        while not inflater.eof:
            chunk = inflater.unconsumed_tail or os.read(fd, _CHUNK_BYTES)
            if not chunk:
                break
            part = _decompress(inflater, chunk, oid)
            sent += len(part)
            yield part
        if sent != size or not inflater.eof:
            raise StoreError(f"object {oid.hex()} is damaged: its size differs")
    finally:
        os.close(fd)


def _decompress(inflater: zlib._Decompress, chunk: bytes, oid: bytes) -> bytes:
    try:
        return inflater.decompress(chunk, _CHUNK_BYTES)
    except zlib.error as error:
        raise StoreError(f"object {oid.hex()} is damaged: {error}") from None


class HashOnly:
    """A sink that writes nothing: ids are computed, trees are kept so that they can be read back."""

    def __init__(self) -> None:
        self.trees: dict[bytes, bytes] = {}

    def put(self, kind: bytes, data: bytes) -> bytes:
        oid = object_id(kind, data)
        if kind == b"tree":
            self.trees[oid] = data
        return oid

    def put_stream(self, fd: int, size: int) -> bytes:
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        left = size
        while left:
            chunk = _read_source(fd, min(left, _CHUNK_BYTES))
            digest.update(chunk)
            left -= len(chunk)
        return digest.digest()


class NewObjects:
    """A sink that writes: up to 24 objects loose, more of them into one pack, large blobs always loose.

    Nothing is durable, and nothing may be named by a ref, before `flush` returns.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._disk = objects.disk
        self._held: dict[bytes, tuple[bytes, bytes]] = {}
        self._known: set[bytes] = set()
        self._pack: PackWriter | None = None
        self._folders: set[bytes] = set()
        self._loose: dict[int, set[bytes]] = {}
        self._asked = 0

    def put(self, kind: bytes, data: bytes) -> bytes:
        oid = object_id(kind, data)
        if oid in self._known or self._exists(oid, kind, len(data)):
            return oid
        self._known.add(oid)
        with _failing_as_store():
            self._hold(oid, kind, data)
        return oid

    def _hold(self, oid: bytes, kind: bytes, data: bytes) -> None:
        if self._pack is not None:
            self._pack.add(oid, kind, data)
        else:
            self._held[oid] = (kind, data)
            if len(self._held) > LOOSE_AT_MOST:
                self._pack = PackWriter(self._objects.pack_folder, self._disk)
                for held, (held_kind, held_data) in self._held.items():
                    self._pack.add(held, held_kind, held_data)
                self._held.clear()

    def put_stream(self, fd: int, size: int) -> bytes:
        with _failing_as_store():
            return self._put_stream(fd, size)

    def _put_stream(self, fd: int, size: int) -> bytes:
        temp = self._temp()
        out = self._disk.create(temp, 0o444)
        try:
            oid = self._stream(fd, size, out)
            if oid in self._known or self._exists(oid, b"blob", size):
                self._disk.unlink(temp)
                return oid
            self._disk.fsync(out)
        except BaseException:
            _remove(temp, self._disk)
            raise
        finally:
            os.close(out)
        self._name(temp, oid)
        self._known.add(oid)
        return oid

    @property
    def is_packing(self) -> bool:
        """Whether it took so many objects that they go into a pack."""
        return self._pack is not None

    def flush(self, along: Sequence[bytes] = ()) -> None:
        """Makes everything taken so far durable, then visible, and its names durable: two rounds of syncs in all.

        `along`: files that were written without a sync; they and their names become durable in the same rounds.
        Raises StoreError (no space, I/O error, …).
        """
        with _failing_as_store():
            if self._pack is not None:
                self._pack.finish()
                self._pack = None
            self._write_loose(along)
            self._disk.fsync_folders(sorted(self._folders))
            self._folders.clear()

    def abandon(self) -> None:
        """Drops what was not flushed."""
        if self._pack is not None:
            self._pack.abandon()
            self._pack = None
        self._held.clear()
        self._known.clear()

    def _may_exist(self, oid: bytes) -> bool:
        """Quickly no for what is new: after some questions a folder of loose objects is listed once instead.

        Objects that another process adds meanwhile are missed, and then stored twice, which harms nothing.
        """
        self._asked += 1
        if self._asked <= _ASK_AT_MOST:
            return True
        names = self._loose.get(oid[0])
        if names is None:
            try:
                with os.scandir(os.path.dirname(self._objects.path(oid))) as found:
                    names = {entry.name for entry in found}
            except FileNotFoundError:
                names = set()
            self._loose[oid[0]] = names
        if oid.hex()[2:].encode() in names:
            return True
        return self._objects.is_packed(oid)

    def _exists(self, oid: bytes, kind: bytes, size: int) -> bool:
        found = self._objects.head(oid, listed=True) if self._may_exist(oid) else None
        if found is None:
            return False
        if found != (kind, size):
            raise StoreError(
                f"another object already has the id {oid.hex()}",
                "this looks like a forged SHA-1 collision; find the file that changed last and remove it",
            )
        if self._objects.refresh_time(oid):
            self._folders.add(os.path.dirname(self._objects.path(oid)))  # who made it may have died before syncing that
        self._known.add(oid)
        return True

    def _write_loose(self, along: Sequence[bytes]) -> None:
        """All contents first, then one round of syncs, which the file system can serve at once, then the names."""
        written: list[tuple[bytes, bytes, int]] = []
        others: list[int] = []
        try:
            for path in along:
                try:
                    others.append(os.open(path, READ_FILE))
                except FileNotFoundError:
                    continue  # deleted or packed meanwhile; git takes the empty folder away, too
                self._folders.add(os.path.dirname(path))
            for oid, (kind, data) in self._held.items():
                temp = self._temp()
                fd = self._disk.create(temp, 0o444)
                written.append((temp, oid, fd))
                self._disk.write(fd, deflate(b"%s %d\0%s" % (kind, len(data), data)))
            self._disk.fsync_all([*(fd for _, _, fd in written), *others])
            for temp, oid, _ in written:
                self._name(temp, oid)
        except BaseException:
            for temp, _, _ in written:
                _remove(temp, self._disk)
            raise
        finally:
            for fd in [*(fd for _, _, fd in written), *others]:
                os.close(fd)
        self._held.clear()

    def _name(self, temp: bytes, oid: bytes) -> None:
        path = self._objects.path(oid)
        folder = os.path.dirname(path)
        try:
            self._disk.rename(temp, path)
        except FileNotFoundError:
            try:
                self._disk.mkdir(folder, 0o700)
            except FileExistsError:
                pass
            self._folders.add(self._objects.folder)
            self._disk.rename(temp, path)
        self._folders.add(folder)

    def _temp(self) -> bytes:
        return os.path.join(self._objects.folder, b"tmp_obj_" + os.urandom(8).hex().encode())

    def _stream(self, fd: int, size: int, out: int) -> bytes:
        head = b"blob %d\0" % size
        digest = hashlib.sha1(head, usedforsecurity=False)
        deflater = zlib.compressobj(level_for(os.pread(fd, PROBE_BYTES, 0)))
        self._disk.write(out, deflater.compress(head))
        left = size
        while left:
            chunk = _read_source(fd, min(left, _CHUNK_BYTES))
            digest.update(chunk)
            self._disk.write(out, deflater.compress(chunk))
            left -= len(chunk)
        self._disk.write(out, deflater.flush())
        return digest.digest()


def _read_source(fd: int, size: int) -> bytes:
    try:
        chunk = os.read(fd, size)
    except OSError as error:
        raise SourceError(error.errno, error.strerror) from None
    if not chunk:
        raise FileChanged
    return chunk


@contextmanager
def _failing_as_store() -> Iterator[None]:
    """An object that cannot be written is the store's failure, never a file that cannot be read."""
    try:
        yield
    except SourceError:
        raise
    except OSError as error:
        hint = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else None
        raise StoreError(f"the savepoint could not be written: {error.strerror}", hint) from error


def _remove(temp: bytes, disk: Disk) -> None:
    try:
        disk.unlink(temp)
    except OSError:
        pass

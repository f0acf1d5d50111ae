"""Owns reading one file of the work tree as of one instant, or saying that there was none.

Who asks, and what an error means for the savepoint, is left to `store.scanning`.
"""

from __future__ import annotations

import errno
import os
import stat
from operator import attrgetter

from chrono.store.disk import READ_FILE
from chrono.store.names import fsck_reads, fsck_refuses
from chrono.store.objects import STREAM_ABOVE_BYTES, FileChanged, Sink
from chrono.store.statcache import ZERO, Key
from chrono.tuples import NamedTuple

key_of = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")
"""The stat key of a result of stat."""


class NotAFile(Exception):
    """A name that turned out to be no regular file when it was opened."""


class Taken(NamedTuple):
    """One file as it goes into the savepoint; `reason` is "unstable" where it changed under the reader's hands."""

    key: Key
    mode: int
    oid: bytes
    forced: bool
    reason: str | None


class FileReader:
    """Puts files into `sink`; stat keys at or above `racy_from_ns` are not believed."""

    def __init__(self, sink: Sink, racy_from_ns: int) -> None:
        self._sink = sink
        self._racy_from_ns = racy_from_ns

    def take(self, fd: int, name: bytes, found: os.stat_result) -> Taken:
        """Reads a file or link and puts it into the sink; once more if it changed meanwhile. Raises OSError."""
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(name, dir_fd=fd)
            oid = self._sink.put(b"blob", target)
            return Taken(self.believed(found), found.st_mode, oid, False, None)
        result = self._read_once(fd, name)
        if result.reason is not None:
            result = self._read_once(fd, name)
        return result

    def _read_once(self, fd: int, name: bytes) -> Taken:
        file = os.open(name, READ_FILE, dir_fd=fd)
        try:
            first = os.fstat(file)
            if not stat.S_ISREG(first.st_mode):
                raise NotAFile
            stable = True
            if first.st_size > STREAM_ABOVE_BYTES:
                try:
                    oid = self._sink.put_stream(file, first.st_size)
                except FileChanged:
                    return self._read_shrinking(file, first)
                forced = fsck_reads(name)
                stable = key_of(os.fstat(file)) == key_of(first)
            else:
                data = _read_all(file, first.st_size)
                stable = len(data) == first.st_size and key_of(os.fstat(file)) == key_of(first)
                oid = self._sink.put(b"blob", data)
                forced = fsck_reads(name) and fsck_refuses(data)
        finally:
            os.close(file)
        if not stable:
            return Taken(ZERO, first.st_mode, oid, forced, "unstable")
        return Taken(self.believed(first), first.st_mode, oid, forced, None)

    def _read_shrinking(self, file: int, first: os.stat_result) -> Taken:
        """A large file that lost its end while it was read: what is left of it now, which may be torn."""
        size = os.fstat(file).st_size
        os.lseek(file, 0, os.SEEK_SET)
        try:
            oid = self._sink.put_stream(file, size)
        except FileChanged:
            raise OSError(errno.EBUSY, "the file changes faster than it can be read") from None
        return Taken(ZERO, first.st_mode, oid, True, "unstable")

    def believed(self, found: os.stat_result) -> Key:
        """The key of `found`, or ZERO where the file could change again without it changing."""
        if max(found.st_mtime_ns, found.st_ctime_ns) >= self._racy_from_ns:
            return ZERO
        key: Key = key_of(found)
        return key


def _read_all(fd: int, size: int) -> bytes:
    data = os.read(fd, size + 1)
    if len(data) >= size:
        return data
    parts = [data]
    while chunk := os.read(fd, 1 << 20):
        parts.append(chunk)
    return b"".join(parts)

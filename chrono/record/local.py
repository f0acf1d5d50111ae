"""Owns writing the local store: one file a process, appended to before control returns, and what fork, a full disk and
a deleted folder do to it.

The lines are left to `record.frames`, shared pieces to `record.packing`, reading to `record.reading`, old files to
`record.pruning`, sending to `record.delivery`. What is durable when: decision 0075.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

from chrono.clock import rfc3339
from chrono.errors import ChronoError
from chrono.files import OWN, fsync_dir, own_folder, write_all
from chrono.record import frames
from chrono.record.frames import frame
from chrono.record.packing import SMALL_RECORD_BYTES, Packer, json_bytes
from chrono.tuples import NamedTuple

try:
    import fcntl
except ImportError:  # Windows: a file counts as abandoned once its process is gone
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
SUFFIX = ".trace"
ROLL_BYTES = 64 << 20
"""A file that is longer is closed and another begun, so that old records of a long-lived process can be removed."""

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | OWN


class StoreUnwritable(ChronoError):
    """A record that could not be appended; nothing of it is in the store."""


class Written(NamedTuple):
    """Where a record ends: `path` of its file and the byte after it."""

    path: str
    end: int


class StoreWriter:
    """Appends the records of this process to a file of its own in `folder`.

    `plane` names the control plane that the records are meant for, None for those that stay here. Threads may share
    one writer. A forked child goes on in a file of its own; nothing is buffered, so nothing is written twice.
    """

    def __init__(self, folder: str, *, plane: str | None = None, roll_bytes: int = ROLL_BYTES) -> None:
        self.folder = folder
        self._plane = plane
        self._roll_bytes = roll_bytes
        self._lock = threading.RLock()
        self._appending = False
        self._inner: StoreWriter | None = None
        self._packer = Packer()
        self._fd = -1
        self._path = ""
        self._size = 0
        self._unsynced: set[str] = set()
        _writers.add(self)

    def append(self, kind: bytes, trace_id: str, value: Mapping[str, Any]) -> Written:
        """Appends one record; it has reached the kernel when this returns, so no death of the process loses it.

        `kind` is one of the letters of `frames`, `value` the JSON object (`entry.wire`). Raises StoreUnwritable (full
        disk, no permission).
        """
        plain = json_bytes(value)
        with self._lock:
            if self._appending:
                # A signal handler or a finaliser has interrupted this thread in here: it writes to a file of its own.
                if self._inner is None:
                    self._inner = StoreWriter(self.folder, plane=self._plane, roll_bytes=self._roll_bytes)
                return self._inner.append(kind, trace_id, value)
            self._appending = True
            try:
                if self._fd < 0 or self._size + len(plain) > self._roll_bytes:
                    self._begin_anew()
                if len(plain) < SMALL_RECORD_BYTES:
                    self._write(frame(kind, trace_id.encode(), plain))
                else:
                    self._write(self._lines(kind, trace_id, value, plain))
            except BaseException as error:
                self._packer.forget()  # places it has remembered may not be what it thinks
                if not isinstance(error, OSError):
                    raise
                raise StoreUnwritable(
                    f"the record was not written to {self._path or self.folder}: {error.strerror or error}",
                    "free some space, or name a folder that can be written",
                ) from error
            finally:
                self._appending = False
            return Written(self._path, self._size)

    @property
    def written(self) -> Written:
        """The current file and how far it goes; an empty path where there is none yet."""
        with self._lock:
            return Written(self._path, self._size)

    @property
    def busy(self) -> bool:
        """Whether a thread is appending at this moment; asked without the lock, so only a hint."""
        return self._appending

    def sync(self) -> None:
        """Makes what was appended before this call survive a loss of power, too, and notices that the file was deleted.
        Raises OSError."""
        with self._lock:
            paths, self._unsynced = self._unsynced, set()
        for path in sorted(paths):
            try:
                # A descriptor of its own: the other one may be closed, or inherited by a child, at any time.
                fd = os.open(path, os.O_RDWR | OWN)
            except FileNotFoundError:
                self._deleted(path)
                continue
            try:
                getattr(os, "fdatasync", os.fsync)(fd)
            finally:
                os.close(fd)
        try:
            if paths:
                fsync_dir(self.folder)
        except FileNotFoundError:
            pass  # said above

    def close(self) -> None:
        """Lets go of the file; a later append begins another. Raises OSError."""
        with self._lock:
            self._let_go()
            inner, self._inner = self._inner, None
        if inner is not None:
            inner.sync()
            inner.close()

    def _deleted(self, path: str) -> None:
        """Somebody removed the file: what is written from now on must not go where nobody can read it."""
        with self._lock:
            if path == self._path:
                self._let_go()

    # --- below: called with the lock held

    def _begin_anew(self) -> None:
        if self._fd >= 0:
            self._let_go()
        self._begin()

    def _begin(self) -> None:
        own_folder(self.folder)
        now_ns = time.time_ns()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_ns // 1_000_000_000))
        name = f"{stamp}.{now_ns // 1000 % 1_000_000:06d}-{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"
        path = os.path.join(self.folder, name)
        self._fd = os.open(path, _FLAGS, 0o600)
        self._path, self._size = path, 0
        if fcntl is not None:
            # Says to others that the writer lives; the kernel drops it with the last descriptor.
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        head = {"format": FORMAT, "plane": self._plane, "pid": os.getpid(), "started_at": rfc3339(now_ns)}
        try:
            self._write(frame(frames.HEADER, frames.NO_TRACE, json_bytes(head)))
        except BaseException:
            self._let_go()
            os.unlink(path)
            raise

    def _lines(self, kind: bytes, trace_id: str, value: Mapping[str, Any], plain: bytes) -> bytes:
        """The record's line, after those of the pieces that it is the first to need."""
        pieces: list[bytes] = []
        end = self._size

        def put(piece: bytes) -> int:
            nonlocal end
            place = end
            line = frame(frames.PIECE, frames.NO_TRACE, piece)
            pieces.append(line)
            end += len(line)
            return place

        body = self._packer.pack(value, plain, put)
        if len(body) > frames.MAX_BODY_BYTES:
            raise StoreUnwritable(f"a record of {len(body)} bytes is longer than the store takes")
        return b"".join((*pieces, frame(kind, trace_id.encode(), body)))

    def _write(self, data: bytes) -> None:
        try:
            write_all(self._fd, data)
        except OSError:
            try:
                os.ftruncate(self._fd, self._size)  # part of the record may be there
            except OSError:
                self._let_go()
            raise
        except BaseException:
            # Interrupted: all of it may be there, and read already. Nothing may come in its place.
            self._let_go()
            raise
        self._size += len(data)
        self._unsynced.add(self._path)

    def _let_go(self) -> None:
        self._packer.forget()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _forked(self) -> None:
        """In the child: the file, its lock and what is known of it stay the parent's."""
        self._lock = threading.RLock()
        self._appending, self._inner = False, None
        self._unsynced = set()
        self._path, self._size = "", 0
        self._let_go()


_writers: weakref.WeakSet[StoreWriter] = weakref.WeakSet()


def _leave_files_to_the_parent() -> None:
    for writer in list(_writers):
        writer._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_files_to_the_parent)

"""Owns the kernel's inotify: an instance, its watches, and the events that have come, as plain values.

What an event means for a savepoint is decided by `store.hints`. Linux only; `Inotify` raises OSError elsewhere.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

from chrono.tuples import NamedTuple

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
UNMOUNT, OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
IS_FOLDER = 0x40000000

_ONLY_FOLDER, _NO_LINK = 0x01000000, 0x02000000
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 18
_FLAGS = os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)

CHANGES = MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF


class Event(NamedTuple):
    """One event. `watch` is -1 for an overflow; `name` is empty where it is about the watched thing itself."""

    watch: int
    mask: int
    name: bytes


class Inotify:
    """One instance. It keeps a queue in the kernel, which `read` empties; nobody is woken."""

    def __init__(self) -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            init, self._add, self._remove = libc.inotify_init1, libc.inotify_add_watch, libc.inotify_rm_watch
        except (OSError, AttributeError, TypeError):
            raise OSError(errno.ENOSYS, "no inotify here") from None
        self._add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._fd: int = _checked(init(_FLAGS))

    def watch_folder(self, fd: int) -> int:
        """Watches the folder that `fd` is open on, whatever its name is by now. Raises OSError (ENOSPC: the limit)."""
        return _checked(self._add(self._fd, b"/proc/self/fd/%d" % fd, CHANGES | _ONLY_FOLDER))

    def watch_file(self, path: bytes) -> int:
        """Watches one file for changes of its times, and for its end. Raises OSError."""
        return _checked(self._add(self._fd, path, ATTRIB | DELETE_SELF | MOVE_SELF | _NO_LINK))

    def unwatch(self, watch: int) -> None:
        """Ends a watch; an event IGNORED follows. One that has ended by itself is no error."""
        self._remove(self._fd, watch)

    def read(self) -> Iterator[Event]:
        """All events up to now; ends when the queue is empty. Raises OSError."""
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            position = 0
            while position < len(data):
                watch, mask, _, size = _HEAD.unpack_from(data, position)
                position += _HEAD.size
                yield Event(watch, mask, data[position : position + size].rstrip(b"\0"))
                position += size

    def close(self) -> None:
        os.close(self._fd)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer

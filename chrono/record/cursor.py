"""Owns how far one store file was delivered to one control plane, and who may deliver it: a small file under a lock.

`<store>/sync/<plane>/<file>.cursor` holds one line, `offset checksum`; a process that delivers the file holds its
flock, so that no two processes of a machine do. A cursor that is torn or lost means: deliver again, the plane
deduplicates.
"""

from __future__ import annotations

import json
import os
import zlib

try:
    import fcntl
except ImportError:  # Windows: the plane's own deduplication has to do
    fcntl = None  # type: ignore[assignment]

from chrono.files import write_all

_LINE_BYTES = 12 + 1 + 8 + 1


class Cursor:
    """The lease of one file's delivery; `offset` is the first byte that was not delivered yet."""

    def __init__(self, fd: int, path: str, name: str) -> None:
        self._fd = fd
        self._path = path
        self.name = name
        self.offset = _parsed(os.pread(fd, _LINE_BYTES, 0))

    @classmethod
    def take(cls, folder: str, name: str) -> Cursor | None:
        """The lease of file `name`, its cursor in `folder`; None where another has it. Raises OSError."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, name + ".cursor")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(path, flags, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cls(fd, path, name)
        except BlockingIOError:
            os.close(fd)
            return None
        except BaseException:
            os.close(fd)
            raise

    def advance(self, offset: int) -> None:
        """Records that everything before `offset` was delivered. Raises OSError."""
        self.offset = offset
        text = b"%012x" % offset
        os.pwrite(self._fd, b"%b %08x\n" % (text, zlib.crc32(text)), 0)

    def set_aside(self, place: int, kind: str, status: int, detail: str) -> None:
        """Notes a record that the plane refuses for good beside the cursor. Raises OSError."""
        note = {"at": place, "kind": kind, "status": status, "detail": detail[:2000]}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(self._path.removesuffix(".cursor") + ".refused", flags, 0o600)
        try:
            write_all(fd, json.dumps(note).encode() + b"\n")
        finally:
            os.close(fd)

    def close(self) -> None:
        """Gives the lease up; idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def delivered_to(folder: str, name: str) -> int:
    """How far file `name` was delivered according to the cursor in `folder`; 0 where there is none."""
    try:
        with open(os.path.join(folder, name + ".cursor"), "rb") as file:
            return _parsed(file.read(_LINE_BYTES))
    except OSError:
        return 0


def _parsed(line: bytes) -> int:
    text, _, checksum = line.strip().partition(b" ")
    try:
        return int(text, 16) if int(checksum, 16) == zlib.crc32(text) else 0
    except ValueError:
        return 0

"""Owns how far one store file was delivered to one control plane, and who may deliver it: a small file under a lock.

`<store>/sync/<plane>/<file>.cursor` holds one line, `offset checksum`; a process that delivers the file holds its
flock, so that no two processes of a machine do. A cursor that is torn or lost means: deliver again, the plane
deduplicates.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable

try:
    import fcntl
except ImportError:  # Windows: the plane's own deduplication has to do
    fcntl = None  # type: ignore[assignment]

from chrono.files import OWN, atomic_write, own_folder, read_at, write_all, write_at
from chrono.tuples import NamedTuple

_LINE_BYTES = 12 + 1 + 8 + 1
REFUSED = ".refused"
MOST_DETAIL = 2000


class SetAside(NamedTuple):
    """A record that a plane refuses for good: where it begins in its file, its letter (`frames`), the HTTP status and
    what the plane said."""

    at: int
    kind: str
    status: int
    detail: str


class Cursor:
    """The lease of one file's delivery; `offset` is the first byte that was not delivered yet."""

    def __init__(self, fd: int, path: str, name: str) -> None:
        self._fd = fd
        self._path = path
        self.name = name
        self.offset = _parsed(read_at(fd, _LINE_BYTES, 0))

    @classmethod
    def take(cls, folder: str, name: str) -> Cursor | None:
        """The lease of file `name`, its cursor in `folder`; None where another has it. Raises OSError."""
        own_folder(folder)
        path = os.path.join(folder, name + ".cursor")
        flags = os.O_RDWR | os.O_CREAT | OWN
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
        write_at(self._fd, b"%b %08x\n" % (text, zlib.crc32(text)), 0)

    def set_aside(self, place: int, kind: str, status: int, detail: str) -> None:
        """Notes a record that the plane refuses for good beside the cursor. Raises OSError."""
        note = SetAside(place, kind, status, detail[:MOST_DETAIL])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | OWN
        fd = os.open(self._notes, flags, 0o600)
        try:
            write_all(fd, _noted(note))
        finally:
            os.close(fd)

    def refused(self) -> tuple[SetAside, ...]:
        """What was set aside of this file, by place; of two notes on one place the later. Raises OSError."""
        try:
            with open(self._notes, "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return ()
        found: dict[int, SetAside] = {}
        for line in lines:
            note = _parsed_note(line)
            if note is not None:
                found[note.at] = note
        return tuple(found[place] for place in sorted(found))

    def keep_refused(self, notes: Iterable[SetAside]) -> None:
        """Replaces all notes by these. Raises OSError."""
        text = b"".join(map(_noted, notes))
        if text:
            atomic_write(self._notes, text)
        elif os.path.exists(self._notes):
            os.unlink(self._notes)

    @property
    def _notes(self) -> str:
        return self._path.removesuffix(".cursor") + REFUSED

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


def _noted(note: SetAside) -> bytes:
    return json.dumps(note._asdict()).encode() + b"\n"


def _parsed_note(line: bytes) -> SetAside | None:
    try:
        said = json.loads(line)
        return SetAside(int(said["at"]), str(said["kind"]), int(said["status"]), str(said["detail"]))
    except (ValueError, TypeError, KeyError):
        return None  # torn

"""Owns reading one store file: its records in order from any place, pieces put back, while its writer may still write.

The lines are left to `record.frames`, what traces they make to `record.reading`, sending them to `record.delivery`.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from chrono.files import OWN, read_at
from chrono.record import frames
from chrono.record.frames import Damage, DamagedStore, Frame, frame_at, read_frames
from chrono.record.local import FORMAT, SUFFIX
from chrono.record.packing import unpack
from chrono.tuples import NamedTuple

try:
    import fcntl
except ImportError:  # Windows: no writer is taken for alive
    fcntl = None  # type: ignore[assignment]

CHUNK_BYTES = 256 << 10
KEPT_PIECES_BYTES = 4 << 20


class Header(NamedTuple):
    """What a file's writer said of itself. `plane` is None where the records were to stay here."""

    format: int
    plane: str | None
    pid: int
    started_at: str


class StoreFile:
    """One file, open for reading. Use it in a `with`; not for several threads at once."""

    def __init__(self, path: str) -> None:
        """Raises OSError."""
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | OWN)
        self._pieces: OrderedDict[int, bytes] = OrderedDict()
        self._kept_bytes = 0

    def __enter__(self) -> StoreFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def header(self) -> Header | None:
        """None where the file does not begin as one of ours (its writer may be about to write it).

        Raises DamagedStore where it was written by a newer chrono.
        """
        first = next(self.records(0), None)
        if not isinstance(first, Frame) or first.kind != frames.HEADER or first.start != 0:
            return None
        said = json.loads(first.body)
        if said["format"] > FORMAT:
            raise DamagedStore(f"{self.path} is of format {said['format']}", "a newer chrono wrote it; update this one")
        return Header(said["format"], said["plane"], said["pid"], said["started_at"])

    def records(self, start: int) -> Iterator[Frame | Damage]:
        """Records whose lines begin at `start` or later, up to the last that is complete now."""
        at, want = start, CHUNK_BYTES
        while True:
            data = self._read(at, want)
            before = at
            for found in read_frames(data, at):
                yield found
                at = found.end
            if at == before:
                if len(data) < want:
                    return
                want *= 4  # a record longer than what was read
            else:
                want = CHUNK_BYTES

    def record_at(self, place: int) -> Frame | None:
        """The record whose line begins at `place`; None where there is none, or it is damaged."""
        found = next(self.records(place), None)
        return found if isinstance(found, Frame) and found.start == place else None

    def whole(self, record: Frame) -> bytes:
        """The JSON text of a record. Raises DamagedStore where one of its pieces is not there."""
        return unpack(record.body, record.start, self._piece)

    def value(self, record: Frame) -> Any:
        """The JSON value of a record. Raises DamagedStore."""
        return json.loads(self.whole(record))

    def _piece(self, place: int) -> bytes:
        piece = self._pieces.get(place)
        if piece is not None:
            self._pieces.move_to_end(place)
            return piece
        found = frame_at(self._read(place, 4096), 0, place)
        if found is None or isinstance(found, Damage):
            head = self._read(place, frames.HEAD_BYTES)
            try:
                length = int(head[2:10], 16)
            except ValueError:
                length = 0
            if length <= frames.MAX_BODY_BYTES:
                found = frame_at(self._read(place, frames.HEAD_BYTES + length + 1), 0, place)
        if not isinstance(found, Frame) or found.kind != frames.PIECE:
            raise DamagedStore(f"{self.path} has no piece at {place}")
        self._pieces[place] = found.body
        self._kept_bytes += len(found.body)
        while self._kept_bytes > KEPT_PIECES_BYTES and len(self._pieces) > 1:
            _, dropped = self._pieces.popitem(last=False)
            self._kept_bytes -= len(dropped)
        return found.body

    def _read(self, at: int, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            part = read_at(self._fd, size, at)
            if not part:
                break
            parts.append(part)
            at += len(part)
            size -= len(part)
        return b"".join(parts)


def file_names(folder: str) -> list[str]:
    """Names of the store files in `folder`, oldest first; none where there is no folder. Raises OSError."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    except FileNotFoundError:
        return []


def writer_lives(path: str) -> bool:
    """Whether a process still appends to the file. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | OWN)
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False

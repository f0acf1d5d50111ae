"""Owns the files that a writer keeps open between appends: log and head, as long as they are those that are there.

What is written into them is left to `audit.append`, finding the log's end to `audit.tail`.
"""

from __future__ import annotations

import os

from chrono.audit.place import LogPlace, begin_of, log_id, open_plain, open_text, segments
from chrono.audit.record import MAX_LINE_BYTES
from chrono.audit.tail import Live
from chrono.audit.text import Text
from chrono.errors import AuditTampered
from chrono.ids import LogId


class Opened:
    """Log and head of one place. `head`: the descriptor of the latter, -1 where nothing is open."""

    def __init__(self, place: LogPlace) -> None:
        self._place = place
        self._live: Live | None = None
        self._inode = (0, 0)
        self._begin = b""  # the first line of the file that is open, once it was looked at
        self.head = -1

    def __bool__(self) -> bool:
        return self._live is not None

    @property
    def live(self) -> Live:
        """The file that grows."""
        assert self._live is not None
        return self._live

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and mtime of the file that grows."""
        info = os.fstat(self.live.fd)
        return info.st_size, info.st_mtime_ns

    def look(self) -> tuple[tuple[int, int], bool]:
        """Makes these the files that are there now: `stamp`, and whether they were these already.

        Raises AuditTampered where there is no log, OSError, AuditUnverifiable, SegmentBroken.
        """
        try:
            info = os.stat(self._place.log, follow_symlinks=False)
        except FileNotFoundError:
            self.close()
            if not segments(self._place):
                raise AuditTampered(f"the audit log {self._place.log} is gone", "run chrono audit --verify") from None
            info = self.create()  # a crash between closing a segment and beginning the next, or worse: compare tells
        if self.head >= 0 and (info.st_dev, info.st_ino) == self._inode and info.st_nlink == 1:
            return (info.st_size, info.st_mtime_ns), True
        self.close()
        fd, info = open_plain(self._place.log, os.O_RDWR | os.O_APPEND)
        self._hold(self._live_of(fd), info)
        self.head, _ = open_plain(self._place.head, os.O_RDWR | os.O_CREAT)
        return (info.st_size, info.st_mtime_ns), False

    def create(self) -> os.stat_result:
        """Makes the file that is to grow. Raises FileExistsError."""
        fd, info = open_plain(self._place.log, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.close(fd)
        return info

    def put_aside(self, path: str) -> None:
        """Gives the file that grew its name as a segment. The next one is made by `create` and opened by `go_on`."""
        self.live.text.close()
        self._live, self._begin = None, b""
        os.rename(self._place.log, path)

    def go_on(self, offset: int) -> None:
        """Opens the new file, which begins at byte `offset` of the log."""
        fd, info = open_plain(self._place.log, os.O_RDWR | os.O_APPEND)
        self._hold(Live(Text.of(fd, offset), fd, offset), info)

    def has_its_beginning(self, log: LogId) -> bool:
        """Whether the log still has its first record; nothing is parsed where the open file begins as it did."""
        fd = self.live.fd
        if self._begin and os.pread(fd, len(self._begin), 0) == self._begin:
            return True
        if not segments(self._place) and log_id(self._place) != log:
            return False
        line, newline, _ = os.pread(fd, MAX_LINE_BYTES + 1, 0).partition(b"\n")
        self._begin = line + newline if newline else b""
        return True

    @property
    def first(self) -> int:
        """The number of the first record in the file that grows."""
        begin = begin_of(os.pread(self.live.fd, MAX_LINE_BYTES, 0).partition(b"\n")[0])
        return begin.first if begin is not None else 0

    def close(self) -> None:
        """Closes both; `look` opens them again."""
        live, head, self._live, self.head, self._begin = self._live, self.head, None, -1, b""
        if live is not None:
            live.text.close()
        if head >= 0:
            os.close(head)

    def _hold(self, live: Live, info: os.stat_result) -> None:
        self._live, self._inode = live, (info.st_dev, info.st_ino)

    def _live_of(self, fd: int) -> Live:
        """The file `fd`, and where in the log it begins. Where it is empty, the segments before it are needed, too."""
        line, newline, _ = os.pread(fd, MAX_LINE_BYTES + 1, 0).partition(b"\n")
        begin = begin_of(line) if newline else None
        if newline or not segments(self._place):
            base = begin.offset if begin is not None else 0
            return Live(Text.of(fd, base), fd, base)
        try:
            text = open_text(self._place)
        except BaseException:
            os.close(fd)
            raise
        reading, part = text.parts[-1].fd, text.parts[-1]._replace(fd=fd)
        text = Text((*text.parts[:-1], part))
        os.close(reading)
        return Live(text, fd, part.start)

"""Owns where one log lies: its files, its closed segments, and opening them without being led elsewhere.

Reading across them is left to `audit.text`, closing and pruning segments to `audit.segment`.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from chrono.audit.pin import Pin, read_pin, write_pin
from chrono.audit.record import MAX_LINE_BYTES, Record, read
from chrono.audit.text import PACKED, PLAIN, PRUNED, Part, SegmentBroken, Text
from chrono.canonical import NotCanonical
from chrono.errors import AuditTampered, AuditUnverifiable
from chrono.layout import HomeLayout, ProjectLayout
from chrono.tuples import NamedTuple


class LogPlace(NamedTuple):
    """Paths of one log; `folder` is what its pin names."""

    folder: str
    log: str
    head: str
    lock: str
    pub: str


def project_place(layout: ProjectLayout) -> LogPlace:
    """The log of a project."""
    return LogPlace(layout.dir, layout.audit_log, layout.audit_head, layout.audit_lock, layout.audit_pub)


def machine_place(home: HomeLayout) -> LogPlace:
    """The log of calls outside every project."""
    return LogPlace(
        home.machine, *(os.path.join(home.machine, f"audit.{end}") for end in ("jsonl", "head", "lock", "pub"))
    )


def open_plain(path: str, flags: int) -> tuple[int, os.stat_result]:
    """Opens `path` where it is a regular file of this user with one name; never follows a link, never waits.

    Raises FileNotFoundError, AuditUnverifiable.
    """
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = "a symbolic link" if os.path.islink(path) else (error.strerror or "unreadable").lower()
        raise _refused(path, why) from None
    info = os.fstat(fd)
    if info.st_nlink == 0:  # removed since it was opened: a segment that was packed
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    why = ""
    if not stat.S_ISREG(info.st_mode):
        why = "not a regular file"
    elif info.st_nlink != 1:
        why = f"a file with {info.st_nlink} names"
    elif hasattr(os, "getuid") and info.st_uid != os.getuid():
        os.close(fd)
        raise _refused(
            path, f"a file of uid {info.st_uid}", "work in a copy of your own, or let its owner run the command"
        )
    if why:
        os.close(fd)
        raise _refused(path, why)
    return fd, info


def _refused(
    path: str, why: str, hint: str = "put the log itself back there, a plain file of yours"
) -> AuditUnverifiable:
    return AuditUnverifiable(f"the audit log {path} is neither read nor written: it is {why}", hint)


def whereabouts(pin: Pin, place: LogPlace) -> str:
    """ "here" where the pinned folder is this one, "moved" where the pinned folder no longer holds this log, "copied"
    where it still does: then one of the two is a copy."""
    if os.stat(place.folder).st_ino == pin.inode:
        return "here"
    there = LogPlace(pin.path, *(os.path.join(pin.path, os.path.basename(path)) for path in place[1:]))
    try:
        if os.stat(pin.path).st_ino != pin.inode or os.path.samefile(pin.path, place.folder):
            return "moved"
        return "copied" if log_id(there) == pin.log else "moved"
    except (OSError, AuditUnverifiable):
        return "moved"


def pin_again(home: HomeLayout, place: LogPlace) -> Pin | None:
    """Pins a log at the folder where it lies now, after its project was moved. None where there is nothing to do.

    Raises AuditTampered where the old place still holds it (a copy), AuditUnverifiable where this home never pinned it.
    """
    found = log_id(place)
    pin = read_pin(home, found) if found is not None else None
    if pin is None:
        raise AuditUnverifiable(f"no key is pinned for the audit log {place.log}", "run chrono init --adopt")
    inode = os.stat(place.folder).st_ino
    if (pin.path, pin.inode) == (place.folder, inode):
        return None
    if whereabouts(pin, place) == "copied":
        raise AuditTampered(
            f"fork alarm: {place.log} is a copy of the log that this home keeps in {pin.path}",
            "run chrono init --adopt to give this copy a log of its own",
        )
    pin = pin._replace(path=place.folder, inode=inode)
    write_pin(home, pin)
    return pin


class Begin(NamedTuple):
    """What the first line of a segment says of itself: it is record `first`, at byte `offset` of the log, and the
    segment before it begins with record `before`. `hashes`: of the compact range before it."""

    first: int
    offset: int
    before: int
    hashes: tuple[bytes, ...]
    log: str
    prev: str


def begin_of(line: bytes) -> Begin | None:
    """What a `segment.open` record says, None for any other line."""
    if b'"ev":"segment.open"' not in line:
        return None
    try:
        record = read(line)
        said = record.act["segment"]
        if record.ev != "segment.open" or not isinstance(said, dict):
            return None
        first, offset, before, hashes = said["first"], said["offset"], said["before"], said["hashes"]
        if not (isinstance(first, int) and isinstance(offset, int) and isinstance(before, int)):
            return None
        if not isinstance(hashes, list):
            return None
        parts = tuple(bytes.fromhex(part) for part in hashes if isinstance(part, str))
    except (NotCanonical, KeyError, ValueError):
        return None
    fits = first == record.n and 0 <= before < first <= offset and len(parts) == first.bit_count()
    return Begin(first, offset, before, parts, record.log, record.prev) if fits else None


def segment_path(place: LogPlace, first: int, form: str) -> str:
    """Where the segment that begins with record `first` lies in a form."""
    return f"{place.log.removesuffix('.jsonl')}-{first:012}{_ENDS[form]}"


def first_of(name: str) -> int:
    """The number of the first record in the segment that a file of this name holds."""
    return int(name.partition(".")[0][-12:])


_ENDS = {PLAIN: ".jsonl", PACKED: ".jsonl.gz", PRUNED: ".pruned.gz"}


def segments(place: LogPlace) -> dict[int, dict[str, str]]:
    """The files of closed segments by their first record: form and path, the fullest form first."""
    stem = os.path.basename(place.log).removesuffix(".jsonl") + "-"
    found: dict[int, dict[str, str]] = {}
    try:
        names = os.listdir(place.folder)
    except FileNotFoundError:
        return {}
    for name in names:
        number, rest = name[len(stem) : len(stem) + 12], name[len(stem) + 12 :]
        if name.startswith(stem) and number.isascii() and number.isdigit() and rest in _ENDS.values():
            found.setdefault(int(number), {})[rest] = os.path.join(place.folder, name)
    return {
        first: {form: found[first][end] for form, end in _ENDS.items() if end in found[first]}
        for first in sorted(found)
    }


_LOOKS = 20
_LOOK_S = 0.005


def open_text(place: LogPlace) -> Text:
    """The log with all its segments, for reading. Takes no lock: a segment may be closed, packed or pruned meanwhile.

    Raises FileNotFoundError where there is no log, AuditUnverifiable, SegmentBroken.
    """
    for look in range(_LOOKS):
        fds: list[int] = []
        try:
            text = _opened(place, fds, patient=look + 1 < _LOOKS)
            fds.clear()
            return text
        except _Moved:
            time.sleep(_LOOK_S)
        finally:
            for fd in fds:
                os.close(fd)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.log)


class _Moved(Exception):
    """A file was renamed between two looks."""


def _opened(place: LogPlace, fds: list[int], *, patient: bool) -> Text:
    try:
        fd, _ = open_plain(place.log, os.O_RDONLY)
    except FileNotFoundError:
        fd, begin, line = -1, None, b""
    else:
        fds.append(fd)
        line, newline, _ = os.pread(fd, MAX_LINE_BYTES + 1, 0).partition(b"\n")
        begin = begin_of(line) if newline else None
        if newline and begin is None:
            return Text.of(fd)  # the whole log is in this file, or it is none
    closed = segments(place)
    if begin is None and (not closed or (fd < 0 and patient)):
        if fd >= 0:
            return Text.of(fd)
        if not closed:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.log)
        raise _Moved  # between two renames, or gone
    parts = _closed_parts(place, closed, begin, fds)
    if fd >= 0:
        parts.append(Part(fd, PLAIN, begin.offset if begin is not None else parts[-1].end, 0))
    return Text(parts)


def _closed_parts(
    place: LogPlace, closed: dict[int, dict[str, str]], next_: Begin | None, fds: list[int]
) -> list[Part]:
    """The closed segments before `next_` (None: all), each held against what the one behind it says, from the last on.

    Raises SegmentBroken, _Moved.
    """
    parts: list[Part] = []
    first = next_.before if next_ is not None else max(closed)
    while True:
        if first not in closed:
            upto = f" to {next_.first - 1}" if next_ is not None else ""
            raise SegmentBroken(
                f"the segment with records {first}{upto} is missing: {segment_path(place, first, PLAIN)} in any form",
                "put the file back from a copy",
                record=first,
            )
        form, path = next(iter(closed[first].items()))
        try:
            fd, info = open_plain(path, os.O_RDONLY)
        except FileNotFoundError:
            raise _Moved from None
        fds.append(fd)
        name = os.path.basename(path)
        part = Part(fd, form, 0, 1 << 62, name)
        alone = Text((part,))
        line = alone.pread(MAX_LINE_BYTES + 1, 0).partition(b"\n")[0]
        begin = begin_of(line) if first else None
        if (begin.first if begin is not None else 0) != first or (first == 0 and b'"ev":"genesis"' not in line):
            raise SegmentBroken(
                f"segment {name} does not begin with record {first}", "put the file back from a copy", record=first
            )
        start = begin.offset if begin is not None else 0
        size = info.st_size if form == PLAIN else alone.packed(0).size
        end = next_.offset if next_ is not None else start + size
        if form != PRUNED and size != end - start:
            raise SegmentBroken(
                f"segment {name} holds {size} bytes, not {end - start}", "put the file back from a copy", record=first
            )
        parts.append(Part(fd, form, start, end, name))
        if begin is None:
            return parts[::-1]
        next_, first = begin, begin.before


def open_aside(path: str) -> Text:
    """The text of one file of a log that was moved aside. Raises FileNotFoundError, AuditUnverifiable."""
    fd, _ = open_plain(path, os.O_RDONLY)
    form = PRUNED if ".pruned.gz" in path else PACKED if ".jsonl.gz" in path else PLAIN
    return Text((Part(fd, form, 0, 1 << 62, os.path.basename(path)),))


def first_line(place: LogPlace) -> bytes:
    """The first line of the newest file that has one, without LF; b"" where there is none. Raises AuditUnverifiable."""
    try:
        fd, _ = open_plain(place.log, os.O_RDONLY)
    except FileNotFoundError:
        pass
    else:
        with Text.of(fd) as text:
            line, newline, _ = text.pread(MAX_LINE_BYTES + 1, 0).partition(b"\n")
        if newline:
            return line
    closed = segments(place)
    if not closed:
        return b""
    form, path = next(iter(closed[max(closed)].items()))
    try:
        fd, _ = open_plain(path, os.O_RDONLY)
        with Text((Part(fd, form, 0, 1 << 62, os.path.basename(path)),)) as text:
            line, newline, _ = text.pread(MAX_LINE_BYTES + 1, 0).partition(b"\n")
    except (FileNotFoundError, SegmentBroken):
        return b""
    return line if newline else b""


def first_record(place: LogPlace) -> Record | None:
    """The log's first record, None where there is no log or its first line is no record.

    Raises AuditUnverifiable, SegmentBroken.
    """
    try:
        with open_text(place) as text:
            line, newline, _ = text.pread(MAX_LINE_BYTES + 1, 0).partition(b"\n")
    except FileNotFoundError:
        return None
    try:
        return read(line) if newline else None
    except NotCanonical:
        return None


def log_id(place: LogPlace) -> str | None:
    """The id in the newest file's first record, None where there is none. Raises AuditUnverifiable."""
    try:
        return read(first_line(place)).log
    except NotCanonical:
        return None

"""Owns where one log lies, and opening its file without being led elsewhere.

The bytes inside are left to `audit.log` (writing) and `audit.verify` (reading).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256

from chrono.audit.pin import Pin, read_pin, write_pin
from chrono.audit.record import MAX_LINE_BYTES, Record, read
from chrono.canonical import NotCanonical
from chrono.errors import AuditTampered, AuditUnverifiable
from chrono.layout import HomeLayout, ProjectLayout
from chrono.tuples import NamedTuple

_CHUNK_BYTES = 1 << 20


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
    why = ""
    if not stat.S_ISREG(info.st_mode):
        why = "not a regular file"
    elif info.st_nlink != 1:
        why = f"a file with {info.st_nlink} names"
    elif hasattr(os, "getuid") and info.st_uid != os.getuid():
        why = f"a file of uid {info.st_uid}"
    if why:
        os.close(fd)
        raise _refused(path, why)
    return fd, info


def _refused(path: str, why: str) -> AuditUnverifiable:
    return AuditUnverifiable(f"the audit log {path} is neither read nor written: it is {why}", "run chrono doctor")


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


class Line(NamedTuple):
    """One line of the file: its bytes without LF, where it starts, its length, and whether its LF is there.

    `data` is None where it is longer than a record may be: it was read past, and only its `leaf` hash is known.
    """

    data: bytes | None
    offset: int
    length: int
    leaf: bytes
    whole: bool


def lines(fd: int, start: int = 0, until: int | None = None) -> Iterator[Line]:
    """The lines of `fd` from byte `start` on (to byte `until`), in bounded memory whatever the file holds."""
    offset = position = start
    held, held_bytes, digest = b"", 0, sha256(b"\x00")
    while chunk := os.pread(fd, _CHUNK_BYTES if until is None else min(_CHUNK_BYTES, until - position), position):
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            if held_bytes:
                digest.update(chunk[at:end])
                length, leaf, data = held_bytes + end - at, digest.digest(), held + chunk[at:end]
                held, held_bytes, digest = b"", 0, sha256(b"\x00")
            else:
                length, data = end - at, chunk[at:end]
                leaf = sha256(b"\x00" + data).digest()
            yield Line(data if length <= MAX_LINE_BYTES else None, offset, length, leaf, True)
            at = end + 1
            offset = position + at
        rest = chunk[at:]
        if rest:
            held_bytes += len(rest)
            held = held + rest if held_bytes <= MAX_LINE_BYTES else b""
            digest.update(rest)
        position += len(chunk)
    if held_bytes:
        yield Line(held if held_bytes <= MAX_LINE_BYTES else None, offset, held_bytes, digest.digest(), False)


def first_record(place: LogPlace) -> Record | None:
    """The first record, None where there is no log or its first line is no record. Raises AuditUnverifiable."""
    try:
        fd, _ = open_plain(place.log, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        line, newline, _ = os.pread(fd, MAX_LINE_BYTES + 1, 0).partition(b"\n")
    finally:
        os.close(fd)
    if not newline:
        return None
    try:
        return read(line)
    except NotCanonical:
        return None


def log_id(place: LogPlace) -> str | None:
    """The id in the first record, None where there is none. Raises AuditUnverifiable."""
    record = first_record(place)
    return record.log if record is not None else None

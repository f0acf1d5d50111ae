"""Owns `restore.journal`: the note that a restore is under way, which survives a crash.

Acting on it is left to `store.restore`; whether this home may act on it at all, to `workspace`.
"""

from __future__ import annotations

import json
import os
import re
import stat

from chrono.errors import StoreError
from chrono.ids import CommitId, OpId
from chrono.store.disk import READ_FILE, Disk
from chrono.store.names import quote, unquote
from chrono.tuples import NamedTuple

_VERSION = 2
_READS = (1, 2)
_MAX_BYTES = 16 << 20
_HEX = re.compile(r"[0-9a-f]{40}")
_OP = re.compile(r"[0-9a-f]{32}")


class Journal(NamedTuple):
    """A restore that has begun: bring `paths` (empty: everything) from `pre` to `target`.

    `note` is what its caller wants to know when it goes on after a crash; this room only keeps it.
    """

    op: OpId
    pre: CommitId
    target: CommitId
    paths: tuple[str, ...]
    note: tuple[tuple[str, str], ...] = ()


def write(path: bytes, journal: Journal, disk: Disk) -> None:
    """Writes the journal so that after a crash it is there as a whole or not at all. Raises OSError."""
    if not _OP.fullmatch(journal.op):
        raise StoreError(f"{journal.op!r} is not an operation id")
    record = {
        "version": _VERSION,
        "op": journal.op,
        "pre": journal.pre,
        "target": journal.target,
        "paths": [quote(os.fsencode(path)).decode() for path in journal.paths],
        "note": [list(pair) for pair in journal.note],
    }
    temp = path + b".tmp"
    try:
        disk.unlink(temp)
    except FileNotFoundError:
        pass
    fd = disk.create(temp, 0o600)
    try:
        disk.write(fd, json.dumps(record, sort_keys=True).encode() + b"\n")
        disk.fsync(fd)
    finally:
        os.close(fd)
    disk.rename(temp, path)
    disk.fsync_folder(os.path.dirname(path))


def read(path: bytes) -> Journal | None:
    """The journal, None where there is none. Raises StoreError where it cannot be read or believed."""
    try:
        fd = os.open(path, READ_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{os.fsdecode(path)} cannot be read: {error.strerror}") from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES or found.st_uid != os.geteuid():
            raise StoreError(f"{os.fsdecode(path)} is not a journal of this user")
        data = os.read(fd, _MAX_BYTES)
    finally:
        os.close(fd)
    try:
        return _parse(data)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StoreError(
            f"{os.fsdecode(path)} is damaged: a restore was under way, but not which",
            "take a savepoint, remove the file, then roll back to the savepoint you want",
        ) from None


def remove(path: bytes, disk: Disk) -> None:
    """The restore is over; durable when it returns."""
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return
    disk.fsync_folder(os.path.dirname(path))


def _parse(data: bytes) -> Journal:
    record = json.loads(data)
    if record["version"] not in _READS:
        raise ValueError("unknown version")
    op, pre, target = record["op"], record["pre"], record["target"]
    if not (_OP.fullmatch(op) and _HEX.fullmatch(pre) and _HEX.fullmatch(target)):
        raise ValueError("not ids")
    paths = tuple(os.fsdecode(unquote(path.encode())) for path in record["paths"])
    note = tuple((str(key), str(value)) for key, value in record.get("note", ()))
    return Journal(OpId(op), CommitId(pre), CommitId(target), paths, note)

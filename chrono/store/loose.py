"""Owns the list of loose objects: their ids, what they take, how old they are.

Reading and writing them is left to `store.objects`.
"""

from __future__ import annotations

import os
import stat

from chrono.errors import StoreError
from chrono.store.objects import Objects
from chrono.tuples import NamedTuple


class Loose(NamedTuple):
    """One loose object: its compressed size, what it takes on the disk, when it was last written or used again."""

    size_bytes: int
    disk_bytes: int
    mtime: float


def listed(objects: Objects) -> dict[bytes, Loose]:
    """All loose objects by their 20-byte id."""
    found = {}
    for first in range(256):
        digits = b"%02x" % first
        try:
            with os.scandir(os.path.join(objects.folder, digits)) as entries:
                for entry in entries:
                    if len(entry.name) != 38:
                        continue
                    try:
                        one = entry.stat(follow_symlinks=False)
                        oid = bytes.fromhex((digits + entry.name).decode("ascii"))
                    except (FileNotFoundError, ValueError):
                        continue
                    if stat.S_ISREG(one.st_mode):
                        found[oid] = Loose(one.st_size, one.st_blocks * 512, one.st_mtime)
        except FileNotFoundError:
            continue
    return found


def mtime(objects: Objects, oid: bytes) -> float | None:
    """When the loose object was last written or used again, None where it is not loose."""
    try:
        return os.lstat(objects.path(oid)).st_mtime
    except OSError:
        return None


def remove(objects: Objects, oid: bytes) -> bool:
    """Unlinks a loose object; False where another process was quicker. Raises StoreError."""
    try:
        objects.disk.unlink(objects.path(oid))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"object {oid.hex()} could not be removed: {error.strerror}") from error
    return True

"""Owns removing old files of the local store, so that it stays within its bounds.

A file stands by itself (its pieces are in it), so the unit is the file. One that is being written is never removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime

from chrono.record.cursor import REFUSED, delivered_to
from chrono.record.frames import DamagedStore
from chrono.record.reading import FILES_FOLDER
from chrono.record.storefile import StoreFile, file_names, writer_lives
from chrono.tuples import NamedTuple

SYNC_FOLDER = "sync"


class Bounds(NamedTuple):
    """The most that a store keeps: bytes of its files, and how many of them."""

    max_bytes: int = 2 << 30
    max_files: int = 5_000


class Pruned(NamedTuple):
    """Files removed, and bytes of those among them that a control plane should still have had."""

    names: tuple[str, ...]
    undelivered_bytes: int


def sync_folder(folder: str, plane: str) -> str:
    """Where the cursors of one plane are."""
    return os.path.join(folder, SYNC_FOLDER, plane)


def prune(folder: str, bounds: Bounds, rest: Callable[[], None] = lambda: None) -> Pruned:
    """Removes the oldest files beyond `bounds`: first those that wait for no plane, then the others. `rest` is called
    between files. Raises OSError."""
    sizes: dict[str, int] = {}
    for name in file_names(folder):
        rest()
        if (size := _size(os.path.join(folder, name))) is not None:
            sizes[name] = size
    total, count = sum(sizes.values()), len(sizes)
    removed: list[str] = []
    undelivered_bytes = 0
    if total > bounds.max_bytes or count > bounds.max_files:
        due: dict[str, int] = {}
        for name in sizes:
            rest()
            if not _lives(os.path.join(folder, name)):
                due[name] = _undelivered(folder, name, sizes[name])
        for name in sorted(due, key=lambda name: (due[name] > 0, name)):
            if total <= bounds.max_bytes and count <= bounds.max_files:
                break
            rest()
            try:
                os.unlink(os.path.join(folder, name))
            except FileNotFoundError:
                continue  # another process prunes, too
            removed.append(name)
            total -= sizes[name]
            count -= 1
            undelivered_bytes += due[name]
    _forget_cursors(folder)
    if removed:
        _forget_files(folder)
    return Pruned(tuple(removed), undelivered_bytes)


def _undelivered(folder: str, name: str, size: int) -> int:
    """Bytes that the plane the file was written for does not have; 0 where it was written for none."""
    try:
        with StoreFile(os.path.join(folder, name)) as file:
            header = file.header()
    except (FileNotFoundError, DamagedStore):
        return 0
    if header is None or header.plane is None:
        return 0
    return max(0, size - delivered_to(sync_folder(folder, header.plane), name))


def _forget_cursors(folder: str) -> None:
    """Removes cursors of files that are no more, and notes on what was refused of them."""
    kept = set(file_names(folder))
    for place, _, names in os.walk(os.path.join(folder, SYNC_FOLDER)):
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if dot + kind in (".cursor", REFUSED) and stem not in kept:
                try:
                    os.unlink(os.path.join(place, name))
                except FileNotFoundError:
                    pass


def _forget_files(folder: str) -> None:
    """Removes files of imported traces that are older than all that is left."""
    begun = [_begun(os.path.join(folder, name)) for name in file_names(folder)[:1]]
    place = os.path.join(folder, FILES_FOLDER)
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return
    for name in names:
        path = os.path.join(place, name)
        try:
            if not begun or os.stat(path).st_mtime < begun[0]:
                os.unlink(path)
        except FileNotFoundError:
            continue


def _begun(path: str) -> float:
    """When a store file was begun, as its header says; seconds since the epoch, 0 where it cannot be read."""
    try:
        with StoreFile(path) as file:
            header = file.header()
        return datetime.fromisoformat(header.started_at).timestamp() if header is not None else 0.0
    except (OSError, DamagedStore, ValueError):
        return 0.0


def _lives(path: str) -> bool:
    try:
        return writer_lives(path)
    except FileNotFoundError:
        return False


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None

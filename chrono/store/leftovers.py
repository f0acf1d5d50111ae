"""Owns what killed processes leave behind in `.chrono`: temporary files that no process works on any more.

Journals and stages of a restore are not leftovers: they are how it goes on.
"""

from __future__ import annotations

import os
import stat
import time

from chrono.layout import ProjectLayout
from chrono.store.disk import Disk

OLD_S = 3600
"""Older than any object is under way (specs: savepoints section 6)."""

PACK_PREFIX = b"pack.tmp-"
"""Folders below `.chrono` in which packs are made."""


def sweep(layout: ProjectLayout, disk: Disk) -> int:
    """Removes temporary files of at least an hour's age, under the store lock; returns how many."""
    repo = os.fsencode(layout.repo)
    swept = 0
    for folder, prefixes in (
        (os.path.join(repo, b"objects"), (b"tmp_obj_",)),
        (os.path.join(repo, b"objects", b"pack"), (b"tmp_pack_", b"tmp_idx_")),
        (os.fsencode(layout.dir), (b"stat.cache.tmp-",)),
    ):
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(prefixes)]
        for name in names:
            swept += _remove_old(os.path.join(folder, name), disk)
    return swept + _sweep_packs(layout, disk)


def _sweep_packs(layout: ProjectLayout, disk: Disk) -> int:
    """Folders in which packs were made, and packs whose index is gone (it goes first)."""
    swept = 0
    with os.scandir(os.fsencode(layout.dir)) as entries:
        folders = [entry.path for entry in entries if entry.name.startswith(PACK_PREFIX)]
    for folder in folders:
        try:
            if time.time() - os.lstat(folder).st_mtime < OLD_S:
                continue
            for name in os.listdir(folder):
                disk.unlink(os.path.join(folder, os.fsencode(name)))
            disk.rmdir(folder)
            swept += 1
        except OSError:
            continue
    pack_folder = os.path.join(os.fsencode(layout.repo), b"objects", b"pack")
    with os.scandir(pack_folder) as entries:
        names = {entry.name for entry in entries}
    for name in names:
        if name.endswith(b".pack") and name[:-5] + b".idx" not in names:
            swept += _remove_old(os.path.join(pack_folder, name), disk)
    return swept


def _remove_old(path: bytes, disk: Disk) -> int:
    try:
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode) or time.time() - found.st_mtime < OLD_S:
            return 0
        disk.unlink(path)
    except OSError:
        return 0
    return 1


def lives(pid: int) -> bool:
    """Whether the process that something is named after may still work on it. Where it cannot be asked, it may."""
    if os.name == "nt":
        return True  # there signal 0 is no question: it is Ctrl-C
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

"""Owns what a path lies on: which folder it is, and whether the kernel tells of every change below it.

Watching itself is left to `store.hints`. Linux only.
"""

from __future__ import annotations

import os
import re

MOUNTS = "/proc/self/mountinfo"

_TELLING = frozenset((b"ext2", b"ext3", b"ext4", b"xfs", b"btrfs", b"f2fs", b"tmpfs"))
"""File systems that only this kernel writes to, so that it knows of every change: no network, no layers, no FUSE."""

_ESCAPED = re.compile(rb"\\([0-7]{3})")

Identity = tuple[int, int]


def identity(path: bytes) -> Identity:
    """(device, inode) of what is there. Raises OSError."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def is_watchable(root: bytes) -> bool:
    """Whether all below `root` (absolute, resolved) is one file system that tells of every change. Raises OSError."""
    with open(MOUNTS, "rb") as file:
        return tells(root, file.read())


def tells(root: bytes, mounts: bytes) -> bool:
    """The same for a table of mounts in the form of /proc/self/mountinfo; of several at one place the last counts."""
    below = root.rstrip(b"/") + b"/"
    nearest, kind = b"", b""
    for line in mounts.splitlines():
        fields = line.split(b" ")
        if len(fields) < 7 or b"-" not in fields[6:]:
            return False
        place = _ESCAPED.sub(lambda match: bytes((int(match[1], 8),)), fields[4])
        if place.startswith(below):
            return False
        inside = place.rstrip(b"/")
        if (root == inside or root.startswith(inside + b"/")) and len(place) >= len(nearest):
            nearest, kind = place, fields[fields.index(b"-", 6) + 1]
    return kind in _TELLING

"""Owns the question whether git already holds a file as it is now, so that nothing is lost by taking git's copy.

Reads `.git/index` (gitformat-index) in the version git writes by default; whatever is not understood is "no".
"""

from __future__ import annotations

import os
from collections.abc import Callable

from chrono.digest import sha1
from chrono.scan.world import Read, Unreadable, World

MAX_INDEX_BYTES = 2_000_000
MAX_FILE_BYTES = 1_000_000


def is_committed(path: str, top: str | None, world: World) -> bool:
    """Whether the index of the work tree at `top` has the file's content of this moment.

    specs: git's own hash of a blob, SHA-1 over `blob SIZE NUL CONTENT`. A filter (line ends, LFS) makes the answer no.
    """
    blob = _indexed(path, top, world)
    return blob is not None and blob == _blob_on_disk(path, world)


def is_changed(path: str, top: str | None, world: World) -> bool:
    """Whether the index has the file with another content than it has now: git's own copy would change it."""
    blob = _indexed(path, top, world)
    return blob is not None and blob != _blob_on_disk(path, world)


def is_tracked(path: str, top: str, read: Callable[[str, int], Read | Unreadable]) -> bool:
    """Whether the index names the file, or one below it. "Yes" where there is an index that cannot be read."""
    folder = top.rstrip("/")
    index = read(f"{folder}/.git/index", MAX_INDEX_BYTES)
    if not isinstance(index, Read):
        # "not a file": a linked work tree, whose index is elsewhere. Without git, or before its first add: missing.
        return index.reason != "missing"
    name = os.fsencode(path[len(folder) + 1 :])
    packed = index.data[4:8] == b"\0\0\0\4"
    return packed or index.data.find(name + b"\0") >= 0 or index.data.find(name + b"/") >= 0


def may_be_ignored(path: str, top: str, world: World) -> bool:
    """Whether an ignore file at the top of the work tree has a line that names the file or a folder it lies in."""
    names = path[len(top.rstrip("/")) + 1 :].split("/")
    for file in (".gitignore", ".git/info/exclude"):
        content = world.read(os.path.join(top, file), MAX_FILE_BYTES)
        if isinstance(content, Read):
            for line in content.data.decode("utf-8", "surrogateescape").splitlines():
                if line.strip().strip("/").rpartition("/")[2] in names:
                    return True
    return False


def _indexed(path: str, top: str | None, world: World) -> bytes | None:
    if top is None or not path.startswith(top.rstrip("/") + "/"):
        return None
    index = world.read(os.path.join(top, ".git", "index"), MAX_INDEX_BYTES)
    if not isinstance(index, Read) or index.data[:4] != b"DIRC" or index.data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return None
    return _blob_of(index.data, os.fsencode(path[len(top.rstrip("/")) + 1 :]))


def _blob_on_disk(path: str, world: World) -> bytes | None:
    content = world.read(path, MAX_FILE_BYTES)
    return sha1(b"blob %d\0" % len(content.data) + content.data).digest() if isinstance(content, Read) else None


def _blob_of(index: bytes, name: bytes) -> bytes | None:
    """The object id of a path in an index of version 2 or 3: 40 bytes of stat, 20 of id, 2 of flags, the name, NUL."""
    needle = name + b"\0"
    at = index.find(needle, 12)
    while at >= 0:
        for extended in (0, 2):
            start = at - 22 - extended
            if start >= 12 + 40:
                flags = int.from_bytes(index[start + 20 : start + 22], "big")
                if (
                    flags & 0xFFF == min(len(name), 0xFFF)
                    and bool(flags & 0x4000) == bool(extended)
                    and not flags & 0x3000
                ):
                    return index[start : start + 20]
        at = index.find(needle, at + 1)
    return None

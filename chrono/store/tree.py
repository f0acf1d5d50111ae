"""Owns the bytes of tree objects, built and read by hand: names that are not UTF-8 and empty folders included.

Which names need another form in a tree is left to `store.names`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from chrono.errors import StoreError
from chrono.tuples import NamedTuple

FILE = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
FOLDER = 0o040000
GITLINK = 0o160000

_MODE_TEXT = {FILE: b"100644 ", EXECUTABLE: b"100755 ", LINK: b"120000 ", FOLDER: b"40000 "}


class TreeEntry(NamedTuple):
    """`mode` is one of this module's five (older trees may hold others), `oid` 20 bytes."""

    name: bytes
    mode: int
    oid: bytes


def object_id(kind: bytes, data: bytes) -> bytes:
    """The 20-byte id git gives to an object."""
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.digest()


_ROW = re.compile(rb"[0-7]{5,6} [^\0]*\0.{20}", re.DOTALL)
_MODES = {text.strip(): mode for mode, text in _MODE_TEXT.items()}

EMPTY_TREE = object_id(b"tree", b"")


def build(entries: Iterable[tuple[bytes, int, bytes]]) -> bytes:
    """The tree object for (name, mode, 20-byte id); sorted as git sorts, a folder as if its name ended in "/"."""
    rows = [
        (name + b"/" if mode == FOLDER else name, b"%s%s\0%s" % (_MODE_TEXT[mode], name, oid))
        for name, mode, oid in entries
    ]
    rows.sort()
    return b"".join([row for _, row in rows])


Row = bytes
"""One entry as it is written: mode in octal digits, blank, name, NUL, 20-byte id. Most rows are only compared."""


def rows(data: bytes) -> list[Row]:
    """The entries as they are written. Raises StoreError for a malformed tree."""
    found: list[Row] = _ROW.findall(data)
    if sum(map(len, found)) != len(data):
        raise StoreError("a tree in the store is malformed: it is cut")
    return found


def entry(row: Row) -> TreeEntry:
    digits, _, name = row[:-21].partition(b" ")
    return TreeEntry(name, _MODES.get(digits) or int(digits, 8), row[-20:])


def parse(data: bytes) -> list[TreeEntry]:
    """The inverse of `build`. Raises StoreError for a malformed tree."""
    return [entry(row) for row in rows(data)]

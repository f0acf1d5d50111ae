"""Owns the hash tree over records: leaves, compact range, root (RFC 6962 section 2.1). Pure.

What a leaf holds is left to `audit.record`; who signs a root to `audit.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

EMPTY_ROOT = sha256(b"").digest()
"""Root of the tree without leaves."""


def leaf_hash(line: bytes) -> bytes:
    """SHA-256(0x00 || line), 32 bytes; `line` without its LF."""
    return sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right), 32 bytes."""
    return sha256(b"\x01" + left + right).digest()


class Subtree(NamedTuple):
    """The root of a perfect subtree of 2^`level` leaves."""

    level: int
    digest: bytes


class CompactRange:
    """The roots of the perfect subtrees of a growing tree, largest first: at most 64 hashes however many leaves.

    `size` leaves have been added.
    """

    __slots__ = ("hashes", "size")

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        if len(hashes) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} perfect subtrees, not {len(hashes)}")
        self.size = size
        self.hashes = list(hashes)

    def add(self, leaf: bytes) -> None:
        """Appends one leaf hash."""
        size = self.size
        while size & 1:
            leaf = sha256(b"\x01" + self.hashes.pop() + leaf).digest()
            size >>= 1
        self.hashes.append(leaf)
        self.size += 1

    def add_subtree(self, subtree: Subtree) -> None:
        """Appends 2^level leaves at once. Raises ValueError where a subtree of that size cannot begin here."""
        level, digest = subtree
        place, rest = divmod(self.size, 1 << level)
        if rest:
            raise ValueError(f"no subtree of 2^{level} leaves begins at leaf {self.size}")
        while place & 1:
            digest = sha256(b"\x01" + self.hashes.pop() + digest).digest()
            place >>= 1
        self.hashes.append(digest)
        self.size += 1 << level

    def root(self) -> bytes:
        """The tree's root, 32 bytes."""
        if not self.hashes:
            return EMPTY_ROOT
        *lefts, root = self.hashes
        for left in reversed(lefts):
            root = sha256(b"\x01" + left + root).digest()
        return root

    def copy(self) -> CompactRange:
        return CompactRange(self.size, self.hashes)

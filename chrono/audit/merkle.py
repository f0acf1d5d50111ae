"""Owns the hash tree over records: leaves, compact range, root (RFC 6962 section 2.1). Pure.

What a leaf holds is left to `audit.record`; who signs a root to `audit.checkpoint`.
"""

from __future__ import annotations

from collections.abc import Sequence

from chrono.digest import short_sha256 as sha256
from chrono.tuples import NamedTuple

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
        size, hashes = self.size, self.hashes
        self.size = size + 1
        while size & 1:
            leaf = sha256(b"\x01" + hashes.pop() + leaf).digest()
            size >>= 1
        hashes.append(leaf)

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
        twin = CompactRange.__new__(CompactRange)
        twin.size, twin.hashes = self.size, self.hashes.copy()
        return twin


class Span(NamedTuple):
    """Leaves `start` to `end` (without), whose root is part of a proof."""

    start: int
    end: int


def inclusion_spans(index: int, size: int) -> tuple[Span, ...]:
    """The spans whose roots prove leaf `index` in a tree of `size`, the lowest first (RFC 6962 section 2.1.1)."""
    if not 0 <= index < size:
        raise ValueError(f"there is no leaf {index} in a tree of {size}")
    spans, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            spans.append(Span(middle, end))
            end = middle
        else:
            spans.append(Span(start, middle))
            start = middle
    return tuple(reversed(spans))


def consistency_spans(old: int, size: int) -> tuple[Span, ...]:
    """The spans whose roots prove that a tree of `old` leaves is the beginning of one of `size` (RFC 6962 section
    2.1.2). Empty where the two are the same."""
    if not 0 < old <= size:
        raise ValueError(f"a tree of {old} leaves is not the beginning of one of {size}")
    spans, start, end, whole = [], 0, size, True
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            spans.append(Span(middle, end))
            end = middle
        else:
            spans.append(Span(start, middle))
            start, whole = middle, False
    if not whole:
        spans.append(Span(start, end))
    return tuple(reversed(spans))


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def root_of_inclusion(index: int, size: int, leaf: bytes, path: Sequence[bytes]) -> bytes | None:
    """The root that `path` leads to from leaf hash `leaf`, None where it is no path (RFC 9162 section 2.1.3.2)."""
    if not 0 <= index < size:
        return None
    place, last, root = index, size - 1, leaf
    for part in path:
        if last == 0:
            return None
        if place & 1 or place == last:
            root = node_hash(part, root)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            root = node_hash(root, part)
        place, last = place >> 1, last >> 1
    return root if last == 0 else None

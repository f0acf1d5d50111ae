"""Owns the holder's side of a consistency proof: chrono makes them, witnesses and the tests check them."""

from __future__ import annotations

from collections.abc import Sequence

from chrono.audit.merkle import node_hash


def consistent(old: int, old_root: bytes, size: int, root: bytes, path: Sequence[bytes]) -> bool:
    """Whether `path` proves that the tree of `old` leaves with `old_root` is the beginning of the one of `size` leaves
    with `root` (RFC 9162 section 2.1.4.2)."""
    if not 0 < old <= size:
        return False
    if old == size:
        return not path and old_root == root
    parts = list(path)
    if old & (old - 1) == 0:
        parts.insert(0, old_root)
    if not parts:
        return False
    place, last = old - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    first = second = parts[0]
    for part in parts[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            first, second = node_hash(part, first), node_hash(part, second)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            second = node_hash(second, part)
        place, last = place >> 1, last >> 1
    return last == 0 and first == old_root and second == root

"""Owns git's delta form: an object in a pack as a list of copies from a base and of new bytes (gitformat-pack).

Where a base lies is left to `store.pack`.
"""

from __future__ import annotations

from chrono.errors import StoreError

OFS_DELTA = 6
REF_DELTA = 7


def result_size(delta: bytes) -> int:
    """The size in bytes of what the delta makes; its first 20 bytes are enough."""
    _, position = _varint(delta, 0)
    return _varint(delta, position)[0]


def apply(base: bytes, delta: bytes) -> bytes:
    """The object that `delta` makes of `base`. Raises StoreError where the two do not fit."""
    try:
        return _apply(base, delta)
    except IndexError:
        raise StoreError("an object in a pack is damaged: its delta is cut") from None


def _apply(base: bytes, delta: bytes) -> bytes:
    base_size, position = _varint(delta, 0)
    size, position = _varint(delta, position)
    if base_size != len(base):
        raise StoreError("an object in a pack is damaged: its delta is of another base")
    parts = []
    end = len(delta)
    while position < end:
        code = delta[position]
        position += 1
        if code & 0x80:
            start = count = 0
            for bit in range(4):
                if code & (1 << bit):
                    start |= delta[position] << (8 * bit)
                    position += 1
            for bit in range(3):
                if code & (0x10 << bit):
                    count |= delta[position] << (8 * bit)
                    position += 1
            count = count or 0x10000
            parts.append(base[start : start + count])
        elif code:
            parts.append(delta[position : position + code])
            position += code
        else:
            raise StoreError("an object in a pack is damaged: its delta has an unknown step")
    data = b"".join(parts)
    if len(data) != size:
        raise StoreError("an object in a pack is damaged: its size differs")
    return data


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise StoreError("an object in a pack is damaged: its delta has no size")

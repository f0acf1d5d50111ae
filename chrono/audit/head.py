"""Owns the head file: where the log ends, in two slots written in place. A cache: believed only after checks.

What it must agree with is checked by `audit.log` and `audit.verify`.
"""

from __future__ import annotations

import os
from binascii import crc32

from chrono.audit.merkle import CompactRange
from chrono.canonical import NotCanonical, parse
from chrono.tuples import NamedTuple

SLOT_BYTES = 4096
_PREFIX_BYTES = 8  # length and CRC-32 of the payload, four bytes each, the high one first
FORMAT = 2


class Head(NamedTuple):
    """The end of a log: `offset` bytes hold `size` records, the last with leaf hash `leaf` (hex, "" when empty)."""

    log: str
    size: int
    offset: int
    leaf: str
    hashes: tuple[bytes, ...]
    note: str

    @property
    def range(self) -> CompactRange:
        return CompactRange(self.size, self.hashes)


def write(fd: int, head: Head) -> None:
    """Writes `head` into the slot of its size's last bit, one `pwrite`. Not synced: it is a cache."""
    # By hand, since each append pays for it; `_slot` reads it back as canonical JSON, and a test compares the two.
    hashes = ",".join([f'"{part.hex()}"' for part in head.hashes])
    before = f'{{"fmt":{FORMAT},"hashes":[{hashes}],"last":"{head.leaf}","log":"{head.log}","note":"'
    note = head.note.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    payload = before.encode("ascii") + note + b'","off":%d,"size":%d}' % (head.offset, head.size)
    slot = len(payload).to_bytes(4, "big") + crc32(payload).to_bytes(4, "big") + payload
    if len(slot) > SLOT_BYTES:
        raise ValueError(f"a head of {len(slot)} bytes does not fit its slot")
    os.pwrite(fd, slot.ljust(SLOT_BYTES, b"\0"), (head.size & 1) * SLOT_BYTES)


def wipe(fd: int, size: int) -> None:
    """Empties the slot that a head of `size` records would stand in."""
    os.pwrite(fd, bytes(_PREFIX_BYTES), (size & 1) * SLOT_BYTES)


def wipe_beyond(fd: int, size: int) -> None:
    """Empties the slots that tell of more than `size` records: they outran the log to the disk in a power cut."""
    data = os.pread(fd, 2 * SLOT_BYTES, 0)
    for start in (0, SLOT_BYTES):
        found = _slot(data[start : start + SLOT_BYTES])
        if found is not None and found.size > size:
            os.pwrite(fd, bytes(_PREFIX_BYTES), start)


def read(fd: int) -> Head | None:
    """The slot with the larger size, None where neither holds a whole head (an empty slot is a hole)."""
    data = os.pread(fd, 2 * SLOT_BYTES, 0)
    heads = [_slot(data[start : start + SLOT_BYTES]) for start in (0, SLOT_BYTES)]
    return max((head for head in heads if head is not None), key=lambda head: head.size, default=None)


def _slot(data: bytes) -> Head | None:
    if len(data) < _PREFIX_BYTES:
        return None
    length, crc = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
    payload = data[_PREFIX_BYTES : _PREFIX_BYTES + length]
    if length == 0 or len(payload) != length or crc32(payload) != crc:
        return None
    try:
        value = parse(payload)
    except NotCanonical:
        return None
    if not isinstance(value, dict):
        return None
    size, offset, hashes = value.get("size"), value.get("off"), value.get("hashes")
    log, leaf, note = value.get("log"), value.get("last"), value.get("note")
    if not (isinstance(size, int) and isinstance(offset, int) and isinstance(hashes, list)):
        return None
    if not (isinstance(log, str) and isinstance(leaf, str) and isinstance(note, str)) or size < 0 or offset < 0:
        return None
    try:
        parts = tuple(bytes.fromhex(part) for part in hashes if isinstance(part, str))
        CompactRange(size, parts)
    except ValueError:
        return None
    return Head(log, size, offset, leaf, parts, note)

"""Owns the form of one line of a store file: kind, length, checksum, trace, body. Pure.

What the bodies hold is left to `record.packing`, files to `record.local` and `record.storefile`. Each byte is described
in docs/formats/trace-store-v1.md.

A body is JSON text, so it holds no line feed: a line is a record, and whatever is torn or damaged ends at the next one.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

HEADER = b"H"
PIECE = b"B"
TRACE = b"T"
OPEN_SPAN = b"s"
SPAN = b"S"
OPEN_ENVELOPE = b"e"
ENVELOPE = b"E"

NO_TRACE = b"-" * 32
HEAD_BYTES = 2 + 9 + 9 + 33
"""`K llllllll cccccccc tttttttttttttttttttttttttttttttt `"""

MAX_BODY_BYTES = 256 << 20
"""No record is longer: a length beyond it is damage, not a record to wait for."""

_HEAD = re.compile(rb"([HBTsSeE]) ([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{32}|-{32}) ")


class DamagedStore(ChronoError):
    """A place of a store file that does not hold what was written there."""


class Frame(NamedTuple):
    """One record. `kind` is one of the letters above, `trace_id` 32 hex characters or `NO_TRACE`, `start` and `end`
    are the byte positions of the line in its file, `body` is the JSON text with references still in it."""

    kind: bytes
    trace_id: bytes
    body: bytes
    start: int
    end: int


class Damage(NamedTuple):
    """Bytes from `start` to `end` that are no record."""

    start: int
    end: int


def frame(kind: bytes, trace_id: bytes, body: bytes) -> bytes:
    """The line of one record. `body` must not hold a line feed, which JSON text without white space never does."""
    return b"%b %08x %08x %b %b\n" % (kind, len(body), _checksum(kind, trace_id, body), trace_id, body)


def read_frames(data: bytes | memoryview, base: int = 0) -> Iterator[Frame | Damage]:
    """The records in `data`, whose first byte stands at `base` in its file and begins a line.

    What is no record is one Damage up to the next line. Bytes at the end that may be the beginning of a record (no
    line feed yet) are left out: the next reading begins there.
    """
    data = bytes(data)
    at = 0
    while at < len(data):
        found = frame_at(data, at, base)
        if found is None:
            return
        yield found
        at = found.end - base


def frame_at(data: bytes, at: int, base: int = 0) -> Frame | Damage | None:
    """The record at `at` in `data`; None where its end is not there yet."""
    head = _HEAD.match(data, at)
    if head is not None:
        length = int(head[2], 16)
        begin = at + HEAD_BYTES
        end = begin + length + 1
        if length <= MAX_BODY_BYTES:
            if end <= len(data):
                body = data[begin : end - 1]
                if _checksum(head[1], head[4], body) == int(head[3], 16):
                    return Frame(head[1], head[4], body, base + at, base + end)
            elif data.find(b"\n", begin) < 0:
                return None
    line_end = data.find(b"\n", at)
    if line_end < 0:
        return None
    return Damage(base + at, base + line_end + 1)


def _checksum(kind: bytes, trace_id: bytes, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(kind + trace_id))

"""Owns how hard objects are compressed: zlib level 1, with tables no larger than the content needs.

A deflater for a full window clears a quarter of a megabyte, which costs more than compressing a small file. What a
smaller window writes is read by every git.
"""

from __future__ import annotations

import zlib

_SIZES = ((1 << 10, 10, 4), (4 << 10, 12, 6), (16 << 10, 13, 7), (32 << 10, 15, 6))
"""(up to so many bytes, window bits, memory level), measured."""

PROBE_BYTES = 64 << 10


def deflate(data: bytes) -> bytes:
    """The zlib stream of `data`."""
    for limit, window, memory in _SIZES:
        if len(data) <= limit:
            deflater = zlib.compressobj(1, zlib.DEFLATED, window, memory)
            return deflater.compress(data) + deflater.flush()
    return zlib.compress(data, 1)


def level_for(probe: bytes) -> int:
    """0 (stored) for large content whose beginning gains less than 3 %, else 1."""
    return 1 if len(zlib.compress(probe, 1)) < len(probe) * 0.97 else 0

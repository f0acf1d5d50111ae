"""Claims about the head file: two slots, canonical JSON, nothing believed that is not whole."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from chrono.audit import head
from chrono.audit.head import SLOT_BYTES, Head
from chrono.canonical import canonical_bytes, parse

HEADS = [
    Head("ab" * 16, 0, 0, "", (), "x\n"),
    Head("ab" * 16, 3, 1234, "1f" * 32, (bytes(32), b"\xff" * 32), 'a\n3\nroot=\n\n— a "b\\" c\n'),
]


@pytest.mark.parametrize("wanted", HEADS)
def test_a_head_is_written_as_canonical_json_and_read_back(tmp_path: Path, wanted: Head) -> None:
    fd = os.open(tmp_path / "head", os.O_RDWR | os.O_CREAT)
    head.write(fd, wanted)
    slot = os.pread(fd, SLOT_BYTES, (wanted.size & 1) * SLOT_BYTES)
    length, crc = struct.unpack_from(">II", slot)
    payload = slot[8 : 8 + length]
    assert zlib.crc32(payload) == crc
    assert canonical_bytes(parse(payload)) == payload
    assert head.read(fd) == wanted
    head.wipe(fd, wanted.size)
    assert head.read(fd) is None
    os.close(fd)


def test_a_flipped_bit_is_no_head(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "head", os.O_RDWR | os.O_CREAT)
    head.write(fd, HEADS[1])
    for at in (0, 3, 5, 9, 100):
        byte = os.pread(fd, 1, SLOT_BYTES + at)
        os.pwrite(fd, bytes((byte[0] ^ 1,)), SLOT_BYTES + at)
        assert head.read(fd) is None
        os.pwrite(fd, byte, SLOT_BYTES + at)
    assert head.read(fd) == HEADS[1]
    os.close(fd)

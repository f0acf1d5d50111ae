"""Lines of a store file: what is torn or damaged is told apart from what is a record."""

from __future__ import annotations

import pytest

from chrono.record.frames import ENVELOPE, HEAD_BYTES, NO_TRACE, PIECE, Damage, Frame, frame, read_frames

TRACE = b"a" * 32
ONE = frame(ENVELOPE, TRACE, b'{"a":1}')
TWO = frame(PIECE, NO_TRACE, b'"x"')


def test_a_line_is_read_as_it_was_written() -> None:
    assert list(read_frames(ONE + TWO, base=100)) == [
        Frame(ENVELOPE, TRACE, b'{"a":1}', 100, 100 + len(ONE)),
        Frame(PIECE, NO_TRACE, b'"x"', 100 + len(ONE), 100 + len(ONE + TWO)),
    ]
    assert ONE.index(b"{") == HEAD_BYTES


@pytest.mark.parametrize("cut", range(1, len(TWO)))
def test_a_torn_end_is_waited_for_and_never_taken_for_a_record(cut: int) -> None:
    assert [found.end for found in read_frames(ONE + TWO[:cut])] == [len(ONE)]


def test_each_changed_byte_is_damage_and_the_next_record_is_found() -> None:
    for at in range(len(ONE) - 1):
        for value in (ord("0"), ord("f"), ord("S"), ord("\n"), 0):
            if ONE[at] == value:
                continue
            changed = ONE[:at] + bytes([value]) + ONE[at + 1 :]
            found = list(read_frames(changed + TWO))
            assert isinstance(found[0], Damage), changed
            assert isinstance(found[-1], Frame) and found[-1].body == b'"x"'


def test_a_damaged_length_beyond_the_end_does_not_hide_what_follows() -> None:
    longer = b"E 0000ffff" + ONE[10:]
    assert [type(found) for found in read_frames(longer + TWO)] == [Damage, Frame]

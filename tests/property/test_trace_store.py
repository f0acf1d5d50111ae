"""The trace store for any JSON: what was appended comes back, and any cut of the file leaves a beginning of it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.record.frames import ENVELOPE, PIECE, Frame, frame, read_frames
from chrono.record.packing import Packer, json_bytes, unpack

TRACE = b"a" * 32

TEXT = st.text(max_size=8).map(lambda text: text * 60)  # long enough to be shared
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)
RECORDS = st.lists(
    st.fixed_dictionaries({"filler": st.just("f" * 2100), "value": JSON, "list": st.lists(JSON, max_size=6)}),
    max_size=6,
)


def written(values: list[dict[str, Any]]) -> bytes:
    """A file as its writer lays it out."""
    packer, data = Packer(), bytearray()
    for value in values:

        def put(piece: bytes) -> int:
            place = len(data)
            data.extend(frame(PIECE, b"-" * 32, piece))
            return place

        body = packer.pack(value, json_bytes(value), put)
        data.extend(frame(ENVELOPE, TRACE, body))
    return bytes(data)


def read(data: bytes) -> list[bytes]:
    pieces: dict[int, bytes] = {}
    found = []
    for record in read_frames(data):
        assert isinstance(record, Frame)
        if record.kind == PIECE:
            pieces[record.start] = record.body
        else:
            found.append(unpack(record.body, record.start, pieces.__getitem__))
    return found


@settings(max_examples=50)
@given(RECORDS)
def test_whatever_is_appended_comes_back_byte_for_byte(values: list[dict[str, Any]]) -> None:
    assert read(written(values)) == [json_bytes(value) for value in values]


@settings(max_examples=40)
@given(RECORDS, st.integers(min_value=0, max_value=1 << 16))
def test_any_cut_leaves_a_beginning(values: list[dict[str, Any]], cut: int) -> None:
    data = written(values)
    found = read(data[: cut % (len(data) + 1)])
    assert found == [json_bytes(value) for value in values][: len(found)]


@settings(max_examples=60)
@given(st.binary(max_size=400), st.lists(st.integers(0, 255), max_size=3))
def test_no_bytes_bring_a_reader_down(noise: bytes, flips: list[int]) -> None:
    data = bytearray(written([{"a": "b" * 3000, "c": ["d" * 400] * 3}]) + noise)
    for at in flips:
        data[at * 7 % len(data)] ^= 0xFF
    end = 0
    for record in read_frames(bytes(data)):
        assert record.start == end < record.end
        end = record.end

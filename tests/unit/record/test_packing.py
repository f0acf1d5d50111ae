"""Shared pieces: what comes again is stored once, and the bytes come back as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chrono.record.frames import DamagedStore
from chrono.record.packing import MARK, Packer, json_bytes, unpack


class Pieces:
    """A file of pieces, as far as packing knows one."""

    def __init__(self) -> None:
        self.at: dict[int, bytes] = {}
        self.size = 0
        self.packer = Packer()

    def put(self, piece: bytes) -> int:
        self.size += 1
        self.at[self.size] = piece
        return self.size

    def pack(self, value: dict[str, Any]) -> bytes:
        return self.packer.pack(value, json_bytes(value), self.put)

    def unpack(self, body: bytes) -> bytes:
        return unpack(body, self.size + 1, self.at.__getitem__)

    @property
    def stored(self) -> int:
        return sum(map(len, self.at.values()))


def turn(number: int, size: int = 900) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"{at} " + chr(97 + at % 26) * size} for at in range(number)]
    return {"name": "chat", "input": {"messages": messages, "raw": {"messages": messages, "model": "m"}}}


def test_what_is_packed_comes_back_byte_for_byte() -> None:
    pieces = Pieces()
    for number in range(12):
        value = {**turn(number), "odd": {"text": "\x01" + "0" * 12 + "é\n" * 400, "deep": [[[[[[["x" * 3000]]]]]]]}}
        assert pieces.unpack(pieces.pack(value)) == json_bytes(value)


def test_a_conversation_that_is_sent_again_with_each_turn_grows_by_its_new_messages_only() -> None:
    pieces, bodies, sent = Pieces(), 0, 0
    for number in range(1, 101):
        bodies += len(pieces.pack(turn(number)))
        sent += len(json_bytes(turn(number)))
    said = len(json_bytes(turn(100)["input"]["messages"]))
    # raw and canonical hold the same list: a fifth more than what was said once, however often it was sent
    assert pieces.stored + bodies < 1.5 * said
    assert sent > 50 * said


def test_two_branches_of_a_conversation_share_their_beginning() -> None:
    pieces = Pieces()
    pieces.pack(turn(50))
    before = pieces.stored
    for branch in ("left", "right"):
        value = turn(50)
        value["input"]["messages"].append({"role": "user", "content": branch * 200})
        assert pieces.unpack(pieces.pack(value)) == json_bytes(value)
    assert pieces.stored - before < 4000


def test_a_small_record_is_written_as_it_is() -> None:
    pieces = Pieces()
    assert pieces.pack({"a": "b" * 500}) == b'{"a":"' + b"b" * 500 + b'"}'
    assert not pieces.at


def test_a_lone_surrogate_comes_back() -> None:
    value = {"text": "\ud800 é"}
    assert json.loads(json_bytes(value)) == value


def test_a_reference_that_leads_forward_or_grows_without_end_is_damage() -> None:
    with pytest.raises(DamagedStore, match="not before it"):
        unpack(MARK + b"%012x" % 5, 5, {5: b"x"}.__getitem__)
    doubling = {0: b"x" * 100} | {at: (MARK + b"%012x" % (at - 1)) * 2 for at in range(1, 60)}
    with pytest.raises(DamagedStore, match="more than"):
        unpack(doubling[59], 59, doubling.__getitem__, limit=10_000)

"""Claims about the clock, chance and ids: drawn anew when recorded, the same again in replay."""

from __future__ import annotations

from chrono import record
from chrono.record.sink import MemorySink


def test_time_chance_and_ids_are_the_same_again(sink: MemorySink) -> None:
    def program() -> list[object]:
        cards = list(range(20))
        record.chance.shuffle(cards)
        return [record.now(), record.uuid4(), record.chance.random(), record.chance.choice("abcdef"), cards]

    with record.record("live"):
        first = program()
    with record.replay(list(sink.envelopes)) as run:
        assert program() == first
    assert run.divergences == []
    with record.record("live"):
        assert program() != first

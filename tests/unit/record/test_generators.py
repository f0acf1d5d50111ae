"""Claims about generators: items come as they are made, the whole is recorded, and the kind of callable stays."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chrono import record as chronicle
from chrono.record.sink import MemorySink


@chronicle.boundary("inner")
def inner(number: int) -> int:
    return number


@chronicle.boundary("count")
def count(most: int) -> Generator[int, Any, str]:
    for number in range(most):
        yield inner(number)
    return "end"


@chronicle.boundary("acount")
async def acount(most: int) -> AsyncIterator[int]:
    for number in range(most):
        await asyncio.sleep(0)
        yield inner(number)


def test_a_generator_stays_one_and_all_it_gave_is_recorded(sink: MemorySink) -> None:
    assert inspect.isgeneratorfunction(count) and inspect.isasyncgenfunction(acount)
    with chronicle.record():
        assert list(count(3)) == [0, 1, 2]
    *inners, whole = sink.envelopes
    assert whole.output == {"raw": [0, 1, 2]}
    assert {one.parent_envelope_id for one in inners} == {whole.envelope_id}
    assert whole.metadata["chrono.items"] == 3 and whole.metadata["chrono.returned"] == "end"
    assert whole.metadata["chrono.first_chunk_ms"] >= 0
    assert "chrono.partial" not in whole.metadata


def test_an_item_is_there_before_the_next_is_made(sink: MemorySink) -> None:
    made = []

    @chronicle.boundary("slow")
    def slow() -> Iterator[int]:
        for number in range(3):
            made.append(number)
            yield number

    with chronicle.record():
        stream = slow()
        assert made == []
        assert next(stream) == 0 and made == [0]
        assert sink.envelopes == []
        assert list(stream) == [1, 2]
    assert sink.envelopes[0].output == {"raw": [0, 1, 2]}


def test_code_between_the_items_is_not_inside(sink: MemorySink) -> None:
    with chronicle.record():
        for _ in count(1):
            chronicle.boundary("between")(lambda: None)()
    between = next(one for one in sink.envelopes if one.name == "between")
    assert between.parent_envelope_id is None


def test_an_abandoned_generator_is_recorded_as_partial(sink: MemorySink) -> None:
    with chronicle.record():
        stream = count(3)
        next(stream)
        stream.close()
        dropped = count(3)
        next(dropped)
        del dropped
        gc.collect()
    wholes = [one for one in sink.envelopes if one.name == "count"]
    assert [one.output for one in wholes] == [{"raw": [0]}] * 2
    assert all(one.metadata["chrono.partial"] is True and one.status == "success" for one in wholes)


def test_a_generator_made_by_a_plain_function_and_never_begun_is_recorded(sink: MemorySink) -> None:
    make = chronicle.boundary("make")(lambda: (number for number in range(3)))
    with chronicle.record():
        assert list(make()) == [0, 1, 2]
        unread = make()
        del unread
        gc.collect()
    assert [one.output for one in sink.envelopes] == [{"raw": [0, 1, 2]}, {"raw": []}]
    assert sink.envelopes[1].metadata["chrono.partial"] is True


def test_what_is_sent_and_thrown_reaches_the_generator(sink: MemorySink) -> None:
    @chronicle.boundary("echo")
    def echo() -> Generator[Any, Any, None]:
        got: Any = None
        while True:
            try:
                got = yield got
            except KeyError as error:
                got = repr(error)

    with chronicle.record():
        talk = echo()
        next(talk)
        assert talk.send("a") == "a"
        assert talk.throw(KeyError("k")) == "KeyError('k')"
        talk.close()
    assert sink.envelopes[0].output == {"raw": [None, "a", "KeyError('k')"]}


def test_an_error_in_the_middle_keeps_what_came_before(sink: MemorySink) -> None:
    @chronicle.boundary("breaks")
    def breaks() -> Iterator[int]:
        yield 1
        raise OSError("lost")

    with chronicle.record(), pytest.raises(OSError, match="lost"):
        list(breaks())
    (entry,) = sink.envelopes
    assert entry.status == "failure"
    assert entry.output == {"raw": [1], "error": {"type": "OSError", "message": "lost"}}


def test_a_context_manager_made_of_a_boundary_works(sink: MemorySink) -> None:
    @contextmanager
    @chronicle.boundary("opened")
    def opened() -> Iterator[str]:
        try:
            yield "handle"
        except ValueError:
            yield_back.append("handled")

    yield_back: list[str] = []
    with chronicle.record(), opened() as handle:
        assert handle == "handle"
        raise ValueError
    assert yield_back == ["handled"]
    assert sink.envelopes[0].status == "success"


def test_async_generators_are_recorded_the_same_way(sink: MemorySink) -> None:
    async def main() -> None:
        async with chronicle.aspan():
            assert [one async for one in acount(3)] == [0, 1, 2]
            stream = acount(3)
            await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            plain = chronicle.boundary("plain")(lambda: acount.__wrapped__(2))
            assert [one async for one in plain()] == [0, 1]

    asyncio.run(main())
    wholes = [one for one in sink.envelopes if one.name != "inner"]
    assert [one.output for one in wholes] == [{"raw": [0, 1, 2]}, {"raw": [0]}, {"raw": [0, 1]}]
    assert [one.metadata.get("chrono.partial") for one in wholes] == [None, True, None]


def test_a_generator_without_end_is_held_in_bounds(sink: MemorySink) -> None:
    chronicle.configure(max_items=10)
    with chronicle.record():
        for number in count(1000):
            assert number < 1000
    whole = sink.envelopes[-1]
    assert whole.output == {"raw": list(range(10))}
    assert whole.metadata["chrono.items"] == 1000 and whole.metadata["chrono.items_cut"] is True


def test_nothing_is_in_the_way_where_nothing_is_recorded(sink: MemorySink) -> None:
    chronicle.configure(enabled=False)
    assert list(count(2)) == [0, 1]
    assert asyncio.run(_collect()) == [0, 1]


async def _collect() -> list[int]:
    return [one async for one in acount(2)]

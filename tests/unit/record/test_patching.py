"""Claims about Python's own clock, chance and ids: recorded inside spans that ask for it, given back, and else alone."""

from __future__ import annotations

import asyncio
import datetime
import random
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime as named_datetime
from time import time as named_time
from typing import Any

import pytest

from chrono import record
from chrono.record import reset
from chrono.record.patching import GROUPS
from chrono.record.sink import MemorySink
from tests.waiting import LONG_S

REAL = {
    "time": time.time, "time_ns": time.time_ns, "datetime": datetime.datetime, "date": datetime.date,
    "random": random.random, "choice": random.choice, "shuffle": random.shuffle, "uuid4": uuid.uuid4,
    "named": named_time, "named datetime": named_datetime,
}  # fmt: skip


def in_place() -> dict[str, Any]:
    return {
        "time": time.time, "time_ns": time.time_ns, "datetime": datetime.datetime, "date": datetime.date,
        "random": random.random, "choice": random.choice, "shuffle": random.shuffle, "uuid4": uuid.uuid4,
        "named": named_time, "named datetime": named_datetime,
    }  # fmt: skip


@pytest.fixture
def asked(sink: MemorySink) -> Iterator[MemorySink]:
    record.configure(record_clock=True, record_random=True, record_uuid=True)
    yield sink
    reset()
    assert in_place() == REAL


def program() -> list[Any]:
    """One of each."""
    picked = ["a", "b", "c", "d", "e", "f"]
    random.shuffle(picked)
    zone = datetime.timezone(datetime.timedelta(hours=3))
    return [
        time.time(), time.time_ns(), named_time(),
        datetime.datetime.now(), datetime.datetime.now(zone), datetime.datetime.utcnow(),
        named_datetime.today(), datetime.date.today(),
        random.random(), random.randint(1, 10**9), random.gauss(0, 1), random.randbytes(8),
        random.choice(range(10**9)), random.choices(range(10**9), k=3), random.sample(range(10**9), 3), picked,
        uuid.uuid4(), uuid.uuid1(),
    ]  # fmt: skip


def test_a_replay_gives_back_what_a_program_drew(asked: MemorySink) -> None:
    with record.record():
        first = program()
    time.sleep(0.002)
    record.configure(record_clock=False, record_random=False, record_uuid=False)  # the recording says what to answer
    with record.replay(asked.envelopes) as run:
        again = program()
    assert again == first and [type(one) for one in again] == [type(one) for one in first]
    assert run.divergences == [] and program() != first
    assert {one.name for one in asked.envelopes} <= GROUPS.keys()


def test_what_is_picked_is_the_programs_own_object(asked: MemorySink) -> None:
    things = [object() for _ in range(50)]

    def pick() -> list[Any]:
        order = list(things)
        random.shuffle(order)
        return [random.choice(things), *random.choices(things, k=2), *random.sample(things, 2), *order]

    with record.record():
        first = pick()
    with record.replay(asked.envelopes):
        assert all(one is other for one, other in zip(pick(), first, strict=True))


def test_a_seed_means_what_it_meant(asked: MemorySink) -> None:
    def drawn() -> list[Any]:
        order = list(range(9))
        random.seed(7)
        random.shuffle(order)
        return [random.random(), random.gauss(0, 1), random.choice("abc"), random.sample(order, 3), order]

    plain = drawn()
    with record.record():
        assert drawn() == plain


def test_nothing_is_patched_where_nobody_asked(sink: MemorySink) -> None:
    with record.record():
        assert in_place() == REAL
        program()
    assert sink.envelopes == []


def test_outside_of_the_span_and_in_other_threads_python_answers(asked: MemorySink) -> None:
    begin, go_on = threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        begin.wait(LONG_S)
        seen.append(program())
        go_on.set()

    thread = threading.Thread(target=other)
    thread.start()
    with record.record():
        begin.set()
        assert go_on.wait(LONG_S)
    thread.join()
    assert in_place() == REAL and program() != seen[0] and asked.envelopes == []


def test_threads_and_tasks_of_a_span_get_their_own_back(asked: MemorySink) -> None:
    @record.boundary("one")
    def one(number: int) -> tuple[int, uuid.UUID]:
        return number, uuid.uuid4()

    async def task(number: int) -> tuple[int, uuid.UUID]:
        await asyncio.sleep(0.001 * number)
        return one(number)

    async def tasks() -> list[Any]:
        return await asyncio.gather(*map(task, range(3)))

    def both() -> list[Any]:
        with ThreadPoolExecutor(3) as pool:
            return [*pool.map(one, range(10, 13)), *asyncio.run(tasks())]

    with record.record():
        first = both()
    with record.replay(asked.envelopes, record.ReplayPlan().run("one")) as run:
        assert both() == first
    assert {one.kind for one in run.divergences} <= {"order"}  # threads may come one after the other, then otherwise


def test_a_call_that_is_new_in_replay_asks_python_and_is_told(asked: MemorySink) -> None:
    with record.record():
        time.time()
    with record.replay(asked.envelopes) as run:
        time.time()
        assert abs(time.time() - named_time()) < 60
    assert [one.kind for one in run.divergences] == ["missing", "missing"]


def test_an_ambient_call_is_not_recorded(asked: MemorySink) -> None:
    @record.boundary("tool")
    def tool() -> float:
        return time.time()

    tool()
    assert [one.name for one in asked.envelopes] == ["tool"] and in_place() == REAL


def test_hooks_and_the_recorder_ask_for_themselves(asked: MemorySink) -> None:
    class Timed(record.Hook):
        def enter(self, call: Any) -> None:
            time.time()

        def leave(self, call: Any) -> None:
            uuid.uuid4()

    record.default_hooks.register(Timed())
    try:
        with record.record():
            record.boundary("tool", extract_metadata=lambda result: {"at": time.time()})(lambda: 1)()
            time.time_ns()
    finally:
        record.default_hooks.clear()
    assert [one.name for one in asked.envelopes] == ["tool", "time.time_ns"]


def test_values_made_meanwhile_are_pythons_own(asked: MemorySink) -> None:
    with record.record():
        made = datetime.datetime(2026, 5, 1)
        assert type(made) is REAL["datetime"] and isinstance(made, datetime.datetime | datetime.date)
        assert type(datetime.datetime.fromisoformat("2026-05-01T00:00:00")) is REAL["datetime"]
        assert type(datetime.date(2026, 5, 1)) is REAL["date"]
        assert issubclass(REAL["datetime"], datetime.datetime) and not isinstance(1, datetime.date)

        class Own(datetime.datetime):
            pass

        own = Own(2026, 5, 1)
        assert type(own) is Own and not isinstance(made, Own) and Own.now() >= made


def test_what_secrets_gives_is_never_recorded(asked: MemorySink) -> None:
    import secrets

    with record.record():
        secrets.token_hex(), secrets.token_bytes(), secrets.choice("abc")
    assert asked.envelopes == []

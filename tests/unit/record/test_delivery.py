"""Delivery: everything that was acknowledged reaches the plane, once, whatever the plane does meanwhile."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chrono.record import delivery
from chrono.record.counters import COUNTERS, _begin_again, stats
from chrono.record.entry import EnvelopeEntry, SpanEntry, TraceEntry
from chrono.record.errors import DeliveryError
from chrono.record.sending import LONELY_FAULTS
from chrono.record.settings import Settings
from chrono.record.storesink import StoreSink, open_sink
from tests.loopback import held_port
from tests.unit.record.fake_plane import FakePlane, failing_now_and_then, slow
from tests.waiting import LONG_S, until

TRACE = "ab" * 16
SPAN = "cd" * 8
AT = 1_790_000_000_000_000_000


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePlane]:
    _begin_again()
    monkeypatch.setattr(delivery, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(delivery, "LONGEST_PAUSE_S", 0.1)
    others = delivering()
    with FakePlane() as plane:
        yield plane
        while opened:
            opened.pop().close()
    until(lambda: delivering() <= others, "the thread of a sink that was closed did not end")


opened: list[StoreSink] = []
"""By the test; closed after it, where it failed before it could."""


def sink_to(plane: FakePlane | str | None, store: Path, **settings: Any) -> StoreSink:
    sink = open_sink(
        Settings(
            control_plane_url=plane.url if isinstance(plane, FakePlane) else plane,
            store=str(store),
            **{"fail_open": False, "timeout": LONG_S, **settings},
        )
    )
    opened.append(sink)
    return sink


def envelope(number: int, **changes: Any) -> EnvelopeEntry:
    entry = EnvelopeEntry(
        TRACE, SPAN, f"{number + 1:016x}", None, f"tool-{number}", "tool", 1, None, AT + number, AT + number + 1, "success",
        {"raw": {"n": number}}, {"raw": number}, {"chronicle.sequence": number + 1},
    )  # fmt: skip
    return entry._replace(**changes)


def span(ended: bool = True) -> SpanEntry:
    return SpanEntry(TRACE, SPAN, None, "agent", AT, AT + 9 if ended else None, "success" if ended else None, {})


def delivering() -> set[threading.Thread]:
    """The threads that deliver in this process."""
    return {thread for thread in threading.enumerate() if thread.name == "chrono-delivery"}


def leave(sink: StoreSink) -> None:
    """Ends `sink` as the end of its process does: nothing of it goes on."""
    thread = sink._delivery._thread
    sink.close()
    until(lambda: thread not in delivering())


def numbers(plane: FakePlane) -> list[int]:
    return sorted(one["input"]["raw"]["n"] for one in plane.envelopes.values())


def test_a_whole_trace_is_at_the_plane_as_it_was_recorded(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path)
    sink.put_trace(TraceEntry(TRACE, "request", {"user_id": "u"}, AT))
    sink.put_span(span(ended=False))
    for number in range(3):
        sink.put_envelope(envelope(number, input={"raw": {"n": number, "text": "é\x00\n" * 2000}}))
    sink.put_span(span())
    sink.flush()
    assert plane.traces[TRACE]["metadata"] == {"user_id": "u"}
    assert plane.spans[TRACE, SPAN]["state"] == "closed"
    assert [one["input"]["raw"]["text"] for one in plane.envelopes.values()] == ["é\x00\n" * 2000] * 3
    # open and closed span, and all envelopes, in one request each
    assert plane.sent("PUT") == [f"/v1/traces/{TRACE}/spans/{SPAN}"]
    assert plane.sent("POST") == ["/v1/traces", "/v1/envelopes:batch"]
    assert stats().delivered == 5 and stats().waiting == 0
    sink.close()


def test_batches_stay_below_what_the_plane_takes_in_items_and_bytes(plane: FakePlane, tmp_path: Path) -> None:
    plane.max_batch, plane.max_body_bytes = 7, 300_000
    bodies: list[int] = []
    plane.answers = lambda method, path, body: bodies.append(len(body))
    sink = sink_to(plane, tmp_path, batch_size=200)
    for number in range(60):
        sink.put_envelope(envelope(number, output={"raw": str(number % 10) * 100_000}))
    sink.flush()
    assert numbers(plane) == list(range(60))
    assert max(bodies) <= 300_000
    assert set(plane.times.values()) == {1}
    sink.close()


@pytest.mark.parametrize("status", [503, 500, 429, 502, 401])
def test_a_plane_that_fails_for_a_while_loses_nothing(plane: FakePlane, tmp_path: Path, status: int) -> None:
    failures = iter(range(6))
    plane.answers = lambda method, path, body: status if next(failures, None) is not None else None
    sink = sink_to(plane, tmp_path)
    for number in range(30):
        sink.put_envelope(envelope(number))
    sink.flush()
    assert numbers(plane) == list(range(30))
    assert stats().retries >= 2 and stats().set_aside == 0
    sink.close()


def test_a_locked_database_half_way_loses_and_doubles_nothing(plane: FakePlane, tmp_path: Path) -> None:
    chance, failed = random.Random(7), Counter[bytes]()

    def locked(method: str, path: str, body: bytes) -> int | None:
        if chance.random() > 0.4 or failed[body] == LONELY_FAULTS - 1:  # once more, and the record would be given up
            return None
        failed[body] += 1
        return 500

    plane.answers = locked
    sink = sink_to(plane, tmp_path)
    sink.put_trace(TraceEntry(TRACE, None, {}, AT))
    for number in range(300):
        sink.put_envelope(envelope(number))
    sink.put_span(span())
    sink.flush()
    assert numbers(plane) == list(range(300))
    sink.close()


def test_a_window_goes_on_where_it_stopped(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers = failing_now_and_then()  # three writes a window: begun anew each time, it would never end
    sink = sink_to(plane, tmp_path)
    sink.put_trace(TraceEntry(TRACE, None, {}, AT))
    for number in range(30):
        sink.put_envelope(envelope(number))
    sink.put_span(span())
    sink.flush()
    assert numbers(plane) == list(range(30)) and plane.spans
    assert set(plane.times.values()) == {1}
    sink.close()


def test_a_plane_that_takes_something_is_not_waited_for_ever_longer(
    plane: FakePlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "LONGEST_PAUSE_S", 60.0)
    plane.answers, plane.max_batch = failing_now_and_then(), 2
    sink = sink_to(plane, tmp_path)
    for number in range(60):
        sink.put_envelope(envelope(number))
    sink.flush()
    assert numbers(plane) == list(range(60))
    sink.close()


def test_one_record_that_the_plane_refuses_is_set_aside_and_said(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path)
    for number in range(50):
        sink.put_envelope(envelope(number, kind="odd" if number in (3, 41) else "tool"))
    with pytest.raises(DeliveryError, match="refuses a record for good"):
        sink.flush()
    assert numbers(plane) == [number for number in range(50) if number not in (3, 41)]
    assert stats().set_aside == 2
    (notes,) = tmp_path.rglob("*.refused")
    assert [json.loads(line)["status"] for line in notes.read_text().splitlines()] == [400, 400]
    sink.put_envelope(envelope(50))
    sink.flush()  # said once
    sink.close()


def test_one_record_that_the_plane_trips_over_does_not_hold_up_the_others(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers = lambda method, path, body: 500 if b'"poison"' in body else None
    sink = sink_to(plane, tmp_path)
    for number in range(20):
        sink.put_envelope(envelope(number, name="poison" if number == 7 else "tool"))
    with pytest.raises(DeliveryError):
        sink.flush()
    assert numbers(plane) == [number for number in range(20) if number != 7]
    assert stats().set_aside == 1
    sink.close()


def test_a_record_beyond_the_planes_limit_is_set_aside_alone(plane: FakePlane, tmp_path: Path) -> None:
    plane.max_body_bytes = 50_000
    sink = sink_to(plane, tmp_path)
    for number in range(10):
        sink.put_envelope(envelope(number, output={"raw": "x" * (90_000 if number == 4 else 10_000)}))
    with pytest.raises(DeliveryError, match="413"):
        sink.flush()
    assert numbers(plane) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    sink.close()


def test_a_lone_surrogate_reaches_the_plane_as_a_replacement_character(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path)
    sink.put_envelope(envelope(0, output={"raw": "a\ud800b \\ud800 \U0001f600"}))
    sink.put_envelope(envelope(1))
    sink.flush()
    assert plane.envelopes[TRACE, f"{1:016x}"]["output"]["raw"] == "a\ufffdb \\ud800 \U0001f600"
    assert stats().repaired == 1
    sink.close()


def test_records_leave_by_age_while_others_keep_coming(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path, flush_interval=0.2, batch_size=1_000_000)
    following = iter(range(1_000_000))

    def some_left() -> bool:
        sink.put_envelope(envelope(next(following)))
        return bool(plane.envelopes)

    until(some_left)
    sink.close()


def test_a_full_batch_leaves_at_once(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path, flush_interval=10_000.0, batch_size=10)
    for number in range(10):
        sink.put_envelope(envelope(number))
    until(lambda: len(plane.envelopes) == 10)
    sink.close()


def test_an_open_envelope_is_replaced_by_its_closed_one(plane: FakePlane, tmp_path: Path) -> None:
    sink = sink_to(plane, tmp_path)
    for number in range(4):
        sink.put_envelope(envelope(number, ended_at_ns=None, status=None, output=None))
        sink.put_envelope(envelope(number))
    sink.flush()
    assert {one["envelope_status"]["state"] for one in plane.envelopes.values()} == {"closed"}
    assert set(plane.times.values()) == {1}
    sink.close()


def test_a_hanging_plane_costs_the_caller_nothing(plane: FakePlane, tmp_path: Path) -> None:
    release = threading.Event()
    plane.answers = lambda method, path, body: release.wait(LONG_S) and None
    sink = sink_to(plane, tmp_path, fail_open=True, batch_size=5, flush_interval=0.05)
    sink.put_envelope(envelope(0))
    until(lambda: bool(plane.requests))
    took: list[float] = []
    for number in range(1, 200):
        begin = time.perf_counter()
        sink.put_span(span(ended=False))
        sink.put_envelope(envelope(number))
        sink.put_span(span())
        sink.flush()
        took.append(time.perf_counter() - begin)
    assert sorted(took)[len(took) // 2] < 0.05
    begin, thread = time.monotonic(), sink._delivery._thread
    sink.close()
    assert time.monotonic() - begin < LONG_S / 2  # it does not wait for the plane
    release.set()
    until(lambda: thread not in delivering())
    again = sink_to(plane, tmp_path)
    again.put_envelope(envelope(200))
    until(lambda: len(plane.envelopes) == 201)
    again.close()


def test_a_plane_too_slow_for_a_batch_gets_smaller_ones(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers = lambda method, path, body: (
        time.sleep(0.02 * body.count(b'"envelope_id"')) if path[-5:] == "batch" else None
    )
    sink = sink_to(plane, tmp_path, timeout=0.5)
    for number in range(60):
        sink.put_envelope(envelope(number))
    until(lambda: len(plane.envelopes) == 60)
    sink.close()


class Clock:
    """The clock of the machine, which may be moved on."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


def test_a_strict_flush_waits_for_a_slow_plane_that_gets_on(
    plane: FakePlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(delivery, "time", clock)

    def half_the_timeout(method: str, path: str, body: bytes) -> None:
        clock.ahead_s += LONG_S / 2

    plane.answers, plane.max_batch = half_the_timeout, 2
    sink = sink_to(plane, tmp_path)
    for number in range(20):
        sink.put_envelope(envelope(number))
    sink.flush()
    assert len(plane.envelopes) == 20
    sink.close()


def test_a_strict_flush_raises_where_the_plane_is_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _begin_again()
    with held_port() as port:
        sink = sink_to(f"http://127.0.0.1:{port}", tmp_path, timeout=0.3)
        sink.put_envelope(envelope(0))
        until(lambda: COUNTERS.retries)
        with pytest.raises(DeliveryError, match="cannot be reached"):
            sink.flush()
        leave(sink)
    assert len([one for one in caplog.records if one.levelno >= logging.WARNING]) == 1  # an outage is said once


def test_what_one_process_could_not_deliver_the_next_one_does(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers = lambda method, path, body: 503
    first = sink_to(plane, tmp_path, fail_open=True)
    for number in range(25):
        first.put_envelope(envelope(number))
    leave(first)
    plane.answers = lambda method, path, body: None
    second = sink_to(plane, tmp_path)
    second.put_envelope(envelope(25))
    until(lambda: len(plane.envelopes) == 26)
    assert set(plane.times.values()) == {1}
    second.close()


def test_a_process_that_ends_at_once_delivers_what_another_left(
    plane: FakePlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.answers = lambda method, path, body: 503
    first = sink_to(plane, tmp_path, fail_open=True)
    for number in range(500):
        first.put_envelope(envelope(number))
    leave(first)
    plane.answers = lambda method, path, body: None
    monkeypatch.setattr(delivery, "LAST_WAIT_S", LONG_S)
    second = sink_to(plane, tmp_path, fail_open=True)
    second.put_envelope(envelope(500))
    second.close()
    assert len(plane.envelopes) == 501


def test_what_was_meant_to_stay_here_is_not_delivered_later(plane: FakePlane, tmp_path: Path) -> None:
    local = sink_to(None, tmp_path)
    local.put_envelope(envelope(0))
    local.close()
    sink = sink_to(plane, tmp_path)
    sink.put_envelope(envelope(1))
    sink.flush()
    time.sleep(0.2)
    assert numbers(plane) == [1]
    sink.close()


def test_two_processes_do_not_deliver_one_file_twice(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers = lambda method, path, body: 503
    first = sink_to(plane, tmp_path, fail_open=True)
    for number in range(200):
        first.put_envelope(envelope(number))
    leave(first)
    plane.answers, plane.max_batch = slow(0.01), 5
    others = [sink_to(plane, tmp_path) for _ in range(4)]
    for at, sink in enumerate(others):
        sink.put_envelope(envelope(200 + at))
    until(lambda: len(plane.envelopes) == 204)
    assert set(plane.times.values()) == {1}
    for sink in others:
        sink.close()


def test_a_sink_goes_on_after_it_was_closed(plane: FakePlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "LAST_WAIT_S", LONG_S)
    sink = sink_to(plane, tmp_path)
    for number in range(3):
        sink.put_envelope(envelope(number))
        sink.close()
        sink.close()
    assert numbers(plane) == [0, 1, 2]


def test_a_full_queue_that_is_to_block_waits_for_room(plane: FakePlane, tmp_path: Path) -> None:
    plane.answers, plane.max_batch = slow(0.02), 5
    sink = sink_to(plane, tmp_path, max_queue=10, on_overflow="block", batch_size=5)
    for number in range(60):
        sink.put_envelope(envelope(number))
        assert stats().waiting <= 11
    sink.flush()
    assert numbers(plane) == list(range(60))
    sink.close()


def test_memory_of_a_stuck_queue_does_not_grow_with_it(plane: FakePlane, tmp_path: Path) -> None:
    import tracemalloc

    plane.answers = lambda method, path, body: 503
    sink = sink_to(plane, tmp_path, fail_open=True)
    sink.put_envelope(envelope(0))
    until(lambda: COUNTERS.retries > 0)
    tracemalloc.start()
    try:
        for number in range(800):
            sink.put_envelope(envelope(number, output={"raw": f"{number:05}" * 20_000}))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 35 << 20  # 80 MB wait; a window in the making, and as the plane of this test holds it, is 25
    sink.close()

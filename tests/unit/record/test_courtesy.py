"""Courtesy: the thread that delivers stops often, and lets who appends go first; but not while somebody waits for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from chrono.record import courtesy
from chrono.record.courtesy import MOST_RESTS, PIECE_S, Courtesy


class Program:
    """A thread of it is in the middle of an append as often as `appends` says."""

    def __init__(self, appends: int = 0) -> None:
        self.appends = appends

    @property
    def busy(self) -> bool:
        self.appends -= 1
        return self.appends >= 0


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The rests that were taken, on a clock that stands unless one rests or a test moves it."""
    taken: list[float] = []
    monkeypatch.setattr(courtesy, "sleep", taken.append)
    monkeypatch.setattr(courtesy, "perf_counter", lambda: 100.0 + sum(taken))
    yield taken


def test_a_rest_is_taken_after_a_piece_of_work_and_not_before(rests: list[float]) -> None:
    pace = Courtesy(Program())
    pace.rest()
    assert len(rests) == 1
    pace.rest()
    assert len(rests) == 1
    rests.append(2 * PIECE_S)  # time goes on
    pace.rest()
    assert len(rests) == 3


def test_a_thread_that_appends_goes_first(rests: list[float]) -> None:
    pace = Courtesy(Program())
    pace.rest()
    pace._writer = Program(appends=3)  # one for the question, two after sleeps
    pace.rest()
    assert len(rests) == 1 + 3


def test_one_that_only_appends_does_not_stop_delivery(rests: list[float]) -> None:
    Courtesy(Program(appends=10**9)).rest()
    assert len(rests) == MOST_RESTS


def test_nobody_who_waits_for_the_work_waits_for_rests(rests: list[float]) -> None:
    pace = Courtesy(Program(appends=10**9))
    with pace.awaited():
        pace.rest()
        assert not rests
    pace.rest()
    assert rests


def test_a_child_does_not_inherit_who_waited(rests: list[float]) -> None:
    pace = Courtesy(Program())
    with pace.awaited():
        pace.forked()
        pace.rest()
    assert len(rests) == 1
    rests.append(2 * PIECE_S)
    pace.rest()
    assert len(rests) == 3


def test_a_thread_at_work_lets_another_in_long_before_its_time_is_up() -> None:
    """With the real interpreter, told to take a thread off after 5 s only."""
    pace, stop = Courtesy(Program()), threading.Event()

    def work() -> None:
        while not stop.is_set():
            sum(range(200))
            pace.rest()

    usual, thread = sys.getswitchinterval(), threading.Thread(target=work)
    took = []
    thread.start()
    sys.setswitchinterval(5)
    try:
        for _ in range(9):
            began = time.perf_counter()
            time.sleep(0.0001)
            took.append(time.perf_counter() - began)
    finally:
        sys.setswitchinterval(usual)
        stop.set()
        thread.join()
    assert sorted(took)[len(took) // 2] < 1

"""Owns the points of delivery: a control plane that fails, hangs or refuses, and processes that end in the middle
(specs: record A16, 9 to 12)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError

from control_plane.api import create_app
from control_plane.settings.settings_types import Settings

from tests.peers.behaviour import World, point
from tests.peers.crashing import FORKS
from tests.peers.serving import serving
from tests.unit.record.fake_plane import FakePlane, hanging, slow
from tests.waiting import LONG_S

TIMEOUT_S = 0.5
PATIENCE_S = 3.0
AGAIN = 2
"""How often a program that has ended, with something undelivered on a slow machine, is begun again."""

RACES = 6
"""Two processes on one connection lose records in most tries, not in all."""


@contextmanager
def _sending(world: World, plane: FakePlane, **settings: Any) -> Iterator[Any]:
    """A tool that takes a number and a text, recorded for `plane`."""
    world.start_at(plane.url, **{"timeout": TIMEOUT_S, "flush_interval": 0.05} | settings)

    @world.chronicle.boundary("tool")
    def tool(number: int, text: str = "") -> None:
        pass

    with world.chronicle.record():
        yield tool


def _arrives(there: Callable[[], set[int]], numbers: set[int], again: Callable[[], None]) -> None:
    """All of them, at once or after the program goes on (`again`); or what comes until nothing has come for a while."""
    deadline, times = time.monotonic() + PATIENCE_S, AGAIN
    seen: set[int] = set()
    while not seen >= numbers:
        before, seen = seen, there()
        if seen != before:
            deadline = time.monotonic() + PATIENCE_S
        elif times and time.monotonic() >= deadline:
            again()
            deadline, times = time.monotonic() + PATIENCE_S, times - 1
        assert time.monotonic() < deadline, f"{len(numbers - seen)} of {len(numbers)} lost"
        time.sleep(0.02)


def _at(plane: FakePlane) -> Callable[[], set[int]]:
    return lambda: {one["input"]["raw"]["number"] for one in list(plane.envelopes.values())}


def _going_on(world: World, url: str) -> Callable[[], None]:
    """The program records once more, and lives on."""

    def again() -> None:
        world.start_at(url, flush_interval=0.05)
        world.chronicle.boundary("tool")(lambda number: None)(1000)

    return again


@point(9, "a control plane that hangs holds no request")
def hangs(world: World) -> None:
    with FakePlane() as plane:
        plane.answers = hanging
        began = time.monotonic()
        with _sending(world, plane, timeout=2.0) as tool:
            tool(1)
        took_s = time.monotonic() - began
        world.chronicle.reset()
    assert took_s < 2.0, f"{took_s / 2.0:.1f} timeouts"


def _fails_once(status: int) -> Any:
    failures = iter([status])
    return lambda method, path, body: next(failures, None) if path.endswith("envelopes:batch") else None


def _survives(world: World, status: int) -> None:
    with FakePlane() as plane:
        plane.answers = _fails_once(status)
        with _sending(world, plane) as tool:
            for number in range(20):
                tool(number)
        world.chronicle.shutdown()
        _arrives(_at(plane), set(range(20)), _going_on(world, plane.url))


@point(10, "one answer 503 loses nothing")
def unavailable(world: World) -> None:
    _survives(world, 503)


@point(10, "one 'database is locked' (500) loses nothing")
def locked(world: World) -> None:
    _survives(world, 500)


@point(10, "one lone surrogate takes no other record with it at the real control plane")
def surrogates(world: World) -> None:
    app = create_app(Settings(database_url=f"sqlite:///{world.folder}/plane.db"))
    with serving(app) as url:
        world.start_at(url, timeout=5.0)
        with world.chronicle.record() as session:
            tool = world.chronicle.boundary("tool")(lambda number, text: None)
            for number in range(20):
                tool(number, "\ud800" if number == 7 else "")
        world.chronicle.shutdown()

        def there() -> set[int]:
            try:
                with urllib.request.urlopen(f"{url}/v1/traces/{session.trace_id}/envelopes", timeout=LONG_S) as answer:
                    return {one["input"]["raw"]["number"] for one in json.load(answer)["envelopes"]}
            except HTTPError:
                return set()  # it knows no such trace yet

        _arrives(there, set(range(20)), _going_on(world, url))


@point(10, "50 results of 100 kB get through a limit of 4 MiB")
def large_batches(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, timeout=5.0) as tool:
            for number in range(60):
                tool(number, "x" * 100_000)
        world.chronicle.shutdown()
        _arrives(_at(plane), set(range(60)), _going_on(world, plane.url))


@point(10, "a batch_size beyond what the plane takes loses nothing")
def long_batches(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, batch_size=300) as tool:
            for number in range(300):
                tool(number)
        world.chronicle.shutdown()
        _arrives(_at(plane), set(range(300)), _going_on(world, plane.url))


@point(10, "what was delivered, tried again and refused is counted where a program can read it")
def counted(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane) as tool:
            tool(1)
        world.chronicle.shutdown()
        stats = world.chronicle.stats()
    assert stats.delivered >= 1 and stats.retries >= 0


@point(11, "records leave by their age while others keep coming")
def age(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, flush_interval=0.3) as tool:
            for number in range(45):  # with fifty a batch is full
                tool(number)
                time.sleep(0.1)
                if there := len(plane.envelopes):
                    break
        world.chronicle.shutdown()
    assert there, "nothing was there after 4.5 s"


@point(12, "a queue that is full at full speed loses nothing")
def full_queues(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, max_queue=50, timeout=5.0) as tool:
            for number in range(1000):
                tool(number)
        world.chronicle.shutdown()
        _arrives(_at(plane), set(range(1000)), _going_on(world, plane.url))


def _process(world: World, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.peers.crashing", world.chronicle.__name__, program, *arguments],
        capture_output=True, text=True, timeout=LONG_S, cwd=world.folder,
        env={**os.environ, "CHRONO_RECORD_STORE": str(world.folder / "store")},
    )  # fmt: skip


def _lives(world: World, url: str) -> None:
    _process(world, "lives", url)


def _outlives(end: str) -> None:
    @point(12, f"what was recorded before {end} arrives")
    def killed(world: World) -> None:
        with FakePlane() as plane:
            done = _process(world, "dies", plane.url, end)
            assert done.stdout == "recorded\n", done.stderr[-500:]
            _arrives(_at(plane), {*range(20), 1000}, lambda: _lives(world, plane.url))


for _end in ("SIGKILL", "SIGTERM"):
    _outlives(_end)


@point(12, "a fork shares no connection: what parent and child record arrives, and neither stalls")
def forks(world: World) -> None:
    for _ in range(RACES):
        with FakePlane() as plane:
            plane.answers = slow(0.05)  # so that the requests of both are under way at once
            done = _process(world, "dies", plane.url, "fork")
            assert done.returncode == 0, done.stderr.strip().splitlines()[-1]
            _arrives(_at(plane), {*range(20), *range(100, 100 + 10 * FORKS)}, lambda: _lives(world, plane.url))

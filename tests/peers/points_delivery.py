"""Owns the points of delivery: a control plane that fails, hangs or refuses, and processes that end in the middle
(specs: record A16, 9 to 12)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from control_plane.api import create_app
from control_plane.settings.settings_types import Settings

from tests.peers.behaviour import World, point
from tests.peers.crashing import FORKS
from tests.peers.serving import serving
from tests.unit.record.fake_plane import FakePlane, hanging, slow

TIMEOUT_S = 0.5
PATIENCE_S = 3.0
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


def _arrives(plane: FakePlane, numbers: set[int]) -> None:
    """All of them, or what comes until nothing has come for a while."""
    there: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    while not there >= numbers:
        before, there = there, {one["input"]["raw"]["number"] for one in list(plane.envelopes.values())}
        if there != before:
            deadline = time.monotonic() + PATIENCE_S
        assert time.monotonic() < deadline, f"{len(numbers - there)} of {len(numbers)} lost"
        time.sleep(0.02)


@point(9, "a control plane that hangs holds no request")
def hangs(world: World) -> None:
    with FakePlane() as plane:
        plane.answers = hanging
        began = time.monotonic()
        with _sending(world, plane) as tool:
            tool(1)
        took_s = time.monotonic() - began
        world.chronicle.reset()
    assert took_s < TIMEOUT_S, f"{took_s / TIMEOUT_S:.1f} timeouts"


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
        _arrives(plane, set(range(20)))


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
        with urllib.request.urlopen(f"{url}/v1/traces/{session.trace_id}/envelopes", timeout=5) as answer:
            there = len(json.load(answer)["envelopes"])
    assert there == 20, f"{20 - there} of 20 lost"


@point(10, "50 results of 100 kB get through a limit of 4 MiB")
def large_batches(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, timeout=5.0) as tool:
            for number in range(60):
                tool(number, "x" * 100_000)
        world.chronicle.shutdown()
        _arrives(plane, set(range(60)))


@point(10, "a batch_size beyond what the plane takes loses nothing")
def long_batches(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, batch_size=300) as tool:
            for number in range(300):
                tool(number)
        world.chronicle.shutdown()
        _arrives(plane, set(range(300)))


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
            for number in range(15):
                tool(number)
                time.sleep(0.1)
            there = len(plane.envelopes)
        world.chronicle.shutdown()
    assert there, "nothing was there after 1.5 s"


@point(12, "a queue that is full at full speed loses nothing")
def full_queues(world: World) -> None:
    with FakePlane() as plane:
        with _sending(world, plane, max_queue=50, timeout=5.0) as tool:
            for number in range(1000):
                tool(number)
        world.chronicle.shutdown()
        _arrives(plane, set(range(1000)))


def _process(world: World, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.peers.crashing", world.chronicle.__name__, program, *arguments],
        capture_output=True, text=True, timeout=40, cwd=world.folder,
        env={**os.environ, "CHRONO_RECORD_STORE": str(world.folder / "store")},
    )  # fmt: skip


def _outlives(end: str) -> None:
    @point(12, f"what was recorded before {end} arrives")
    def killed(world: World) -> None:
        with FakePlane() as plane:
            done = _process(world, "dies", plane.url, end)
            assert done.stdout == "recorded\n", done.stderr[-500:]
            _process(world, "lives", plane.url)
            _arrives(plane, {*range(20), 1000})


for _end in ("SIGKILL", "SIGTERM"):
    _outlives(_end)


@point(12, "a fork shares no connection: what parent and child record arrives, and neither stalls")
def forks(world: World) -> None:
    for _ in range(RACES):
        with FakePlane() as plane:
            plane.answers = slow(0.05)  # so that the requests of both are under way at once
            done = _process(world, "dies", plane.url, "fork")
            assert done.returncode == 0, done.stderr.strip().splitlines()[-1]
            _arrives(plane, {*range(20), *range(100, 100 + 10 * FORKS)})

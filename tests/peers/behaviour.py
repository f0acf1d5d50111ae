"""Owns how one program is run under the Chronicle SDK and under ours: the points, their world, the table of both.

A point is a claim and a program that asserts it; both SDKs get the same program text. The points are written down in
`points_replay`, `points_capture` and `points_delivery`. In the environment of `scripts/peers`:

    python -m tests.peers.behaviour            # the table
    python -m tests.peers.behaviour chronicle  # what each point comes to under one SDK, as JSON
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tests.waiting import LONG_S

ROOT = Path(__file__).resolve().parents[2]
OURS, THEIRS = "chrono.record", "chronicle"
POINTS_IN = ("points_replay", "points_capture", "points_delivery")
LONGEST_S = LONG_S


class Point(NamedTuple):
    """`number` is the section that the claim belongs to (specs: record A16); `shared`: theirs holds it as well."""

    number: int
    claim: str
    program: Callable[[World], None]
    shared: bool


POINTS: list[Point] = []


def point(number: int, claim: str, *, shared: bool = False) -> Callable[[Callable[[World], None]], None]:
    """Writes a program down as a point."""

    def add(program: Callable[[World], None]) -> None:
        POINTS.append(Point(number, claim, program, shared))

    return add


class Plane:
    """A control plane in memory, as a program's own client."""

    def __init__(self) -> None:
        self.traces: list[Any] = []
        self.spans: dict[str, Any] = {}
        self.envelopes: dict[str, Any] = {}

    def upsert_trace(self, trace: Any) -> None:
        self.traces.append(trace)

    def upsert_span(self, span: Any) -> None:
        self.spans[span.span_id] = span

    def append_envelopes(self, envelopes: Any) -> None:
        self.envelopes.update((one.envelope_id, one) for one in envelopes)

    def read_span_envelopes(self, trace_id: str, span_id: str) -> list[Any]:
        return [one for one in self.envelopes.values() if (one.trace_id, one.span_id) == (trace_id, span_id)]

    def close(self) -> None:
        pass


class World:
    """One SDK, recording into a plane in memory, and what it says in the log."""

    def __init__(self, chronicle: Any, folder: Path) -> None:
        self.chronicle = chronicle
        self.folder = folder
        self.plane = Plane()
        self.said: list[str] = []

    def start(self, **settings: Any) -> None:
        self.chronicle.configure(client=self.plane, service_name="agent", fail_open=False, **settings)

    def start_at(self, url: str, **settings: Any) -> None:
        """Record for a control plane at an address instead, with the settings that programs have by default."""
        self.chronicle.reset()
        self.chronicle.configure(control_plane_url=url, **settings)

    def envelopes(self) -> list[Any]:
        """What was recorded so far, in the order of its start."""
        self.chronicle.shutdown()
        return sorted(self.plane.envelopes.values(), key=lambda one: one.metadata["chronicle.sequence"])

    def only(self) -> Any:
        """The one envelope there is."""
        found = self.envelopes()
        assert len(found) == 1, f"{len(found)} envelopes"
        return found[0]

    def written(self) -> str:
        """All that was recorded, as text."""
        self.chronicle.shutdown()
        found = [*self.plane.traces, *self.plane.spans.values(), *self.plane.envelopes.values()]
        return "".join(one.model_dump_json() for one in found)

    def replay(self, plan: Any = None) -> Any:
        return self.chronicle.replay(self.envelopes(), plan)

    def noticed(self, run: Any) -> bool:
        """Whether a replay told of a difference in any way: as data, in the log or as a warning."""
        return bool(getattr(run, "divergences", None) or self.said)

    def end(self) -> None:
        self.chronicle.shutdown()
        self.chronicle.reset()
        self.chronicle.default_hooks.clear()
        self.chronicle.uninstrument_httpx()


class Overlong(BaseException):
    """A program that did not come back; no `except Exception` of an SDK may take it."""


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises Overlong where the block is not over by then; may be nested."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Overlong(f"not over after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    outer_s, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, outer_s)
        signal.signal(signal.SIGALRM, before)


class _Heard(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())


def fault(one: Point, chronicle: Any, folder: Path) -> str | None:
    """What the program found wrong under this SDK; None: the claim holds."""
    folder.mkdir()
    world = World(chronicle, folder)
    heard = _Heard(world.said)
    logging.getLogger().addHandler(heard)
    try:
        with bounded(LONGEST_S), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world.start()
            one.program(world)
        return None
    except (Exception, Overlong) as error:
        return f"{type(error).__name__}: {str(error) or 'the claim does not hold'}".split("\n")[0][:200]
    finally:
        logging.getLogger().removeHandler(heard)
        with bounded(LONGEST_S):
            world.end()


def load() -> list[Point]:
    """All points, in their order."""
    for name in POINTS_IN:
        importlib.import_module(f"tests.peers.{name}")
    return sorted(POINTS, key=lambda one: one.number)


def run_under(sdk: str) -> dict[str, str | None]:
    """Claim -> fault, of every point, in a process and a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        kept = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "tests.peers.behaviour", sdk], cwd=home, capture_output=True, text=True, timeout=15 * LONG_S,
            env={**kept, "HOME": home, "CHRONO_HOME": f"{home}/chrono"},
        )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{sdk}: {done.stderr[-3000:]}")
    found: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(ours: dict[str, str | None], theirs: dict[str, str | None]) -> str:
    """Both side by side, a line a point."""
    lines = [f"{'':3} {'chrono':7} {'chronicle':9} claim"]
    for one in load():
        ok = ["fails" if found[one.claim] else "holds" for found in (ours, theirs)]
        lines.append(f"{one.number:3} {ok[0]:7} {ok[1]:9} {one.claim}")
        lines += [f"{'':22}{found[one.claim]}" for found in (ours, theirs) if found[one.claim]]
    held = [sum(1 for fault in found.values() if fault is None) for found in (ours, theirs)]
    return "\n".join([*lines, f"of {len(ours)} claims chrono holds {held[0]}, chronicle {held[1]}"])


def under_both() -> tuple[dict[str, str | None], dict[str, str | None]]:
    """(ours, theirs), side by side: most of it is waiting."""
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = pool.map(run_under, (OURS, THEIRS))
    return ours, theirs


def main(arguments: list[str]) -> None:
    points = load()
    if not arguments:
        print(table(*under_both()))
        return
    chronicle = importlib.import_module(arguments[0])
    chosen = [one for one in points if not arguments[1:] or arguments[1] in one.claim]
    root = Path(tempfile.mkdtemp(dir=Path.cwd()))
    found = {one.claim: fault(one, chronicle, root / str(number)) for number, one in enumerate(chosen)}
    print(json.dumps(found), flush=True)
    os._exit(0)  # what still hangs in a thread is nobody's


if __name__ == "__main__":
    # The points know this file by its name, and their exceptions are those of that module.
    importlib.import_module("tests.peers.behaviour").main(sys.argv[1:])

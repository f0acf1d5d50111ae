"""Owns the measurement of delivery: envelopes a second and lost, and a request beside a hanging plane, both sides.

Usage: scripts/bench delivery [--envelopes N] [--requests N] [--json]. The planes are processes of their own: a quick
one that only keeps what it gets (so that the client is what is measured), one that answers every third write with 503,
one that hangs, and the real control plane. Without the peers (scripts/peers) ours is measured alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PEERS = Path(os.environ.get("CHRONO_PEERS") or ROOT / ".venv-peers") / "bin" / "python"

OURS, REAL = "from chrono import record as chronicle", "import chronicle"

PROGRAM = """
import json, logging, sys, time
{import_}
url, what, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
logging.disable(logging.CRITICAL)
chronicle.configure(control_plane_url=url, service_name="bench", max_queue=10**6)
tool = chronicle.boundary("tool")(lambda text, n: {{"n": n, "text": text}})
text = "x" * 600
if what != "deliver":
    with chronicle.record("first"):  # loads modules and opens what has to be open
        tool(text, 0)
took = []
begin, cpu = time.perf_counter(), time.process_time()
if what == "deliver":
    with chronicle.record("bench"):
        for n in range(number):
            tool(text, n)
else:
    for n in range(number):
        start = time.perf_counter()
        with chronicle.record("bench"):
            tool(text, n)
        chronicle.flush()
        took.append(time.perf_counter() - start)
print(json.dumps({{"began": begin, "took": took, "s": time.perf_counter() - begin, "cpu": time.process_time() - cpu}}))
sys.stdout.flush()
if what == "hang":
    import os
    os._exit(0)
"""


@contextmanager
def quick_plane(answers: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.record.fake_plane", answers],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


@contextmanager
def real_plane(folder: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environ = {**os.environ, "CONTROL_PLANE_DATABASE_URL": f"sqlite:///{folder}/plane.db"}
    process = subprocess.Popen(
        [PEERS, "-m", "control_plane", "serve", "--port", str(port)],
        env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
    )  # fmt: skip
    try:
        while True:
            try:
                urllib.request.urlopen(url + "/ready", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


class Run(NamedTuple):
    """One program in a process of its own: what it printed, its wall time and CPU, start and end included."""

    said: Any
    wall_s: float
    cpu_s: float


def run(import_: str, url: str, what: str, number: int, store: str) -> Run:
    python = PEERS if import_ == REAL else sys.executable
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "CHRONO_RECORD_STORE": store}
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [str(python), "-c", PROGRAM.format(import_=import_), url, what, str(number)],
        env=environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    wall_s, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(json.loads(ran.stdout), wall_s, cpu_s)


def fetch(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def count(url: str, *, real: bool) -> int:
    """Envelopes that a plane has."""
    if not real:
        return int(fetch(url + "/count")["envelopes"])
    ids = [one["trace_id"] for one in fetch(url + "/v1/traces?limit=500")["traces"]]
    return sum(fetch(f"{url}/v1/traces/{one}")["envelope_count"] for one in ids)


class Delivered(NamedTuple):
    rate: float
    lost: int
    cpu_us: float


def delivered(import_: str, url: str, number: int, folder: str, *, real: bool = False) -> Delivered:
    """Envelopes a second from the first call to the end of the process, envelopes lost, CPU an envelope; all without
    what a process that records next to nothing takes, which also delivers what the first one has left."""
    store = tempfile.mkdtemp(dir=folder)
    first = run(import_, url, "deliver", number, store)
    last = run(import_, url, "deliver", 1, store)
    taken = count(url, real=real)
    took_s = max(first.wall_s - last.wall_s, first.said["s"])
    return Delivered(number / took_s, number + 1 - taken, 1e6 * (first.cpu_s - last.cpu_s) / number)


def requests_ms(import_: str, url: str, what: str, number: int, folder: str) -> list[float]:
    return sorted(1000 * one for one in run(import_, url, what, number, tempfile.mkdtemp(dir=folder)).said["took"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envelopes", type=int, default=3000)
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    both = [OURS, REAL] if PEERS.exists() else [OURS]
    rows: list[dict[str, Any]] = []

    def row(what: str, unit: str, values: list[float], target: str) -> None:
        ratio = values[0] / values[1] if len(values) > 1 and values[1] else None
        rows.append(
            {
                "what": what,
                "unit": unit,
                "ours": values[0],
                "real": values[1] if len(values) > 1 else None,
                "ratio": ratio,
                "target": target,
            }
        )

    with tempfile.TemporaryDirectory() as folder:
        quick_rate = 0.0
        for answers, said in (("well", "a quick plane"), ("503", "one that fails every third time")):
            found = []
            for import_ in both:
                with quick_plane(answers) as url:
                    found.append(delivered(import_, url, given.envelopes, folder))
            row(f"delivery to {said}", "envelopes/s", [one.rate for one in found], "")
            quick_rate = quick_rate or found[0].rate
            row("  CPU of the client", "us an envelope", [one.cpu_us for one in found], "")
            row(f"  of {given.envelopes} lost", "envelopes", [float(one.lost) for one in found], "0")
        with quick_plane("hang") as url:
            few = [given.requests, 1]
            ms = [
                statistics.median(requests_ms(one, url, "hang", n, folder)) for one, n in zip(both, few, strict=False)
            ]
            row("request beside a plane that hangs, p50", "ms", ms, "< 5 ms")
        if PEERS.exists():
            with real_plane(folder) as url:
                theirs = delivered(REAL, url, given.envelopes // 10, folder, real=True)
                row("the real packages' own, end to end", "envelopes/s", [quick_rate, theirs.rate], ">= 10 x")
                lists = [requests_ms(import_, url, "request", given.requests, folder) for import_ in both]
                row(
                    "record() + 1 tool + flush, real plane, p50",
                    "ms",
                    [statistics.median(one) for one in lists],
                    "<= 0.2 x",
                )
                row("  p99", "ms", [one[int(0.99 * len(one))] for one in lists], "<= 0.2 x")
    if given.json:
        print(json.dumps(rows))
        return
    print(f"{'':46}{'ours':>10}{'real':>10}{'ratio':>9}  target")
    for one in rows:
        real = f"{one['real']:10.2f}" if one["real"] is not None else f"{'-':>10}"
        ratio = f"{one['ratio']:9.3f}" if one["ratio"] is not None else f"{'-':>9}"
        print(f"{one['what']:46}{one['ours']:10.2f}{real}{ratio}  {one['target']} ({one['unit']})")


if __name__ == "__main__":
    main()

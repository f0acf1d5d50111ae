"""Owns the prices of the audit log: an append with and without fsync, a verification, the start of a process.

Usage: python scripts/bench_audit.py [RECORDS]. Prints one line a price; medians, on a log in a temporary folder.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from chrono.audit.keys import KeySettings  # noqa: E402
from chrono.audit.log import AuditLog, create, open_log  # noqa: E402
from chrono.audit.place import LogPlace, project_place  # noqa: E402
from chrono.audit.record import Act, Actor, Entry  # noqa: E402
from chrono.audit.verify import verify  # noqa: E402
from chrono.clock import SystemClock  # noqa: E402
from chrono.layout import HomeLayout, ProjectLayout  # noqa: E402

ENTRY = Entry(
    "command",
    Actor(user="bob", uid=1000, host="box", agent="claude-code", session="s" * 36, tool_use_id="t" * 30, source="hook"),
    Act(tool="Bash", cmd="rm -rf build && make -j4", cwd="/home/bob/project", decision="allow", score=20, scan="full"),
)
BARE = "pass"
IMPORT = "import chrono.audit.log"


def price(name: str, act: Callable[[], object], times: int) -> None:
    wall, cpu = [], time.process_time()
    for _ in range(times):
        start = time.perf_counter()
        act()
        wall.append(time.perf_counter() - start)
    cpu_us = (time.process_time() - cpu) / times * 1e6
    print(f"{name:<44} p50 {statistics.median(wall) * 1e6:>9.0f} us   CPU {cpu_us:>9.0f} us")


def started(code: str) -> float:
    walls = []
    for _ in range(15):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {ROOT!r}); {code}"], check=True)
        walls.append(time.perf_counter() - start)
    return statistics.median(walls)


def appends(log: AuditLog, place: LogPlace, home: HomeLayout, records: int) -> None:
    price("append, with fdatasync", lambda: log.append(ENTRY, timeout_s=5), min(records, 500))
    real, os.fdatasync = os.fdatasync, lambda fd: None
    try:
        price("append, without fdatasync", lambda: log.append(ENTRY, timeout_s=5), records)
        other = open_log(place, home, KeySettings(), SystemClock())
        both = [log, other] * 200
        price("append, two writers in turn", lambda: both.pop().append(ENTRY, timeout_s=5), 400)

        def fresh() -> None:
            first = open_log(place, home, KeySettings(), SystemClock())
            first.append(ENTRY, timeout_s=5)
            first.close()

        price("append, a new object each time", fresh, 100)
    finally:
        os.fdatasync = real


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as folder:
        layout, home = ProjectLayout(folder), HomeLayout(os.path.join(folder, "home"))
        os.makedirs(layout.dir)
        place = project_place(layout)
        log = create(place, home, KeySettings(), SystemClock(), Actor(source="cli"))
        appends(log, place, home, records)
        size = verify(place, home).size
        price(f"verify, {size} records", lambda: verify(place, home), 3)
        price(f"verify --full, {size} records", lambda: verify(place, home, full=True), 1)
    bare, loaded = started(BARE), started(IMPORT)
    print(f"{'import chrono.audit.log, over a bare start':<44} {(loaded - bare) * 1e3:>13.1f} ms")


if __name__ == "__main__":
    main()

"""Owns the measurement of a hook's wall time where its savepoint is a hinted one, beside F and one synced append.

The whole hook is left to `bench_hook`, savepoints alone to `bench_savepoints`. Usage: bench_hints.py [--runs N]
[--files N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import bench_hook
from bench_hook import PYTHON, Case

from chrono.agents.claude_code import ADAPTER
from chrono.guard.install import boot_path
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise

CHECK_S = 0.8
"""Between two calls: the service asks about every folder then, with nobody waiting."""

BUDGET_MS = 15.0
"""Design section 5: wall <= F + 15 ms + one append with fdatasync."""


def main() -> int:
    """Prints the medians; exit status 1 where they are over the budget, or most savepoints were full ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chrono-bench-") as folder:
        found = measure(Path(folder), arguments.runs, arguments.files)
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(f"{name:24} {found[name]:8}" for name in found))
    return 0 if found["hinted_wall_ms"] <= found["budget_ms"] and found["hinted_share"] > 0.8 else 1


def measure(folder: Path, runs: int, files: int) -> dict[str, float]:
    home, project = folder / "home", folder / "project"
    home.mkdir()
    bench_hook.make_tree(project, files)
    cold = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "CHRONO_SERVICE": "off"}
    initialise(str(project), cold, actor(cold)).ws.close()
    warm = {**cold, "CHRONO_SERVICE": "auto", "CHRONO_HINTS": "auto"}
    pid = bench_hook.start_service(warm)
    try:
        cases = cases_of(folder, project, warm)
        for case in cases:
            bench_hook.run(case)
        time.sleep(CHECK_S)
        costs: dict[str, list[float]] = {"append": [], "walk": [], **{case.name: [] for case in cases}}
        for _ in range(runs):
            for case in cases:
                costs[case.name].append(bench_hook.run(case).wall_ms)
            costs["append"].append(bench_hook.append(folder / "append").wall_ms)
            costs["walk"].append(bench_hook.walk(project).wall_ms)
    finally:
        os.kill(pid, 15)
    wall = {name: statistics.median(values) for name, values in costs.items()}
    return {
        "runs": runs,
        "files": files,
        "F_wall_ms": round(wall["F"], 2),
        "append_ms": round(wall["append"], 2),
        "walk_ms": round(wall["walk"], 2),
        "read_only_wall_ms": round(wall["read-only"], 2),
        "full_wall_ms": round(wall["full"], 2),
        "hinted_wall_ms": round(wall["hinted"], 2),
        "budget_ms": round(wall["F"] + BUDGET_MS + wall["append"], 2),
        "hinted_share": round(hinted_share(project), 2),
    }


def cases_of(folder: Path, project: Path, warm: dict[str, str]) -> list[Case]:
    command = ["/bin/sh", "-c", ADAPTER.hook_command(PYTHON, boot_path(), "the settings")]
    nothing, reading, changing = folder / "nothing", folder / "reading.json", folder / "changing.json"
    nothing.write_bytes(b"")
    reading.write_bytes(ADAPTER.sample("git status", cwd=str(project)))
    changing.write_bytes(ADAPTER.sample("touch new-file", cwd=str(project)))
    target = project / "d0" / "e0" / "f7.txt"

    def change() -> None:
        time.sleep(CHECK_S)
        target.write_text(f"changed {time.time_ns()}\n")
        time.sleep(0.03)

    def leave() -> None:
        pass

    off = {**warm, "CHRONO_HINTS": "off"}
    return [
        Case("F", [PYTHON, "-I", "-S", "-c", "pass"], nothing, warm, leave, "", None),
        Case("read-only", command, reading, warm, leave, "", None),
        Case("full", command, changing, off, change, "", None),
        Case("hinted", command, changing, warm, change, "", None),
    ]


def hinted_share(project: Path) -> float:
    """How many of the savepoints that might be hinted ones were: every second one of this run."""
    lines = (project / ".chrono" / "audit.jsonl").read_bytes().splitlines()
    acts = [json.loads(line).get("act", {}) for line in lines]
    scans = [act["scan"] for act in acts if "scan" in act and "decision" in act]
    return 2 * scans.count("hinted") / len(scans)


if __name__ == "__main__":
    sys.exit(main())

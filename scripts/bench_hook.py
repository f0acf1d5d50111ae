"""Owns the measurement of what the hook costs: CPU and wall time of the installed command, as ratios to F.

F is a bare `python3 -I -S -c pass` of the same interpreter, measured in the same interleaved run, so that the figures
hold on any machine. Then 16 hooks at once, again and again: how long the slowest waits; and what four times as many
rules cost. Each target is told as met or missed; a missed one is exit status 1.
Usage: bench_hook.py [--runs N] [--files N] [--peers [FOLDER]] [--json]

--peers installs cc-safety-net (npm) and seatbelt-guard (PyPI) into FOLDER (kept) or a scratch folder, and measures
their hooks in the same run, on the read-only call.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench_scan import PEERS, Bench, install_peers, peer_hooks  # noqa: E402

from chrono.agents.claude_code import ADAPTER  # noqa: E402
from chrono.guard import wire  # noqa: E402
from chrono.guard.caller import Caller  # noqa: E402
from chrono.guard.engine import answer  # noqa: E402
from chrono.guard.resources import Place, Resources, Rulebook  # noqa: E402
from chrono.scan.rule import Ruleset  # noqa: E402
from chrono.workspace.actors import actor  # noqa: E402
from chrono.workspace.init import initialise  # noqa: E402

PYTHON = sys.executable
SAVEPOINT, HINTED = "warm, savepoint", "warm, hinted savepoint"
WARM_SAVING = "CPU <= 1.5 F (goal 1.3); wall see below"
PARALLEL = 16
PARALLEL_ROUNDS = 12
SLOWEST = 5.0
"""Of 16 hooks at once the slowest of a hundred may take so many times as long as the median."""

FEW, MANY = 250, 1000
RULES_RATIO = 1.1
"""With MANY rules a call may cost so many times as much as with FEW."""
RULES_ROUNDS = 40
READING = ("git status", "ls -l src && grep -rn x src", "cat a.txt | head -3", "git log --oneline -5")


class Cost(NamedTuple):
    """One run: CPU of the command and all it waited for, and wall time, in milliseconds."""

    cpu_ms: float
    wall_ms: float


class Case(NamedTuple):
    """One thing that is measured; `before` is done first and not counted. `target` is in words and as CPU ratio."""

    name: str
    command: list[str]
    payload: Path
    environ: dict[str, str]
    before: Callable[[], None]
    target: str
    cpu_limit: float | None


class Projects(NamedTuple):
    """Folders of the same files: what the service saves after a full scan, with hints, and what hooks save alone."""

    full: Path
    hinted: Path
    alone: Path


def main() -> int:
    """Prints the table; exit status 1 where a required ratio is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--peers", nargs="?", const="", metavar="FOLDER")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chrono-bench-") as folder:
        peers = None
        if arguments.peers is not None:
            peers = Path(arguments.peers or os.path.join(folder, "peers")).resolve()
        return measure(Path(folder), arguments.runs, arguments.files, peers, as_json=arguments.json)


def measure(folder: Path, runs: int, files: int, peers: Path | None, *, as_json: bool) -> int:
    home = folder / "home"
    package = folder / "installed" / "chrono"  # a copy: the service leaves where somebody changes its code
    shutil.copytree(ROOT / "chrono", package, ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "CHRONO_SERVICE": "off"}
    # A project for each kind of savepoint: what one process saves makes another's next one read the cache anew.
    projects = Projects(*(folder / name for name in Projects._fields))
    for project in projects:
        make_tree(project, files)
        initialise(str(project), environ, actor(environ)).ws.close()
    warm = {**environ, "CHRONO_SERVICE": "auto"}
    pid = start_service(package, warm)
    try:
        cases = hook_cases(folder, package, projects, environ, warm)
        if peers is not None:
            cases += peer_cases(peers, cases[1].payload, environ)
        floors = {"walk": lambda: walk(projects.full), "append": lambda: append(folder / "append")}
        found = run_interleaved(cases, floors, runs)
        waits = together(cases[1])
    finally:
        os.kill(pid, 15)
    rules_ratio = more_rules(folder, projects.full, environ)
    return report(cases, found, waits, rules_ratio, runs, files, as_json=as_json)


def make_tree(project: Path, files: int) -> None:
    """`files` small files, 100 a folder."""
    for number in range(files):
        folder = project / f"d{number // 1000}" / f"e{number // 100 % 10}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number}.txt").write_text(f"file {number}\n")


def start_service(package: Path, environ: dict[str, str]) -> int:
    """Starts the resident process and waits until it listens; its pid."""
    process = subprocess.Popen(
        [PYTHON, "-I", "-S", str(package / "guard" / "boot.py"), "--service"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    home = wire.chrono_home({os.fsencode(k): os.fsencode(v) for k, v in environ.items()}, sys.platform)
    assert home is not None
    path = wire.socket_path(home, wire.build_id(str(package)), os.getuid())
    until = time.monotonic() + 20
    while not os.path.exists(path):
        assert time.monotonic() < until and process.poll() is None, "the service did not start"
        time.sleep(0.05)
    return process.pid


def hook_cases(
    folder: Path, package: Path, projects: Projects, cold: dict[str, str], warm: dict[str, str]
) -> list[Case]:
    boot = str(package / "guard" / "boot.py")
    command = ["/bin/sh", "-c", ADAPTER.hook_command(PYTHON, boot, "the settings")]
    read_only, nothing = folder / "read_only.json", folder / "nothing"
    read_only.write_bytes(ADAPTER.sample("git status", cwd=str(projects.full)))
    nothing.write_bytes(b"")

    def saving(name: str, project: Path, environ: dict[str, str], target: str, cpu_limit: float | None) -> Case:
        payload = folder / f"{project.name}.json"
        payload.write_bytes(ADAPTER.sample("touch new-file", cwd=str(project)))
        file = project / "d0" / "e0" / "f7.txt"
        return Case(name, command, payload, environ, lambda: change(file), target, cpu_limit)

    def change(file: Path) -> None:
        file.write_text(f"changed {time.time_ns()}\n")

    def leave() -> None:
        pass

    return [
        Case("F", [PYTHON, "-I", "-S", "-c", "pass"], nothing, cold, leave, "", None),
        Case("warm, read-only", command, read_only, warm, leave, "CPU <= 1.5 F (goal 1.3)", 1.5),
        saving(SAVEPOINT, projects.full, {**warm, "CHRONO_HINTS": "off"}, WARM_SAVING, 1.5),
        saving(HINTED, projects.hinted, warm, WARM_SAVING, 1.5),
        Case("in process, read-only", command, read_only, cold, leave, "CPU <= 9 F", 9.0),
        saving("in process, savepoint", projects.alone, cold, "CPU <= 20 F + 1.0 walk", None),
    ]


def peer_cases(peers: Path, payload: Path, environ: dict[str, str]) -> list[Case]:
    """The hooks of two other guards on the same call. They scan; they take no savepoint and sign no record."""
    node, seatbelt = install_peers(peers)
    environ = {**environ, "PYTHONPATH": str(seatbelt)}
    return [
        Case(f"{name} {PEERS[name]}", command, payload, environ, lambda: None, "", None)
        for name, command in peer_hooks(node).items()
    ]


def together(case: Case) -> list[float]:
    """Wall times in ms of calls that are started 16 at once, round after round."""
    waits: list[float] = []

    def one(ready: threading.Barrier) -> None:
        ready.wait()
        with case.payload.open("rb") as payload:
            started = time.perf_counter()
            done = subprocess.run(case.command, stdin=payload, env=case.environ, capture_output=True, check=False)
            waits.append((time.perf_counter() - started) * 1000)
        assert done.returncode == 0, done

    for _ in range(PARALLEL_ROUNDS):
        ready = threading.Barrier(PARALLEL)
        threads = [threading.Thread(target=one, args=(ready,)) for _ in range(PARALLEL)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(waits) == PARALLEL * PARALLEL_ROUNDS, "a parallel call was refused"
    return sorted(waits)


class _Ruled(Resources):
    """What the resident service judges with, but with these rules."""

    def __init__(self, rules: Ruleset) -> None:
        super().__init__(stays=True)
        self.rules = rules

    def rulebook(self, place: Place) -> Rulebook:
        return Rulebook(super().rulebook(place).policy, self.rules)


def more_rules(folder: Path, project: Path, environ: dict[str, str]) -> float:
    """What the service's own work on a call (scan, decision, signed record) costs with MANY rules, in units of FEW."""
    rules = Bench(folder / "rules", 1, scaled=False)
    held = [_Ruled(rules.grown(count)) for count in (FEW, MANY)]
    payloads = [ADAPTER.sample(command, cwd=str(project)) for command in READING]
    best: dict[tuple[int, bytes], float] = {}
    for _ in range(RULES_ROUNDS):
        for payload in payloads:
            for at, resources in enumerate(held):
                caller = Caller(environ, os.getpid(), 1, None, time.monotonic() + 20, str(project))
                started = time.thread_time()
                reply = answer("claude-code", payload, caller, resources)
                took = time.thread_time() - started
                assert reply.exit_code == 0, reply
                best[at, payload] = min(took, best.get((at, payload), took))
    for resources in held:
        resources.close()
    few, many = (sum(took for (at, _), took in best.items() if at == which) for which in (0, 1))
    return many / few


def run_interleaved(cases: list[Case], floors: dict[str, Callable[[], Cost]], runs: int) -> dict[str, list[Cost]]:
    """What each case and each floor cost, run after run."""
    found: dict[str, list[Cost]] = {name: [] for name in [*(case.name for case in cases), *floors]}
    for case in cases:
        run(case)  # caches of the disk and compiled files
    for _ in range(runs):
        for case in cases:
            found[case.name].append(run(case))
        for name, floor in floors.items():
            found[name].append(floor())
    return found


def run(case: Case) -> Cost:
    case.before()
    with case.payload.open("rb") as payload:
        started = time.perf_counter()
        process = subprocess.Popen(
            case.command, stdin=payload, env=case.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
    assert process.returncode == 0, f"{case.name}: {said.decode()}"
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000)


def walk(project: Path) -> Cost:
    """A bare scandir and lstat of the whole tree in this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    waiting = [str(project)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != ".chrono":
                        waiting.append(entry.path)
                else:
                    os.lstat(entry.path)
    return Cost((time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000)


def append(path: Path) -> Cost:
    """One line appended and synced."""
    cpu, wall = time.process_time(), time.perf_counter()
    with path.open("ab") as file:
        file.write(b"x" * 800 + b"\n")
        file.flush()
        os.fdatasync(file.fileno())
    return Cost((time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000)


def report(
    cases: list[Case],
    found: dict[str, list[Cost]],
    waits: list[float],
    rules_ratio: float,
    runs: int,
    files: int,
    *,
    as_json: bool,
) -> int:
    cpu = {name: statistics.median(cost.cpu_ms for cost in costs) for name, costs in found.items()}
    wall = {name: statistics.median(cost.wall_ms for cost in costs) for name, costs in found.items()}
    bare, missed = cpu["F"], []
    rows = []
    for case in cases[1:]:
        limit = case.cpu_limit
        if case.name == "in process, savepoint":
            limit = 20 + cpu["walk"] / bare
        holds = limit is None or cpu[case.name] / bare <= limit
        if not holds:
            missed.append(case.name)
        rows.append(
            {
                "case": case.name,
                "cpu_ms": round(cpu[case.name], 2),
                "ratio": round(cpu[case.name] / bare, 2),
                "wall_ms": round(wall[case.name], 2),
                "target": case.target,
                "holds": holds,
            }
        )
    middle, slowest = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    others = [
        (
            f"{SAVEPOINT}, wall ms",
            wall[SAVEPOINT],
            1.2 * wall["F"] + wall["walk"] + 5 + wall["append"],
            "1.2 F + walk + 5 ms + append",
        ),
        (f"{HINTED}, wall ms", wall[HINTED], wall["F"] + 15 + wall["append"], "F + 15 ms + append"),
        (f"{PARALLEL} at once, p99 / p50", slowest / middle, SLOWEST, f"{SLOWEST:g} (p50 {middle:.0f} ms)"),
        (f"{MANY} rules / {FEW}, CPU", rules_ratio, RULES_RATIO, f"{RULES_RATIO:g}"),
    ]
    missed += [name for name, value, limit, _ in others if value > limit]
    summary = {
        "runs": runs,
        "files": files,
        "F_cpu_ms": round(bare, 2),
        "F_wall_ms": round(wall["F"], 2),
        "walk_ms": round(wall["walk"], 2),
        "append_ms": round(wall["append"], 2),
        "rows": rows,
        "others": [
            {"what": name, "value": round(value, 2), "limit": round(limit, 2), "target": told, "holds": value <= limit}
            for name, value, limit, told in others
        ],
    }
    print(json.dumps(summary, indent=1) if as_json else text_of(summary))
    return 1 if missed else 0


def text_of(summary: dict[str, object]) -> str:
    lines = [
        f"hook cost, medians of {summary['runs']} interleaved runs, project of {summary['files']} files",
        f"F = {summary['F_cpu_ms']} ms CPU ({summary['F_wall_ms']} ms wall), walk = {summary['walk_ms']} ms, "
        f"append with fdatasync = {summary['append_ms']} ms",
        "",
        f"{'case':24} {'CPU ms':>8} {'x F':>6} {'wall ms':>8}  target",
    ]
    rows, others = summary["rows"], summary["others"]
    assert isinstance(rows, list) and isinstance(others, list)
    lines += [
        f"{row['case']:24} {row['cpu_ms']:8.2f} {row['ratio']:6.2f} {row['wall_ms']:8.2f}  {row['target']}{_word(row)}"
        for row in rows
    ]
    lines.append("")
    lines += [
        f"{row['what']:32} {row['value']:8.2f}, at most {row['limit']:.2f}: {row['target']}{_word(row)}"
        for row in others
    ]
    return "\n".join(lines)


def _word(row: dict[str, object]) -> str:
    return ("  met" if row["holds"] else "  MISSED") if row["target"] else ""


if __name__ == "__main__":
    sys.exit(main())

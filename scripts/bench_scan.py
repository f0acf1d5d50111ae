"""Owns the measurement of scanning: time a command, long texts, many rules; and two other guards beside it.

Times are CPU times of this process, the least of a few repeats. They are given in units of one machine: where a loop of
a million additions, timed all along, does not take 40 ms, they are scaled by as much. `--raw` gives them unscaled.
Usage: bench_scan.py [CORPUS] [--repeats N] [--peers [FOLDER]] [--raw] [--json]

CORPUS has one command a line: text, a JSON string, or a JSON object with `cmd` and, for the comparison, `expect`
("allow" or anything else). Without it the project's own lists of dangerous and of everyday commands are taken.
--peers installs cc-safety-net (npm) and seatbelt-guard (PyPI) into FOLDER (kept) or a scratch folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from chrono.rulepack.discover import compile_packs, discover  # noqa: E402
from chrono.scan.rule import Rule, Ruleset, ruleset_of  # noqa: E402
from chrono.scan.scanner import scan  # noqa: E402
from chrono.workspace.machine_world import MachineWorld  # noqa: E402

P50_US, P99_US, TEXT_MS, WORST_MS, RULES_RATIO, COLD_S = 100.0, 1000.0, 5.0, 100.0, 1.2, 0.5
PEERS = {"cc-safety-net": "2.4.5", "seatbelt-guard": "0.1.5"}
ASK = 40
LOOP_MS = 40.0


def loop_ms() -> float:
    """CPU time of a million additions: what this machine is worth at the moment."""
    start = time.process_time_ns()
    total = 0
    for number in range(200_000):
        total += number
    return (time.process_time_ns() - start) / 200_000


class Labelled(NamedTuple):
    """One command; `harmless` None where it has no label, or one between the two."""

    command: str
    harmless: bool | None


def main() -> int:
    """Prints the table; exit status 1 where a limit is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", nargs="?", const="", metavar="FOLDER")
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    corpus = read_corpus(arguments.corpus)
    with tempfile.TemporaryDirectory(prefix="chrono-bench-") as folder:
        bench = Bench(Path(folder), arguments.repeats, scaled=not arguments.raw)
        results = bench.all(corpus)
        if arguments.peers is not None:
            place = Path(arguments.peers or os.path.join(folder, "peers")).resolve()
            results["peers"] = compare(bench, corpus, place)
    if arguments.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)
    return 0 if all(row["ok"] for row in results["limits"]) else 1


def read_corpus(path: str | None) -> list[Labelled]:
    """The commands of a file, or the project's own lists."""
    if path is None:
        lists = ROOT / "tests" / "unit" / "scan"
        return [
            Labelled(json.loads(line), name == "everyday")
            for name in ("dangerous", "everyday")
            for line in (lists / f"{name}.jsonl").read_text().splitlines()
            if isinstance(json.loads(line), str)
        ]
    found = []
    for line in Path(path).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        if not line.strip():
            continue
        value = json.loads(line) if line[0] in '{"' else line
        if isinstance(value, dict):
            if value.get("shell", "bash") == "bash":
                expect = value.get("expect")
                found.append(Labelled(value["cmd"], None if expect in (None, "ask") else expect == "allow"))
        else:
            found.append(Labelled(value, None))
    return found


class Bench:
    """A project in miniature to scan in, all installed rules, and a way to time one scan."""

    def __init__(self, folder: Path, repeats: int, *, scaled: bool) -> None:
        self.repeats = repeats
        self.scaled = scaled
        self.loops: list[float] = []
        self._timed = 0
        self.home = folder / "home"
        self.project = self.home / "shop"
        (self.project / "src").mkdir(parents=True)
        (self.home / "many").mkdir()
        for number in range(400):
            (self.home / "many" / f"f{number}").touch()
        subprocess.run(["git", "init", "-q", str(self.project)], check=True)
        (self.project / "src" / "app.py").write_text("print(1)\n")
        (self.project / "package.json").write_text('{"scripts": {"build": "tsc", "test": "vitest run"}}\n')
        (self.project / "Makefile").write_text("build:\n\tgcc -o app app.c\n")
        self.environ = {"HOME": str(self.home), "USER": "dev", "PATH": os.environ["PATH"], "PWD": str(self.project)}
        self.sources = discover()
        self.rules = compile_packs(self.sources)

    def scan(self, command: str, rules: Ruleset | None = None, shell: str = "bash") -> Any:
        home = str(self.home)
        state = f"{home}/.local/state/chrono"
        world = MachineWorld(str(self.project), self.environ, project=None, chrono_home=state, user_home=home)
        return scan(command, rules or self.rules, world, shell=shell)

    def time_us(
        self, command: str, rules: Ruleset | None = None, repeats: int | None = None, shell: str = "bash"
    ) -> float:
        """The least CPU time of a few scans, in microseconds."""
        best = float("inf")
        for _ in range(repeats or self.repeats):
            start = time.process_time_ns()
            self.scan(command, rules, shell)
            best = min(best, time.process_time_ns() - start)
        self._timed += 1
        if self._timed % 20 == 0:
            self.loops.append(loop_ms())
        return best / 1000

    def scale(self) -> float:
        """What a time is multiplied by: below 1 on a slower or a busier machine."""
        self.loops.extend(loop_ms() for _ in range(20))
        factor = LOOP_MS / statistics.median(self.loops)
        self.loops = []
        return factor if self.scaled else 1.0

    def all(self, corpus: list[Labelled]) -> dict[str, Any]:
        self.scan("ls")  # what the first scan loads is not what a scan costs
        times = sorted(self.time_us(one.command) for one in corpus)
        factor = self.scale()
        limits = [
            limit("a command, median", times[len(times) // 2] * factor, P50_US, "us"),
            limit("a command, 99 of 100", times[int(len(times) * 0.99)] * factor, P99_US, "us"),
        ]
        texts = {name: self.time_us(text) / 1000 * self.scale() for name, text in four_kilobytes().items()}
        name = max(texts, key=lambda name: texts[name])
        limits.append(limit(f"4 KB of text, worst ({name})", texts[name], TEXT_MS, "ms"))
        worst = {
            name: self.time_us(text, repeats=2, shell=shell) / 1000 * self.scale()
            for shell, texts in (("bash", worst_inputs()), *worst_windows_inputs().items())
            for name, text in texts.items()
        }
        name = max(worst, key=lambda name: worst[name])
        limits.append(limit(f"any input within the limits, worst ({name})", worst[name], WORST_MS, "ms"))
        few, many = self.grown(250), self.grown(1000)
        sample = [one.command for one in corpus[:: max(1, len(corpus) // 200)]]
        limits.append(limit("1,000 rules for 250", self.ratio(sample, few, many), RULES_RATIO, "x"))
        limits.append(limit("all rules compiled, cold", self.cold_s() * self.scale(), COLD_S, "s"))
        each = {
            name: self.time_us(text) * self.scale() / max(1, len(self.scan(text).commands))
            for name, text in many_commands().items()
        }
        found = {"commands": len(corpus), "rules": len(self.rules.rules), "scale": round(factor, 3)}
        return {**found, "limits": limits, "4 KB": texts, "worst": worst, "one of many": each}

    def grown(self, count: int) -> Ruleset:
        """So many rules: the first 250 of ours, then copies of ours that are about other programs."""
        rules = list(self.rules.rules[:250])
        round_ = 0
        while len(rules) < count:
            round_ += 1
            rules.extend(_about_others(rule, round_) for rule in self.rules.rules if rule.programs)
        return ruleset_of(tuple(rules[:count]))

    def ratio(self, commands: list[str], few: Ruleset, many: Ruleset) -> float:
        """What the larger ruleset costs, in units of the smaller; interleaved."""
        totals = [0.0, 0.0]
        for command in commands:
            for at, rules in enumerate((few, many)):
                totals[at] += self.time_us(command, rules)
        return totals[1] / totals[0]

    def cold_s(self) -> float:
        """Finding, reading and compiling all packs in a fresh process, without its start."""
        code = (
            "import time, sys; start = time.process_time(); "
            "from chrono.rulepack.discover import compile_packs, discover; compile_packs(discover()); "
            "print(time.process_time() - start)"
        )
        command = [sys.executable, "-c", code]
        return min(
            float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
            for _ in range(3)
        )


def _about_others(rule: Rule, round_: int) -> Rule:
    names = {name: f"{name.rstrip('*')}-other{round_}" for name in rule.programs}
    matcher = tuple(
        (kind, tuple(names.get(name, name) for name in rest[0]), ()) if kind == "program" else (kind, *rest)
        for kind, *rest in rule.matcher
    )
    options = tuple((names.get(name, name), options) for name, options in rule.options)
    return rule._replace(
        id=f"{rule.id}-{round_}", programs=tuple(names.values()), touches=(), matcher=matcher, options=options
    )


def limit(what: str, value: float, most: float, unit: str) -> dict[str, Any]:
    return {"what": what, "value": round(value, 3), "limit": most, "unit": unit, "ok": value <= most}


def four_kilobytes() -> dict[str, str]:
    """Texts of 4 KB as agents write them: one command, much text."""
    body = "The quick brown fox wrote $5 of `code` and 'quoted' it.\n"
    python = "print(os.path.join('a', 'b'))\n" * 133
    return {
        "heredoc into a file": "cat > notes.md <<'EOF'\n" + body * 72 + "EOF\n",
        "commit message": "git commit -m '" + body.replace("'", "") * 76 + "'",
        "python on the command line": f"python3 - <<'EOF'\nimport os\n{python}EOF\n",
        "JSON to a server": "curl -s -d '{" + '"name": "a value of some length", ' * 116 + "}' http://localhost:3000/x",
    }


def many_commands() -> dict[str, str]:
    """4 KB that are nothing but commands; there is no limit for these, they are divided by the commands in them."""
    return {
        "script of plain commands": "mkdir -p build\ncp src/app.py build/\necho done\n" * 85,
        "loops, tests and variables": 'for f in a b c; do if [ -f "$f" ]; then x="$f-$x"; echo "${x%.*}"; fi; done\n'
        * 52,
        "pipelines": "cat src/app.py | grep -v print | sort -u | head -5 > out.txt; " * 66,
    }


def worst_inputs() -> dict[str, str]:
    """What takes longest, at the limits of what is read at all."""
    return {
        "64 KB of commands": "echo a$b ${c:-d} 'e f' \"$g\"; " * 2300,
        "as many commands as are looked at": "echo a$b ${c:-d} 'e f' \"$g\"; " * 990,
        "as many files as are looked at": "".join(f"cp a{at} b{at}; " for at in range(1650)),
        "as many globs as are looked at": "rm "
        + " ".join(f"../many/f*{'?' * (at % 9)}*{'*' * (at // 9)}" for at in range(900)),
        "64 KB of one word": "echo " + "a$b" * 21_000,
        "braces": "echo " + "{a,b,c}{d,e,f}" * 12,
        "nested substitutions": "echo " + "$(echo " * 58 + "x" + ")" * 58,
        "loops": "for i in 1 2 3 4 5 6; do for j in a b c d e f; do for k in x y z; do echo $i$j$k; done; done; done",
        "functions": "f() { echo $1; }; " + "f $x; " * 1980,
        "1 MB of quoted text": "cat <<'EOF'\n" + "x" * 990_000 + "\nEOF\n",
        "quotes without end": "echo '" + "a" * 60_000,
        "base64 in a shell": "echo " + "ZWNobyBoaQ==" * 2000 + " | base64 -d | sh",
        "variables that grow": "a=x; " + "a=$a$a; " * 40 + "echo $a",
        "many redirections": "echo x " + "> /tmp/a " * 1970,
        "many files written": "echo x " + "".join(f"> /tmp/a{at} " for at in range(1970)),
    }


def worst_windows_inputs() -> dict[str, dict[str, str]]:
    """The same for PowerShell and cmd.exe, which stop at 400 commands."""
    return {
        "powershell": {
            "as many cmdlets as are looked at": "".join(f"Remove-Item -Recurse -Force a{at}; " for at in range(399)),
            "as many files as PowerShell may name": "".join(f"Copy-Item a{at} b{at}; " for at in range(330)),
        },
        "cmd": {"as many commands as cmd.exe may run": " & ".join(f"del /q a{at} b{at}" for at in range(399))},
    }


# --- other guards


_NODE = """
import { readFileSync } from 'node:fs'; import { pathToFileURL } from 'node:url';
const [, , api, file, cwd, repeats] = process.argv;
const { checkCommand } = await import(pathToFileURL(api).href);
const out = [];
for (const command of JSON.parse(readFileSync(file, 'utf8'))) {
  let best = Infinity, stopped = false;
  for (let i = 0; i < Number(repeats); i++) {
    const start = process.cpuUsage();
    try { stopped = checkCommand({ command, cwd }).kind !== 'allow'; } catch { stopped = true; }
    const used = process.cpuUsage(start);
    best = Math.min(best, used.user + used.system);
  }
  out.push([stopped, best]);
}
console.log(JSON.stringify(out));
"""

_SEATBELT = """
import json, sys, time
from seatbelt.context import Context
from seatbelt.engine import analyze
file, cwd, repeats = sys.argv[1:]
out = []
for command in json.load(open(file)):
    best, stopped = float('inf'), False
    for _ in range(int(repeats)):
        start = time.process_time_ns()
        try:
            stopped = analyze(command, Context(cwd=cwd)).level.name.lower() != 'allow'
        except Exception:
            stopped = True
        best = min(best, time.process_time_ns() - start)
    out.append([stopped, best / 1000])
print(json.dumps(out))
"""


def compare(bench: Bench, corpus: list[Labelled], place: Path) -> list[dict[str, Any]]:
    """Detection, interruption and time of chrono and of two other guards, on the same commands in the same run."""
    node, seatbelt = install_peers(place)
    commands = [one.command for one in corpus]
    (place / "commands.json").write_text(json.dumps(commands, ensure_ascii=True))
    (place / "check.mjs").write_text(_NODE)
    given = [str(place / "commands.json"), str(bench.project), str(bench.repeats)]
    environ = {**bench.environ, "PYTHONPATH": str(seatbelt)}

    def judged(command: list[str]) -> list[tuple[bool, float]]:
        done = subprocess.run(command, env=environ, cwd=bench.project, capture_output=True, text=True, check=True)
        return [(bool(stopped), float(us)) for stopped, us in json.loads(done.stdout)]

    ours = [(_stops(bench.scan(command)), bench.time_us(command)) for command in commands]
    factor = bench.scale()
    api = node / "node_modules" / "cc-safety-net" / "dist" / "api.js"
    answers = {
        "chrono": ours,
        "cc-safety-net": judged(["node", str(place / "check.mjs"), str(api), *given]),
        "seatbelt-guard": judged([sys.executable, "-c", _SEATBELT, *given]),
    }
    own = [sys.executable, "-I", "-S", str(ROOT / "chrono" / "guard" / "boot.py"), "claude-code"]
    hooks = {"chrono": own, **peer_hooks(node)}
    return [
        _row(name, corpus, [(stopped, us * factor) for stopped, us in answers[name]], process)
        for name, process in ((name, _process_ms(hooks[name], bench, environ) * bench.scale()) for name in answers)
    ]


def install_peers(place: Path) -> tuple[Path, Path]:
    """The folders of the two packages, installed at the versions above unless they are there already."""
    node, seatbelt = place / "node", place / "seatbelt"
    if not (node / "node_modules" / "cc-safety-net").exists():
        node.mkdir(parents=True, exist_ok=True)
        package = f"cc-safety-net@{PEERS['cc-safety-net']}"
        subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(node), package], check=True
        )
    if not (seatbelt / "seatbelt").exists():
        package = f"seatbelt-guard=={PEERS['seatbelt-guard']}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(seatbelt), package]
        subprocess.run(command, check=True)
    return node, seatbelt


def peer_hooks(node: Path) -> dict[str, list[str]]:
    """The hook command of each package, as its own installer writes it; the Python one needs PYTHONPATH."""
    program = node / "node_modules" / "cc-safety-net" / "dist" / "bin" / "cc-safety-net.js"
    return {
        "cc-safety-net": ["node", str(program), "hook", "--claude-code"],
        "seatbelt-guard": [sys.executable, "-m", "seatbelt", "hook"],
    }


def _stops(told: Any) -> bool:
    return bool(told.refusals) or any(finding.score >= ASK for finding in told.findings)


def _row(name: str, corpus: list[Labelled], answers: list[tuple[bool, float]], process_ms: float) -> dict[str, Any]:
    dangerous = [stopped for one, (stopped, _) in zip(corpus, answers, strict=True) if one.harmless is False]
    harmless = [stopped for one, (stopped, _) in zip(corpus, answers, strict=True) if one.harmless is True]
    times = sorted(us for _, us in answers)
    return {
        "guard": name if name == "chrono" else f"{name} {PEERS[name]}",
        "stopped": sum(dangerous),
        "dangerous": len(dangerous),
        "interrupted": sum(harmless),
        "harmless": len(harmless),
        "p50_us": round(times[len(times) // 2], 1),
        "p99_us": round(times[int(len(times) * 0.99)], 1),
        "process_ms": round(process_ms, 1),
    }


def _process_ms(command: list[str], bench: Bench, environ: dict[str, str]) -> float:
    """Wall time of one hook call as a whole process, the median of 11; chrono without its resident service."""
    payload = json.dumps(
        {
            "hook_event_name": "PreToolUse",
            "session_id": "bench",
            "cwd": str(bench.project),
            "tool_name": "Bash",
            "tool_input": {"command": "git status"},
        }
    )
    environ = {**environ, "CHRONO_SERVICE": "off", "CHRONO_HOME": str(bench.home / "state")}
    times = []
    for _ in range(12):
        start = time.perf_counter()
        subprocess.run(
            command, input=payload, env=environ, cwd=bench.project, capture_output=True, text=True, check=False
        )
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[1:])


def show(results: dict[str, Any]) -> None:
    print(f"{results['commands']} commands, {results['rules']} rules; times multiplied by {results['scale']}\n")
    for row in results["limits"]:
        mark = "ok  " if row["ok"] else "MISS"
        print(f"{mark} {row['what']:<62} {row['value']:>9.3f} {row['unit']:<2} limit {row['limit']:g}")
    print("\none command of many in 4 KB, us")
    for name, us in results["one of many"].items():
        print(f"     {name:<62} {us:>9.1f}")
    for row in results.get("peers", ()):
        if row is results["peers"][0]:
            print(f"\n{'':<22}{'stopped':>14}{'interrupted':>14}{'p50 us':>9}{'p99 us':>9}{'process ms':>12}")
        stopped, interrupted = f"{row['stopped']}/{row['dangerous']}", f"{row['interrupted']}/{row['harmless']}"
        print(
            f"{row['guard']:<22}{stopped:>14}{interrupted:>14}{row['p50_us']:>9}{row['p99_us']:>9}{row['process_ms']:>12}"
        )


if __name__ == "__main__":
    sys.exit(main())

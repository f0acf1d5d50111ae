"""Owns the attack on the scanner: what is tried and what is stopped, technique by technique, and what is disturbed.

Every attempt is scanned, none is run. A technique is a way to hide harm (an encoding, a wrapper, a language, a package
script, another shell); each carries commands that are stopped when they stand alone. Its counterpart only talks about
them, or does something harmless in the same way. The attempts are those of the project's tests.
Usage: bench_redteam.py [--all] [--misses] [--json]

Without --all each technique takes every eleventh command. Exit status 1 where less than 97 in 100 attempts are stopped
or more than 2 in 100 harmless ones disturbed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.rule import Ruleset
from tests.conformance import miniatures, test_carriers, test_commands, test_one_liners
from tests.conformance import test_started_projects as projects
from tests.conformance import test_windows_carriers as windows
from tests.unit.scan.conftest import verdict

STEP = 11
LEAST_STOPPED, MOST_DISTURBED = 0.97, 0.02


class Attempt(NamedTuple):
    """One text of one technique, and whether it was stopped; `harmful` False for the counterpart."""

    technique: str
    text: str
    harmful: bool
    stopped: bool


def attempts(ruleset: Ruleset, step: int) -> Iterator[Attempt]:
    """Every attempt, judged without a savepoint to fall back on."""
    yield from _plain(ruleset, step)
    yield from _carried(ruleset, step)
    yield from _started(ruleset)
    yield from _one_liners(ruleset)
    yield from _on_windows(ruleset, step)


def _plain(ruleset: Ruleset, step: int) -> Iterator[Attempt]:
    for text, harmful in test_commands.COMMANDS[::step]:
        stopped = verdict(text, ruleset, covered=False) != "allow"
        yield Attempt("labelled commands of fresh rounds", text, harmful, stopped)


def _carried(ruleset: Ruleset, step: int) -> Iterator[Attempt]:
    commands = test_carriers._carried(ruleset)
    for carriers, harmful, how in ((test_carriers.CARRIERS, True, "in"), (test_carriers.INERT, False, "only named in")):
        for number, (name, carrier) in enumerate(carriers.items()):
            for command, world in commands[number % step :: step]:
                text = carrier(command)
                yield Attempt(f"{how}: {name}", text, harmful, test_carriers.stopped(text, ruleset, world))


def _started(ruleset: Ruleset) -> Iterator[Attempt]:
    kinds = {
        "shell scripts": miniatures.SHELLS,
        "programs": miniatures.LANGUAGES,
        "package scripts": miniatures.PACKAGES,
        "runners": miniatures.RUNNERS,
        "make and its like": miniatures.MAKES,
    }
    for kind, minis in kinds.items():
        for mini in minis:
            for filling, harmful in ((miniatures.HARM, True), (miniatures.LIKENESS, False)):
                decided = projects.decided(projects.look(mini, ruleset, filling), covered=True)
                yield Attempt(f"started through {kind}", f"{mini.name}: {mini.command}", harmful, decided != "allow")


def _one_liners(ruleset: Ruleset) -> Iterator[Attempt]:
    for name, lines in test_one_liners.GROUPS.items():
        for line in lines:
            yield Attempt(name, line, True, verdict(line, ruleset, covered=True) != "allow")


def _on_windows(ruleset: Ruleset, step: int) -> Iterator[Attempt]:
    for shell, runs, inert in (
        ("powershell", windows.RUNS, windows.INERT),
        ("cmd", windows.CMD_RUNS, windows.CMD_INERT),
    ):
        commands = windows.dangerous(shell, ruleset, step)
        for carriers, harmful, how in ((runs, True, "in"), (inert, False, "only named in")):
            for name, carrier in carriers.items():
                for command in commands:
                    text = carrier(command)
                    stopped = windows.is_stopped(text, shell, ruleset)
                    yield Attempt(f"{shell}, {how}: {name}", text, harmful, stopped)


def main() -> int:
    """Prints the tables; exit status 1 where a limit is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ruleset = compile_packs(discover())
    found = list(attempts(ruleset, 1 if options.all else STEP))
    rows: dict[tuple[bool, str], list[Attempt]] = {}
    for attempt in found:
        rows.setdefault((attempt.harmful, attempt.technique), []).append(attempt)
    sums = {harmful: [a.stopped for a in found if a.harmful == harmful] for harmful in (True, False)}
    shares = {harmful: sum(stopped) / len(stopped) for harmful, stopped in sums.items()}
    wrong = [attempt for attempt in found if attempt.stopped != attempt.harmful]
    if options.json:
        table = [
            {"technique": name, "harmful": harmful, "attempted": len(tried), "stopped": sum(a.stopped for a in tried)}
            for (harmful, name), tried in rows.items()
        ]
        print(json.dumps({"techniques": table, "stopped": shares[True], "disturbed": shares[False],
                          "wrong": [attempt._asdict() for attempt in wrong]}))  # fmt: skip
    else:
        for harmful, title in ((True, "harmful"), (False, "harmless")):
            print(f"{title:52}{'attempted':>10}{'stopped':>9}{'share':>9}")
            for (kind, name), tried in rows.items():
                if kind == harmful:
                    _line(name, [a.stopped for a in tried])
            _line("all", sums[harmful])
            print()
        for attempt in wrong if options.misses else ():
            print(f"{'missed' if attempt.harmful else 'disturbed'}  {attempt.technique}  {attempt.text!r}")
    return 0 if shares[True] >= LEAST_STOPPED and shares[False] <= MOST_DISTURBED else 1


def _line(name: str, stopped: list[bool]) -> None:
    print(f"  {name:50}{len(stopped):10}{sum(stopped):9}{sum(stopped) / len(stopped):9.1%}")


if __name__ == "__main__":
    sys.exit(main())

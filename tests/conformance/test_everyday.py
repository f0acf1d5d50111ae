"""Claims about everyday work: three thousand commands of three hundred programs, alone and put together, go through."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from chrono.scan.rule import Ruleset
from tests.unit.scan.conftest import ruleset as ruleset
from tests.unit.scan.conftest import verdict

MOST = 0.003
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")

# What people put around a command. Each example gets one of them, in turn.
AROUND: tuple[Callable[[str], str], ...] = (
    lambda c: f"cd src && {c}" if not c.startswith(("rm ", "mv ", "make", "npm", "pnpm", "bun", "just")) else c,
    lambda c: f"{c} 2>&1 | tail -20",
    lambda c: f"{c} > /tmp/out.txt 2>&1",
    lambda c: f"git commit -m {shlex.quote('docs: explain ' + c)}",
    lambda c: f"echo {shlex.quote('next: ' + c)} && git status --short",
    lambda c: f"set -euo pipefail\n{c}\necho done",
    lambda c: f"if {c}; then echo ok; else echo failed; fi",
    lambda c: f"cat >> docs/notes.md <<'EOF'\nRun `{c}` first; never rm -rf / or git push --force.\nEOF",
    lambda c: f"time {c}",
    lambda c: f"({c}) || true",
    lambda c: f"for i in 1 2; do {c}; done",
    lambda c: f"FOO=1 {c}" if re.match(r"[a-z0-9.-]+( |$)", c) and "|" not in c else c,
    lambda c: f"# {c}\nls -la",
    lambda c: f"gh pr create --title 'Use it' --body {shlex.quote('It runs ' + c + ', not rm -rf ~')}",
    lambda c: f"printf '%s\\n' {shlex.quote(c)} 'DROP TABLE users;' > /tmp/list.txt",
    lambda c: f"grep -rnF -- {shlex.quote(c)} docs scripts || true",
)
_ALONE = ("for ", "while ", "if ", "case ", "cd ", "set ", "exec ", "trap ", "alias", "export ", "nohup ", "read ")


def _examples() -> list[tuple[str, str]]:
    """(program, command) for every example, each choice taken once."""
    found: list[tuple[str, str]] = []
    for line in (Path(__file__).parent / "everyday.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# "):
            program, _, examples = line.partition(": ")
            found += [(program, c.strip()) for example in examples.split(" ;; ") for c in _choices(example)]
    return list(dict.fromkeys(found))


def _choices(text: str) -> Iterator[str]:
    """Every value of every `{a|b}`, the others at their first value."""
    groups = [match[1].split("|") for match in _CHOICE.finditer(text)]
    first = [group[0] for group in groups]
    yield _filled(text, first)
    for at, group in enumerate(groups):
        for value in group[1:]:
            yield _filled(text, [*first[:at], value, *first[at + 1 :]])


def _filled(text: str, values: list[str]) -> str:
    left = iter(values)
    return _CHOICE.sub(lambda _: next(left), text)


def _commands() -> list[str]:
    examples = [command for _, command in _examples()]
    found = list(examples)
    for round_ in range(2):
        for at, command in enumerate(examples):
            around = AROUND[(at + round_ * 7) % len(AROUND)]
            plain = not command.startswith(_ALONE) and "\n" not in command and not command.rstrip().endswith("&")
            talks = around in (AROUND[3], AROUND[4], AROUND[7], AROUND[12], AROUND[13], AROUND[14], AROUND[15])
            if plain or talks:
                found.append(around(command))
    return list(dict.fromkeys(found))


COMMANDS = _commands()


def test_three_thousand_commands_of_three_hundred_programs_are_there() -> None:
    assert len(COMMANDS) >= 3000
    assert len({program for program, _ in _examples()}) >= 300


def test_everyday_commands_are_not_interrupted(ruleset: Ruleset) -> None:
    stopped = [command for command in COMMANDS if verdict(command, ruleset, covered=False) != "allow"]
    assert len(stopped) <= MOST * len(COMMANDS), stopped

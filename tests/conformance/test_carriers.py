"""Claims about every case of every pack in other clothes: what is stopped stays stopped in whatever carries it to a
shell, and what only talks about it stays silent."""

from __future__ import annotations

import base64
import os
import shlex
from collections.abc import Callable

import pytest

from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS
from chrono.rulepack.check import PackRead, read_pack
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.dictworld import DictWorld
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan

SAMPLE = 41
"""The normal tier takes one pair in forty-one of command and carrier, another one for each carrier."""

Carrier = Callable[[str], str]


def _lines(text: str, quoted: str = "'E'") -> str:
    return f"<<{quoted}\n{text}\nE"


def _escaped(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


CARRIERS: dict[str, Carrier] = {
    "sh -c": lambda t: f"sh -c {shlex.quote(t)}",
    "bash -lc": lambda t: f"bash -lc {shlex.quote(t)}",
    "eval": lambda t: f"eval {shlex.quote(t)}",
    "a variable": lambda t: f'x={shlex.quote(t)}; eval "$x"',
    "a variable for sh": lambda t: f'x={shlex.quote(t)}; bash -c "$x"',
    "a function": lambda t: f"f() {{ {t}\n}}; f",
    "a subshell": lambda t: f"( {t}\n)",
    "a group": lambda t: f"{{ {t}\n}}",
    "after &&": lambda t: f"true && {{ {t}\n}}",
    "after ||": lambda t: f"false || {{ {t}\n}}",
    "after a line": lambda t: f"echo start\n{t}",
    "in if": lambda t: f"if true; then {t}\nfi",
    "in a loop": lambda t: f"for i in 1; do {t}\ndone",
    "in while": lambda t: f"while :; do {t}\nbreak; done",
    "in case": lambda t: f"case a in a) {t}\n;; esac",
    "a substitution": lambda t: f'echo "$({t}\n)"',
    "a heredoc for bash": lambda t: f"bash {_lines(t)}",
    "a pipe into sh": lambda t: f"printf '%s\\n' {shlex.quote(t)} | sh",
    "a here-string": lambda t: f"bash <<< {shlex.quote(t)}",
    "base64": lambda t: f"echo {base64.b64encode(t.encode()).decode()} | base64 -d | bash",
    "hexadecimal": lambda t: f"bash -c {_escaped(t)}",
    "a file of its own": lambda t: f"cat > /tmp/carried.sh {_lines(t)}\nbash /tmp/carried.sh",
    "source": lambda t: f"source /dev/stdin <<< {shlex.quote(t)}",
    "process substitution": lambda t: f"bash <(printf '%s\\n' {shlex.quote(t)})",
    "xargs": lambda t: f"printf '%s' {shlex.quote(t)} | xargs -0 bash -c",
    "a trap": lambda t: f"trap {shlex.quote(t)} EXIT",
    "nohup": lambda t: f"nohup sh -c {shlex.quote(t)} &",
    "timeout": lambda t: f"timeout 60 bash -c {shlex.quote(t)}",
    "python": lambda t: f"python3 -c {shlex.quote(f'import os; os.system({t!r})')}",
    "a comment behind": lambda t: f"{t} # just a test",
}

INERT: dict[str, Carrier] = {
    "echo": lambda t: f"echo {shlex.quote(t)}",
    "printf": lambda t: f"printf '%s\\n' {shlex.quote(t)}",
    "a comment": lambda t: "\n".join("# " + line for line in t.split("\n")) + "\nls",
    "a commit message": lambda t: f"git commit -m {shlex.quote('never run ' + t)}",
    "a long commit message": lambda t: f"git commit -F - {_lines('About this command:' + chr(10) + t)}",
    "a commit message by cat": lambda t: f'git commit -m "$(cat {_lines(t)}\n)"',
    "a heredoc into a file": lambda t: f"cat > docs/notes.md {_lines(t)}",
    "a line of a document": lambda t: f"echo {shlex.quote(t)} >> docs/notes.md",
    "a pattern of grep": lambda t: f"grep -rnF -e {shlex.quote(t)} docs",
    "a pattern of rg": lambda t: f"rg -F -e {shlex.quote(t)} src",
    "a log search": lambda t: f"git log --oneline --grep={shlex.quote(t)}",
    "an issue": lambda t: f"gh issue create --title 'a guard' --body {shlex.quote(t)}",
    "a variable": lambda t: f'message={shlex.quote(t)}; echo "$message"',
    "an array": lambda t: f'list=({shlex.quote(t)}); echo "${{#list[@]}}"',
    "a test": lambda t: f"[ x = {shlex.quote(t)} ] && echo same",
    "case": lambda t: f"case x in {shlex.quote(t)}) echo same;; esac",
    "printed by python": lambda t: f"python3 -c {shlex.quote(f'print({t!r})')}",
    "printed by node": lambda t: f"node -e {shlex.quote('console.log(' + _javascript(t) + ')')}",
    "a jq argument": lambda t: f"jq -n --arg text {shlex.quote(t)} '{{text: $text}}'",
    "a piped count": lambda t: f"printf '%s' {shlex.quote(t)} | wc -c",
}


def _javascript(text: str) -> str:
    import json

    return json.dumps(text)


def _packs() -> list[PackRead]:
    return [read_pack(os.path.dirname(source.path), pack=source.name) for source in discover()]


PACKS = _packs()


@pytest.fixture(scope="module")
def ruleset() -> Ruleset:
    return compile_packs(discover())


def stopped(text: str, ruleset: Ruleset, world: DictWorld) -> bool:
    return settle(decide(scan(text, ruleset, world), DEFAULTS, project=None), None).decision != "allow"


def _carried(ruleset: Ruleset) -> list[tuple[str, DictWorld]]:
    """The hits of all packs, as bash reads them, that are stopped as they stand."""
    found = []
    for pack in PACKS:
        for hits, _ in pack.cases.values():
            for case in hits:
                if case.shell == "bash" and "\n" not in case.command and stopped(case.command, ruleset, pack.world):
                    found.append((case.command, pack.world))
    return found


def _share(
    carriers: dict[str, Carrier], ruleset: Ruleset, wanted: bool, step: int
) -> tuple[int, int, list[tuple[str, str]]]:
    """(as wanted, asked, the pairs that were not)."""
    cases = _carried(ruleset)
    right = asked = 0
    wrong = []
    for number, (name, carrier) in enumerate(carriers.items()):
        for command, world in cases[number % step :: step]:
            asked += 1
            if stopped(carrier(command), ruleset, world) == wanted:
                right += 1
            else:
                wrong.append((name, command))
    return right, asked, wrong


def test_there_are_enough_cases_and_carriers(ruleset: Ruleset) -> None:
    assert len(_carried(ruleset)) > 900
    assert len(CARRIERS) >= 20
    assert len(INERT) >= 15


def test_what_is_stopped_stays_stopped_in_a_sample_of_carriers(ruleset: Ruleset) -> None:
    right, asked, wrong = _share(CARRIERS, ruleset, True, SAMPLE)
    assert right >= 0.99 * asked, wrong[:40]


def test_talking_about_it_stays_silent_in_a_sample_of_carriers(ruleset: Ruleset) -> None:
    right, asked, wrong = _share(INERT, ruleset, False, SAMPLE)
    assert right >= 0.99 * asked, wrong[:40]


@pytest.mark.slow
def test_what_is_stopped_stays_stopped_in_every_carrier(ruleset: Ruleset) -> None:
    right, asked, wrong = _share(CARRIERS, ruleset, True, 1)
    assert right >= 0.99 * asked, wrong[:40]


@pytest.mark.slow
def test_talking_about_it_stays_silent_in_every_carrier(ruleset: Ruleset) -> None:
    right, asked, wrong = _share(INERT, ruleset, False, 1)
    assert right >= 0.99 * asked, wrong[:40]

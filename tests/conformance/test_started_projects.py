"""Claims about what commands start: in each project in miniature the harmful twin is stopped, the harmless runs.

The projects are left to `miniatures`.
"""

from __future__ import annotations

import pytest

from chrono.policy.decide import decide, settle
from chrono.policy.model import DEFAULTS, Cover, Excluded
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.finding import Scan
from chrono.scan.rule import Ruleset
from chrono.scan.scanner import scan
from chrono.testing.world import FakeWorld
from tests.conformance.miniatures import HARM, LIKENESS, MINIATURES, Mini

PROJECT = "/home/dev/proj"
COVER = Cover(PROJECT, tuple(Excluded(f"{PROJECT}/{name}", kind) for name, kind in ((".git", "git"),)), "0" * 40)


@pytest.fixture(scope="module")
def ruleset() -> Ruleset:
    return compile_packs(discover())


def look(mini: Mini, ruleset: Ruleset, filling: dict[str, str]) -> Scan:
    text = filling[mini.language]
    files: dict[str, str | None] = {
        f"{PROJECT}/.git/HEAD": "ref: refs/heads/main\n",
        f"{PROJECT}/.gitignore": "build\n",
        f"{PROJECT}/build/cache/a.o": "",
        "/home/dev/Documents/a.txt": "",
    }
    for name, content in mini.files.items():
        files[f"{PROJECT}/{name}"] = content.replace("@@", _written(text, name))
    home = {"HOME": "/home/dev", "USERPROFILE": "/home/dev", "USER": "dev", "PWD": PROJECT}
    world = FakeWorld(files, cwd=PROJECT, project=PROJECT, environ={**home, **dict(mini.environ)})
    return scan(mini.command.replace("@@", text), ruleset, world, shell=mini.shell)


def _written(text: str, name: str) -> str:
    """The text as a file of this kind spells it: in a JSON string a quotation mark is escaped, in make a dollar."""
    if name.endswith("json"):
        return text.replace("\\", "\\\\").replace('"', '\\"')
    return text.replace("$", "$$") if name.lower().endswith(("makefile", ".mk")) else text


def decided(found: Scan, *, covered: bool) -> str:
    return settle(decide(found, DEFAULTS, project=PROJECT), COVER if covered else None).decision


def test_there_are_more_than_a_hundred_and_twenty_projects() -> None:
    assert len(MINIATURES) >= 120
    assert len({mini.name for mini in MINIATURES}) == len(MINIATURES)


@pytest.mark.parametrize("mini", MINIATURES, ids=lambda mini: mini.name)
def test_what_is_harmful_is_stopped_with_the_chain_that_leads_to_it(mini: Mini, ruleset: Ruleset) -> None:
    found = look(mini, ruleset, HARM)
    assert decided(found, covered=True) in ("block", "ask")
    assert found.findings, "stopped for another reason than what it does"
    if mini.chain:
        chains = [" -> ".join(finding.via) for finding in found.findings]
        assert any(mini.chain == tuple(link for link in mini.chain if link in chain) for chain in chains), chains


@pytest.mark.parametrize("mini", MINIATURES, ids=lambda mini: mini.name)
def test_the_harmless_likeness_runs(mini: Mini, ruleset: Ruleset) -> None:
    assert decided(look(mini, ruleset, LIKENESS), covered=True) == "allow"


def _answer(command: str, files: dict[str, str], ruleset: Ruleset) -> tuple[str, list[str]]:
    found = look(Mini("x", command, files), ruleset, HARM)
    return decided(found, covered=True), [refusal.kind for refusal in found.refusals]


def test_wrappers_are_no_scripts_and_no_steps(ruleset: Ruleset) -> None:
    command = "uv run poetry run pipenv run mise exec -- npx tsx x.ts"
    assert _answer(command, {"x.ts": "console.log(1)\n"}, ruleset) == ("allow", [])
    found = look(Mini("x", "npx tsx a.ts", {"a.ts": HARM["ts"]}, "ts"), ruleset, HARM)
    assert [finding.via[:2] for finding in found.findings] == [("npx", f"a.ts:{1} fs.rmSync")]


def test_sixteen_scripts_are_read_and_more_are_refused(ruleset: Ruleset) -> None:
    files = {f"s{number}.sh": "true\n" for number in range(17)}
    sixteen = "; ".join(f"sh s{number}.sh" for number in range(16))
    assert _answer(sixteen, files, ruleset) == ("allow", [])
    assert _answer(f"{sixteen}; sh s16.sh", files, ruleset) == ("block", ["limit"])
    wrapped = "; ".join(f"npx tsx s{number}.ts" for number in range(16))
    assert _answer(wrapped, {name.replace(".sh", ".ts"): "1\n" for name in files}, ruleset) == ("allow", [])


def test_twelve_steps_are_followed_and_more_are_refused(ruleset: Ruleset) -> None:
    files = {f"s{number}.sh": f"sh s{number + 1}.sh\n" for number in range(14)}
    assert _answer("sh s0.sh", {**files, "s12.sh": "true\n"}, ruleset)[1] == ["limit"]
    assert _answer("sh s0.sh", {**files, "s11.sh": "true\n"}, ruleset) == ("allow", [])
    assert _answer("sh s0.sh", files, ruleset)[0] == "block"


def test_a_file_of_more_than_a_megabyte_is_refused(ruleset: Ruleset) -> None:
    def script(lines: int) -> dict[str, str]:
        return {"big.sh": "cat <<'E'\n" + "a line of text\n" * lines + "E\n"}

    assert _answer("sh big.sh", script(66_000), ruleset) == ("allow", [])
    assert _answer("sh big.sh", script(67_000), ruleset) == ("block", ["file"])

"""Claims about rules made ready for a program: what cannot hold is never asked, and nothing leaks between alternatives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chrono.rulepack.compile import compile_pack
from chrono.rulepack.discover import compile_packs, discover
from chrono.scan.command import Command, Pattern, Redirect
from chrono.scan.conditions import Case
from chrono.scan.dictworld import DictWorld
from chrono.scan.finding import Target
from chrono.scan.paths import Ground, Spot, Touch
from chrono.scan.ready import Program, program
from chrono.scan.rule import Rule, Ruleset, ruleset_of
from chrono.scan.scanner import scan

WORLD = DictWorld({"/home/dev/proj/a": "x", "/home/dev/proj/b": "x"}, project="/home/dev/proj")
GROUND = Ground(WORLD)


def rules(*matches: str) -> Ruleset:
    head = "pack: own\ntitle: Own\nrules:\n"
    rule = "  - {{id: own.r{0}, title: t, score: 50, why: w, safer: s, reversible: no, match: {1}}}\n"
    text = head + "".join(rule.format(number, match) for number, match in enumerate(matches))
    return ruleset_of(compile_pack(text, "p", pack="own").rules)


def chosen(ruleset: Ruleset, *argv: str, **more: object) -> list[str]:
    command = Command(argv, cwd="/home/dev/proj", span=(0, 1))._replace(**more)  # type: ignore[arg-type]
    asked = Program(ruleset, (argv[0],))
    positions = asked.chosen(Case(command, GROUND, ()), ruleset)
    return [ruleset.rules[position].id for position in positions]


@pytest.mark.parametrize(
    ("match", "without", "having"),
    [
        ("{program: tool, subcommand: [drop, purge]}", ("tool", "list"), ("tool", "--x", "purge")),
        ("[{program: tool, subcommand: drop}, {program: tool, subcommand: purge}]", ("tool",), ("tool", "drop")),
    ],
)
def test_a_rule_about_a_subcommand_is_asked_only_where_its_word_stands(
    match: str, without: tuple[str, ...], having: tuple[str, ...]
) -> None:
    assert chosen(rules(match), *without) == []
    assert chosen(rules(match), *having) == ["own.r0"]


@pytest.mark.parametrize(
    ("match", "more"),
    [
        ("{program: tool, redirect: {op: '>'}}", {"redirects": (Redirect(">", None, "x"),)}),
        ("{program: tool, upstream: cat}", {"upstream": (("cat", "x"),)}),
        ("[{program: other}, {assigns: X}]", {"assigns": (("X", "1"),)}),
        ("{program: tool, via: 'sudo*'}", {"via": ("sudo",)}),
    ],
)
def test_a_rule_is_asked_only_of_commands_that_have_what_it_needs(match: str, more: dict[str, object]) -> None:
    assert chosen(rules(match), "tool", "x") == []
    assert chosen(rules(match), "tool", "x", **more) == ["own.r0"]


def test_a_rule_about_a_path_is_asked_only_where_a_path_fits() -> None:
    touch = "{program: tool, touches: {how: write, path: '/etc/x*'}}"
    asked = rules(touch, "{touches: {how: write, path: '*.pem'}}", "{program: tool, touches: {how: write}}")

    def about(path: str | None) -> list[str]:
        case = Case(Command(("tool",), cwd="/", span=(0, 1)), GROUND, (_write(path),))
        return [asked.rules[position].id for position in Program(asked, ("tool",)).chosen(case, asked)]

    assert about("/etc/xy") == about("/srv/a.pem") == ["own.r0", "own.r1", "own.r2"]
    assert about("/etc/y") == ["own.r2"]
    assert about(None) == ["own.r2"]


def _write(path: str | None) -> Touch:
    return Touch("write", Spot(Target(path, "x", "system"), True))


def test_a_rule_about_a_form_of_word_is_asked_only_where_a_word_may_fit() -> None:
    asked = rules("{program: tool, word: ['/proc/*', '*.key']}")
    assert chosen(asked, "tool", "/etc/x", "a.keys") == []
    assert chosen(asked, "tool", "x", "a.key") == ["own.r0"]
    assert chosen(asked, "tool", Pattern(("/pr", None))) == ["own.r0"]  # type: ignore[arg-type]


def test_a_rule_that_needs_nothing_is_asked_always() -> None:
    asked = rules("{program: tool}", "{program: tool, flag: -f}", "{program: tool, word: [on, off]}")
    assert chosen(asked, "tool") == ["own.r0"]
    assert chosen(asked, "tool", "-x") == ["own.r0", "own.r1"]
    assert chosen(asked, "tool", "off") == ["own.r0", "own.r2"]


def test_a_rule_that_is_not_asked_would_not_have_held(monkeypatch: pytest.MonkeyPatch) -> None:
    ruleset = compile_packs(discover())
    texts = [
        one
        for name in ("dangerous", "everyday")
        for line in (Path(__file__).parent / f"{name}.jsonl").read_text().splitlines()
        if isinstance(one := json.loads(line), str)
    ]
    told = [scan(text, ruleset, WORLD).findings for text in texts]

    def all_of_them(self: Program, case: Case, ruleset: Ruleset) -> list[int]:
        by_touch = {at for touch in case.touches for at in ruleset.by_touch.get(touch.how, ())}
        return sorted({*self.named, *by_touch})

    monkeypatch.setattr(Program, "chosen", all_of_them)
    assert [scan(text, ruleset, WORLD).findings for text in texts] == told


def test_alternatives_for_other_programs_are_left_out() -> None:
    ruleset = rules("[{program: a, subcommand: x}, {program: b, flag: -f}]")
    first, second = Program(ruleset, ("a",)).ready(0), Program(ruleset, ("b",)).ready(0)
    assert first is not None and second is not None
    assert len(first.steps[0][1]) == len(second.steps[0][1]) == 1


def test_a_rule_no_alternative_of_which_can_hold_is_never_asked() -> None:
    ruleset = rules("{program: tool, any: [{program: other}, {unknown: program}]}")
    assert Program(ruleset, ("tool",)).named == ()


def test_what_a_failing_alternative_matched_is_no_target_of_the_next() -> None:
    ruleset = rules(
        "[{program: tool, argument: {place: project, text: a}, flag: -x}, {program: tool, argument: {text: b, place: project}}]"
    )
    (finding,) = scan("tool a b", ruleset, WORLD).findings
    assert [target.path for target in finding.targets] == ["/home/dev/proj/b"]


def test_a_failing_alternative_moves_no_arguments_of_the_next() -> None:
    ruleset = rules("[{program: tool, subcommand: drop, flag: -x}, {program: tool, argument: {position: 2, text: b}}]")
    assert scan("tool drop b", ruleset, WORLD).findings
    assert not scan("tool drop x b", ruleset, WORLD).findings


def test_what_is_kept_for_one_ruleset_is_not_used_for_another() -> None:
    one, other = rules("{program: tool}"), rules("{program: tool, flag: -f}")
    assert program(one, ("tool",)) is program(one, ("tool",))
    assert program(one, ("tool",)) is not program(other, ("tool",))
    assert scan("tool", one, WORLD).findings and not scan("tool", other, WORLD).findings


def test_more_rules_about_other_programs_are_never_asked() -> None:
    base = compile_packs(discover())
    others = tuple(_renamed(rule, number) for number in range(3) for rule in base.rules if rule.programs)
    grown = ruleset_of(base.rules + others)
    assert len(grown.rules) > 1000
    for argv in (("ls", "-la"), ("git", "push", "--force"), ("rm", "-rf", "x"), ("docker", "ps")):
        assert chosen(grown, *argv) == chosen(base, *argv)
    assert len(chosen(base, "ls", "-la")) <= 6


def _renamed(rule: Rule, number: int) -> Rule:
    return rule._replace(id=f"{rule.id}-{number}", programs=(f"other{number}",), touches=())

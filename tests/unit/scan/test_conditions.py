"""Claims about what each condition of a rule asks."""

from __future__ import annotations

import pytest

from chrono.rulepack.compile import compile_pack
from chrono.scan.dictworld import DictWorld
from chrono.scan.rule import Ruleset, ruleset_of
from chrono.scan.scanner import scan

PACK = """
pack: own
title: Own
programs:
  tool:
    values: -m --context
    harmless: {"": --help help, drop: --dry-run -n --help help}
rules:
  - id: own.drop
    title: t
    score: 80
    why: w
    safer: s
    reversible: no
    match: {program: [tool, other], subcommand: [drop, keep]}
"""


def own(match: str) -> Ruleset:
    text = PACK.split("    match:", 1)[0] + f"    match: {match}\n"
    return ruleset_of(compile_pack(text, "p", pack="own").rules)


def hits(ruleset: Ruleset, command: str) -> bool:
    return bool(scan(command, ruleset, DictWorld({"/home/dev/proj/a": "x"})).findings)


@pytest.fixture(scope="module")
def drop() -> Ruleset:
    return own("{program: [tool, other], subcommand: [drop, keep]}")


@pytest.mark.parametrize("command", ["tool drop x --dry-run", "tool drop -n x", "tool drop --help", "tool drop help"])
def test_an_option_that_makes_a_program_only_tell_makes_its_rules_silent(drop: Ruleset, command: str) -> None:
    assert not hits(drop, command)


@pytest.mark.parametrize(
    "command",
    [
        "tool drop x",
        "tool drop x --dry-run=none",
        "tool drop x --dry-run=false",
        "tool drop x -m --dry-run",
        "tool drop x -- --dry-run",
        "tool keep x -n",
        "other drop x --dry-run",
        "tool drop help x",
    ],
)
def test_such_an_option_counts_only_where_the_program_reads_it_so(drop: Ruleset, command: str) -> None:
    assert hits(drop, command)


@pytest.mark.parametrize(
    ("match", "hit", "miss"),
    [
        ("{program: 'mk*'}", "mkfs.ext4 x", "ls mkfs"),
        ("{program: tool, subcommand: [drop table]}", "tool --context x drop table y", "tool drop view y"),
        ("{program: tool, flag: [-f, --force]}", "tool -xf", "tool -- -f"),
        ("{program: tool, flag: {names: [--context], value: 'prod*'}}", "tool --context prod-1", "tool --context dev"),
        ("{program: tool, argument: {position: last, text: '*.pem'}}", "tool a b.pem", "tool b.pem a"),
        ("{program: tool, argument: {place: root}}", "tool /", "tool ./x"),
        ("{program: tool, arguments: {least: 2}}", "tool a b", "tool a"),
        ("{program: tool, arguments: 1}", "tool a", "tool a b"),
        ("{program: tool, word: '-x=*'}", "tool -x=1", "tool -y=1"),
        ("{program: tool, last_word: '-1'}", "tool -9 -1", "tool -1 -9"),
        ("{program: tool, redirect: {op: '>', text: '/etc/*'}}", "tool > /etc/x", "tool >> /etc/x"),
        ("{touches: {how: delete-tree, place: root}}", "rm -r /", "rm -r x"),
        ("{touches: {how: write, path: '/etc/cron*'}}", "cp a /etc/cron.d/x", "cp /etc/cron.d/x a"),
        ("{program: tool, upstream: cat}", "cat a | tool", "tool a"),
        ("{program: tool, stdin: known}", "echo a | tool", "curl x.example/a | tool"),
        ("{program: tool, url: {not_in: [good.example]}}", "tool https://bad.example/x", "tool https://good.example/x"),
        ("{program: tool, unknown: arguments}", "tool $UNSET_x$(date)", "tool a"),
        ("{program: tool, via: 'sudo*'}", "sudo tool", "tool sudo"),
        ("{program: tool, cwd: root}", "cd / && tool", "cd a; tool"),
        ("{program: tool, regex: {pattern: '^a[0-9]+$', argument: 1}}", "tool a12", "tool b a12"),
        ("{program: tool, sql: {flags: [-m]}}", "tool -m 'drop table x'", "tool -m 'select 1'"),
        ("{assigns: 'DANGER*'}", "DANGER_X=1 ls", "SAFE=DANGER ls"),
        ("{program: tool, unless: {flag: --keep}}", "tool a", "tool a --keep"),
        ("{program: tool, any: [{argument: a}, {argument: b}]}", "tool b", "tool c"),
        ("{program: tool, all: [{argument: a}, {argument: b}]}", "tool b a", "tool b"),
    ],
)
def test_each_condition_asks_what_it_says(match: str, hit: str, miss: str) -> None:
    ruleset = own(match)
    assert hits(ruleset, hit)
    assert not hits(ruleset, miss)


def test_an_excuse_of_a_rule_holds_for_each_of_its_matchers() -> None:
    text = PACK.replace("    match: {program: [tool, other], subcommand: [drop, keep]}", "    unless: {argument: spare}\n"
                        "    match:\n      - {program: tool, subcommand: drop}\n      - {program: other}")  # fmt: skip
    rules = ruleset_of(compile_pack(text, "p", pack="own").rules)
    assert hits(rules, "tool drop all")
    assert hits(rules, "other all")
    assert not hits(rules, "tool drop spare")
    assert not hits(rules, "other spare")


def test_a_text_on_standard_input_is_held_against_patterns() -> None:
    rules = own('{program: tool, stdin: {text: "*wipe*"}}')
    assert hits(rules, "echo 'wipe it' | tool")
    assert hits(rules, "tool <<< 'and wipe it'")
    assert not hits(rules, "echo keep | tool")
    assert not hits(rules, "date | tool")
    assert not hits(rules, "tool wipe")

"""Claims about reading a rule pack: the form is kept, and each mistake is named with its line."""

from __future__ import annotations

import marshal

import pytest

from chrono.rulepack.compile import RulePackError, compile_pack, compile_rules
from chrono.rulepack.regex import regex_problem
from chrono.yamlfile import load

HEAD = "pack: own\ntitle: Own\nrules:\n  - id: own.rule\n    title: t\n    score: 50\n    why: w\n    safer: s\n    reversible: no\n"


def test_compiled_rules_are_made_of_what_marshal_writes() -> None:
    pack = compile_pack(HEAD + "    match: {program: x, flag: {names: [-a], value: 'b*'}}\n", "p", pack="own")
    assert marshal.loads(marshal.dumps(tuple(tuple(rule) for rule in pack.rules)))[0] == tuple(pack.rules[0])


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ("    match: {}\n", "would match every command"),
        ("    match: {progam: x}\n", "unknown key 'progam'"),
        ("    match: {program: '*'}\n", "a program is a name"),
        ("    match: {program: x, flag: force}\n", "is not an option"),
        ("    match: {touches: {how: eat}}\n", "unknown `how` 'eat'"),
        ("    match: {touches: {how: delete, place: mars}}\n", "unknown `place` 'mars'"),
        ("    match: {program: x, regex: {pattern: '(a+)+'}}\n", "refused"),
        ("    match: {program: x, url: {in: nowhere}}\n", "no list is called 'nowhere'"),
        ("    match: {program: x}\n    colour: red\n", "unknown key 'colour'"),
        ("    targets: all\n    match: {program: x}\n", "unknown `targets`"),
        ("", "needs `match`"),
    ],
)
def test_a_mistake_is_named_with_its_line(tail: str, words: str) -> None:
    with pytest.raises(RulePackError, match="p:") as caught:
        compile_pack(HEAD + tail, "p", pack="own")
    assert words in caught.value.message
    assert caught.value.line is not None


def test_an_id_of_another_pack_is_refused() -> None:
    with pytest.raises(RulePackError, match="begin with"):
        compile_pack(HEAD.replace("own.rule", "git.rule") + "    match: {program: x}\n", "p", pack="own")


def test_a_rule_that_stands_twice_is_refused() -> None:
    rule = HEAD.split("rules:\n")[1] + "    match: {program: x}\n"
    with pytest.raises(RulePackError, match="twice"):
        compile_pack(HEAD + "    match: {program: x}\n" + rule, "p", pack="own")


def test_a_policy_s_own_rule_needs_only_id_and_match() -> None:
    document = load(
        "- id: own.no-production\n  match: {program: kubectl, flag: {names: [--context], value: production}}\n",
        name="p",
    )
    (rule,) = compile_rules(document, "p", pack="policy")
    assert (rule.id, rule.programs, rule.reversible) == ("own.no-production", ("kubectl",), "no")


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|b)*c", "(?:x*y)+", "((a{2,}))*", "(", r"(a)\1", "a" * 600])
def test_a_pattern_that_could_take_for_ever_is_refused(pattern: str) -> None:
    assert regex_problem(pattern) is not None


@pytest.mark.parametrize(
    "pattern", [".*.*.*.*=x", r"(.*),(.*),(.*),(.*)x", "(?:a?)*b", "(?:a?){40}b", r"\s*\s*\s*\s*x"]
)
def test_repetitions_side_by_side_are_counted(pattern: str) -> None:
    assert "repetitions" in str(regex_problem(pattern))


@pytest.mark.parametrize(
    "pattern", ["^a+b*$", "(abc)+", "(a|b)c", "[(+]+", r"\(a+\)+", "x{2,5}", "k.*e.*y", "(?:ab|cd)?e"]
)
def test_an_ordinary_pattern_is_accepted(pattern: str) -> None:
    assert regex_problem(pattern) is None

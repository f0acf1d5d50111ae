"""Claims about compiled rules: they are chosen by what they name, and a ruleset can only grow."""

from __future__ import annotations

import marshal

from chrono.scan.dictworld import DictWorld
from chrono.scan.rule import EMPTY, PackStamp, Rule, extended, ruleset_of
from chrono.scan.scanner import scan

WORLD = DictWorld({"/home/dev/proj/.git/HEAD": "ref: refs/heads/main\n"})


def rule(name: str, *, programs: tuple[str, ...] = (), touches: tuple[str, ...] = (), matcher: object = ()) -> Rule:
    return Rule(name, "t", 50, "w", "s", "no", (), "own", programs, touches, matcher, "matched", ())  # type: ignore[arg-type]


def found(command: str, *rules: Rule) -> set[str]:
    return {finding.rule for finding in scan(command, ruleset_of(rules), WORLD).findings}


def test_a_rule_is_chosen_by_the_name_of_its_program() -> None:
    named = rule("own.named", programs=("tool",))
    assert found("tool x", named) == {"own.named"}
    assert found("/opt/bin/tool x", named) == {"own.named"}
    assert found("tools x", named) == set()


def test_a_star_stands_for_the_rest_of_a_name() -> None:
    assert found("mkfs.ext4 x", rule("own.made", programs=("mkfs*",))) == {"own.made"}
    assert found("mk x", rule("own.made", programs=("mkfs*",))) == set()


def test_a_rule_is_chosen_by_what_a_command_touches_too() -> None:
    both = rule("own.both", programs=("tool",), touches=("delete-tree",))
    assert found("rm -r /opt/x", both) == {"own.both"}
    assert found("tool", both) == {"own.both"}
    assert found("ls /opt/x", both) == set()


def test_a_rule_that_names_nothing_is_asked_of_every_command() -> None:
    ruleset = ruleset_of((rule("own.any"),))
    assert ruleset.everywhere == (0,)
    assert found("ls; tool", rule("own.any")) == {"own.any"}


def test_the_order_of_findings_is_that_of_the_rules() -> None:
    rules = (rule("own.b", programs=("tool",)), rule("own.a", programs=("tool",)), rule("own.c"))
    findings = scan("tool", ruleset_of(rules), WORLD).findings
    assert [finding.rule for finding in findings] == ["own.b", "own.a", "own.c"]


def test_more_rules_change_none_of_the_others() -> None:
    stamp = PackStamp("own", "0" * 64, "own-dist")
    base = ruleset_of((rule("own.a", programs=("tool",)),), (stamp,), "digest")
    more = extended(base, (rule("policy.b", programs=("tool",)),))
    assert more.rules[: len(base.rules)] == base.rules
    assert (more.packs, more.digest) == (base.packs, base.digest)
    assert {one.id for one in more.rules} == {"own.a", "policy.b"}
    assert extended(base, ()) is base


def test_without_rules_nothing_is_found() -> None:
    assert scan("rm -rf /", EMPTY, WORLD).findings == ()


def test_a_rule_is_made_of_what_marshal_writes() -> None:
    one = rule("own.a", programs=("tool",), matcher=(("flag", ("-f",), None),))
    assert Rule(*marshal.loads(marshal.dumps(tuple(one)))) == one

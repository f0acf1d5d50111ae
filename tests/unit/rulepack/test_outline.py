"""Claims about comparing rules: what is new, gone or says something else, and nothing where only the order differs."""

from __future__ import annotations

from chrono.rulepack.discover import PackSource
from chrono.rulepack.outline import compare, outline, outlined

PACK = """\
pack: p
title: p
rules:
  - {id: p.one, title: does one, score: 60, why: w, safer: s, reversible: no, match: {program: one}}
  - {id: p.two, title: does two, score: 70, why: w, safer: s, match: {program: two}}
"""


def test_a_rule_is_one_line_that_survives_being_noted() -> None:
    found = outline((PackSource("p", "p.yaml", PACK.encode(), "", "d"),))
    assert [(one.id, one.score, one.reversible) for one in found] == [("p.one", 60, "no"), ("p.two", 70, "files")]
    assert outlined([[*one] for one in found]) == found
    assert outlined(None) is None and outlined([["x"]]) is None and outlined({}) is None


def test_what_changed_is_told_rule_by_rule() -> None:
    before = outline((PackSource("p", "p.yaml", PACK.encode(), "", "d"),))
    text = PACK.replace("score: 60", "score: 65").replace("p.two", "p.three").replace("program: two", "program: 2")
    after = outline((PackSource("p", "p.yaml", text.encode(), "", "d"),))
    changes = compare(before, after)
    assert [one.id for one in changes.added] == ["p.three"] and [one.id for one in changes.removed] == ["p.two"]
    assert [(old.score, new.score) for old, new in changes.changed] == [(60, 65)]
    assert compare(before, before).nothing


def test_a_condition_alone_is_a_change_and_another_order_is_none() -> None:
    before = outline((PackSource("p", "p.yaml", PACK.encode(), "", "d"),))
    condition = outline((PackSource("p", "p.yaml", PACK.replace("program: one", "program: uno").encode(), "", "d"),))
    assert len(compare(before, condition).changed) == 1
    swapped = PACK.replace("{id: p.one, title: does one, score: 60,", "{score: 60, title: does one, id: p.one,")
    assert compare(before, outline((PackSource("p", "p.yaml", swapped.encode(), "", "d"),))).nothing


def test_the_installed_rules_are_outlined() -> None:
    found = outline()
    assert len(found) > 250 and len({one.id for one in found}) == len(found)

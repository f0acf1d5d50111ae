"""Owns the conformance suite that every rule pack must pass, those of strangers too.

Derive from RulePackConformance in a test module and set `pack` and `folder`. The form of packs is described in
docs/formats/rule-pack.md.
"""

from __future__ import annotations

import os
from pathlib import Path

from chrono.rulepack.check import check
from chrono.rulepack.weaken import weaken


class RulePackConformance:
    """Claims about one pack. `folder` is where its `pack.yaml` and `cases.yaml` lie."""

    pack: str
    folder: str | Path

    def test_every_case_holds(self) -> None:
        checked = check(os.fspath(self.folder), pack=self.pack)
        assert [f"{problem.rule}: {problem.message}" for problem in checked.problems] == []
        assert checked.rules > 0

    def test_every_part_of_a_rule_is_needed_by_a_case(self) -> None:
        weakened = weaken(os.fspath(self.folder), pack=self.pack)
        assert [f"{one.rule} without {one.lost}: {one.what}" for one in weakened.survivors] == []

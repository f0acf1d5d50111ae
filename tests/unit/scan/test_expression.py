"""Claims about expressions that are compiled on their first use."""

from __future__ import annotations

import re

import pytest

from chrono.scan.expression import Expression, expression


def test_an_expression_does_what_a_compiled_one_does() -> None:
    lazy, eager = expression(r"(a+)\.b", re.IGNORECASE), re.compile(r"(a+)\.b", re.IGNORECASE)
    for text in ("AA.b", "x aa.B aa.b", ""):
        assert [m.groups() for m in lazy.finditer(text)] == [m.groups() for m in eager.finditer(text)]
        assert (lazy.match(text) is None) == (eager.match(text) is None)
    assert lazy.pattern == eager.pattern


def test_nothing_is_compiled_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = Expression("(", 0)  # not an expression at all
    with pytest.raises(re.error):
        lazy.match("x")
    compiled: list[str] = []
    original = re.compile

    def noted(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return original(source, flags)

    monkeypatch.setattr(re, "compile", noted)
    lazy = Expression("a", 0)
    assert compiled == []
    assert lazy.match("a") and lazy.match("a")
    assert compiled == ["a"]

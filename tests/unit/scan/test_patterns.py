"""Claims about searching with a rule's pattern: it never takes longer than anybody waits."""

from __future__ import annotations

import time

import pytest

from chrono.scan.command import LimitReached
from chrono.scan.patterns import MOST_STEPS, found, steps

WORST = {".*.*=x": "a", r"(.*),(.*)x": "a,", "(?:a?){12}b": "a", "[a-z]+[a-z]+[0-9]": "a", r"(?m)^.*\s*x": "a\n"}


@pytest.mark.parametrize("pattern", WORST)
def test_a_text_that_is_searched_at_all_is_searched_in_time(pattern: str) -> None:
    size = 1 << 20
    while steps(pattern, size) > MOST_STEPS:
        size //= 2
    text = (WORST[pattern] * size)[:size]
    began = time.process_time()
    assert not found(pattern, text)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", [".*.*=x", ".*.*.*x", "(?:a|aa){30}b"])
def test_a_text_too_long_for_its_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(LimitReached):
        found(pattern, "a" * 5000)


def test_a_text_is_searched_to_its_end() -> None:
    assert found("[?&](?:ghp_|sk-)[a-z]{16,}", "x" * 100_000 + "?ghp_" + "a" * 20)
    assert not found("^[*]+$", "*" * 100_000 + "x")

"""Owns the lint of regular expressions in rules: what could take for ever, or cannot be read, is refused.

Searching with them is left to `scan.patterns`, which refuses a text that is too long for one.
"""

from __future__ import annotations

import re

from chrono.scan.patterns import MOST_STEPS, steps

MAX_PATTERN = 500

USUAL_ARGUMENT = 256
"""Characters of an argument that every pattern must be able to search in time."""


def regex_problem(pattern: str) -> str | None:
    """Why a pattern is refused, for people; None where it is fine.

    Refused are repeated groups with a repetition or a choice inside (`(a+)+`, `(a|b)*`), and more repetitions side by
    side than an argument of usual length allows (`.*,.*,.*x`).
    """
    if len(pattern) > MAX_PATTERN:
        return f"it is longer than {MAX_PATTERN} characters"
    try:
        re.compile(pattern)
    except re.error as error:
        return f"it is not a regular expression ({error})"
    open_groups: list[bool] = []
    inside_class = False
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            if pattern[at + 1 : at + 2].isdigit() and not inside_class:
                return "it refers back to a group"
            at += 2
            continue
        if inside_class:
            inside_class = char != "]"
        elif char == "[":
            inside_class = True
            at += pattern[at + 1 : at + 2] in ("]", "^")
        elif char == "(":
            open_groups.append(False)
        elif char == ")":
            complex_inside = open_groups.pop() if open_groups else False
            if open_groups and complex_inside:
                open_groups[-1] = True
            if complex_inside and _repeats(pattern, at + 1):
                return "a repeated group has a repetition or a choice inside"
        elif (
            (char == "|" or _repeats(pattern, at)) and open_groups and not (char == "?" and pattern[at - 1 : at] == "(")
        ):
            open_groups[-1] = True
        at += 1
    if steps(pattern, USUAL_ARGUMENT) > MOST_STEPS:
        return "it has so many repetitions that a search could take for ever: bound them, or use fewer"
    return None


def _repeats(pattern: str, at: int) -> bool:
    """Whether an unbounded repetition stands at `at`."""
    char = pattern[at : at + 1]
    if char in ("*", "+"):
        return True
    if char != "{":
        return False
    end = pattern.find("}", at)
    bounds = pattern[at + 1 : end] if end > 0 else ""
    low, comma, high = bounds.partition(",")
    return bool(comma) and low.isdigit() and (not high or int(high) > 20)

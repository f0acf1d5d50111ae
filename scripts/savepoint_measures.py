"""Owns how the savepoint benchmark measures: CPU time, medians of interleaved rounds, and a row of its report.

What is measured is left to `bench_savepoints` and `savepoint_sizes`.
"""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One measurement; `goal` is an upper bound of `ratio`, None where none is set."""

    tree: str
    name: str
    ratio: float
    goal: float | None
    detail: str


def cpu_s(action: Callable[[], object]) -> float:
    """User and system time of this process and of the children it waited for."""
    before = _usage()
    action()
    return _usage() - before


def _usage() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def medians(rounds: int, actions: dict[str, Callable[[], float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(action())
    return {name: statistics.median(values) for name, values in found.items()}

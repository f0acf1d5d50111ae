"""Owns what replay lets run: the plan of a replay, which is everything from the recording unless it says otherwise.

Obeying it is left to `record.replaying`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from chrono.record.session import BoundaryMode

Matching = Literal["count", "input", "strict"]
"""How a call finds its recording. `count`: by its callers' names and how often it was called there, equal arguments
first; a changed argument is reported. `input`: only with equal arguments. `strict`: as `input`, in the recorded order,
and nothing may be left over."""


@dataclass
class ReplayPlan:
    """Which calls run, by name and, where `invocation` is given, by number from 1; all others are answered from the
    recording. Specific goes before general, that before `default`. Built by chaining: `ReplayPlan().run("tool", 2)`."""

    default: BoundaryMode = BoundaryMode.STUB
    _overrides: dict[tuple[str, int | None], BoundaryMode] = field(default_factory=dict)
    fork_at: str | int | None = None

    def run(self, name: str, invocation: int | None = None) -> ReplayPlan:
        """Let the calls of `name` run (or the `invocation`-th only)."""
        return self._set(name, invocation, BoundaryMode.RUN)

    def stub(self, name: str, invocation: int | None = None) -> ReplayPlan:
        """Answer the calls of `name` (or the `invocation`-th only) from the recording."""
        return self._set(name, invocation, BoundaryMode.STUB)

    def fork(self, at: str | int) -> ReplayPlan:
        """Answer what came before the recorded call `at` (an envelope id, or its number in the span) from the
        recording, and let that call and all after it run."""
        self.fork_at = at
        return self

    def mode_for(self, name: str, invocation_index: int) -> BoundaryMode:
        """What becomes of the `invocation_index`-th call of `name`."""
        overrides = self._overrides
        if not overrides:
            return self.default
        found = overrides.get((name, invocation_index))
        return found if found is not None else overrides.get((name, None), self.default)

    def meant_to_run(self) -> tuple[tuple[str, int | None], ...]:
        """The names, each with a number or None for all its calls, that `run` was told."""
        return tuple(key for key, mode in self._overrides.items() if mode == BoundaryMode.RUN)

    def _set(self, name: str, invocation: int | None, mode: BoundaryMode) -> ReplayPlan:
        if invocation is not None and (isinstance(invocation, bool) or invocation < 1):
            raise ValueError(f"calls are counted from 1, not {invocation!r}")
        self._overrides[name, invocation] = mode
        return self


def checked_matching(matching: str) -> Matching:
    """Raises ValueError."""
    for known in get_args(Matching):
        if matching == known:
            found: Matching = known
            return found
    raise ValueError(f"calls are matched by {', '.join(get_args(Matching))}, not {matching!r}")

"""Owns trying alternatives: one command is run once for each combination of the values its words can have."""

from __future__ import annotations

from chrono.scan.shell.state import UNKNOWN_ARRAY, Array, State, Value
from chrono.scan.shell.values import MAX_ALTERNATIVES, join_text


class Choices:
    """The choices made while one command runs, in order. `snapshot` is the state before the first one.

    After MAX_ALTERNATIVES rounds one more is made in which every choice is a value that stands for all.
    """

    __slots__ = ("_at", "_rounds", "_trail", "_widened", "snapshot")

    def __init__(self, snapshot: State) -> None:
        self.snapshot = snapshot
        self._trail: list[tuple[tuple[Value, ...], int]] = []
        self._at = 0
        self._rounds = 1
        self._widened = False

    def pick(self, alternatives: tuple[Value, ...]) -> Value:
        if self._widened:
            return _join(alternatives)
        if self._at == len(self._trail):
            self._trail.append((alternatives, 0))
        index = self._trail[self._at][1]
        self._at += 1
        return alternatives[min(index, len(alternatives) - 1)]

    def advance(self) -> bool:
        """Turns to the next combination; False when all have been tried."""
        if self._widened:
            return False
        self._at = 0
        trail = self._trail
        while trail and trail[-1][1] + 1 >= len(trail[-1][0]):
            trail.pop()
        if not trail:
            return False
        alternatives, index = trail[-1]
        trail[-1] = (alternatives, index + 1)
        self._rounds += 1
        self._widened = self._rounds > MAX_ALTERNATIVES
        return True


def _join(alternatives: tuple[Value, ...]) -> Value:
    if any(isinstance(value, Array) for value in alternatives):
        return UNKNOWN_ARRAY
    return join_text(tuple(value if isinstance(value, str) else "" for value in alternatives))

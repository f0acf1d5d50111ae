"""Owns what no program can repeat by itself: the clock, chance and new ids, as boundaries that replay answers.

They are recorded where a program asks these instead of `datetime`, `random` and `uuid`. Recording Python's own, too, is
`record.patching`.
"""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar

from chrono.record.boundaries import wrap_function
from chrono.record.crossing import spec_of

F = TypeVar("F", bound=Callable[..., Any])

_system: Final = random.SystemRandom()


def drawn(name: str) -> Callable[[F], F]:
    """The function as a boundary that no hook is asked of, and that runs where a replay has no recording of it."""
    return lambda function: wrap_function(spec_of(name, "tool", function, harmless=True), function)


@drawn("clock.now")
def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


@drawn("chance.uuid4")
def uuid4() -> uuid.UUID:
    """A new random id."""
    return uuid.uuid4()


@drawn("chance.random")
def _random() -> float:
    return _system.random()


@drawn("chance.getrandbits")
def _getrandbits(k: int) -> int:
    return _system.getrandbits(k)


class Chance(random.Random):
    """A `random.Random` whose draws are recorded, so `choice`, `shuffle`, `sample` and all others are, too."""

    def random(self) -> float:
        return _random()

    def getrandbits(self, k: int, /) -> int:
        return _getrandbits(k)

    def seed(self, *args: object, **kwargs: object) -> None:
        """Ignored: every draw comes from the system, or from the recording."""


chance: Final = Chance()

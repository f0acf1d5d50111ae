"""Owns what no program can repeat by itself: the clock, chance and new ids, as boundaries that replay answers.

They are recorded where a program asks these instead of `datetime`, `random` and `uuid`; Python's own stay as they are.
"""

from __future__ import annotations

import datetime
import random
import uuid
from typing import Final

from chrono.record.boundaries import boundary

_system: Final = random.SystemRandom()


@boundary("clock.now")
def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


@boundary("chance.uuid4")
def uuid4() -> uuid.UUID:
    """A new random id."""
    return uuid.uuid4()


@boundary("chance.random")
def _random() -> float:
    return _system.random()


@boundary("chance.getrandbits")
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

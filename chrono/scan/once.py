"""Owns `once`: what an object works out when it is first asked for, and keeps.

As `functools.cached_property`, without the lock that Python 3.11 takes for each: a scan belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Kept = TypeVar("Kept")


class once(Generic[Kept]):
    """A property whose first answer stays."""

    def __init__(self, work: Callable[[Any], Kept]) -> None:
        self.work = work
        self.name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, holder: None, kind: type) -> once[Kept]: ...
    @overload
    def __get__(self, holder: object, kind: type) -> Kept: ...
    def __get__(self, holder: object, kind: type) -> Kept | once[Kept]:
        if holder is None:
            return self
        # The entry stands in front of this descriptor from now on.
        found = holder.__dict__[self.name] = self.work(holder)
        return found

"""Owns time: the Clock that rooms are given, and its one text form."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time. Tests pass a fake one (`chrono.testing`)."""

    def now_ns(self) -> int:
        """Wall clock, nanoseconds since the Unix epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_s(self) -> float:
        return time.monotonic()


def rfc3339(at_ns: int) -> str:
    """`2026-11-30T02:15:22.123456Z`: RFC 3339, UTC, microseconds."""
    seconds, rest_ns = divmod(at_ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest_ns // 1000:06d}Z"


def from_rfc3339(text: str) -> int:
    """The inverse of `rfc3339`. Raises ValueError on anything else."""
    import calendar

    if len(text) != 27 or text[19] != "." or text[26] != "Z" or not (text[20:26].isascii() and text[20:26].isdigit()):
        raise ValueError(f"not an RFC 3339 time stamp with microseconds in UTC: {text!r}")
    seconds = calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    return seconds * 1_000_000_000 + int(text[20:26]) * 1000

"""Owns time: the Clock that rooms are given, and its one text form."""

from __future__ import annotations

import time
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Clock(Protocol):
    """A source of time. Tests pass a fake one (`chrono.testing`)."""

    def now_ns(self) -> int:
        """Wall clock, nanoseconds since the Unix epoch."""


class SystemClock:
    """The machine's own clock."""

    def now_ns(self) -> int:
        return time.time_ns()


def rfc3339(at_ns: int) -> str:
    """`2026-11-30T02:15:22.123456Z`: RFC 3339, UTC, microseconds."""
    seconds, rest_ns = divmod(at_ns, 1_000_000_000)
    return f"{_second(seconds)}.{rest_ns // 1000:06d}Z"


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def from_rfc3339(text: str) -> int:
    """The inverse of `rfc3339`. Raises ValueError on anything else."""
    digits = text[11:13] + text[14:16] + text[17:19] + text[20:26]
    marks = text[10:11] + text[13:14] + text[16:17] + text[19:20] + text[26:]
    if marks == "T::.Z" and len(digits) == 12 and digits.isascii() and digits.isdigit():
        hour, minute, second = int(digits[:2]), int(digits[2:4]), int(digits[4:6])
        if hour < 24 and minute < 60 and second < 60:
            seconds = _day(text[:10]) * 86400 + hour * 3600 + minute * 60 + second
            return seconds * 1_000_000_000 + int(digits[6:]) * 1000
    raise ValueError(f"not an RFC 3339 time stamp with microseconds in UTC: {text!r}")


@lru_cache(maxsize=64)
def _day(text: str) -> int:
    """Days since the epoch of `2026-11-30`. What is read in one go is mostly of a few days. Raises ValueError."""
    digits = text[:4] + text[5:7] + text[8:]
    if len(digits) == 8 and digits.isascii() and digits.isdigit():
        year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
        # Years that begin in March put the leap day last (the civil calendar's own arithmetic; no import needed).
        shifted, from_march = (year, month - 3) if month > 2 else (year - 1, month + 9)
        days = (
            shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + (153 * from_march + 2) // 5 + day - 719469
        )
        if time.strftime("%Y-%m-%d", time.gmtime(days * 86400)) == text:
            return days
    raise ValueError(f"not a day: {text!r}")

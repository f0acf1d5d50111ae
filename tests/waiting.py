"""Owns how a test waits for what another thread or process does: for the thing itself, as long as the slowest and
busiest machine may need, and no longer than it takes.

A sleep that is long enough here is too short elsewhere, and a deadline that is tight here is a failure by chance there.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG_S = 120.0
"""A bound for what takes moments: beyond it something hangs, whatever the machine."""


def until(condition: Callable[[], T], what: str = "it did not happen") -> T:
    """The first true value that `condition` gives. Fails after LONG_S."""
    end = time.monotonic() + LONG_S
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} within {LONG_S:g} s"
        time.sleep(0.01)
    return found


def write_and_be_read(pipe: int, data: bytes) -> None:
    """Writes to a process, and waits until it has read that: it is at work, and waits for more."""
    os.write(pipe, data)
    until(lambda: struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))) == (0,), "it did not read")

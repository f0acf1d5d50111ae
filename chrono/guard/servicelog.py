"""Owns the resident service's own log: when it came, why it left, whom it sent away. It names no command.

What it decided about calls is in the audit log; this one is for finding out why a hook was slow.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

MAX_BYTES = 200_000
"""A longer one is begun anew; the last one is kept beside it."""

OLD = ".1"


def note(path: str, text: str) -> None:
    """Adds one line. A log that cannot be written is no reason to fail."""
    line = f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {os.getpid()} {' '.join(text.split())}\n"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            if os.fstat(fd).st_size > MAX_BYTES:
                os.replace(path, path + OLD)
            os.write(fd, line.encode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)
    except OSError:
        pass


def lines(path: str, limit: int) -> tuple[str, ...]:
    """The newest `limit` lines (0: all), oldest first; none where there is no log."""
    found: list[str] = []
    for one in (path + OLD, path):
        try:
            fd = os.open(one, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        with os.fdopen(fd, "rb") as file:
            found.extend(file.read(2 * MAX_BYTES).decode("utf-8", "replace").splitlines())
    return tuple(found[-limit:] if limit else found)

"""Owns finding agent clients that run in a project now although no hook of theirs was heard since they started.

A log shows what was reported and never what was not: a client that was running before the hook was installed, or that
was started with its hooks switched off, is found among the processes. When each was last heard is told by `sessions`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from chrono.guard.sessions import Seen
from chrono.tuples import NamedTuple

SETTLES_S = 10.0
"""A client gets that long to report its first session."""


class Unheard(NamedTuple):
    """A client's process that no hook was heard from; `since` is when it started (RFC 3339)."""

    client: str
    pid: int
    since: str


def unheard(
    root: str, programs: Mapping[str, tuple[str, ...]], known: Iterable[Seen], now_s: float
) -> tuple[Unheard, ...]:
    """The clients at work in `root` or below whose hooks did not report since they started, the oldest process of each.

    `programs`: the commands of each client; `known`: when each was last heard. Nothing where the system does not show
    its processes (macOS, Windows).
    """
    last = {one.client: datetime.fromisoformat(one.last).timestamp() for one in known}
    oldest: dict[str, tuple[float, int]] = {}
    for pid in _own_processes():
        client = _client(pid, programs)
        began = _began(pid) if client is not None and _works_in(pid, root) else None
        if client is not None and began is not None:
            oldest[client] = min(oldest.get(client, (began, pid)), (began, pid))
    return tuple(
        Unheard(client, pid, datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"))
        for client, (began, pid) in sorted(oldest.items())
        if now_s - began > SETTLES_S and last.get(client, 0.0) < began
    )


def words(found: Unheard) -> str:
    """What people are told of it."""
    began = datetime.fromisoformat(found.since).astimezone()
    return f"{found.client} runs here since {began:%H:%M} (pid {found.pid}), and no hook of it was heard since"


def _own_processes() -> list[int]:
    uid, found = os.getuid() if hasattr(os, "getuid") else -1, []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                found.append(int(name))
        except OSError:
            continue
    return found


def _client(pid: int, programs: Mapping[str, tuple[str, ...]]) -> str | None:
    """Whose program the process runs: by its first word, or by its second, which is what an interpreter runs."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")[:2]
    except OSError:
        return None
    names = {os.fsdecode(word.rpartition(b"/")[2]) for word in words}
    return next((client for client, commands in programs.items() if not names.isdisjoint(commands)), None)


def _works_in(pid: int, root: str) -> bool:
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False
    return cwd == root or cwd.startswith(root.rstrip("/") + "/")


def _began(pid: int) -> float | None:
    """When the process started, in seconds since 1970; None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            booted = next(int(line.split()[1]) for line in file if line.startswith(b"btime "))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return booted + ticks / os.sysconf("SC_CLK_TCK")

"""Owns finding and ending resident services from outside: for `chrono service` and for uninstalling.

The service itself is `service`; a hook that finds none evaluates by itself and starts one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

from chrono.errors import Locked
from chrono.files import file_lock
from chrono.guard import wire
from chrono.tuples import NamedTuple
from chrono.workspace.config import home_layout

STOP_WAIT_S = 10.0


class Running(NamedTuple):
    """One resident service of this CHRONO_HOME. `own`: it belongs to this installation. `pid` 0: not told."""

    build: str
    pid: int
    own: bool


def running(environ: Mapping[str, str]) -> tuple[Running, ...]:
    """The services that hold their lock now."""
    home = home_layout(environ)
    mine = wire.build_id(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        names = sorted(os.listdir(home.run))
    except OSError:
        return ()
    found = []
    for name in names:
        build, dot, end = name.partition(".")
        if dot and end == "lock":
            pid = _holder(os.path.join(home.run, name))
            if pid is not None:
                found.append(Running(build, pid, build == mine))
    return tuple(found)


def log_lines(environ: Mapping[str, str], limit: int) -> tuple[str, ...]:
    """The newest lines that this installation's service wrote about itself (0: all), oldest first."""
    from chrono.guard import servicelog

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = wire.run_file(os.fsencode(home_layout(environ).root), wire.build_id(package), "log")
    return servicelog.lines(os.fsdecode(path), limit)


def stop(environ: Mapping[str, str]) -> tuple[Running, ...]:
    """Ends every service of this CHRONO_HOME and waits for it; those that were ended.

    A savepoint under way is finished first. Raises Locked where one does not end in time.
    """
    ended = running(environ)
    for service in ended:
        if service.pid > 0:
            _end(service.pid)
    until = time.monotonic() + STOP_WAIT_S
    while left := running(environ):
        if time.monotonic() > until:
            raise Locked(f"the service {left[0].pid} does not end", "it may be saving; try again in a moment")
        time.sleep(0.05)
    return ended


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass


def _holder(path: str) -> int | None:
    """The pid that holds the lock, 0 where it is held but not told by whom, None where it is free."""
    try:
        with file_lock(path, timeout_s=0):
            return None
    except Locked as error:
        word = (error.holder or "").removeprefix("pid ").split()
        return int(word[0]) if word and word[0].isdigit() else 0

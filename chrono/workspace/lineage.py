"""Owns which processes an agent consists of, and whether this process was started by one.

Best effort: whoever leaves the process tree and clears its environment is not told from a person. What an approval
rests on is the approver's key (docs/threat-model.md).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from chrono.tuples import NamedTuple

_MOST = 64
_SHELLS = frozenset("ash bash busybox cmd.exe dash fish ksh mksh powershell.exe pwsh sh zsh".split())


class Process(NamedTuple):
    """One process: `start` tells it from a later one with the same pid, in the system's own words."""

    pid: int
    start: str
    name: str


def ancestors(pid: int) -> tuple[Process, ...]:
    """`pid` and what started it, nearest first, without the first process of the system; empty where nothing tells."""
    found: list[Process] = []
    while pid > 1 and len(found) < _MOST:
        told = _process(pid)
        if told is None or told[0] in found:
            break
        found.append(told[0])
        pid = told[1]
    return tuple(found)


def agents_behind(hook_pid: int) -> tuple[Process, ...]:
    """The processes of the agent's client that started the hook `hook_pid`.

    The client is the nearest ancestor that is no shell, since it starts the hook through one; what lies between
    belongs to it. What lies above (a person's terminal) does not.
    """
    chain = ancestors(hook_pid)[1:]
    for index, process in enumerate(chain):
        if process.name not in _SHELLS:
            return chain[: index + 1]
    return chain


def started_by(agents: Sequence[Process], pid: int) -> Process | None:
    """The process among `agents` that process `pid` descends from, None where there is none."""
    known = {(process.pid, process.start) for process in agents}
    return next((process for process in ancestors(pid) if (process.pid, process.start) in known), None)


def marked(pid: int, marks: Sequence[str]) -> str | None:
    """The first of the environment variables `marks` that an ancestor of `pid` was started with: an agent's client
    sets them for all that it runs. None where there is none, or where the system does not show environments."""
    wanted = {mark.encode("ascii") for mark in marks}
    for process in ancestors(pid):
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                names = {pair.partition(b"=")[0] for pair in file.read().split(b"\0") if not pair.endswith(b"=")}
        except OSError:
            continue
        found = sorted(wanted & names)
        if found:
            return found[0].decode("ascii")
    return None


def _process(pid: int) -> tuple[Process, int] | None:
    """The process and the pid of its parent."""
    return _by_proc(pid) if os.path.exists("/proc/self/stat") else _by_ps(pid)


def _by_proc(pid: int) -> tuple[Process, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            data = file.read()
    except OSError:
        return None
    name = data[data.index(b"(") + 1 : data.rindex(b")")]  # a name may hold brackets and spaces
    fields = data[data.rindex(b")") + 2 :].split()
    return Process(pid, fields[19].decode("ascii"), name.decode("utf-8", "replace")), int(fields[1])


def _by_ps(pid: int) -> tuple[Process, int] | None:
    if os.name != "posix":
        return None
    asked = ["/bin/ps", "-o", "ppid=,lstart=,comm=", "-p", str(pid)]
    try:
        told = subprocess.run(asked, capture_output=True, timeout=5, check=True, env={"LC_ALL": "C"}).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    words = told.decode("utf-8", "replace").split()
    if len(words) < 7 or not words[0].isdigit():
        return None
    return Process(pid, " ".join(words[1:6]), os.path.basename(" ".join(words[6:])).lstrip("-")), int(words[0])

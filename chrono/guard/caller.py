"""Owns the value that says who asks for a decision; how it was found out is left to `local` and `service`."""

from __future__ import annotations

from collections.abc import Mapping

from chrono.tuples import NamedTuple


class Caller(NamedTuple):
    """Who asks: the environment of the agent's call (never stored), the process that asks and its program.

    `cwd` is the folder that the hook was started in: what counts where the client's payload names none. `deadline_s`
    on the monotonic clock: what takes longer is blocked by whoever waits for the answer.
    """

    environ: Mapping[str, str]
    pid: int
    ppid: int | None
    exe: str | None
    deadline_s: float
    cwd: str = ""

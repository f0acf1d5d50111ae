"""Owns firing an installed hook command as the client would, and telling what the client would do on its answer.

Nothing that is asked about is run: the dangerous command only ever stands in a payload.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping

from chrono.agents.protocol import AgentAdapter, Reply
from chrono.tuples import NamedTuple

HARMLESS = "ls"
DANGEROUS = "rm -rf --no-preserve-root /"
TIMEOUT_S = 30.0
"""What the settings file allows the hook."""


class Fired(NamedTuple):
    """One firing. `does` is what the client would do: "runs", "asks" or "stops"; `expected` what it must do.

    `said` is what the model would read.
    """

    command: str
    does: str
    expected: str
    said: str
    duration_s: float

    @property
    def holds(self) -> bool:
        return self.does == self.expected


def self_test(adapter: AgentAdapter, hook_command: str, *, cwd: str, environ: Mapping[str, str]) -> tuple[Fired, ...]:
    """Fires the command with a harmless and with a dangerous call in folder `cwd`; both are recorded there."""
    return (
        fire(adapter, hook_command, HARMLESS, "runs", cwd=cwd, environ=environ),
        fire(adapter, hook_command, DANGEROUS, "stops", cwd=cwd, environ=environ),
    )


def fire(
    adapter: AgentAdapter, hook_command: str, command: str, expected: str, *, cwd: str, environ: Mapping[str, str]
) -> Fired:
    """Fires the hook for a shell call of `command`. A hook that hangs or cannot be started is what the client sees."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command],
            input=adapter.sample(command, cwd=cwd),
            cwd=cwd,
            env=dict(environ),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        reply = Reply(done.stdout, done.stderr, done.returncode)
    except subprocess.TimeoutExpired:
        reply = Reply(b"", b"the hook did not answer in time", 1)
    except OSError as error:
        reply = Reply(b"", f"the hook cannot be started: {error.strerror}".encode(), 127)
    does = adapter.outcome(reply)
    if does == "stops" and not _answered(reply):
        does = "fails"  # the call is refused, but by the client: nothing would ever run
    said = reply.stderr.decode("utf-8", "replace").strip()
    return Fired(command, does, expected, said, time.monotonic() - started)


def _answered(reply: Reply) -> bool:
    """Whether the guard itself spoke: a guard that cannot run refuses as well, but without an answer on stdout."""
    return reply.exit_code in (0, 2) and bool(reply.stdout)

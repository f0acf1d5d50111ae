"""Owns one run of a person's test command in a folder: without a shell, and nothing of it left running afterwards.

What its exit code means is said by `workspace.bisect`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence

from chrono.audit.keys import without_secrets
from chrono.errors import UsageError
from chrono.tuples import NamedTuple

TIMED_OUT = 124
"""The exit code of a run that took too long, as of the program `timeout`."""
CANNOT_TELL = 125

_TAIL_BYTES = 8 * 1024
_GRACE_S = 2.0


class Outcome(NamedTuple):
    """How a run ended: `tail` is the end of what it printed, `why` what kept it from running ("" where nothing)."""

    exit_code: int
    tail: str
    why: str = ""


def check(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raises UsageError where the command cannot be run anywhere: better before the first checkout than after."""
    if not argv:
        raise UsageError("there is no command to run", "chrono bisect run -- pytest -x tests/test_api.py")
    name = argv[0]
    if os.sep not in name and shutil.which(name, path=environ.get("PATH", os.defpath)) is None:
        raise UsageError(f"there is no program {name!r}", "it is run without a shell; for one: -- sh -c '…'")


def run(argv: Sequence[str], folder: str, environ: Mapping[str, str], *, timeout_s: float | None = None) -> Outcome:
    """Runs `argv` in `folder`; what it started is ended with it, also where this is interrupted.

    A program of the folder itself (`./test.sh`) that is not there cannot tell.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=folder,
                env=without_secrets(environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(CANNOT_TELL, "", f"{argv[0]}: {error.strerror}")
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            _end_group(process)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _TAIL_BYTES))
        return Outcome(code if code >= 0 else 128 - code, output.read().decode("utf-8", "replace"))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Asks all processes of the run to end, then makes them. Where there are no process groups, the first one."""
    if not hasattr(os, "killpg"):
        process.kill()
        process.wait()
        return
    for number, wait_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GRACE_S)):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        deadline = time.monotonic() + wait_s
        while process.poll() is None or _group_lives(process.pid):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        else:
            break
    process.wait()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True

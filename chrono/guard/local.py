"""Owns answering a hook in its own process: the same engine as the resident service's, opened for one call.

What the answer is is left to `engine`.
"""

from __future__ import annotations

import os

from chrono.guard.caller import Caller
from chrono.guard.engine import answer
from chrono.guard.resources import Resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import Reply


def answer_here(adapter: str, payload: bytes, environ: dict[bytes, bytes], deadline_s: float) -> Reply:
    """The reply to one payload. `environ` as the kernel gave it; `deadline_s` on the monotonic clock. Never raises."""
    caller = Caller(
        environ={os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()},
        pid=os.getpid(),
        ppid=os.getppid(),
        exe=executable(os.getpid()),
        deadline_s=deadline_s,
        cwd=_folder(),
    )
    resources = Resources()
    try:
        return answer(adapter, payload, caller, resources)
    finally:
        resources.close()


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # the folder is gone


def executable(pid: int) -> str | None:
    """The program that process `pid` runs, where the system says so."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None

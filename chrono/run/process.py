"""Owns the process of a supervised command: started as asked, signals passed on, its end and what it leaves told.

The command shares the terminal with the person, so its output is streamed by the terminal itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

from chrono.audit.keys import without_secrets
from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

MARK = "CHRONO_RUN"
"""A variable in the environment of everything the command starts: what still has it afterwards was left behind."""

NOT_FOUND, NOT_EXECUTABLE, TIMED_OUT = 127, 126, 124
"""Exit codes as a shell and the program `timeout` use them."""

_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_LEFT_TO_THE_TERMINAL = ("SIGINT", "SIGQUIT")
_GRACE_S = 3.0
_BECOMING_S = 0.02
_PF_KTHREAD = 0x00200000


class Left(NamedTuple):
    """A process that the command started and that still runs."""

    pid: int
    name: str


class Ended(NamedTuple):
    """How a command ended. `exit_code` as a shell says it (128 and the number for a signal); `how` for people."""

    exit_code: int
    how: str
    duration_s: float
    left: tuple[Left, ...]


def execute(
    argv: tuple[str, ...],
    environ: Mapping[str, str],
    run_id: str,
    *,
    timeout_s: float | None = None,
    output: int | None = None,
) -> Ended:
    """Runs `argv` on this terminal to its end: 127 or 126 where it cannot be started, 124 where it takes too long.

    Ctrl-C reaches the command by the terminal; this process waits for it, as a shell does. `output`: a descriptor for
    its standard output, None for this process's own. For the main thread only.
    """
    began = time.monotonic()
    with _passing_signals() as pass_to:
        process = _start(argv, {**without_secrets(environ), MARK: run_id}, stdout=output)
        if isinstance(process, Ended):
            return process
        pass_to(process)
        try:
            code: int | None = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
    return _ended(process, code, run_id, began, timeout_s)


def execute_aside(
    argv: tuple[str, ...],
    environ: Mapping[str, str],
    run_id: str,
    *,
    folder: str,
    output: int,
    stop: threading.Event,
    timeout_s: float | None = None,
) -> Ended:
    """Runs `argv` in `folder` without a terminal or input, all it prints to the descriptor `output`.

    `stop` set, or the time over: everything it started is ended, and the exit code is 124.
    """
    began = time.monotonic()
    given = {**without_secrets(environ), MARK: run_id}
    process = _start(argv, given, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, session=True)
    if isinstance(process, Ended):
        return process
    code = process.poll()
    while code is None and not stop.wait(0.02) and (timeout_s is None or time.monotonic() - began < timeout_s):
        code = process.poll()
    return _ended(process, code, run_id, began, None if stop.is_set() else timeout_s)


def _start(
    argv: tuple[str, ...],
    environ: dict[str, str],
    *,
    cwd: str | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    session: bool = False,
) -> subprocess.Popen[bytes] | Ended:
    try:
        return subprocess.Popen(
            argv, cwd=cwd, env=environ, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=session
        )
    except FileNotFoundError:
        return Ended(NOT_FOUND, f"there is no program {argv[0]!r}", 0.0, ())
    except OSError as error:
        return Ended(NOT_EXECUTABLE, f"{argv[0]} cannot be run: {error.strerror}", 0.0, ())


def _ended(
    process: subprocess.Popen[bytes], code: int | None, run_id: str, began: float, timeout_s: float | None
) -> Ended:
    """What became of a process that ended with `code`; None: it is ended now."""
    how = ""
    if code is None:
        end_tree(process.pid, run_id)
        process.wait()
        code, how = TIMED_OUT, "cancelled" if timeout_s is None else f"ended after {timeout_s:g} s"
    elif code < 0:
        how, code = f"ended by {signal_name(-code)}", 128 - code
    return Ended(code, how or f"exit code {code}", time.monotonic() - began, left_behind(run_id))


def signal_name(number: int) -> str:
    """`SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def left_behind(run_id: str) -> tuple[Left, ...]:
    """Processes of this account that bear the mark of the run, where the system shows environments (Linux)."""
    needle = f"{MARK}={run_id}".encode()
    found = []
    patience_until = time.monotonic() + _BECOMING_S
    for name in _numbers("/proc"):
        try:
            while not (environ := _read(f"/proc/{name}/environ", 4_000_000)):
                if time.monotonic() > patience_until or not _may_become(_read(f"/proc/{name}/stat", 4096)):
                    break
                time.sleep(0.001)
            if needle not in environ.split(b"\0"):
                continue
            state = _read(f"/proc/{name}/stat", 4096)
        except OSError:
            continue
        title, _, rest = state.partition(b"(")[2].rpartition(b")")
        if int(name) != os.getpid() and not rest.strip().startswith(b"Z"):
            found.append(Left(int(name), title.decode("utf-8", "replace")))
    return tuple(found)


def _read(path: str, most_bytes: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(most_bytes)


def _may_become(state: bytes) -> bool:
    """Whether a process without an environment is on its way from one program to another, where it has none to show:
    it is no thread of the kernel's, and not ended (proc(5), flags and state in `stat`)."""
    fields = state.rpartition(b")")[2].split()
    return len(fields) > 6 and fields[0] not in (b"Z", b"X") and not int(fields[6]) & _PF_KTHREAD


def end_tree(pid: int, run_id: str) -> None:
    """Asks the command and everything that bears its mark to end, then makes them."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        living = {pid, *(one.pid for one in left_behind(run_id))}
        for one in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, number)
        until = time.monotonic() + _GRACE_S
        while time.monotonic() < until:
            if not _lives(pid) and not left_behind(run_id):
                return
            time.sleep(0.05)


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return not file.read(4096).rpartition(b")")[2].strip().startswith(b"Z")
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, 0)
        return not os.path.isdir("/proc/self")
    return False


def _numbers(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []


@contextlib.contextmanager
def _passing_signals() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Signals for this process go to the command, once it is handed to what this gives; none is lost before.

    Those that the terminal sends to both are left to the command.
    """
    command: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        if not command:
            early.append(number)
        elif number not in shared:
            with contextlib.suppress(ProcessLookupError):
                command[0].send_signal(number)

    def pass_to(process: subprocess.Popen[bytes]) -> None:
        command.append(process)
        for number in early:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    on_terminal = {getattr(signal, name, None) for name in _LEFT_TO_THE_TERMINAL}
    shared = on_terminal if os.isatty(0) else set()
    before = {}
    try:
        for name in (*_PASSED_ON, *_LEFT_TO_THE_TERMINAL):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` holds for the command
                before[number] = signal.signal(number, pass_on)
    except ValueError as error:
        raise ChronoError("a command can be supervised from the main thread only") from error
    try:
        yield pass_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

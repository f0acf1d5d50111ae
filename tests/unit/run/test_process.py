"""Claims about the process of a supervised command: its own arguments, its own exit code, nothing left unsaid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from chrono.errors import ChronoError
from chrono.run import process as process_room
from chrono.run.process import end_tree, execute, left_behind
from tests.waiting import LONG_S, until

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("argv", "code", "how"),
    [
        (("true",), 0, "exit code 0"),
        (("sh", "-c", "exit 7"), 7, "exit code 7"),
        (("sh", "-c", "kill -9 $$"), 137, "SIGKILL"),
        (("no-such-program",), 127, "no program"),
        (("/etc",), 126, "cannot be run"),
    ],
)
def test_the_exit_code_is_the_command_s_own(argv: tuple[str, ...], code: int, how: str) -> None:
    end = execute(argv, ENVIRON, "r0")
    assert end.exit_code == code and how in end.how


def test_arguments_keep_their_boundaries(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = "import sys, json; open(sys.argv[1], 'w').write(json.dumps(sys.argv[2:]))"
    odd = ("a b", "", "'\"", "$HOME", "*", "line\nbreak", "-x")
    assert execute((sys.executable, "-c", script, str(out), *odd), ENVIRON, "r1").exit_code == 0
    import json

    assert tuple(json.loads(out.read_text())) == odd


def test_the_signing_key_is_not_handed_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = {**ENVIRON, "CHRONO_AUDIT_KEY": "secret", "CHRONO_AUDIT_PASSPHRASE": "secret", "OTHER": "kept"}
    assert execute(("sh", "-c", f"env > {out}"), given, "r6").exit_code == 0
    assert "secret" not in out.read_text() and "OTHER=kept" in out.read_text()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="what is left behind is told where /proc is")
def test_what_still_runs_is_told_and_ended_on_time_out() -> None:
    run_id = f"r2-{os.getpid()}-{time.monotonic_ns()}"
    end = execute(
        ("sh", "-c", "sleep 300 >/dev/null 2>&1 & setsid sleep 300 >/dev/null 2>&1 & exit 0"), ENVIRON, run_id
    )
    for one in end.left:
        os.kill(one.pid, signal.SIGKILL)
    assert end.exit_code == 0
    assert len(end.left) == 2, end  # named `sh` or `setsid` for as long as they have not become `sleep`
    end = execute(("sh", "-c", "setsid sleep 300 & sleep 300"), ENVIRON, run_id + "b", timeout_s=0.4)
    assert (end.exit_code, end.left) == (124, ())
    assert left_behind(run_id + "b") == ()


def test_what_does_not_listen_is_made_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chrono.run.process._GRACE_S", 0.3)
    process = subprocess.Popen(
        ["sh", "-c", f"trap '' TERM; touch {tmp_path}/ready; while :; do sleep 0.1; done"],
        env={**ENVIRON, "CHRONO_RUN": "r4"},
    )
    until((tmp_path / "ready").exists)
    end_tree(process.pid, "r4")
    assert process.wait(LONG_S) == -9


def test_a_signal_for_the_supervisor_reaches_the_command(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = f"trap 'echo got > {seen}; exit 5' TERM; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    code = (
        "import os, sys; from chrono.run.process import execute; "
        f"sys.exit(execute(('sh', '-c', {command!r}), dict(os.environ), 'r5').exit_code)"
    )
    root = Path(__file__).resolve().parents[3]
    process = subprocess.Popen([sys.executable, "-c", code], env={**ENVIRON, "PYTHONPATH": str(root)})
    until((tmp_path / "ready").exists)
    process.terminate()
    assert process.wait(LONG_S) == 5
    assert seen.read_text() == "got\n"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_before_the_command_runs_reaches_it_all_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor died of one that came while it started the command, and left the command running alone."""
    started = process_room._start

    def disturbed(*given: Any, **options: Any) -> Any:
        os.kill(os.getpid(), getattr(signal, name))
        return started(*given, **options)

    monkeypatch.setattr(process_room, "_start", disturbed)
    before = signal.signal(getattr(signal, name), signal.SIG_DFL)  # a worker of the test runner ignores some
    try:
        end = execute(("sleep", "300"), ENVIRON, "r7", timeout_s=LONG_S)
    finally:
        signal.signal(getattr(signal, name), before)
    assert end.how == f"ended by {name}"


def test_where_no_signal_can_be_passed_on_no_command_is_started(tmp_path: Path) -> None:
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            execute(("touch", str(tmp_path / "started")), ENVIRON, "r8")
        except ChronoError as error:
            caught.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert caught and not (tmp_path / "started").exists()


def test_what_this_process_was_told_to_ignore_the_command_ignores() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        end = execute(("sh", "-c", "kill -HUP $PPID $$; exit 3"), ENVIRON, "r9", timeout_s=LONG_S)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert end.exit_code == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="what is left behind is told where /proc is")
def test_what_is_just_becoming_another_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of `exec` a process has no environment to show: about one start in two hundred went unseen."""
    read, blank = process_room._read, iter((True, True, False))
    run_id = f"r10-{os.getpid()}"
    child = subprocess.Popen(["sleep", "300"], env={**ENVIRON, "CHRONO_RUN": run_id})

    def between_programs(path: str, most_bytes: int) -> bytes:
        hidden = path == f"/proc/{child.pid}/environ" and next(blank, False)
        return b"" if hidden else read(path, most_bytes)

    until(lambda: left_behind(run_id))
    monkeypatch.setattr(process_room, "_read", between_programs)
    try:
        assert [one.pid for one in left_behind(run_id)] == [child.pid]
    finally:
        child.kill()
        child.wait()

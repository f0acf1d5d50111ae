"""Claims about `chrono` as a process: it never waits for nobody, asks a person, and fits an 80-column terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import LONG_S, write_and_be_read

ROOT = Path(__file__).resolve().parents[2]
CHRONO = [sys.executable, "-P", "-m", "chrono"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def piped(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Standard input is a pipe that nobody ever writes to or closes."""
    source, sink = os.pipe()
    try:
        return subprocess.run(
            [*CHRONO, *args], cwd=cwd, env=environment(), stdin=source, capture_output=True, text=True, timeout=LONG_S
        )
    finally:
        os.close(source)
        os.close(sink)


def on_terminal(*args: str, cwd: Path, answer: bytes | None = None, **more: str) -> tuple[int, str]:
    """Runs on a terminal of 80 columns; `answer` is typed once a question has come."""
    above, below = pty.openpty()
    process = subprocess.Popen(
        [*CHRONO, *args],
        cwd=cwd,
        env=environment(TERM="xterm", COLUMNS="80", **more),
        stdin=below,
        stdout=below,
        stderr=below,
        start_new_session=True,
    )
    os.close(below)
    seen = b""
    deadline = time.monotonic() + LONG_S
    try:
        while time.monotonic() < deadline:
            ended = process.poll() is not None  # asked first: what it wrote at its end is read
            if not select.select([above], [], [], 0.2)[0]:
                if ended:
                    break
                continue
            try:
                piece = os.read(above, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
            if answer is not None and b"[y/N]" in seen:
                os.write(above, answer)
                answer = None
    finally:
        if process.poll() is None and time.monotonic() >= deadline:
            process.kill()
        code = process.wait(LONG_S)
        os.close(above)
    return code, seen.decode("utf-8", "replace").replace("\r\n", "\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    done = piped("init", cwd=root)
    assert done.returncode == 0, done.stderr
    return root


def test_a_rollback_without_a_terminal_never_asks(project: Path) -> None:
    (project / "a.txt").unlink()
    done = piped("rollback", cwd=project)
    assert done.returncode == 0 and (project / "a.txt").read_text() == "one\n"


def test_what_needs_a_person_is_refused_without_one(project: Path) -> None:
    (project / "chrono-policy.yaml").write_text("thresholds:\n  block: 90\n")
    assert piped("policy", "trust", cwd=project).returncode == 4
    assert piped("uninstall", "--purge", cwd=project).returncode == 4
    assert (project / ".chrono/repo.git").is_dir()


def test_on_a_terminal_a_rollback_asks_and_no_is_no(project: Path) -> None:
    (project / "a.txt").unlink()
    code, seen = on_terminal("rollback", cwd=project, answer=b"n\n")
    assert code == 1 and "nothing was changed" in seen and not (project / "a.txt").exists()
    code, seen = on_terminal("rollback", cwd=project, answer=b"y\n")
    assert code == 0 and (project / "a.txt").read_text() == "one\n"


def test_an_agent_on_a_terminal_is_not_asked(project: Path) -> None:
    (project / "a.txt").unlink()
    code, seen = on_terminal("rollback", cwd=project, CLAUDECODE="1")
    assert code == 0 and "[y/N]" not in seen and (project / "a.txt").exists()


def test_output_fits_80_columns_and_has_colour_unless_told_not_to(project: Path) -> None:
    (project / ("long-" * 40 + "name")).write_text("")
    for verb in ("status", "log", "doctor", "audit", "policy"):
        _, plain = on_terminal(verb, cwd=project, NO_COLOR="1")
        assert "\x1b[3" not in plain
        rows = [row.split("\x1b[K")[-1].split("\r")[-1] for row in plain.splitlines()]
        too_long = [row for row in rows if len(row) > 80 and " " in row.strip()]
        assert not too_long, (verb, too_long)
    assert "\x1b[3" in on_terminal("status", cwd=project)[1]


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"cd {gone} && rmdir {gone} && exec {' '.join(CHRONO)} status"
    done = subprocess.run(["sh", "-c", code], env=environment(), capture_output=True, text=True, timeout=LONG_S)
    assert done.returncode == 1 and "does not exist any more" in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_closed_stream_costs_neither_the_result_nor_a_file_of_ours(project: Path, closed: str) -> None:
    print_all = "sh -c 'echo printed; echo printed >&2'"
    for verb in (f"run {print_all}", "status", "status --json"):
        code = f"exec {' '.join(CHRONO)} {verb} {closed}"
        done = subprocess.run(
            ["sh", "-c", code], cwd=project, env=environment(), capture_output=True, text=True, timeout=LONG_S
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (verb, done)
    written = [path for path in (project / ".chrono").rglob("*") if path.is_file()]
    assert not [path for path in written if b"\nprinted" in b"\n" + path.read_bytes()]


def test_an_interrupt_is_130_without_a_traceback(project: Path) -> None:
    source, sink = os.pipe()
    process = subprocess.Popen(
        [*CHRONO, "scan", "--batch", "-"], cwd=project, env=environment(), stdin=source, stderr=subprocess.PIPE
    )
    write_and_be_read(sink, b"ls\n")
    process.send_signal(2)
    _, err = process.communicate(timeout=LONG_S)
    os.close(source)
    os.close(sink)
    assert process.returncode == 130 and b"Traceback" not in err

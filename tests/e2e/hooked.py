"""Owns a project with the guard installed, as the tests of the whole hook need it: real files, real processes.

Nothing here knows the client; `real_client` runs that.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chrono.agents.claude_code import ADAPTER
from chrono.guard import wire
from chrono.guard.install import boot_path
from tests.e2e.real_client import CHECKOUT, environment
from tests.waiting import LONG_S, until, write_and_be_read

FILES = {
    "a.txt": b"first\n",
    "b.bin": bytes(range(256)),
    "sub/c.txt": b"no newline at the end",
    "crlf.txt": b"one\r\ntwo\r\n",
    "empty": b"",
}


class Said(NamedTuple):
    """What a process answered."""

    exit_code: int
    stdout: str
    stderr: str


class Hooked:
    """One home and one project below `folder`. `service` is CHRONO_SERVICE for the hook: "off" or "auto"."""

    def __init__(self, folder: Path, *, service: str) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.environ = environment(self.home, CHRONO_SERVICE=service)
        self.chrono_home = self.home / ".local" / "state" / "chrono"
        for name, data in FILES.items():
            path = self.project / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        rules = compiled_rules()
        if rules is not None:
            shutil.copytree(rules, self.chrono_home / "cache")
            self.chrono_home.chmod(0o700)

    def chrono(self, *arguments: str, code: int | None = 0, cwd: Path | None = None, **environ: str) -> Said:
        """Runs the command line in the project."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "chrono", *arguments],
            cwd=cwd or self.project,
            env={**self.environ, "PYTHONPATH": str(CHECKOUT), **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=LONG_S,
        )
        said = Said(done.returncode, done.stdout, done.stderr)
        assert code is None or said.exit_code == code, said
        return said

    def hook_command(self) -> str:
        """The command as `guard install` writes it."""
        return ADAPTER.hook_command(sys.executable, boot_path(), "the settings")

    def fire(self, payload: bytes, *, cwd: Path | None = None, timeout_s: float = LONG_S, **environ: str) -> Said:
        """Runs the installed command as the client does."""
        done = subprocess.run(
            ["/bin/sh", "-c", self.hook_command()],
            cwd=cwd or self.project,
            env={**self.environ, **environ},
            input=payload,
            capture_output=True,
            timeout=timeout_s,
        )
        out, err = (data.decode("utf-8", "surrogateescape") for data in (done.stdout, done.stderr))
        return Said(done.returncode, out, err)

    def bash(self, command: str, call_id: str = "toolu_x", **environ: str) -> Said:
        """Fires the hook for a Bash call."""
        return self.fire(self.payload("Bash", {"command": command}, call_id), **environ)

    def payload(self, tool: str, given: dict[str, Any], call_id: str = "toolu_x", **members: Any) -> bytes:
        body = {
            "session_id": "session-1",
            "cwd": str(self.project),
            "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": call_id,
            **members,
        }
        return json.dumps(body).encode() + b"\n"

    def records(self, log: Path | None = None) -> list[dict[str, Any]]:
        """The audit log of the project, read without chrono."""
        path = log or self.project / ".chrono" / "audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def machine_records(self) -> list[dict[str, Any]]:
        path = self.chrono_home / "machine" / "audit.jsonl"
        return self.records(path) if path.exists() else []

    # -- the resident service

    def service_file(self, end: str) -> Path:
        build = wire.build_id(str(CHECKOUT / "chrono"))
        return Path(os.fsdecode(wire.run_file(os.fsencode(self.chrono_home), build, end)))

    def socket(self) -> Path:
        build = wire.build_id(str(CHECKOUT / "chrono"))
        return Path(os.fsdecode(wire.socket_path(os.fsencode(self.chrono_home), build, os.getuid())))

    def service_pid(self) -> int:
        """The pid of the running service; waits until one listens."""

        def listening() -> int | None:
            if not self.socket().exists():
                return None
            words = self.service_file("lock").read_text().split()
            return int(words[1]) if len(words) == 2 and _lives(int(words[1])) else None

        return until(listening, "no service came up") or 0

    def kill_service(self) -> None:
        os.kill(self.service_pid(), 9)

    def end(self) -> None:
        """Ends what this test may have left running."""
        try:
            words = self.service_file("lock").read_text().split()
        except OSError:
            return
        if len(words) == 2 and _lives(int(words[1])) and b"--service" in _command_line(int(words[1])):
            os.kill(int(words[1]), 9)


def kill_child(shell: subprocess.Popen[bytes], sig: int) -> None:
    """Ends the hook's Python below `shell` while it waits for its input."""
    assert shell.stdin is not None
    write_and_be_read(shell.stdin.fileno(), b" ")
    (child,) = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
    os.kill(int(child), sig)


_building = False


@cache
def compiled_rules() -> str | None:
    """The compiled rules as the hook of this installation makes them, made once: compiling takes seconds."""
    global _building
    if _building:
        return None
    _building = True
    folder = tempfile.mkdtemp(prefix="chrono-rules-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    first = Hooked(Path(folder), service="off")
    first.bash("ls")
    _building = False
    return str(first.chrono_home / "cache")


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return b") Z" not in file.read()
    except OSError:
        return False


def _command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""

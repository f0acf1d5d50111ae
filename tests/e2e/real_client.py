"""Owns running the real Claude Code client, offline, against the fake model, in a folder of its own.

The client is installed by scripts/clients; tests skip where it is not there. What the model asks for is `fake_models`'s.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.fake_models import FakeModel, serving

CHECKOUT = Path(__file__).resolve().parents[2]


def claude_binary() -> str:
    """The pinned client; skips the test, with the reason, where it is not installed."""
    chosen = os.environ.get("CHRONO_TEST_CLIENTS") or str(CHECKOUT / ".cache" / "clients")
    path = os.path.join(chosen, "claude-code", "node_modules", ".bin", "claude")
    if not os.access(path, os.X_OK):
        pytest.skip("Claude Code is not installed; scripts/clients installs it where npm is present")
    return path


class Ran(NamedTuple):
    """One finished run of the client."""

    exit_code: int
    stdout: str
    stderr: str


def environment(home: Path, **further: str) -> dict[str, str]:
    """A bare environment in which only `home` is known; no key, token or setting of the developer gets in."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "SHELL": "/bin/bash",
        "NO_COLOR": "1",
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        **further,
    }


def run_claude(
    model: FakeModel,
    *,
    home: Path,
    project: Path,
    environ: dict[str, str] | None = None,
    arguments: tuple[str, ...] = ("--dangerously-skip-permissions",),
    timeout_s: float = 120,
) -> Ran:
    """Runs `claude -p` in `project` until the model has nothing more to ask for."""
    binary = claude_binary()
    env = environment(
        home,
        ANTHROPIC_API_KEY="sk-ant-fake",
        DISABLE_AUTOUPDATER="1",
        DISABLE_TELEMETRY="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        IS_SANDBOX="1",
        **(environ or {}),
    )
    with serving(model):
        env["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{model.port}"
        done = subprocess.run(
            [binary, "-p", "go", "--output-format", "json", "--model", "claude-sonnet-4-5", *arguments],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    return Ran(done.returncode, done.stdout, done.stderr)


def has_git() -> bool:
    """Whether the git command is there, as a second opinion on what chrono wrote."""
    return shutil.which("git") is not None

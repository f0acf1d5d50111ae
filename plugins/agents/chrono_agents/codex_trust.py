"""Owns asking Codex itself which hooks it would run: its app server tells whether a person has trusted each one.

Nothing is written: trusting a hook is the person's word, given in Codex (`/hooks`).
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress

from chrono.agents.hookcommand import is_ours

WAIT_S = 15.0
_MAX_BYTES = 4_000_000
_RUNS = ("trusted", "managed")


def problems(settings_path: str, project: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Why Codex would not run chrono's hooks in that file, for people; empty where it would, or cannot be asked."""
    program = shutil.which("codex", path=environ.get("PATH", os.defpath))
    if program is None:
        return ()
    hooks = _listed(program, project, environ)
    if hooks is None:
        return ()
    return judged(hooks, settings_path)


def judged(hooks: list[dict[str, object]], settings_path: str) -> tuple[str, ...]:
    """What is wrong with chrono's hooks among those that Codex listed."""
    own = [
        hook
        for hook in hooks
        if is_ours(hook.get("command"), "codex")
        and os.path.realpath(str(hook.get("sourcePath"))) == os.path.realpath(settings_path)
    ]
    if not own:
        return ("Codex does not see this hook; a project's file counts only once the folder is trusted in Codex",)
    found = []
    waiting = sorted({str(hook.get("trustStatus")) for hook in own} - set(_RUNS))
    if waiting:
        found.append(f"Codex does not run this hook, it is {' and '.join(waiting)}: start codex, type /hooks, trust it")
    if any(hook.get("enabled") is False for hook in own):
        found.append("the hook is switched off in Codex (/hooks)")
    return tuple(found)


def _listed(program: str, project: str, environ: Mapping[str, str]) -> list[dict[str, object]] | None:
    """The hooks that Codex sees in a folder, None where it does not answer (older versions)."""
    try:
        process = subprocess.Popen(
            [program, "app-server"],
            cwd=project,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    until = time.monotonic() + WAIT_S
    try:
        _answer(process, 1, "initialize", {"clientInfo": {"name": "chrono", "version": "1"}}, until)
        result = _answer(process, 2, "hooks/list", {"cwds": [project]}, until)
        data = result.get("data")
        folders = data if isinstance(data, list) else []
        listed = [hook for folder in folders if isinstance(folder, dict) for hook in folder.get("hooks") or ()]
        return [hook for hook in listed if isinstance(hook, dict)]
    except (OSError, ValueError):
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what is on PATH is a wrapper around the program
        process.communicate()


def _answer(
    process: subprocess.Popen[bytes], number: int, method: str, parameters: dict[str, object], until: float
) -> dict[str, object]:
    """The result of one request. Raises ValueError where there is none in time, OSError."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({"id": number, "method": method, "params": parameters}).encode() + b"\n")
    process.stdin.flush()
    data = b""
    while len(data) < _MAX_BYTES:
        *lines, data = data.split(b"\n")
        for line in lines:
            said = json.loads(line)
            if isinstance(said, dict) and said.get("id") == number:
                result = said.get("result")
                if not isinstance(result, dict):
                    raise ValueError("refused")
                return result
        ready, _, _ = select.select([process.stdout], [], [], max(until - time.monotonic(), 0))
        piece = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
        if not piece:
            break
        data += piece
    raise ValueError("no answer")

"""Owns what keeps Claude Code from running a hook, or from refusing without one, outside the file the hook stands in.

That file itself is left to `claude_settings`. Source: the vendor's reference of settings; runs of 2.1.200 to 2.1.332.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping

KNOWS_ON_FAILURE = (2, 1, 295)
WAIT_S = 10.0

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": r"C:\Program Files\ClaudeCode\managed-settings.json",
}


def problems(
    settings_path: str, project: str, environ: Mapping[str, str], *, managed: str | None = None
) -> tuple[str, ...]:
    """Why Claude Code would not run or not heed the hook in `settings_path`, for people. `managed`: of the company."""
    company = managed or _MANAGED.get(sys.platform, "/etc/claude-code/managed-settings.json")
    return (*_switched_off(settings_path, project, environ, company), *_too_old(environ))


def _switched_off(settings_path: str, project: str, environ: Mapping[str, str], company: str) -> list[str]:
    found = []
    if _member(company, "allowManagedHooksOnly") is True:
        found.append(f"`allowManagedHooksOnly` is set in {company}: only the hooks that stand there run")
    person = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME", ""), ".claude")
    folder = os.path.join(project, ".claude")
    for path in (
        company,
        os.path.join(folder, "settings.local.json"),
        os.path.join(folder, "settings.json"),
        os.path.join(person, "settings.json"),
    ):
        word = _member(path, "disableAllHooks")
        if isinstance(word, bool):  # the first that has it counts
            if word and path != settings_path:
                found.append(f"`disableAllHooks` is set in {path}: Claude Code runs no hook at all")
            break
    return found


def _member(path: str, name: str) -> object:
    """A member of a settings file; None where Claude Code, too, makes nothing of the file."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return value.get(name) if isinstance(value, dict) else None


def _too_old(environ: Mapping[str, str]) -> list[str]:
    program = shutil.which("claude", path=environ.get("PATH", os.defpath))
    if program is None:
        return []
    try:
        done = subprocess.run(
            [program, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    version = re.match(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    if version is None or tuple(map(int, version.groups())) >= KNOWS_ON_FAILURE:
        return []
    return [
        f"Claude Code {version.group()} does not know `onFailure`: where the hook is killed or outlasts its time, the "
        "call runs; 2.1.295 and later refuse it"
    ]

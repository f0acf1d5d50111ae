"""Owns telling a person on their desktop that something waits; where there is no desktop, nothing happens."""

from __future__ import annotations

import shutil
import subprocess

_SCRIPT = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"
_MOST_CHARS = 200


def notify(title: str, text: str) -> bool:
    """Shows a notification through notify-send or osascript; False where neither is there or it fails.

    The words are arguments of their own and never part of a script: an agent wrote them.
    """
    words = [title[:_MOST_CHARS], text[:_MOST_CHARS]]
    if path := shutil.which("notify-send"):
        asked = [path, "--app-name=chrono", "--", *(word.replace("<", "‹").replace("&", "＆") for word in words)]
    elif path := shutil.which("osascript"):
        asked = [path, "-e", _SCRIPT, *words]
    else:
        return False
    try:
        return (
            subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False).returncode == 0
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return False

"""Owns hook files that are chrono's alone: a script or a plugin in a folder that the client reads.

What stands in the file is told by the adapter; reading and writing it is left to `settings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from chrono.agents.hookcommand import is_ours
from chrono.agents.protocol import Hook, Inspection, SettingsRefused

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def installed(client: str, settings: bytes | None, command: str, render: Callable[[str], str]) -> bytes:
    """The whole file. Raises SettingsRefused where another's file has the name."""
    if not is_ours(command, client):
        raise SettingsRefused("the hook command is not chrono's own form")
    if settings is not None and settings.strip() and command_in(client, settings) is None:
        raise SettingsRefused("the file is there already and is not chrono's", "rename it, then run the command again")
    return render(command).encode("utf-8")


def uninstalled(client: str, settings: bytes) -> bytes | None:
    """None where the file is chrono's, else the file as it is."""
    return None if command_in(client, settings) is not None else settings


def inspect(client: str, settings: bytes | None, event: str, render: Callable[[str], str]) -> Inspection:
    """The hook of a file of chrono's; a file that somebody changed is a problem. Never raises."""
    command = command_in(client, settings) if settings is not None else None
    if command is None:
        return Inspection((), ())
    problems = () if render(command).encode("utf-8") == settings else ("the file was changed after it was installed",)
    return Inspection((Hook(event, "the whole file", command, True),), problems)


def command_in(client: str, settings: bytes) -> str | None:
    """The command of chrono's that stands in the file as a JSON text (a script has it in a comment); else None."""
    try:
        text = settings.decode("utf-8")
    except UnicodeDecodeError:
        return None
    for found in _STRING.findall(text):
        try:
            command = json.loads(found)
        except ValueError:
            continue
        if is_ours(command, client):
            return str(command)
    return None

"""Owns the command line of an installed hook: absolute paths, and a guard that cannot run refuses like one that did.

Which file it stands in, and in what shape, is left to the adapters.
"""

from __future__ import annotations

import os
import re

from chrono.agents.protocol import SettingsRefused

_COULD_NOT_RUN = (
    "chrono: the guard could not run, so this call is denied. Reinstall chrono-toolkit or remove the entry in "
)


def posix_command(client: str, interpreter: str, boot: str, settings_path: str) -> str:
    """The line for `/bin/sh -c`. Raises SettingsRefused for a path that no shell word can hold.

    boot exits 0 or 42 only (42 becomes 2). Anything else (2 is what Python says for a missing file) is a guard that
    could not run: status 2 without a word on standard output. `||`, not `;`: a shell that inherits `errexit` (bash from
    an exported SHELLOPTS) would end between the two, with a status that lets the call run. Source: design section 5.
    """
    for path in (interpreter, boot):
        if not os.path.isabs(path):
            raise SettingsRefused(f"{path} is not an absolute path")
    return (
        f"{_quoted(interpreter)} -I -S {_quoted(boot)} {client} || case $? in 42) exit 2;; *) echo "
        f"{_quoted(_COULD_NOT_RUN + settings_path)} >&2; exit 2;; esac"
    )


def is_ours(command: object, client: str) -> bool:
    """Whether a hook command is chrono's for `client`, of this version or an earlier one."""
    return (
        isinstance(command, str)
        and re.search(rf'[/\\]chrono[/\\]guard[/\\]boot\.py"? {re.escape(client)}(?:;| \|\||$)', command) is not None
    )


def _quoted(text: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 or "\ud800" <= char <= "\udfff" for char in text):
        raise SettingsRefused(
            f"the path {text!r} holds a character that no settings file can hold", "install chrono into another folder"
        )
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'

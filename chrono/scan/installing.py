"""Owns telling what a command installs that lies in a file or a folder of its own choosing: what it brings runs.

Where that file came from is known to `scan.match`; packages by name are left to the rules.
"""

from __future__ import annotations

import os

from chrono.scan.command import Command, Word
from chrono.scan.options import parse, program_names
from chrono.scan.rule import Options

_VERBS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pip", "pip3", "pipx", "gem", "cargo", "conda", "mamba", "luarocks"), ("install",)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("install", "i", "add", "global")),
    "uv": ("pip", "add", "tool"),
    "poetry": ("add",),
    "code": ("--install-extension",),
}
_PACKAGES = (".whl", ".gz", ".tgz", ".zip", ".bz2", ".xz", ".tar", ".gem", ".egg", ".conda", ".vsix", ".rock", ".crate")
_BUILDERS = frozenset(("make", "gmake", "ninja", "meson", "just", "task", "rake", "scons"))
_IN_FOLDER: Options = ("gnu", (("", frozenset(["-C", "--directory", "-f", "--file", "-j"])),))


def package_files(command: Command) -> tuple[str, ...]:
    """The words of an installation that look like files of packages."""
    argv = command.argv
    if len(argv) > 3 and argv[1] == "-m" and any(name.startswith("python") for name in program_names(argv[0])):
        argv = argv[2:]
    for name in program_names(argv[0]):
        verbs = _VERBS.get(name)
        if verbs and any(word in verbs for word in argv[1:3]):
            return tuple(word for word in argv[2:] if isinstance(word, str) and word.lower().endswith(_PACKAGES))
    return ()


def install_folder(command: Command) -> str | None:
    """The folder whose own recipe for `install` a build tool runs; None of other commands."""
    if "install" not in command.argv[1:] or _BUILDERS.isdisjoint(program_names(command.argv[0])):
        return None
    chosen: tuple[Word, ...] = parse(command.argv, _IN_FOLDER).values("-C", "--directory")
    folder = chosen[-1] if chosen else "."
    if not isinstance(folder, str) or not isinstance(command.cwd, str):
        return None
    return os.path.normpath(os.path.join(command.cwd, folder))

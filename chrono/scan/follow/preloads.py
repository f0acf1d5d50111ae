"""Owns the files that variables make an interpreter load first: NODE_OPTIONS, RUBYOPT, PYTHONSTARTUP, ENV.

Variables whose value is a command are left to `scan.shell.sinks`, options on the command line to `scripts`.
"""

from __future__ import annotations

from itertools import pairwise

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.scene import Scene, Started
from chrono.scan.follow.scripts import SHELLS, language_of_program, run_file

_NODE_STARTERS = frozenset(("npm", "npx", "pnpm", "yarn", "bun", "bunx", "pnpx"))
_ENDINGS = {"javascript": (".js", ".cjs", ".mjs", ".ts"), "ruby": (".rb",)}
_LOADS = ("-r", "--require", "--import", "--loader", "--experimental-loader")


def from_preloads(scene: Scene) -> list[Started | Refusal]:
    """The files that the environment of one command names, where the program looks at such a variable."""
    language = language_of_program(scene.program)
    if language is None and scene.program not in _NODE_STARTERS:
        return []
    given: dict[str, Word] = {**dict(scene.command.env), **dict(scene.command.assigns)}
    found: list[tuple[str, str, str]] = []
    if language == "javascript" or scene.program in _NODE_STARTERS:
        found += [("NODE_OPTIONS", path, "javascript") for path in _loaded(given.get("NODE_OPTIONS"))]
    elif language == "ruby":
        found += [("RUBYOPT", path, "ruby") for path in _loaded(given.get("RUBYOPT"))]
    elif language == "python" and _is_interactive(scene.args):
        found.append(("PYTHONSTARTUP", str(given.get("PYTHONSTARTUP", "")), "python"))
    if language == "python" and "PYTHONPATH" in given:
        found += [("PYTHONPATH", path, "python") for path in _customised(given["PYTHONPATH"])]
    if scene.program in SHELLS and scene.program not in ("bash", "zsh") and _is_interactive(scene.args):
        found.append(("ENV", str(given.get("ENV", "")), "sh"))
    return [
        answer._replace(via=(*answer.via[:-1], f"{name}={answer.via[-1]}")) if isinstance(answer, Started) else answer
        for name, path, read_as in found
        if "/" in path
        for answer in run_file(scene, path, read_as, (), _ENDINGS.get(read_as, ()))
    ]


def _loaded(value: Word | None) -> list[str]:
    """The files after `-r` and its like in a text of options."""
    words = value.replace("=", " ").split() if isinstance(value, str) else []
    behind = [word for before, word in pairwise(words) if before in _LOADS]
    return behind + [word[2:] for word in words if word.startswith(("-r.", "-r/"))]


def _customised(value: Word) -> list[str]:
    """The modules that Python's `site` imports by itself, in the folders of PYTHONPATH."""
    folders = [part for part in value.split(":")[:8] if part] if isinstance(value, str) else []
    return [f"{folder}/{name}.py" for folder in folders for name in ("sitecustomize", "usercustomize")]


def _is_interactive(args: tuple[Word, ...]) -> bool:
    return not args or any(isinstance(word, str) and word[:1] == "-" and "i" in word[1:3] for word in args[:2])

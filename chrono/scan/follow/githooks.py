"""Owns what git starts by itself: the hooks of a repository, and commands that its configuration gives a name to.

Settings on the command line (`-c alias.x=!…`) are left to `scan.shell.sinks`, hooks that a text writes to `later`.
docs: decision 103.
"""

from __future__ import annotations

import os
import re

from chrono.scan.command import Refusal, Word
from chrono.scan.follow.programs import git_verb
from chrono.scan.follow.scene import File, Scene, Started
from chrono.scan.follow.scripts import language_of_file

Answers = list[Started | Refusal]

_HOOKS = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "merge": ("pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge"),
    "pull": ("post-merge", "post-checkout", "pre-rebase", "post-rewrite"),
    "push": ("pre-push",),
    "rebase": ("pre-rebase", "post-checkout", "post-rewrite"),
    "checkout": ("post-checkout",),
    "switch": ("post-checkout",),
    "worktree": ("post-checkout",),
    "am": ("applypatch-msg", "pre-applypatch", "post-applypatch"),
    "cherry-pick": ("prepare-commit-msg", "post-commit"),
    "revert": ("prepare-commit-msg", "post-commit"),
}
_UNHOOKED = frozenset(("--no-verify", "-n"))
_ALIASES = re.compile(r"^[ \t]*\[alias\][ \t]*\n((?:[ \t]*[^\[\n][^\n]*\n?|\n)*)", re.MULTILINE)
_HOOKS_PATH = re.compile(r"^[ \t]*hookspath[ \t]*=[ \t]*\"?([^\"\n]+?)\"?[ \t]*$", re.MULTILINE | re.IGNORECASE)


def from_git(scene: Scene) -> Answers:
    """The hooks that this git command runs, or what the name it uses stands for."""
    if scene.program != "git":
        return []
    verb, rest = git_verb(scene.args)
    top = _top(scene)
    if not isinstance(verb, str) or top is None:
        return []
    config = _text(scene, f"{top}/.git/config")
    if verb == "hook":
        names: tuple[Word, ...] = rest[1:2] if rest[:1] == ("run",) else ()
        return _hooks(scene, top, config, tuple(name for name in names if isinstance(name, str)))
    if verb in _HOOKS:
        names = _HOOKS[verb]
        if _UNHOOKED & set(rest) and verb in ("commit", "push", "merge"):
            names = tuple(name for name in names if name.startswith("post-"))
        return _hooks(scene, top, config, tuple(str(name) for name in names))
    return _alias(scene, top, verb, rest, config)


def _top(scene: Scene) -> str | None:
    """The folder of the work tree that git would find."""
    folder = scene.cwd
    for _ in range(24):
        if scene.exists(f"{folder}/.git"):
            return folder
        if folder in ("/", scene.world.home):
            return None
        folder = os.path.dirname(folder)
    return None


def _text(scene: Scene, path: str) -> str:
    file = scene.read(path) if scene.exists(path) else None
    return file.text if isinstance(file, File) else ""


def _hooks(scene: Scene, top: str, config: str, names: tuple[str, ...]) -> Answers:
    named = _HOOKS_PATH.search(config)
    folder = os.path.join(top, named[1]) if named else f"{top}/.git/hooks"
    if folder.endswith("/_"):
        # Husky's own files there do no more than to start those one level up.
        folder = os.path.dirname(folder)
    answers: Answers = []
    for name in names:
        path = f"{folder}/{name}"
        file = scene.read(path) if scene.exists(path) else None
        language = language_of_file(file) if isinstance(file, File) else None
        if isinstance(file, File) and language:
            started = scene.start(file.text, language, scene.shown(file.path), file=file, cwd=top)
            answers.append(started._replace(beside=True))
    return answers


def _alias(scene: Scene, top: str, verb: str, rest: tuple[Word, ...], config: str) -> Answers:
    """What `git NAME` stands for by the repository's own configuration, or by the person's."""
    for text in (config, _text(scene, f"{scene.world.home}/.gitconfig")):
        for block in _ALIASES.findall(text):
            value = re.search(rf"^[ \t]*{re.escape(verb)}[ \t]*=[ \t]*(.+)$", block, re.MULTILINE | re.IGNORECASE)
            if value is not None:
                said = value[1].strip().strip('"').replace('\\"', '"')
                line = said[1:] if said.startswith("!") else f"git {said}"
                started = scene.start(f'{line} "$@"', "sh", f"alias.{verb}", args=rest, cwd=top)
                return [started._replace(beside=True)]
    return []

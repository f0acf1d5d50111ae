"""Owns matching a program's name against the machine's files (`/b?n/rm`); arguments keep their patterns as written."""

from __future__ import annotations

import os

from chrono.scan.shell import globs
from chrono.scan.world import World

MAX_MATCHES = 6
MAX_ROUNDS = 40


def matching_files(pattern: str, cwd: str, world: World) -> list[str]:
    """The first few names that match, in order; none where nothing does or the folder is not known."""
    absolute = pattern.startswith("/")
    if "\0" in pattern or (not absolute and not cwd.startswith("/")) or "**" in pattern:
        return []
    found = ["/" if absolute else ""]
    budget = MAX_ROUNDS
    for component in [part for part in pattern.split("/") if part]:
        following: list[str] = []
        for folder in found:
            budget -= 1
            if budget < 0:
                return []
            following += _within(folder, component, cwd, world)
            if len(following) > MAX_MATCHES:
                following = following[:MAX_MATCHES]
                break
        found = following
    return found


def _within(folder: str, component: str, cwd: str, world: World) -> list[str]:
    place = folder if folder.startswith("/") else os.path.join(cwd, folder)
    head = folder if not folder or folder.endswith("/") else folder + "/"
    if not globs.has_magic(component):
        path = os.path.join(place, component)
        return [head + component] if world.lstat(path) is not None else []
    names = world.listdir(place) or ()
    return [
        head + name
        for name in sorted(names)
        if (component.startswith(".") or not name.startswith(".")) and globs.matches(component, name)
    ]

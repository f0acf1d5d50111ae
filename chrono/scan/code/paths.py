"""Owns what can be told of paths that are known in part: their folders and names, and what a glob stands for.

What a path means is left to `scan.paths`.
"""

from __future__ import annotations

import os

from chrono.scan.code.operators import join_path
from chrono.scan.code.values import ANY, Items, Wild, pieces_of, text_of
from chrono.scan.command import Word

_GLOB = "*?["


def folder_of(value: object) -> object:
    """The path without its last component."""
    pieces = list(pieces_of(value))
    while pieces:
        last = pieces[-1]
        if isinstance(last, str) and "/" in last:
            kept = last[: last.rindex("/")]
            return text_of((*pieces[:-1], kept or ("/" if len(pieces) == 1 else "")))
        if last is None:
            # What is unknown may hold any number of folders.
            return text_of(pieces)
        pieces.pop()
    return ""


def last_of(value: object) -> object:
    """The last component of a path."""
    pieces = pieces_of(value)
    found: list[str | None | Wild] = []
    for piece in reversed(pieces):
        if isinstance(piece, str) and "/" in piece:
            found.append(piece[piece.rindex("/") + 1 :])
            break
        found.append(piece)
    return text_of(reversed(found))


def globbed(base: object, pattern: object, recursive: bool = False) -> Items:
    """The names that a pattern finds below `base` ("" for none)."""
    if not isinstance(pattern, str):
        return Items((), join_path(base, ANY) if base != "" else ANY)
    whole = join_path(base, pattern) if base != "" else pattern
    places = [at for at in map(pattern.find, _GLOB) if at >= 0]
    if not places:
        return Items([whole])
    cut = pattern.rfind("/", 0, min(places)) + 1
    root = join_path(base, pattern[:cut]) if base != "" else pattern[:cut]
    rest = pattern[cut:]
    if "**" in rest or recursive:
        # All of a folder is the folder; a name is looked for on every level.
        rest = rest.rpartition("/")[2]
        rest = "*" if rest in ("**", "*.*", "*") else f"**/{rest}"
    pieces = (*pieces_of(root), Wild(rest)) if root in ("",) or cut else (*pieces_of(root), "/", Wild(rest))
    return Items((), text_of(pieces))


def below(folder: object) -> object:
    """Each name of a folder, as a path."""
    return text_of((*pieces_of(join_path(folder, "x"))[:-1], _before_last(folder), Wild("*")))


def _before_last(folder: object) -> str:
    last = pieces_of(join_path(folder, "x"))[-1]
    return last[:-1] if isinstance(last, str) else "/"


def absolute(cwd: Word, value: object) -> object:
    """A path with the folder in front of it, and without dots where all is known."""
    first = pieces_of(value)[0] if pieces_of(value) else ""
    if isinstance(first, str) and not first.startswith("/"):
        value = join_path(cwd if isinstance(cwd, str) else ANY, value)
    return os.path.normpath(value) if isinstance(value, str) and value else value

"""Owns what a program reaches that is handed every file below a folder: git's own data is among them.

What the words of one command do to files is told by `scan.touch`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from chrono.scan.command import Command, Word
from chrono.scan.finding import Target
from chrono.scan.options import name_of, parse
from chrono.scan.paths import Ground, Spot, Touch
from chrono.scan.rule import Options

_NARROWS = frozenset("-name -iname -path -ipath -wholename -regex -iregex -maxdepth -newer -empty -perm".split())
_GREP: Options = ("gnu", (("", frozenset("-e -f -m -A -B -C --include --exclude --exclude-dir".split())),))


def reached(command: Command, touches: tuple[Touch, ...], found_by: Command | None, ground: Ground) -> Iterator[Touch]:
    """Git's data where a program that edits in place is handed all files of a work tree by `find` or `grep -r`."""
    if not command.via or not any(touch.how == "edit" for touch in touches):
        return
    lister = found_by if command.via[-1].startswith("find -") else None
    if command.via[-1].startswith(("xargs", "parallel")) and command.upstream:
        lister = Command(command.upstream[-1], cwd=command.cwd)
    for start in _starts(lister) if lister is not None else ():
        for spot in ground.spots(start, lister.cwd if lister is not None else "/"):
            path = f"{spot.target.path}/.git"
            stat = ground.world.lstat(path) if spot.target.path is not None else None
            if stat is not None and stat.kind == "dir":
                yield Touch(
                    "edit", Spot(Target(path, os.path.join(spot.target.shown, ".git"), "git", True), True, "dir")
                )


def _starts(lister: Command) -> tuple[Word, ...]:
    """The folders of which everything is listed; none where the words leave out git's data or choose among files."""
    name, argv = name_of(lister), lister.argv
    if any(".git" in word for word in argv if isinstance(word, str)):
        return ()
    if name in ("find", "gfind"):
        if any(word in _NARROWS and argv[at - 1] not in ("!", "-not") for at, word in enumerate(argv)):
            return ()
        first = next((at for at, word in enumerate(argv[1:], 1) if str(word)[:1] in "-(!"), len(argv))
        return argv[1:first] or (".",)
    if name in ("grep", "egrep", "fgrep"):
        parsed = parse(argv, _GREP)
        if not parsed.has_any(("-r", "-R", "--recursive")) or parsed.has("--include"):
            return ()
        return parsed.words[0 if parsed.has_any(("-e", "-f")) else 1 :] or (".",)
    return ()

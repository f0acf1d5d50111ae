"""Owns what a savepoint says of a folder and all below it: a sum a folder, so that what did not change is not added up
again.

Which folders changed is left to `store.scanning`, the lines of the metadata blob to `store.metadata`.
"""

from __future__ import annotations

import os
import stat

from chrono.store import metadata, tree
from chrono.store.snapshot import Excluded, Skip, Totals
from chrono.store.statcache import CAPTURED, HEAVY, KEPT, NESTED, Folder

_USUAL_MODES = frozenset((stat.S_IFREG | 0o644, stat.S_IFREG | 0o755, stat.S_IFLNK | 0o777))
_KINDS = {HEAVY: "heavy", NESTED: "nested", KEPT: "unreadable"}


def total(folder: Folder, root: bytes) -> Totals:
    """The sum of `folder` and of what its children have. `root` is the absolute path of the folder at the top."""
    if folder.piece is None:
        folder.piece = _piece(folder)
        folder.touched = True
    excluded: tuple[Excluded, ...] = ()
    skips: tuple[Skip, ...] = ()
    if folder.excluded or folder.skips or folder.state != CAPTURED:
        excluded, skips = _reported(folder, root)
    live = tuple(os.fsdecode(folder.below(name)) for name in folder.live) if folder.live else ()
    if not folder.children:
        return Totals(len(folder.names), folder.piece, excluded, skips, live)
    parts = [child.totals or total(child, root) for child in folder.children]
    return Totals(
        len(folder.names) + sum([part.file_count for part in parts]),
        b"".join([folder.piece, *[part.metadata for part in parts]]),
        excluded + tuple([one for part in parts if part.excluded for one in part.excluded]),
        skips + tuple([one for part in parts if part.skips for one in part.skips]),
        live + tuple([one for part in parts if part.live for one in part.live]),
    )


def is_control_only(folder: Folder) -> bool:
    """Whether control files are all there is below `folder`: it is as invisible as they are."""
    if folder.tree != tree.EMPTY_TREE or folder.state != CAPTURED or folder.skips:
        return False
    return any(kind == "control" for _, kind in folder.excluded) or any(map(is_control_only, folder.children))


def _piece(folder: Folder) -> bytes:
    """Its own lines of the metadata blob."""
    if folder.state in (HEAVY, NESTED) or is_control_only(folder):
        return b""
    usual = not folder.skips and not folder.live and folder.state == CAPTURED
    if usual and folder.mode == metadata.USUAL_FOLDER and _USUAL_MODES.issuperset(folder.modes):
        return b""
    files = [
        (name, stat.S_IMODE(mode)) for name, mode in zip(folder.names, folder.modes, strict=True) if stat.S_ISREG(mode)
    ]
    own = b""
    if folder.state == KEPT:
        own = metadata.skip_line(folder.path, "unreadable", folder.tree is not None)
    return own + metadata.folder_piece(folder.path, folder.mode, files, folder.skips, folder.live)


def _reported(folder: Folder, root: bytes) -> tuple[tuple[Excluded, ...], tuple[Skip, ...]]:
    """What the savepoint leaves out of it."""
    excluded: list[Excluded] = []
    skips: list[Skip] = []

    def leave_out(path: bytes, kind: str) -> None:
        excluded.append(Excluded(os.fsdecode(os.path.join(root, path)), kind))

    if folder.state != CAPTURED:
        leave_out(folder.path, _KINDS[folder.state])
        if folder.state == KEPT:
            skips.append(Skip(os.fsdecode(folder.path), "unreadable", folder.tree is not None))
    for name, kind in folder.excluded:
        leave_out(folder.below(name), kind)
    for name, reason, kept in folder.skips:
        skips.append(Skip(os.fsdecode(folder.below(name)), reason, kept))
        if reason != "git":
            leave_out(folder.below(name), "over-cap" if reason == "over-cap" else "unreadable")
    return tuple(excluded), tuple(skips)

"""Owns making a state that never lay on the disk: one savepoint's content with some paths changed, as new trees.

The bytes are the ones that a capture of the same files would write. What to change is decided by `store.merge`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from chrono.ids import TreeId
from chrono.store import metadata, tree
from chrono.store.contents import Contents, Entry
from chrono.store.names import fsck_reads, fsck_refuses, tree_name
from chrono.store.objects import Objects, Sink
from chrono.store.snapshot import Content


class _Folder:
    """One folder while it is put together. `wanted`: it stays even if nothing is in it."""

    def __init__(self, path: bytes, mode: int, wanted: bool) -> None:
        self.path = path
        self.mode = mode
        self.wanted = wanted
        self.files: dict[bytes, Entry] = {}
        self.folders: dict[bytes, _Folder] = {}

    def below(self, name: bytes) -> bytes:
        return self.path + b"/" + name if self.path else name

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.folders


class Builder:
    """Builds on `ground`; the modes of folders that only `other` has are taken from there."""

    def __init__(self, objects: Objects, sink: Sink, ground: Contents, other: Contents) -> None:
        self._objects = objects
        self._sink = sink
        self._ground = ground
        self._other = other

    def build(self, edits: Mapping[bytes, Entry | None]) -> Content:
        """`ground` with `edits` made: None takes a path away, a folder stays while something is in it."""
        root = self._load(b"", self._ground.root, 0o755)
        for path in sorted(edits, reverse=True):  # what is below goes before its folder
            if edits[path] is None:
                self._take(root, path)
        for path in sorted(edits):
            entry = edits[path]
            if entry is not None:
                self._put(root, path, entry)
        order = list(_walk(root))
        meta_text = self._meta_text(order)
        made = self._write(root)
        meta = self._sink.put(b"blob", meta_text).hex() if meta_text else None
        return Content(TreeId(made.hex()), meta)

    def _load(self, path: bytes, oid: bytes, mode: int) -> _Folder:
        folder = _Folder(path, mode, wanted=True)
        for name, found in self._ground.list(oid).items():
            entry = self._ground.entry(folder.below(name), found)
            if entry.is_folder:
                folder.folders[name] = self._load(folder.below(name), found.oid, stat.S_IMODE(entry.mode))
            else:
                folder.files[name] = entry
        return folder

    def _find(self, root: _Folder, path: bytes) -> _Folder | None:
        at: _Folder | None = root
        for name in path.split(b"/") if path else ():
            at = at.folders.get(name) if at is not None else None
        return at

    def _take(self, root: _Folder, path: bytes) -> None:
        above, _, name = path.rpartition(b"/")
        folder = self._find(root, above)
        if folder is None:
            return
        folder.files.pop(name, None)
        found = folder.folders.get(name)
        if found is not None:
            found.wanted = False
            if found.is_empty:
                del folder.folders[name]

    def _put(self, root: _Folder, path: bytes, entry: Entry) -> None:
        at = root
        *above, name = path.split(b"/")
        for part in above:
            at = self._enter(at, part, None)
        if entry.is_folder:
            self._enter(at, name, stat.S_IMODE(entry.mode)).wanted = True
        else:
            at.folders.pop(name, None)
            at.files[name] = entry

    def _enter(self, folder: _Folder, name: bytes, mode: int | None) -> _Folder:
        folder.files.pop(name, None)
        found = folder.folders.get(name)
        path = folder.below(name)
        if found is None:
            known = self._other.find(path)
            usual = stat.S_IMODE(known.mode) if known is not None and known.is_folder else 0o755
            found = folder.folders[name] = _Folder(path, usual, wanted=False)
        if mode is not None:
            found.mode = mode
        return found

    def _write(self, folder: _Folder) -> bytes:
        rows = [(self._name(name, entry), _kind(entry), bytes.fromhex(entry.oid)) for name, entry in
                folder.files.items()]  # fmt: skip
        rows += [(tree_name(name), tree.FOLDER, self._write(child)) for name, child in folder.folders.items()]
        return self._sink.put(b"tree", tree.build(rows))

    def _name(self, name: bytes, entry: Entry) -> bytes:
        forced = (
            not entry.is_link
            and fsck_reads(name)
            and fsck_refuses(self._objects.read_as(bytes.fromhex(entry.oid), b"blob"))
        )
        return tree_name(name, is_link=entry.is_link, forced=forced)

    def _meta_text(self, order: list[_Folder]) -> bytes:
        skips: dict[bytes, list[tuple[bytes, str, bool]]] = {}
        for skip in self._ground.meta.skips:
            folder, _, name = os.fsencode(skip.path).rpartition(b"/")
            skips.setdefault(folder, []).append((name, skip.reason, skip.kept))
        live: dict[bytes, list[bytes]] = {}
        for path in self._ground.meta.live:
            folder, _, name = os.fsencode(path).rpartition(b"/")
            live.setdefault(folder, []).append(name)
        pieces = []
        for at in order:
            files = [(name, stat.S_IMODE(at.files[name].mode)) for name in sorted(at.files)
                     if stat.S_ISREG(at.files[name].mode)]  # fmt: skip
            used = [name for name in live.get(at.path, ()) if name in at.files]
            pieces.append(metadata.folder_piece(at.path, at.mode, files, skips.get(at.path, ()), used))
        body = b"".join(pieces)
        return metadata.HEADER + body if body else b""


def _walk(root: _Folder) -> list[_Folder]:
    """In the order of a scan: a folder before its content, by name."""
    order = []
    stack = [root]
    while stack:
        folder = stack.pop()
        order.append(folder)
        stack.extend(folder.folders[name] for name in sorted(folder.folders, reverse=True))
    return order


def _kind(entry: Entry) -> int:
    return tree.LINK if entry.is_link else metadata.git_mode(stat.S_IMODE(entry.mode))

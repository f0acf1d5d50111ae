"""Owns looking into what a savepoint holds: entries by path, and what differs between two of them.

Entries carry full mode bits, from the tree and the metadata together. Paths are bytes, with files' own names.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from stat import S_ISDIR

from chrono.store import tree
from chrono.store.metadata import Metadata
from chrono.store.names import ESCAPE, file_name, is_ours_to_leave
from chrono.tuples import NamedTuple

ReadTree = Callable[[bytes], bytes]

_TYPES = {tree.FOLDER: stat.S_IFDIR, tree.LINK: stat.S_IFLNK}
_USUAL = ((b"100644 ", stat.S_IFREG, tree.FILE), (b"100755 ", stat.S_IFREG, tree.EXECUTABLE))


class Entry(NamedTuple):
    """One path on one side: `mode` as in stat (file type and permission bits), `oid` in hexadecimal."""

    mode: int
    oid: str

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)


class Difference(NamedTuple):
    """One path that differs. A folder that is only on one side comes before what is in it."""

    path: bytes
    old: Entry | None
    new: Entry | None


class Contents:
    """One savepoint's tree and metadata; `read_tree` gives the bytes of a tree object."""

    def __init__(self, root: bytes, meta: Metadata, read_tree: ReadTree) -> None:
        self.root = root
        self.meta = meta
        self._read_tree = read_tree
        self._known: dict[bytes, dict[bytes, tree.TreeEntry]] = {}

    def list(self, oid: bytes) -> dict[bytes, tree.TreeEntry]:
        """The entries of one tree object by the files' names. Left out are submodule links, which we never write, and
        names with a slash, which only a forged tree holds."""
        found = self._known.get(oid)
        if found is None:
            found = self._known[oid] = _by_name(tree.rows(self._read_tree(oid)))
        return found

    def rows(self, oid: bytes) -> frozenset[tree.Row]:
        """The entries of one tree object as they are in it: to be compared, since most are equal."""
        return frozenset(tree.rows(self._read_tree(oid)))

    def entry(self, path: bytes, found: tree.TreeEntry) -> Entry:
        kind = _TYPES.get(found.mode, stat.S_IFREG)
        return Entry(kind | self.meta.mode(path, found.mode), found.oid.hex())

    def find(self, path: bytes) -> Entry | None:
        """The entry at `path`; the root for b""."""
        at = tree.TreeEntry(b"", tree.FOLDER, self.root)
        for name in path.split(b"/") if path else ():
            if at.mode != tree.FOLDER:
                return None
            below = self.list(at.oid).get(name)
            if below is None:
                return None
            at = below
        return self.entry(path, at)

    def names(self, folder: bytes) -> frozenset[bytes]:
        """The names directly in `folder`, none where it is no folder."""
        at = self.find(folder)
        if at is None or not at.is_folder:
            return frozenset()
        return frozenset(self.list(bytes.fromhex(at.oid)))

    def differences(self, other: Contents) -> Iterator[Difference]:
        """What must change to turn this into `other`, sorted by path. Never names a path that is not ours."""
        found = list(self._by_tree(other))
        if self.meta != other.meta:
            known = {item.path for item in found}
            more = [item for item in self._by_mode(other) if item.path not in known]
            if more:
                found = sorted([*found, *more], key=lambda item: item.path.split(b"/"))
        return (item for item in found if not is_ours_to_leave(item.path))

    def _by_tree(self, other: Contents) -> Iterator[Difference]:
        """What the trees tell, sorted by path: each folder is gone through until one below it is to be entered."""
        stack = [self._in_folder(other, b"", self.root.hex(), other.root.hex())] if self.root != other.root else []
        while stack:
            for found in stack[-1]:
                path, old, new = found
                below_old = old.oid if old is not None and S_ISDIR(old.mode) else None
                below_new = new.oid if new is not None and S_ISDIR(new.mode) else None
                # Two folders of the same mode differ only by what is in them, which is told by itself.
                inside = below_old is not None and below_new is not None
                if old != new and not (inside and old is not None and new is not None and old.mode == new.mode):
                    yield found
                if below_old != below_new:
                    stack.append(self._in_folder(other, path, below_old, below_new))
                    break
            else:
                stack.pop()

    def _in_folder(self, other: Contents, folder: bytes, mine: str | None, theirs: str | None) -> Iterator[Difference]:
        """What differs directly in `folder`, given the ids of its two trees."""
        left = self.rows(bytes.fromhex(mine)) if mine is not None else frozenset()
        right = other.rows(bytes.fromhex(theirs)) if theirs is not None else frozenset()
        old, new = self._entries(folder, left - right), other._entries(folder, right - left)
        above = folder + b"/" if folder else b""
        return iter(
            [Difference(above + name, old.get(name), new.get(name)) for name in sorted(old.keys() | new.keys())]
        )

    def _entries(self, folder: bytes, rows: Iterable[tree.Row]) -> dict[bytes, Entry]:
        """Entries directly in `folder` by the files' names. What most are is looked up once for all of them."""
        meta = self.meta
        usual = {} if meta.files else {digits: kind | meta.usual(folder, mode) for digits, kind, mode in _USUAL}
        found = {}
        for row in rows:
            mode, name = usual.get(row[:7]), row[7:-21]
            if mode is None or b"/" in name or name.startswith(ESCAPE):
                for file, entry in _by_name((row,)).items():
                    found[file] = self.entry(folder + b"/" + file if folder else file, entry)
            else:
                found[name] = Entry(mode, row[-20:].hex())
        return found

    def _by_mode(self, other: Contents) -> Iterator[Difference]:
        """What the metadata tells of paths that both hold."""
        for path in frozenset(self._mode_suspects(other)):
            old, new = self.find(path), other.find(path)
            if old is not None and new is not None and old != new:
                yield Difference(path, old, new)

    def _mode_suspects(self, other: Contents) -> Iterator[bytes]:
        """Paths whose mode bits may differ although the trees do not show it."""
        mine, theirs = self.meta, other.meta
        for a, b in ((mine.files, theirs.files), (mine.folders, theirs.folders)):
            yield from (path for path in a.keys() | b.keys() if a.get(path) != b.get(path))
        for a, b in ((mine.plain, theirs.plain), (mine.executable, theirs.executable)):
            for folder in a.keys() | b.keys():
                if a.get(folder) != b.get(folder):
                    for name in self.names(folder):
                        yield folder + b"/" + name if folder else name


def _by_name(rows: Iterable[tree.Row]) -> dict[bytes, tree.TreeEntry]:
    entries = map(tree.entry, rows)
    return {file_name(entry.name): entry for entry in entries if entry.mode != tree.GITLINK and b"/" not in entry.name}


def within(path: bytes, scopes: tuple[bytes, ...]) -> bool:
    """Whether `path` is one of `scopes` or lies below one; everything is where there are none."""
    return not scopes or any(path == scope or path.startswith(scope + b"/") for scope in scopes)

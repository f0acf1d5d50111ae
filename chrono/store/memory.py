"""Owns what a Store knows of the last savepoint between two captures: the stat cache, loaded, primed and kept.

The file's format is left to `store.statcache`, believing a stat key to `store.scanning`.
"""

from __future__ import annotations

import hashlib
import os
import stat as stat_module
from bisect import bisect_left
from collections.abc import Callable, Sequence

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store import ignore, statcache, tree
from chrono.store.contents import Contents
from chrono.store.disk import READ_FILE, Disk
from chrono.store.history import History
from chrono.store.names import file_name, tree_name
from chrono.store.objects import Objects
from chrono.store.reading import key_of
from chrono.store.restore import Believed
from chrono.store.scanning import Rules
from chrono.store.statcache import ZERO, Cached, Folder

_COMPACT_ABOVE_BYTES = 1 << 20
_RULES_VERSION = b"rules 1\0"
_MAX_IGNORE_BYTES = 1 << 20


def read_rules(layout: ProjectLayout) -> Rules:
    """What `.chronoignore` says now. Raises StoreError where it is there but cannot be read."""
    try:
        fd = os.open(layout.chronoignore, READ_FILE)
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise StoreError(f"{layout.chronoignore} cannot be read: {error.strerror}", "it must be a file") from None
    else:
        try:
            data = os.read(fd, _MAX_IGNORE_BYTES)
        except OSError as error:
            raise StoreError(f"{layout.chronoignore} cannot be read: {error.strerror}") from None
        finally:
            os.close(fd)
    fingerprint = hashlib.sha1(_RULES_VERSION + data, usedforsecurity=False).digest()
    return Rules(ignore.parse(data), fingerprint=fingerprint)


class Memory:
    """The cached state of one project."""

    def __init__(self, layout: ProjectLayout, objects: Objects, history: History, disk: Disk) -> None:
        self._path = os.fsencode(layout.stat_cache)
        self._objects = objects
        self._history = history
        self._disk = disk
        self._cached: Cached | None = None
        self._stamp: statcache.Stamp | None = None
        self._written_bytes = 0

    def base(self, rules: Rules, *, fresh: bool = False) -> Folder:
        """The folders of the last savepoint, to be scanned in place.

        From memory if the file is still the one that was written from it (never with `fresh`, which gives folders of
        their own), else from the file, else from the newest savepoint's tree, else none.
        """
        cached = None if fresh else self._in_memory()
        if cached is None:
            cached = self._load(keep=not fresh)
        if cached is None:
            return self._primed()
        if cached.rules != rules.fingerprint:
            for folder in cached.root.walk():
                folder.key = ZERO
        return cached.root

    def known(self, rules: Rules) -> Folder | None:
        """The folders of the last savepoint, if they are in memory, the file is theirs, and `rules` found them."""
        cached = self._in_memory()
        return cached.root if cached is not None and cached.rules == rules.fingerprint else None

    def vouching(self, commit: CommitId) -> Believed:
        """A function that gives the id the cache vouches for at a place in `commit`, if its stat is what it saw."""
        cached = self._in_memory()
        if cached is None or cached.head.hex() != commit:
            return lambda folder, name, found: None
        folders = {folder.path: folder for folder in cached.root.walk()}

        def believed(place: bytes, name: bytes, found: os.stat_result) -> str | None:
            folder = folders.get(place)
            if folder is None:
                return None
            index = bisect_left(folder.names, name)
            if index == len(folder.names) or folder.names[index] != name or folder.keys[index] != key_of(found):
                return None
            return folder.oids[index].hex()

        return believed

    def keep(
        self, root: Folder, changed: Sequence[Folder], gone: tuple[bytes, ...], commit: CommitId, rules: Rules
    ) -> None:
        """Keeps `root` as the state that `commit` holds. A cache that cannot be written is dropped: it only helps."""
        cached = Cached(root, bytes.fromhex(commit), rules.fingerprint)
        try:
            self._write(cached, changed, gone)
        except OSError:
            self.forget()
            try:
                self._disk.unlink(self._path)
            except OSError:
                pass
            return
        for folder in changed:
            folder.touched = False
        self._cached = cached
        self._stamp = statcache.stamp(self._path)

    def follow(self, commit: CommitId, change: Callable[[Folder], tuple[bytes, ...]]) -> None:
        """Keeps what is in memory after `change` has brought it to the state of `commit`; it returns which folders
        went away. Where nothing is in memory, or where it fails, the file stays: it is true of what did not change."""
        cached = self._in_memory()
        if cached is None:
            return
        try:
            gone = change(cached.root)
        except OSError:
            self.forget()
            return
        changed = [folder for folder in cached.root.walk() if folder.touched]
        self.keep(cached.root, changed, gone, commit, Rules(fingerprint=cached.rules))

    def forget(self) -> None:
        """Memory is not to be believed any more; the file is."""
        self._cached = None
        self._stamp = None

    def _write(self, cached: Cached, changed: Sequence[Folder], gone: tuple[bytes, ...]) -> None:
        now = statcache.stamp(self._path)
        same = self._cached is not None and now is not None and now == self._stamp
        if same and not changed and not gone and self._cached is not None and cached[1:] == self._cached[1:]:
            return
        if same and now is not None and now.size < 2 * self._written_bytes + _COMPACT_ABOVE_BYTES:
            statcache.append(self._path, cached, changed, gone, self._disk)
        else:
            statcache.save(self._path, cached, self._disk)
            written = statcache.stamp(self._path)
            self._written_bytes = written.size if written is not None else 0

    def _in_memory(self) -> Cached | None:
        if self._cached is None or statcache.stamp(self._path) != self._stamp:
            self.forget()
        return self._cached

    def _load(self, *, keep: bool) -> Cached | None:
        stamp = statcache.stamp(self._path)
        loaded = statcache.load(self._path)
        if loaded is None:
            return None
        cached, good_bytes = loaded
        head = self._objects.head(cached.head)
        if head is None or head[0] != b"commit":
            return None
        if keep:
            self._cached = cached
            # A file with a torn tail is written anew rather than appended to.
            whole = stamp is not None and stamp.size == good_bytes
            self._stamp = stamp if whole else None
            self._written_bytes = good_bytes
        return cached

    def _primed(self) -> Folder:
        """Without a cache the newest savepoint says what was captured; every file is read again."""
        root = Folder(b"", None)
        newest = self._history.newest()
        if newest is None:
            return root
        contents = open_contents(self._objects, newest.tree, newest.meta)
        root.tree = contents.root
        stack = [root]
        while stack:
            folder = stack.pop()
            self._prime_folder(folder, contents)
            stack.extend(folder.children)
        return root

    def _prime_folder(self, folder: Folder, contents: Contents) -> None:
        folder.touched = True
        folder.mode = contents.meta.mode(folder.path, tree.FOLDER)
        if folder.tree is None:
            return
        forced = set()
        for entry in tree.parse(self._objects.read_as(folder.tree, b"tree")):
            name = file_name(entry.name)
            path = folder.below(name)
            if entry.mode == tree.FOLDER:
                child = Folder(path, folder)
                child.tree = entry.oid
                folder.children.append(child)
            elif entry.mode != tree.GITLINK:
                folder.names.append(name)
                folder.modes.append(contents.entry(path, entry).mode)
                folder.oids.append(entry.oid)
                if tree_name(name, is_link=stat_module.S_ISLNK(folder.modes[-1])) != entry.name:
                    forced.add(name)
        order = sorted(range(len(folder.names)), key=folder.names.__getitem__)
        folder.names = [folder.names[index] for index in order]
        folder.modes = [folder.modes[index] for index in order]
        folder.oids = [folder.oids[index] for index in order]
        folder.keys = [ZERO] * len(order)
        folder.children.sort(key=lambda child: child.name)
        folder.forced = frozenset(forced)


def open_contents(objects: Objects, tree_id: str, meta_id: str | None) -> Contents:
    """The content of one savepoint. Raises StoreError."""
    from chrono.store import metadata

    if meta_id is None:
        meta = metadata.EMPTY
    else:
        meta = metadata.parse(objects.read_as(bytes.fromhex(meta_id), b"blob"))
    return Contents(bytes.fromhex(tree_id), meta, lambda oid: objects.read_as(oid, b"tree"))

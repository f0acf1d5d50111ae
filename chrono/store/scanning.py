"""Owns the scan of the work tree: what changed since the cached state, read once and put into a sink.

Where objects go is the sink's business, what the cache file looks like `store.statcache`'s. The scan believes a stat
key only if it is older than the scan's own tick (the racy rule), follows no link and never waits for a FIFO.
"""

from __future__ import annotations

import errno
import gc
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from chrono.errors import StoreError
from chrono.store import ignore, metadata, tree
from chrono.store.disk import READ_FILE
from chrono.store.handles import FolderHandles
from chrono.store.heavy import EDITOR_NAMES, HEAVY_NAMES, shows_heavy
from chrono.store.listing import Listing
from chrono.store.names import CHRONO, GIT, STAGE_PREFIX, has_suspects, tree_name
from chrono.store.objects import Sink
from chrono.store.probe import Doubts, ask
from chrono.store.reading import FileReader, NotAFile, Taken, key_of
from chrono.store.snapshot import Excluded, Skip
from chrono.store.statcache import CAPTURED, HEAVY, KEPT, NESTED, ZERO, Folder, Key
from chrono.store.totals import is_control_only, total
from chrono.tuples import NamedTuple

RACY_NS = 20_000_000
"""The clock of a file system may be this much behind: younger entries are read again (specs: savepoints section 2)."""

TIMES_AT_MOST = 50
"""Of more changed files no times are noted: nobody edits so many by hand between two savepoints."""

_COMMON_KINDS = {stat.S_IFREG | 0o644: tree.FILE, stat.S_IFREG | 0o755: tree.EXECUTABLE}
_SQLITE = b"SQLite format 3\0"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Rules(NamedTuple):
    """What a scan leaves out. `ignored_cap_bytes` holds for files that the project's .gitignore names."""

    patterns: ignore.Patterns = ignore.NOTHING
    cap_bytes: int = 1 << 30
    ignored_cap_bytes: int = 10 << 20
    fingerprint: bytes = b"\0" * 20


class Found(NamedTuple):
    """The result: `root` is complete (trees and pieces made), `tree` and `meta` are 20-byte ids."""

    root: Folder
    tree: bytes
    meta: bytes | None
    meta_text: bytes
    skips: tuple[Skip, ...]
    excluded: tuple[Excluded, ...]
    live: tuple[str, ...]
    file_count: int
    changed_count: int
    written: tuple[tuple[str, int], ...]
    gone: tuple[bytes, ...]
    unsettled: frozenset[bytes] = frozenset()
    is_shared: bool = False
    touched: tuple[Folder, ...] = ()


class Watching(Protocol):
    """What spares a scan asking the kernel: somebody who watched since the last one (`store.hints`)."""

    def watch(self, path: bytes, fd: int) -> bool:
        """Watches a folder from before it is listed. False where another one, or none, was watched at `path`."""

    def doubts(self, base: Folder) -> Doubts | None:
        """What `probe.ask` would say of all folders; None: it must be asked."""


class Scan:
    """One scan. It changes `base` in place: after an exception the folders must not be used again.

    `racy_from_ns`: keys at or above it are not believed. `root` is an absolute path. In what is `found`, `unsettled`
    are folders that hold a key that is not believed; `is_shared`: a file was seen that has more names than one;
    `touched` are the folders that the stat cache does not know as they are now.
    """

    def __init__(
        self,
        root: bytes,
        base: Folder,
        rules: Rules,
        sink: Sink,
        racy_from_ns: int,
        watching: Watching | None = None,
    ) -> None:
        self._root = root
        self._base = base
        self._rules = rules
        self._sink = sink
        self._reader = FileReader(sink, racy_from_ns)
        self._handles = FolderHandles(root)
        self._watching = watching
        self._doubts: Doubts = {}
        self._leads: set[bytes] = set()
        self._visited: list[Folder] = []
        self._is_shared = False
        self._changed = 0
        self._written: list[tuple[bytes, int]] = []
        self._gone: list[bytes] = []
        self._dropped: set[bytes] = set()
        self._gitignores: dict[bytes, ignore.Patterns] = {}

    def run(self) -> Found:
        """Raises StoreError where the project's folder itself cannot be read, or where the sink fails."""
        with self._handles, without_collector():
            order = self._walk()
            if self._base.state != CAPTURED:
                raise StoreError(f"{os.fsdecode(self._root)} cannot be read", "check its permissions")
            if self._base.totals is None:
                order = self._base.walk()
            self._make_trees(order)
            for folder in reversed(order):
                folder.totals = total(folder, self._root)
        return self._report(order)

    # --- the walk

    def _walk(self) -> list[Folder]:
        """Visits every folder that is in doubt; returns them and all above them, a folder before its content."""
        hinted = self._watching.doubts(self._base) if self._watching is not None else None
        self._doubts = self._ask_all() if hinted is None else hinted
        for path in self._doubts:
            self._lead_to(path)
        order = []
        stack = [self._base]
        while stack:
            folder = stack.pop()
            if folder.path in self._doubts and not self._visit(folder):
                continue
            order.append(folder)
            if folder.state == CAPTURED and folder.children:
                stack += [child for child in reversed(folder.children) if child.path in self._leads]
        return order

    def _ask_all(self) -> Doubts:
        folders = self._base.walk()
        doubts = ask(self._root, [folder for folder in folders if folder.state == CAPTURED])
        doubts.update((folder.path, None) for folder in folders if folder.state != CAPTURED)
        return doubts

    def _lead_to(self, path: bytes) -> None:
        while path not in self._leads:
            self._leads.add(path)
            path = path.rpartition(b"/")[0]

    def _doubt(self, folder: Folder) -> None:
        """It must be listed, although nothing was said of it."""
        self._doubts[folder.path] = None
        self._leads.add(folder.path)

    def _visit(self, folder: Folder) -> bool:
        """Whether it is still there."""
        keys = self._doubts[folder.path]
        if folder.state != CAPTURED:
            self._revisit(folder)
        elif keys is None or not self._reread(folder, keys):
            self._look(folder)
        return folder.path not in self._dropped

    def _place(self, folder: Folder) -> bytes:
        return self._root + b"/" + folder.path if folder.path else self._root

    def _reread(self, folder: Folder, keys: Sequence[Key]) -> bool:
        """Reads again the files of a folder whose names did not change. False where more than content changed."""
        if folder.skips:
            return False
        self._visited.append(folder)
        try:
            fd = self._handles.fd(folder.path)
            for index, key in enumerate(keys):
                if key == folder.keys[index]:
                    continue
                name = folder.names[index]
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                self._is_shared = self._is_shared or found.st_nlink > 1
                if not _holds_content(found.st_mode) or found.st_size > self._rules.ignored_cap_bytes:
                    return False
                taken = self._reader.take(fd, name, found)
                if taken.reason is not None or taken.forced != (name in folder.forced):
                    return False
                if (taken.oid, taken.mode) != (folder.oids[index], folder.modes[index]):
                    self._note_written(folder, name, found)
                self._replace(folder, index, taken)
            self._note_live(folder, fd)
        except OSError:
            return False
        return True

    def _replace(self, folder: Folder, index: int, taken: Taken) -> None:
        if (taken.oid, taken.mode) != (folder.oids[index], folder.modes[index]):
            folder.oids[index] = taken.oid
            folder.modes[index] = taken.mode
            self._changed += 1
            folder.dirty()
        if taken.key != folder.keys[index]:
            folder.keys[index] = taken.key
            folder.touched = True

    def _revisit(self, folder: Folder) -> None:
        """A folder that was not captured last time: is the reason still there?"""
        parent = folder.parent
        if parent is None:
            folder.state = CAPTURED
            self._look(folder)
            return
        if folder.state == HEAVY:
            try:
                found = os.lstat(self._place(folder))
                if key_of(found) == folder.key:
                    return
                fd = self._handles.fd(parent.path)
                if shows_heavy(folder.name, fd, _siblings(fd)):
                    folder.key = self._reader.believed(found)
                    folder.touched = True
                    return
            except OSError:
                pass
        if folder.state == KEPT:
            folder.piece = None  # its tree stays: if it still cannot be read, that stands in once more
        else:
            folder.dirty()
            _dirty_up(parent)
        folder.state = CAPTURED
        self._look(folder)

    # --- one folder, listed anew

    def _look(self, folder: Folder) -> None:
        self._visited.append(folder)
        try:
            fd = self._handles.fd(folder.path)
            if self._watching is not None and not self._watching.watch(folder.path, fd):
                for inner in folder.walk():  # what was known of them is of other folders
                    self._doubt(inner)
            before = os.fstat(fd)
            names = sorted(map(os.fsencode, os.listdir(fd)))
            if CHRONO in names and folder.parent is not None and _is_project(fd):
                self._become_nested(folder)
                return
            listing = Listing(folder)
            siblings = frozenset(names)
            for name in names:
                try:
                    found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    listing.trust = False
                    continue
                self._enter(folder, listing, fd, name, found, siblings)
        except PermissionError:
            self._keep(folder)
            return
        except OSError as error:
            if error.errno in _GONE:
                self._drop(folder)
                return
            self._keep(folder)
            return
        self._accept(folder, listing, before)
        self._note_live(folder, fd)

    def _enter(
        self,
        folder: Folder,
        listing: Listing,
        fd: int,
        name: bytes,
        found: os.stat_result,
        siblings: frozenset[bytes],
    ) -> None:
        is_folder = stat.S_ISDIR(found.st_mode)
        kind = self._left_out(folder, listing, name, is_folder)
        if kind is not None:
            listing.excluded.append((name, kind))
            if kind == "git" and folder.path:
                listing.skips.append((name, "git", False))
            # A `.chrono` may become a project without its folder changing.
            listing.trust = listing.trust and not (kind == "chrono" and folder.path)
        elif is_folder:
            self._enter_folder(folder, listing, fd, name, found, siblings)
        elif not _holds_content(found.st_mode):
            listing.keep(name, "special")
        elif found.st_size > self._rules.ignored_cap_bytes and self._over_cap(folder.below(name), found.st_size):
            listing.keep(name, "over-cap")
        else:
            self._enter_file(listing, fd, name, found)

    def _left_out(self, folder: Folder, listing: Listing, name: bytes, is_folder: bool) -> str | None:
        """The kind of exclusion that the name alone decides."""
        if name == GIT:
            return "git"
        if name == CHRONO or name.startswith(STAGE_PREFIX):
            return "chrono"
        if listing.control is not None and listing.control.fullmatch(name):
            return "control"
        if is_folder and name in HEAVY_NAMES:
            return "heavy"
        if is_folder and name in EDITOR_NAMES:
            return "ignored"
        if self._rules.patterns.items and self._rules.patterns.decides(folder.below(name), is_folder=is_folder):
            return "ignored"
        return None

    def _enter_folder(
        self,
        folder: Folder,
        listing: Listing,
        fd: int,
        name: bytes,
        found: os.stat_result,
        siblings: frozenset[bytes],
    ) -> None:
        child = listing.old_children.get(name)
        if child is None:
            child = Folder(folder.below(name), folder)
            if shows_heavy(name, fd, siblings):
                child.state = HEAVY
                child.key = self._reader.believed(found)
            child.touched = True
            self._doubt(child)
        listing.children.append(child)

    def _enter_file(self, listing: Listing, fd: int, name: bytes, found: os.stat_result) -> None:
        self._is_shared = self._is_shared or found.st_nlink > 1
        old = listing.old.get(name)
        key = key_of(found)
        if old is not None and key == old[0]:
            listing.add(name, old[0], found.st_mode, old[2], forced=name in listing.folder.forced)
            return
        try:
            taken = self._reader.take(fd, name, found)
        except FileNotFoundError:
            listing.trust = False
        except NotAFile:
            listing.keep(name, "special")
        except OSError:
            listing.keep(name, "unreadable")
        else:
            if old is None or old[1:] != (taken.mode, taken.oid):
                self._note_written(listing.folder, name, found)
            listing.add(name, taken.key, taken.mode, taken.oid, forced=taken.forced)
            if taken.reason is not None:
                listing.skips.append((name, taken.reason, True))

    def _accept(self, folder: Folder, listing: Listing, before: os.stat_result) -> None:
        """Puts the listing in the folder's place, and notes what differs from the last savepoint."""
        self._changed += listing.changes()
        kept = {child.path for child in listing.children}
        for child in folder.children:
            if child.path not in kept:
                self._forget(child)
        new_mode = stat.S_IMODE(before.st_mode)
        if listing.differs() or new_mode != folder.mode:
            folder.dirty()
        # What is not in the savepoint may become readable, or small enough, without the folder changing.
        watch = any(reason not in ("git", "special") for _, reason, _ in listing.skips)
        key = self._reader.believed(before) if listing.trust and not watch else ZERO
        if (key, listing.keys) != (folder.key, folder.keys):
            folder.touched = True
        folder.key = key
        folder.mode = new_mode
        folder.names = listing.names
        folder.keys = listing.keys
        folder.modes = listing.modes
        folder.oids = listing.oids
        folder.children = listing.children
        folder.excluded = listing.excluded
        folder.skips = listing.skips
        folder.forced = frozenset(listing.forced)

    def _become_nested(self, folder: Folder) -> None:
        for child in folder.children:
            self._forget(child)
        self._changed += len(folder.names)
        _empty(folder, NESTED)
        _dirty_up(folder.parent)

    def _keep(self, folder: Folder) -> None:
        """A folder that cannot be read keeps what the last savepoint had of it: that is not a deletion."""
        folder.state = KEPT
        folder.key = ZERO
        folder.piece = None
        folder.touched = True

    def _drop(self, folder: Folder) -> None:
        """It went away between its parent's listing and now."""
        if folder.parent is None:
            raise StoreError(f"{os.fsdecode(self._root)} is gone")
        self._forget(folder)
        self._dropped.add(folder.path)
        folder.parent.children = [child for child in folder.parent.children if child is not folder]
        folder.parent.key = ZERO
        folder.parent.dirty()
        folder.children = []
        folder.state = HEAVY

    def _forget(self, folder: Folder) -> None:
        self._gone.append(folder.path)
        for inner in folder.walk():
            self._changed += len(inner.names)

    def _note_written(self, folder: Folder, name: bytes, found: os.stat_result) -> None:
        """When it was written at the earliest: the time of the content can be set, that of the inode only moves on."""
        if len(self._written) <= TIMES_AT_MOST:
            self._written.append((folder.below(name), min(found.st_mtime_ns, found.st_ctime_ns)))

    def _note_live(self, folder: Folder, fd: int) -> None:
        """SQLite databases with a write-ahead log beside them are marked: they were captured while in use."""
        names = set(folder.names)
        live = [name for name in folder.names if name + b"-wal" in names and _starts_with(fd, name, _SQLITE)]
        if live != folder.live:
            folder.live = live
            folder.piece = None
            folder.touched = True

    # --- caps

    def _over_cap(self, path: bytes, size: int) -> bool:
        if size > self._rules.cap_bytes:
            return True
        return ignore.ignored(path, is_folder=False, files=self._gitignore)

    def _gitignore(self, folder: bytes) -> ignore.Patterns:
        """What git ignores by the files of one folder; the root's also hold `.git/info/exclude`."""
        known = self._gitignores.get(folder)
        if known is None:
            place = os.path.join(self._root, folder) if folder else self._root
            known = ignore.parse(_small_file(place + b"/.gitignore"))
            if not folder:
                exclude = ignore.parse(_small_file(place + b"/.git/info/exclude"))
                known = ignore.Patterns(exclude.items + known.items)
            self._gitignores[folder] = known
        return known

    # --- trees and the report

    def _make_trees(self, order: list[Folder]) -> None:
        for folder in reversed(order):
            if folder.tree is None and folder.state == CAPTURED:
                folder.tree = self._sink.put(b"tree", tree.build(_entries(folder)))
                folder.touched = True
                if not folder.names:
                    folder.piece = None  # whether it is shown at all depends on what is in it
                if folder.parent is not None:
                    folder.parent.tree = None

    def _report(self, order: list[Folder]) -> Found:
        sums = self._base.totals
        if self._base.tree is None or sums is None:
            raise StoreError("the scan made no tree")
        meta_text = metadata.HEADER + sums.metadata if sums.metadata else b""
        meta = self._sink.put(b"blob", meta_text) if meta_text else None
        written = self._written if len(self._written) <= TIMES_AT_MOST else []
        return Found(
            self._base,
            self._base.tree,
            meta,
            meta_text,
            sums.skips,
            sums.excluded,
            sums.live,
            sums.file_count,
            self._changed,
            tuple((os.fsdecode(path), at_ns) for path, at_ns in written),
            tuple(self._gone),
            frozenset(folder.path for folder in self._visited if folder.key == ZERO or ZERO in folder.keys),
            self._is_shared,
            tuple(folder for folder in order if folder.touched),
        )


@contextmanager
def without_collector() -> Iterator[None]:
    """Scans and restores make many small values and no cycle; looking for some again and again takes a tenth of the
    time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _holds_content(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _is_project(fd: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(CHRONO + b"/repo.git", dir_fd=fd, follow_symlinks=False).st_mode)
    except PermissionError:  # somebody else's
        return True
    except OSError:
        return False


def _siblings(fd: int) -> frozenset[bytes]:
    return frozenset(map(os.fsencode, os.listdir(fd)))


def _starts_with(fd: int, name: bytes, magic: bytes) -> bool:
    try:
        file = os.open(name, READ_FILE, dir_fd=fd)
    except OSError:
        return False
    try:
        return os.read(file, len(magic)) == magic
    except OSError:
        return False
    finally:
        os.close(file)


def _small_file(path: bytes) -> bytes:
    """The content of an ignore file; nothing where it cannot be read or is a link, as git does it."""
    try:
        fd = os.open(path, READ_FILE)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _entries(folder: Folder) -> Iterator[tuple[bytes, int, bytes]]:
    if folder.forced or has_suspects(folder.names):
        names = [
            tree_name(name, is_link=stat.S_ISLNK(mode), forced=name in folder.forced)
            for name, mode in zip(folder.names, folder.modes, strict=True)
        ]
    else:
        names = folder.names
    kinds = [_COMMON_KINDS.get(mode) or _kind(mode) for mode in folder.modes]
    yield from zip(names, kinds, folder.oids, strict=True)
    for child in folder.children:
        if child.state in (CAPTURED, KEPT) and child.tree is not None and not is_control_only(child):
            yield tree_name(child.name), tree.FOLDER, child.tree


def _kind(mode: int) -> int:
    return tree.LINK if stat.S_ISLNK(mode) else metadata.git_mode(mode)


def _empty(folder: Folder, state: int) -> None:
    folder.dirty()
    folder.state = state
    folder.key = ZERO
    folder.names, folder.keys, folder.modes, folder.oids = [], [], [], []
    folder.children, folder.excluded, folder.skips, folder.live = [], [], [], []
    folder.forced = frozenset()


def _dirty_up(folder: Folder | None) -> None:
    if folder is not None:
        folder.tree = None
        folder.touched = True

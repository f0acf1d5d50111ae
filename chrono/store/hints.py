"""Owns what a resident process knows of a project between two scans: which folders the kernel says have changed.

A hint spares a scan asking about the other folders; what is found is the same. In any doubt there is no hint, and the
scan is a full one. Reading the kernel's notices is left to `store.inotify`, the scan to `store.scanning`. The argument
why nothing is missed: docs/decisions/0049.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator

from chrono.store import inotify
from chrono.store.handles import FolderHandles
from chrono.store.inotify import Event, Inotify
from chrono.store.mounts import MOUNTS, Identity, identity, is_watchable
from chrono.store.probe import Doubts, ask
from chrono.store.reading import key_of
from chrono.store.scanning import Found
from chrono.store.statcache import CAPTURED, HEAVY, Folder
from chrono.tuples import NamedTuple

UNCHECKED_AT_MOST = 8
"""So many hinted scans may follow each other before one that asks about every folder."""

SHARE = 2
"""One in so many of the watches that the system grants a user is all that one project takes."""

_LIMIT = "/proc/sys/fs/inotify/max_user_watches"
_PART = 256
_MOVES = inotify.CREATE | inotify.DELETE | inotify.MOVED_FROM | inotify.MOVED_TO
_ENDS = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.IGNORED


class HintCheck(NamedTuple):
    """The outcome of asking about every folder. `done` False: a scan came between, or nothing can be said.

    `missed` are folders, relative bytes, that differ although no notice of theirs came.
    """

    done: bool
    missed: tuple[bytes, ...] = ()


_NOT_DONE = HintCheck(False)


class Hints:
    """The watches of one project. Scans come one after another; `check` and `close` may run beside them.

    A folder is believed unseen only if it was watched from before it was last listed or asked about, under the path it
    has, and no notice of it came since. `root` and `tick`, the file that each scan touches, are absolute.
    """

    def __init__(self, root: bytes, tick: bytes) -> None:
        self._root = root
        self._tick = tick
        self._guard = threading.RLock()
        self._inotify: Inotify | None = None
        self._mounts: int | None = None
        self._place: Identity | None = None
        self._tick_watch = -1
        self._stopped = ""
        self._generation = 0
        self._unchecked = 0
        self._proven: Folder | None = None
        self._found: Found | None = None
        self._folders: dict[bytes, Folder] = {}
        self._odd: list[Folder] = []
        self._watches: dict[bytes, int] = {}
        self._paths: dict[int, bytes] = {}
        self._suspects: set[bytes] = set()
        self._deep: set[bytes] = set()
        self._unsettled: frozenset[bytes] = frozenset()
        self._taken: tuple[set[bytes], set[bytes]] = (set(), set())
        self._is_shared = False
        self._hinted = False
        self._scanning = False

    @property
    def stopped(self) -> str:
        """Why there are none any more; empty as long as there may be some."""
        return self._stopped

    @property
    def due(self) -> bool:
        """Whether a scan was made since the last `check`."""
        return not self._stopped and self._unchecked > 0

    def close(self) -> None:
        self.stop("closed")

    def stop(self, why: str) -> None:
        """No hint from now on."""
        with self._guard:
            self._stopped = self._stopped or why
            self._reset()

    # --- around one scan

    def begin(self, base: Folder | None) -> bool:
        """Takes what came up to now; the tick was touched just before. True: hints may be used on `base`.

        `base` is None where the scan is to be a full one.
        """
        with self._guard:
            self._generation += 1
            self._scanning = True
            alive = self._inotify is not None and self._drain(touched=True)
            suspects, deep = self._taken
            suspects |= self._suspects
            deep |= self._deep
            self._suspects, self._deep = set(), set()
            self._hinted = (
                alive
                and base is not None
                and base is self._proven
                and self._found is not None
                and self._found.root is base
                and not self._is_shared
                and self._unchecked < UNCHECKED_AT_MOST
            )
            self._unchecked += 1
            return self._hinted

    def unchanged(self) -> Found | None:
        """What the last scan found, if there is nothing at all to look at since."""
        with self._guard:
            found = self._found
            if not self._hinted or found is None or self._unsettled or any(self._taken):
                return None
            if len(self._watches) != len(self._folders) - len(self._odd) or not all(map(self._is_still, self._odd)):
                return None
            return found._replace(changed_count=0, written=(), gone=(), touched=())

    def doubts(self, base: Folder) -> Doubts | None:
        """What `probe.ask` would say of all folders of `base`, or more; None: ask about all."""
        with self._guard:
            if not self._hinted:
                return None
            suspects, deep = self._taken
            doubts: Doubts = {}
            if len(self._watches) != len(self._folders):
                doubts.update(dict.fromkeys(self._folders.keys() - self._watches.keys()))
            for top in map(self._folders.get, deep):
                if top is not None:
                    doubts.update((folder.path, None) for folder in top.walk())
            asked = [
                folder
                for folder in map(self._folders.get, suspects | self._unsettled)
                if folder is not None and folder.path not in doubts
            ]
        doubts.update(ask(self._root, asked))
        return doubts

    def watch(self, path: bytes, fd: int) -> bool:
        """Watches a folder from before it is listed. False where another one, or none, was watched at `path`."""
        with self._guard:
            return not self._hinted if self._inotify is None else self._watch(path, fd)

    def settle(self, found: Found) -> None:
        """The savepoint holds what the scan found: what was taken for it is done with."""
        with self._guard:
            self._scanning = False
            self._taken = (set(), set())
            live = {os.path.dirname(os.fsencode(path)) for path in found.live}
            self._unsettled = found.unsettled | live
            self._is_shared = self._is_shared or found.is_shared
            if self._is_reshaped(found):
                self._folders = {folder.path: folder for folder in found.root.walk()}
                self._odd = [folder for folder in self._folders.values() if folder.state != CAPTURED]
                self._forget_all_but(self._folders)
            self._found = found

    def _is_reshaped(self, found: Found) -> bool:
        """Whether folders came, went, or are left out or taken in otherwise than before."""
        return (
            self._found is None
            or found.root is not self._found.root
            or bool(found.gone)
            or any(
                self._folders.get(folder.path) is not folder or folder.state != CAPTURED or folder in self._odd
                for folder in found.touched
            )
        )

    def lapse(self) -> None:
        """The folders were changed by something else than a scan: the next one is full."""
        with self._guard:
            self._proven = None

    # --- beside the scans

    def check(self) -> HintCheck:
        """Asks about every folder, and whether each that differs was noticed. Until it is done the first time, and
        again after each doubt, there are no hints: it also sets the watches."""
        with self._guard:
            found, generation = self._found, self._generation
            if self._stopped or self._scanning or found is None or not self._ready():
                return _NOT_DONE
            is_first = self._proven is not found.root
        folders = list(_reachable(found.root))
        fresh = self._watch_all(folders, generation)
        shared: list[bytes] = []
        different: set[bytes] = set()
        for start in range(0, len(folders), _PART):
            if generation != self._generation:
                return _NOT_DONE
            part = folders[start : start + _PART]
            different.update(ask(self._root, part, shared))
        with self._guard:
            if generation != self._generation or self._stopped or not self._drain():
                return _NOT_DONE
            self._unchecked = 0
            self._is_shared = bool(shared)
            explained = fresh.union(self._suspects, self._taken[0], self._unsettled, shared)
            missed = different - explained - _below(self._deep | self._taken[1], different)
            missed = set() if is_first else {path for path in missed if not self._is_closed(path)}
            self._suspects |= different
            self._proven = found.root
            if missed:
                self.stop("a change was not noticed")
            return HintCheck(True, tuple(sorted(missed)))

    def _is_closed(self, path: bytes) -> bool:
        """Whether a folder above it was closed to us: of those below nothing is told, and nothing is read."""
        try:
            os.lstat(os.path.join(self._root, path, b"."))
        except PermissionError:
            return True
        except OSError:
            pass
        return False

    def _watch_all(self, folders: list[Folder], generation: int) -> set[bytes]:
        """Watches those that are not yet; returns them."""
        fresh: set[bytes] = set()
        with FolderHandles(self._root) as handles:
            for folder in folders:
                with self._guard:
                    if generation != self._generation or self._inotify is None:
                        break
                    if folder.path in self._watches:
                        continue
                    fresh.add(folder.path)
                    try:
                        self._watch(folder.path, handles.fd(folder.path))
                    except OSError:
                        continue  # it is gone or closed to us; unwatched it is looked at each time
        return fresh

    # --- the kernel's side

    def _ready(self) -> bool:
        """Whether there is an instance that watches the right place; makes one."""
        if self._inotify is not None:
            return self._drain()
        try:
            self._place = identity(self._root)
            self._mounts = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
            if not is_watchable(self._root):
                self.stop("its file system does not tell of every change")
                return False
            self._inotify = Inotify()
            self._tick_watch = self._inotify.watch_file(self._tick)
        except OSError as error:
            self.stop(f"the system watches nothing more: {error.strerror}")
            return False
        return True

    def _reset(self) -> None:
        """Everything that was noticed is forgotten: the next scan is full, the next check begins anew."""
        if self._inotify is not None:
            self._inotify.close()
        if self._mounts is not None:
            os.close(self._mounts)
        self._inotify = self._mounts = self._place = self._proven = None
        self._watches.clear()
        self._paths.clear()
        self._suspects.clear()
        self._deep.clear()

    def _drain(self, *, touched: bool = False) -> bool:
        """Reads all notices. False, and everything forgotten, where there may be some that did not come."""
        assert self._inotify is not None
        try:
            ticked = self._sort(self._inotify.read())
            if ticked is not None and (ticked or not touched) and self._is_in_place():
                return True
        except OSError:
            pass
        self._reset()
        return False

    def _sort(self, events: Iterator[Event]) -> bool | None:
        """Notes what they are about. Whether the tick was among them; None for one that leaves everything in doubt."""
        ticked = False
        for watch, mask, name in events:
            if mask & (inotify.OVERFLOW | inotify.UNMOUNT):
                return None
            if watch == self._tick_watch:
                if not mask & inotify.ATTRIB:
                    return None
                ticked = True
                continue
            path = self._paths.get(watch)
            if path is None or (not path and mask & _ENDS):
                return None
            self._suspects.add(path)
            if mask & _ENDS:
                if self._watches.get(path) == watch:
                    del self._watches[path]
                self._deep.add(path)
                if mask & inotify.IGNORED:
                    del self._paths[watch]
            elif mask & inotify.IS_FOLDER and mask & _MOVES:
                self._deep.add(path + b"/" + name if path else name)
        return ticked

    def _is_in_place(self) -> bool:
        """Whether the project is where it was, and nothing was mounted or unmounted since."""
        assert self._mounts is not None
        changes = select.poll()
        changes.register(self._mounts, select.POLLPRI)
        return not changes.poll(0) and identity(self._root) == self._place

    def _watch(self, path: bytes, fd: int) -> bool:
        assert self._inotify is not None
        known = self._watches.get(path)
        try:
            watch = self._inotify.watch_folder(fd)
            if known is None and len(self._paths) > _most_watches():
                raise OSError(28, "too many folders")
        except OSError as error:
            self.stop(f"a folder cannot be watched: {error.strerror}")
            return False
        before = self._paths.get(watch)
        if before is not None and before != path and self._watches.get(before) == watch:
            del self._watches[before]
        self._watches[path] = watch
        self._paths[watch] = path
        return watch == known

    def _forget_all_but(self, folders: dict[bytes, Folder]) -> None:
        for path in [path for path in self._watches if path not in folders or folders[path].state != CAPTURED]:
            watch = self._watches.pop(path)
            if self._inotify is not None:
                self._inotify.unwatch(watch)  # its path stays known until the kernel says that it has ended

    def _is_still(self, folder: Folder) -> bool:
        """Whether a folder that is left out because of what is in it has not changed."""
        try:
            found = os.lstat(os.path.join(self._root, folder.path))
        except OSError:
            return False
        return folder.state == HEAVY and key_of(found) == folder.key


def _reachable(root: Folder) -> Iterator[Folder]:
    """The folders that a scan asks about."""
    stack = [root]
    while stack:
        folder = stack.pop()
        if folder.state == CAPTURED:
            yield folder
            stack.extend(folder.children)


def _below(deep: set[bytes], paths: set[bytes]) -> set[bytes]:
    """Those of `paths` that are one of `deep` or below one."""
    found = set()
    for path in paths:
        part = path
        while part and part not in deep:
            part = part.rpartition(b"/")[0]
        if part in deep:
            found.add(path)
    return found


_most: list[int] = []


def _most_watches() -> int:
    if not _most:
        with open(_LIMIT, "rb") as file:
            _most.append(int(file.read()) // SHARE)
    return _most[0]

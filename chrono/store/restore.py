"""Owns bringing the work tree to a savepoint: the plan, and carrying it out so that a crash leaves no torn file.

The rescue savepoint and the audit records are the caller's, the journal's bytes `store.journal`'s, each system call
`store.disk`'s. Order and reasons: specs, savepoints section 4.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from stat import S_ISREG

from chrono.errors import Conflict
from chrono.ids import CommitId
from chrono.store.contents import Contents, Entry, within
from chrono.store.disk import READ_FILE
from chrono.store.handles import FolderHandles
from chrono.store.tree import object_id
from chrono.tuples import NamedTuple

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Step(NamedTuple):
    """One path to change. `act`: "delete", "rmdir", "mkdir", "write", "link" or "chmod"."""

    act: str
    path: str
    old: Entry | None
    new: Entry | None


class Left(NamedTuple):
    """A path that differs but is left alone, and why (for people)."""

    path: str
    why: str


class RestorePlan(NamedTuple):
    """What would make the work tree equal to `target` within `paths` (empty: everywhere), given that it is `pre`."""

    pre: CommitId
    target: CommitId
    paths: tuple[str, ...]
    steps: tuple[Step, ...]
    left: tuple[Left, ...]

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps if step.act in ("write", "link"))

    @property
    def deletes(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps if step.act == "delete")


class Restored(NamedTuple):
    """What a restore did, and what it left alone."""

    written: int
    deleted: int
    left: tuple[Left, ...]


class Planner:
    """Makes the steps from the content of `pre` to that of `target`, looking at the disk but changing nothing."""

    def __init__(self, root: bytes, pre: Contents, target: Contents) -> None:
        self._root = root
        self._pre = pre
        self._target = target
        self._steps: list[Step] = []
        self._left: list[Left] = []
        self._blocked: list[bytes] = []
        self._stale = tuple(_skipped(pre) | _skipped(target))

    def plan(self, scopes: tuple[bytes, ...]) -> tuple[tuple[Step, ...], tuple[Left, ...]]:
        with FolderHandles(self._root) as handles:
            for path, old, new in self._pre.differences(self._target):
                if within(path, scopes) or (_is_new_folder(old, new) and _leads_to(path, scopes)):
                    self._add(handles, path, old, new)
        return tuple(self._steps), tuple(self._left)

    def _add(self, handles: FolderHandles, path: bytes, old: Entry | None, new: Entry | None) -> None:
        if self._blocked and within(path, tuple(self._blocked)) and new is not None:
            self._leave(path, "something that no savepoint holds is in its way")
            return
        if self._stale and within(path, self._stale):
            self._leave(path, "one of the two savepoints could not read it")
            return
        if new is None:
            if old is not None:
                self._step("rmdir" if old.is_folder else "delete", path, old, None)
        elif old is None:
            self._create(handles, path, new)
        elif S_ISREG(old.mode) and S_ISREG(new.mode):
            self._step("chmod" if old.oid == new.oid else "write", path, old, new)
        elif old.is_folder and new.is_folder:
            self._step("chmod", path, old, new)
        elif old.is_folder:
            self._folder_to_file(handles, path, old, new)
        elif new.is_folder:
            self._step("delete", path, old, None)
            self._step("mkdir", path, None, new)
        else:
            self._step("link" if new.is_link else "write", path, old, new)

    def _create(self, handles: FolderHandles, path: bytes, new: Entry) -> None:
        """The savepoint of now does not hold `path`: is it free, or is there something that was never captured?"""
        found = _lstat(handles, path)
        if found is None:
            self._step("mkdir" if new.is_folder else "link" if new.is_link else "write", path, None, new)
        elif new.is_folder and stat.S_ISDIR(found.st_mode):
            if found.st_mode != new.mode:
                self._step("chmod", path, Entry(found.st_mode, new.oid), new)
        else:
            self._blocked.append(path)
            self._leave(path, "there is something there that no savepoint holds")

    def _folder_to_file(self, handles: FolderHandles, path: bytes, old: Entry, new: Entry) -> None:
        if self._holds_uncaptured(handles, path):
            self._leave(path, "the folder there holds files that no savepoint holds")
            return
        self._step("rmdir", path, old, None)
        self._step("link" if new.is_link else "write", path, None, new)

    def _holds_uncaptured(self, handles: FolderHandles, folder: bytes) -> bool:
        stack = [folder]
        while stack:
            path = stack.pop()
            try:
                fd = handles.fd(path)
                names = set(map(os.fsencode, os.listdir(fd)))
            except OSError as error:
                if error.errno in _ABSENT:
                    continue
                return True
            if not names <= self._pre.names(path):
                return True
            for name in names:
                below = path + b"/" + name
                entry = self._pre.find(below)
                if entry is not None and entry.is_folder:
                    stack.append(below)
        return False

    def _step(self, act: str, path: bytes, old: Entry | None, new: Entry | None) -> None:
        self._steps.append(Step(act, os.fsdecode(path), old, new))

    def _leave(self, path: bytes, why: str) -> None:
        self._left.append(Left(os.fsdecode(path), why))


def _skipped(contents: Contents) -> frozenset[bytes]:
    return frozenset(os.fsencode(skip.path) for skip in contents.meta.skips if skip.reason not in ("git", "unstable"))


def _is_new_folder(old: Entry | None, new: Entry | None) -> bool:
    return new is not None and new.is_folder and not (old is not None and old.is_folder)


def _leads_to(path: bytes, scopes: tuple[bytes, ...]) -> bool:
    return any(scope.startswith(path + b"/") for scope in scopes)


def _lstat(handles: FolderHandles, path: bytes) -> os.stat_result | None:
    """What is at `path` below folders only; None where nothing is, or a link or file stands in its way."""
    folder, _, name = path.rpartition(b"/")
    return _lstat_in(handles, folder, name)


def _lstat_in(handles: FolderHandles, folder: bytes, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=handles.fd(folder), follow_symlinks=False)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


Believed = Callable[[bytes, bytes, os.stat_result], str | None]
"""The object id that the stat cache vouches for, given a folder, a name in it and what lstat says now; None where it
must be read."""


def check(root: bytes, plan: RestorePlan, believed: Believed) -> None:
    """Makes sure that each path the plan would change still is as in `plan.pre`. Raises Conflict; changes nothing."""
    deleted: set[str] = set()
    with FolderHandles(root) as handles:
        for step in plan.steps:
            folder, _, name = os.fsencode(step.path).rpartition(b"/")
            try:
                found = _lstat_in(handles, folder, name)
                if step.old is None:
                    same = found is None or step.path in deleted
                else:
                    same = found is not None and _is_still(handles, folder, name, found, step.old, believed)
            except OSError as error:
                raise Conflict(f"{step.path} cannot be read: {error.strerror}", _AGAIN) from None
            if not same:
                raise Conflict(f"{step.path} changed while the restore was being prepared", _AGAIN)
            if step.act in ("delete", "rmdir"):
                deleted.add(step.path)


_AGAIN = "nothing was touched; try again"


def _is_still(
    handles: FolderHandles, folder: bytes, name: bytes, found: os.stat_result, old: Entry, believed: Believed
) -> bool:
    kind = stat.S_IFMT(old.mode)
    if stat.S_IFMT(found.st_mode) != kind:
        return False
    if kind == stat.S_IFDIR:
        return True
    oid = believed(folder, name, found)
    if oid is None:
        oid = _hash(handles, folder, name, old)
    return oid == old.oid


def _hash(handles: FolderHandles, folder: bytes, name: bytes, entry: Entry) -> str:
    import hashlib

    fd = handles.fd(folder)
    if entry.is_link:
        return object_id(b"blob", os.readlink(name, dir_fd=fd)).hex()
    file = os.open(name, READ_FILE, dir_fd=fd)
    try:
        digest = hashlib.sha1(b"blob %d\0" % os.fstat(file).st_size, usedforsecurity=False)
        while chunk := os.read(file, 1 << 20):
            digest.update(chunk)
    finally:
        os.close(file)
    return digest.hexdigest()

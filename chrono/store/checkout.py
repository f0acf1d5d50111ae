"""Owns writing a whole savepoint into an empty folder outside the project, and telling what changed there since.

The project itself is only read (a file may be cloned from it where the file system can). Which folder, and that it is
fit for this, is decided by `workspace.worktrees`; bringing the project itself back is `store.restore`'s.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from chrono.errors import StoreError
from chrono.store import diff
from chrono.store.belongings import SET_ID
from chrono.store.contents import Contents, Entry, within
from chrono.store.diff import Change
from chrono.store.disk import READ_FILE, Disk
from chrono.store.handles import FolderHandles
from chrono.store.metadata import EMPTY
from chrono.store.metadata import parse as parse_metadata
from chrono.store.names import is_ours_to_leave
from chrono.store.objects import HashOnly
from chrono.store.scanning import Rules, Scan
from chrono.store.statcache import Folder
from chrono.tuples import NamedTuple

Blob = Callable[[bytes], tuple[int, Iterator[bytes]]]
"""A blob by its 20-byte id: its size in bytes, and its content in pieces."""

Clone = Callable[[int, int], bool]
"""Makes the file `target` (a descriptor) share the content of `source`; False where the file system cannot."""

_FICLONE = 0x40049409
_CHUNK_BYTES = 1 << 20
_NEVER_RACY_NS = 1 << 62


class CheckedOut(NamedTuple):
    """What was written: `files` and links, `cloned` of them without copying, and their size in bytes."""

    files: int
    cloned: int
    size_bytes: int


def reflink(source: int, target: int) -> bool:
    """Shares the blocks of `source` (Linux FICLONE: btrfs, XFS, bcachefs; both on one file system)."""
    try:
        import fcntl

        fcntl.ioctl(target, _FICLONE, source)
    except (OSError, ImportError):
        return False
    return True


class Checkout:
    """Writes `contents` into a folder that exists and is empty.

    `root` is the project: a file there that has the wanted content is cloned. Every content is checked against its
    id, whichever way it came. Paths that `leave` says so of are not written.
    """

    def __init__(
        self,
        root: bytes,
        contents: Contents,
        blob: Blob,
        disk: Disk,
        clone: Clone = reflink,
        leave: Callable[[bytes], bool] = is_ours_to_leave,
    ) -> None:
        self._contents = contents
        self._blob = blob
        self._disk = disk
        self._clone = clone
        self._leave = leave
        self._project = FolderHandles(root)
        self._may_clone = True
        self._modes: list[tuple[bytes, int]] = []
        self._files = self._cloned = self._bytes = 0

    def into(self, folder: bytes) -> CheckedOut:
        """Raises StoreError (an object is missing or damaged, the disk is full, a name exists already)."""
        try:
            with FolderHandles(folder) as handles, self._project:
                stack = [(b"", self._contents.root)]
                while stack:
                    path, oid = stack.pop()
                    stack += self._fill(handles, path, oid)
                for path, mode in sorted(self._modes, reverse=True):
                    self._disk.fchmod(handles.fd(path), mode)
        except OSError as error:
            name = os.fsdecode(error.filename) if error.filename is not None else ""
            raise StoreError(f"the savepoint could not be checked out: {name}: {error.strerror}") from error
        return CheckedOut(self._files, self._cloned, self._bytes)

    def _fill(self, handles: FolderHandles, folder: bytes, oid: bytes) -> list[tuple[bytes, bytes]]:
        """Writes what is directly in `folder`; returns the folders made, to be filled next."""
        below = []
        for name, found in sorted(self._contents.list(oid).items()):
            path = folder + b"/" + name if folder else name
            if self._leave(path):
                continue
            entry = self._contents.entry(path, found)
            fd = handles.fd(folder)
            if entry.is_folder:
                self._disk.mkdir(name, 0o700, fd)
                self._modes.append((path, stat.S_IMODE(entry.mode)))
                below.append((path, found.oid))
                continue
            if entry.is_link:
                self._disk.symlink(b"".join(self._blob(found.oid)[1]), name, fd)
            else:
                self._write(path, name, entry, fd)
            self._files += 1
        return below

    def _write(self, path: bytes, name: bytes, entry: Entry, dir_fd: int) -> None:
        out = self._disk.create(name, 0o600, dir_fd)
        try:
            size = self._cloned_from_project(path, entry, out) if self._may_clone else None
            if size is not None:
                self._cloned += 1
            else:
                size, chunks = self._blob(bytes.fromhex(entry.oid))
                digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
                for chunk in chunks:
                    digest.update(chunk)
                    self._disk.pour(out, chunk)
                self._disk.end_at(out, size)
                if digest.hexdigest() != entry.oid:
                    raise StoreError(f"object {entry.oid} is damaged: its content has another id")
            self._disk.fchmod(out, stat.S_IMODE(entry.mode) & ~SET_ID)
        finally:
            os.close(out)
        self._bytes += size

    def _cloned_from_project(self, path: bytes, entry: Entry, out: int) -> int | None:
        """The size of what `out` now shares with the project's file at `path`; None where that is not the content
        wanted, or where nothing can be shared."""
        folder, _, name = path.rpartition(b"/")
        try:
            source = os.open(name, READ_FILE, dir_fd=self._project.fd(folder))
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                return None
            if not self._clone(source, out):
                self._may_clone = False
                return None
        finally:
            os.close(source)
        size = os.fstat(out).st_size
        if _hash(out, size) == entry.oid:
            return size
        self._disk.truncate(out, 0)
        return None


def _hash(fd: int, size: int) -> str:
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    offset = 0
    while chunk := os.pread(fd, _CHUNK_BYTES, offset):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()


def changed(folder: bytes, contents: Contents) -> tuple[Change, ...]:
    """What differs now in `folder` from `contents`, which was checked out there. Folders that a build makes anew do
    not count. Raises StoreError where the folder cannot be read."""
    sink = HashOnly()
    found = Scan(folder, Folder(b"", None), Rules(), sink, _NEVER_RACY_NS).run()
    meta = parse_metadata(found.meta_text) if found.meta_text else EMPTY
    now = Contents(found.tree, meta, lambda oid: sink.trees.get(oid, b""))
    unseen = tuple(os.path.relpath(os.fsencode(path), folder) for path, _ in found.excluded)
    return tuple(
        Change(os.fsdecode(path), kind, old, new)
        for path, kind, old, new in diff.shown(contents.differences(now))
        if kind != "mode" and not (unseen and within(path, unseen))
    )


def remove_tree(folder: bytes) -> None:
    """Deletes a folder and all below it. Follows no link, enters no other file system. Raises OSError."""
    device = os.lstat(folder).st_dev
    order = [b""]
    with FolderHandles(folder) as handles:
        for path in order:
            fd = _writable(handles, path, device)
            with os.scandir(fd) as entries:
                below = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
            for name, is_folder in below:
                if is_folder:
                    order.append(path + b"/" + name if path else name)
                else:
                    os.unlink(name, dir_fd=fd)
        for path in reversed(order[1:]):
            parent, _, name = path.rpartition(b"/")
            os.rmdir(name, dir_fd=handles.fd(parent))
    os.rmdir(folder)


def _writable(handles: FolderHandles, path: bytes, device: int) -> int:
    """A descriptor of the folder, which its owner may now read and change."""
    try:
        fd = handles.fd(path)
    except PermissionError:
        parent, _, name = path.rpartition(b"/")
        os.chmod(name, 0o700, dir_fd=handles.fd(parent))
        fd = handles.fd(path)
    found = os.fstat(fd)
    if found.st_dev != device:
        raise OSError(errno.EXDEV, "another file system is mounted there", path)
    if found.st_mode & 0o700 != 0o700:
        os.fchmod(fd, 0o700)
    return fd

"""Owns carrying out a restore plan: stage everything, sync once, then rename into place.

Every file is at each instant its old or its new content. What to do is decided by `store.restore`.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator

from chrono.errors import StoreError
from chrono.store.belongings import SET_ID, Owner, hand_over
from chrono.store.contents import Entry
from chrono.store.disk import READ_FILE, READ_FOLDER, Disk
from chrono.store.handles import FolderHandles
from chrono.store.names import STAGE_PREFIX, control_names
from chrono.store.reading import key_of
from chrono.store.restore import Left, Restored, RestorePlan, Step
from chrono.store.statcache import Key
from chrono.tuples import NamedTuple

Blob = Callable[[bytes], tuple[int, Iterator[bytes]]]
"""A blob by its 20-byte id: its size in bytes, and its content in pieces."""

_PLACED = ("write", "link")
_CHUNK_BYTES = 1 << 20
_RESTORED_BITS = 0o7777 & ~SET_ID

RACY_NS = 20_000_000
"""The clock of a file system may be this much behind."""

_REFUSED = {
    errno.EACCES: "this user may not change it",
    errno.EPERM: "this user may not change it",
    errno.EROFS: "it lies on a disk that cannot be written",
    errno.EBUSY: "something is mounted there",
}
"""What the system refuses for one path and would refuse again: the others are restored all the same."""


def _and_above(path: bytes) -> Iterator[bytes]:
    """The path, and each folder above it below the root."""
    while path:
        yield path
        path = path.rpartition(b"/")[0]


class Staged(NamedTuple):
    """What a staged file was when its content, checked against its id, was complete; `mode` are its permission bits."""

    inode: int
    size: int
    mtime_ns: int
    mode: int
    owner: Owner


class Stage:
    """New content of one operation, in `.chrono/stage/<op>/<number of the step>`."""

    def __init__(self, folder: bytes, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self.files: dict[int, Staged] = {}

    def fill(self, plan: RestorePlan, blob: Blob) -> None:
        """Writes each new content, checks it against its id, and syncs once. Raises OSError, StoreError."""
        self.remove()
        self._disk.mkdir(self._folder, 0o700)
        with FolderHandles(self._folder) as handles:
            fd = handles.fd(b"")
            for number, step in enumerate(plan.steps):
                if step.act == "link" and step.new is not None:
                    target = b"".join(blob(bytes.fromhex(step.new.oid))[1])
                    self._disk.symlink(target, b"%d" % number, fd)
                elif step.act == "write" and step.new is not None:
                    self.files[number] = self._write(b"%d" % number, step.new, blob, fd)
            self._disk.syncfs(fd)

    def _write(self, name: bytes, entry: Entry, blob: Blob, dir_fd: int) -> Staged:
        size, chunks = blob(bytes.fromhex(entry.oid))
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        mode = entry.mode & _RESTORED_BITS
        fd = self._disk.create(name, mode & 0o777, dir_fd)  # only we get into the stage
        try:
            for chunk in chunks:
                digest.update(chunk)
                self._disk.pour(fd, chunk)
            self._disk.end_at(fd, size)
            if digest.hexdigest() != entry.oid:
                raise StoreError(f"object {entry.oid} is damaged: its content has another id")
            found = os.fstat(fd)
            if found.st_mode & 0o7777 != mode:  # the umask, an inherited list of rights, a bit beyond those
                self._disk.fchmod(fd, mode)
            owner = found.st_uid, found.st_gid
            return Staged(found.st_ino, found.st_size, found.st_mtime_ns, mode, owner)
        finally:
            os.close(fd)

    def open(self) -> int:
        """A descriptor of the folder."""
        return os.open(self._folder, READ_FOLDER)

    def remove(self) -> None:
        """Removes the stage of this operation; only files and links are ever in it."""
        try:
            fd = self.open()
        except OSError:
            return
        try:
            for name in os.listdir(fd):
                self._disk.unlink(os.fsencode(name), fd)
        finally:
            os.close(fd)
        self._disk.rmdir(self._folder)


class Applier:
    """Changes the work tree; the stage must be full and synced."""

    def __init__(self, root: bytes, plan: RestorePlan, stage: Stage, disk: Disk) -> None:
        self._plan = plan
        self._stage = stage
        self._disk = disk
        self._handles = FolderHandles(root)
        self._modes: dict[bytes, int] = {}
        self._left: list[Left] = []
        self._looked_at: bytes | None = None
        self._spared: set[bytes] = set()
        self._trusted = frozenset((os.geteuid(), os.lstat(root).st_uid))
        self._around: set[bytes] = set()
        self.placed: dict[int, Key] = {}
        """By the number of the step, stat keys of files that were what was staged right after they got their names."""

    def run(self) -> Restored:
        """Durable when it returns. What the system does not let this user change is left and told.

        Raises OSError half-way: the journal then says what was meant.
        """
        steps = [(number, step, os.fsencode(step.path)) for number, step in enumerate(self._plan.steps)]
        stage_fd = self._stage.open()
        try:
            with self._handles:
                self._take_away(steps)
                self._looked_at = None
                self._put_in_place(steps, stage_fd)
                self._set_modes(steps)
                self._handles.close()
                self._disk.syncfs(self._handles.fd(b""))
        finally:
            os.close(stage_fd)
        done = [step.act for _, step, path in steps if not self._is_spared(path)]
        written = done.count("write") + done.count("link")
        return Restored(written, done.count("delete"), (*self._plan.left, *self._left))

    def _take_away(self, steps: list[tuple[int, Step, bytes]]) -> None:
        """Files first, then folders, the deepest first."""
        for _, step, path in reversed(steps):
            if step.act == "delete":
                try:
                    fd, name = self._parent(path)
                    self._disk.unlink(name, fd)
                except FileNotFoundError:
                    pass
                except OSError as error:
                    self._spare(path, error)
        for _, step, path in reversed(steps):
            if step.act == "rmdir" and not self._is_spared(path):
                try:
                    self._remove_folder(path)
                except OSError as error:
                    self._spare(path, error)
        self._handles.close()

    def _remove_folder(self, path: bytes) -> None:
        fd, name = self._parent(path)
        try:
            self._disk.rmdir(name, fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if not self._holds_control_only(path):
                self._leave(path, "the folder holds files that no savepoint holds")
            return
        self._modes.pop(path, None)

    def _spare(self, path: bytes, error: OSError) -> None:
        """Leaves `path` as it is where the system refuses this user to change it; what follows below it is skipped."""
        if error.errno not in _REFUSED:
            raise error
        self._leave(path, _REFUSED[error.errno])

    def _leave(self, path: bytes, why: str) -> None:
        self._left.append(Left(os.fsdecode(path), why))
        self._spared.add(path)
        self._around.update(_and_above(path))

    def _is_spared(self, path: bytes) -> bool:
        """Whether it was left, or something above or below it was."""
        if not self._spared:
            return False
        return path in self._around or any(one in self._spared for one in _and_above(path))

    def _holds_control_only(self, folder: bytes) -> bool:
        """A folder that stays for its control files is not in any savepoint either: nothing to report."""
        control = control_names(folder)
        for name in map(os.fsencode, os.listdir(self._handles.fd(folder))):
            if control is not None and control.fullmatch(name):
                continue
            try:
                if not self._holds_control_only(folder + b"/" + name):
                    return False
            except OSError:  # a file, a link, or a folder that cannot be read
                return False
        return True

    def _put_in_place(self, steps: list[tuple[int, Step, bytes]], stage_fd: int) -> None:
        for _, step, path in steps:
            if step.act == "mkdir" and step.new is not None and not self._is_spared(path):
                try:
                    self._make_folder(path, step.new.mode)
                except OSError as error:
                    self._spare(path, error)
        for number, step, path in steps:
            if step.act in _PLACED and not (self._spared and self._is_spared(path)):
                try:
                    self._place(number, step, path, stage_fd)
                except OSError as error:
                    self._spare(path, error)

    def _make_folder(self, path: bytes, mode: int) -> None:
        fd, name = self._parent(path)
        try:
            self._disk.mkdir(name, 0o700, fd)
        except FileExistsError:
            if not stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                raise
        self._modes[path] = stat.S_IMODE(mode)

    def _place(self, number: int, step: Step, path: bytes, stage_fd: int) -> None:
        fd, name = self._parent(path)
        staged = self._stage.files.get(number)
        source = b"%d" % number
        if staged is not None and step.new is not None:
            self._without_set_id(path, step.new.mode, SET_ID)
            hand_over(self._disk, (name, fd), (source, stage_fd), staged.mode, staged.owner, self._trusted)
        try:
            self._disk.rename(source, name, stage_fd, fd)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self._copy(source, name, stage_fd, fd)
        else:
            if staged is not None:
                self._note_placed(number, staged, fd, name)

    def _without_set_id(self, path: bytes, mode: int, given: int) -> int:
        """The permission bits of a file without those of `given`; told where it makes a difference."""
        if mode & given:
            self._left.append(Left(os.fsdecode(path), "it is back, but not its right to run as its owner or group"))
        return stat.S_IMODE(mode) & ~given

    def _note_placed(self, number: int, staged: Staged, fd: int, name: bytes) -> None:
        """Nobody else could reach the file before its rename, which is late enough to be told by its time: who wrote
        since left another one."""
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        mtime_ns, ctime_ns, size, inode = key = key_of(found)
        same = staged[:4] == (inode, size, mtime_ns, found.st_mode & 0o7777)
        if same and ctime_ns - mtime_ns > RACY_NS:
            self.placed[number] = key

    def _copy(self, source: bytes, name: bytes, stage_fd: int, dir_fd: int) -> None:
        """The folder is on another file system: the content waits beside its target instead."""
        temp = STAGE_PREFIX + hashlib.sha256(name).hexdigest()[:16].encode()
        try:
            self._disk.unlink(temp, dir_fd)
        except FileNotFoundError:
            pass
        found = os.stat(source, dir_fd=stage_fd, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            self._disk.symlink(os.readlink(source, dir_fd=stage_fd), temp, dir_fd)
        else:
            self._copy_file(source, temp, stat.S_IMODE(found.st_mode), stage_fd, dir_fd)
            made = os.stat(temp, dir_fd=dir_fd, follow_symlinks=False)
            mode, owner = stat.S_IMODE(made.st_mode), (made.st_uid, made.st_gid)
            hand_over(self._disk, (name, dir_fd), (temp, dir_fd), mode, owner, self._trusted)
        self._disk.rename(temp, name, dir_fd, dir_fd)

    def _copy_file(self, source: bytes, temp: bytes, mode: int, stage_fd: int, dir_fd: int) -> None:
        self._disk.chmod(source, 0o600, stage_fd)
        file = os.open(source, READ_FILE, dir_fd=stage_fd)
        try:
            out = self._disk.create(temp, 0o600, dir_fd)
            try:
                while chunk := os.read(file, _CHUNK_BYTES):
                    self._disk.pour(out, chunk)
                self._disk.end_at(out, os.fstat(file).st_size)
                self._disk.fchmod(out, mode)
                self._disk.fsync(out)
            finally:
                os.close(out)
        finally:
            os.close(file)

    def _set_modes(self, steps: list[tuple[int, Step, bytes]]) -> None:
        """Files first; folders last and the deepest first, since a folder may lose our own right to write."""
        for _, step, path in steps:
            if step.act == "chmod" and step.new is not None:
                if step.new.is_folder:
                    self._modes[path] = stat.S_IMODE(step.new.mode)
                else:
                    try:
                        fd, name = self._parent(path)
                        has = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                        self._disk.chmod(name, self._without_set_id(path, step.new.mode, SET_ID & ~has), fd)
                    except OSError as error:
                        self._spare(path, error)
        for path in sorted(self._modes, reverse=True):
            try:
                self._disk.fchmod(self._handles.fd(path), self._modes[path])
            except OSError as error:
                self._spare(path, error)

    def _parent(self, path: bytes) -> tuple[int, bytes]:
        """The folder of `path`, reached without following a link and made writable if it is ours, and the name."""
        folder, _, name = path.rpartition(b"/")
        fd = self._handles.fd(folder)
        if folder == self._looked_at:
            return fd, name
        self._looked_at = folder
        if folder not in self._modes:
            found = os.fstat(fd)
            if found.st_uid == os.geteuid() and found.st_mode & 0o300 != 0o300:
                self._modes[folder] = stat.S_IMODE(found.st_mode)
                self._disk.fchmod(fd, stat.S_IMODE(found.st_mode) | 0o700)
        return fd, name

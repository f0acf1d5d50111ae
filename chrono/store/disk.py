"""Owns every change that this room makes to the disk: one method a system call, each announced before it happens.

So a test can stop the process before any of them. What to change is decided elsewhere. All names are bytes relative
to `dir_fd`, or absolute where there is none; no method follows a link in the last component.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Sequence
from functools import partial

AtStep = Callable[[str, bytes], None]

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)

READ_FILE = os.O_RDONLY | _CLOEXEC | _NOFOLLOW | _NONBLOCK
READ_FOLDER = os.O_RDONLY | _CLOEXEC | _NOFOLLOW | _DIRECTORY

SYNCS_AT_ONCE = 8

HOLE_BYTES = 1 << 16
"""So many zeros in a row are not written: images of disks, databases and dumps are full of them."""
_ZEROS = bytes(HOLE_BYTES)


def _silent(step: str, name: bytes) -> None:
    """Outside a crash test nobody listens."""


class Disk:
    """The hand that changes things. `at_step(step, name)` is called before each change and may end the process."""

    def __init__(self, at_step: AtStep = _silent) -> None:
        self._at_step = at_step

    def create(self, name: bytes, mode: int = 0o600, dir_fd: int | None = None) -> int:
        """A new file, open for writing. Raises FileExistsError."""
        self._at_step("create", name)
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC | _NOFOLLOW, mode, dir_fd=dir_fd)

    def open_append(self, name: bytes) -> int:
        """An existing file, open for appending."""
        self._at_step("open", name)
        return os.open(name, os.O_WRONLY | os.O_APPEND | _CLOEXEC | _NOFOLLOW)

    def write(self, fd: int, data: bytes | memoryview) -> None:
        """All of `data`. Raises OSError (ENOSPC, EFBIG, EIO)."""
        self._at_step("write", b"")
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, memoryview(data)[written:])

    def pour(self, fd: int, data: bytes) -> None:
        """`write`, but long runs of zeros become holes. `end_at` must follow what was poured last."""
        if len(data) < HOLE_BYTES or data.find(_ZEROS) < 0:
            self.write(fd, data)
            return
        for start in range(0, len(data), HOLE_BYTES):
            block = data[start : start + HOLE_BYTES]
            if block == _ZEROS:
                os.lseek(fd, HOLE_BYTES, os.SEEK_CUR)
            else:
                self.write(fd, block)

    def end_at(self, fd: int, size: int) -> None:
        """Ends what was poured, which may have had a hole at its end."""
        if size >= HOLE_BYTES and os.lseek(fd, 0, os.SEEK_CUR) > os.fstat(fd).st_size:
            self.truncate(fd, size)

    def write_at(self, fd: int, data: bytes, offset: int) -> None:
        self._at_step("write", b"")
        if os.pwrite(fd, data, offset) != len(data):
            raise OSError(errno.EIO, "short write")

    def truncate(self, fd: int, size: int) -> None:
        self._at_step("truncate", b"")
        os.ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        self._at_step("fsync", b"")
        os.fsync(fd)

    def fsync_folder(self, name: bytes) -> None:
        """Makes the names in a folder durable; a file system that cannot is accepted."""
        self._at_step("fsync", name)
        _fsync_folder(name)

    def fsync_all(self, fds: Sequence[int]) -> None:
        """`fsync` of each, all at once: a journal serves together those that wait together."""
        for _ in fds:
            self._at_step("fsync", b"")
        _at_once([partial(os.fsync, fd) for fd in fds])

    def fsync_folders(self, names: Sequence[bytes]) -> None:
        """`fsync_folder` of each, all at once."""
        for name in names:
            self._at_step("fsync", name)
        _at_once([partial(_fsync_folder, name) for name in names])

    def syncfs(self, fd: int) -> None:
        """Everything written to the file system of `fd` becomes durable. Raises OSError (EIO)."""
        self._at_step("syncfs", b"")
        function = _libc_syncfs()
        if function is None:
            os.sync()
        elif function(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def rename(self, source: bytes, name: bytes, source_fd: int | None = None, dir_fd: int | None = None) -> None:
        """Replaces a file or link at `name`; never a folder."""
        self._at_step("rename", name)
        os.rename(source, name, src_dir_fd=source_fd, dst_dir_fd=dir_fd)

    def unlink(self, name: bytes, dir_fd: int | None = None) -> None:
        self._at_step("unlink", name)
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: bytes, mode: int = 0o700, dir_fd: int | None = None) -> None:
        self._at_step("mkdir", name)
        os.mkdir(name, mode, dir_fd=dir_fd)

    def rmdir(self, name: bytes, dir_fd: int | None = None) -> None:
        self._at_step("rmdir", name)
        os.rmdir(name, dir_fd=dir_fd)

    def symlink(self, target: bytes, name: bytes, dir_fd: int | None = None) -> None:
        self._at_step("symlink", name)
        os.symlink(target, name, dir_fd=dir_fd)

    def fchmod(self, fd: int, mode: int) -> None:
        self._at_step("chmod", b"")
        os.fchmod(fd, mode)

    def chmod(self, name: bytes, mode: int, dir_fd: int | None = None) -> None:
        """Permission bits of a file or folder; a link in its place is refused (OSError ELOOP)."""
        self._at_step("chmod", name)
        try:
            fd = os.open(name, READ_FILE, dir_fd=dir_fd)
        except PermissionError:
            _chmod_unreadable(name, mode, dir_fd)
            return
        try:
            os.fchmod(fd, mode)
        finally:
            os.close(fd)

    def chown(self, name: bytes, uid: int, gid: int, dir_fd: int) -> None:
        """Owner and group, -1: as it is. Raises PermissionError."""
        self._at_step("chown", name)
        os.chown(name, uid, gid, dir_fd=dir_fd, follow_symlinks=False)

    def setxattr(self, path: bytes, name: str, value: bytes) -> None:
        """An extended attribute (Linux)."""
        self._at_step("setxattr", path)
        os.setxattr(path, name, value, follow_symlinks=False)

    def touch(self, name: bytes) -> None:
        """Sets a file's times to now, creating it where missing: the file system's own clock can be read from it."""
        self._at_step("touch", name)
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | _CLOEXEC | _NOFOLLOW, 0o600)
        try:
            os.utime(fd)
        finally:
            os.close(fd)


def _chmod_unreadable(name: bytes, mode: int, dir_fd: int | None) -> None:
    """A file of mode 0 can be changed by its owner but not opened: O_PATH reaches it without following a link."""
    if not hasattr(os, "O_PATH"):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    fd = os.open(name, os.O_PATH | _NOFOLLOW | _CLOEXEC, dir_fd=dir_fd)
    try:
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)


def _libc_syncfs() -> Callable[[int], int] | None:
    """`syncfs(2)`, which the standard library does not offer; None where the C library has none."""
    try:
        function = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError, TypeError):
        return None
    function.argtypes = (ctypes.c_int,)
    function.restype = ctypes.c_int
    answer: Callable[[int], int] = function
    return answer


_CLONE_FS = 0x200


def unshare_cwd() -> bool:
    """Gives the calling thread a working directory of its own (Linux); False where that is not to be had."""
    try:
        answer: int = ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FS)
    except (OSError, AttributeError, TypeError):
        return False
    return answer == 0


def _fsync_folder(name: bytes) -> None:
    fd = os.open(name, READ_FOLDER)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def _at_once(syncs: Sequence[Callable[[], None]]) -> None:
    """Runs them in some threads, this one among them, and returns when all have ended. Raises the first error.

    Nobody waits for a thread to start: one that comes late finds nothing left.
    """
    waiting = [(sync, allocate_lock()) for sync in syncs]
    left, errors = list(waiting), list[BaseException]()
    for _, ended in waiting:
        ended.acquire()

    def run() -> None:
        while True:
            try:
                sync, ended = left.pop()
            except IndexError:
                return
            try:
                sync()
            except BaseException as error:
                errors.append(error)
            finally:
                ended.release()

    for _ in range(min(len(waiting), SYNCS_AT_ONCE) - 1):
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no more threads: this one does what is left
            break
    run()
    for _, ended in waiting:
        ended.acquire()
    if errors:
        raise errors[0]

"""Owns how files of ours are read, written (a crash leaves the old or the new bytes), and locked among writers."""

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import LockType, allocate_lock, get_ident, start_new_thread

from chrono.errors import Locked

try:
    import fcntl
except ImportError:  # Windows: msvcrt.locking, same order of steps
    fcntl = None  # type: ignore[assignment]
    import msvcrt

_threads: dict[str, LockType] = {}
_threads_guard = allocate_lock()  # `threading` itself costs a hook more than it is used for


def fsync_dir(path: str) -> None:
    """Makes the names inside directory `path` durable. A file system that cannot is accepted (EINVAL)."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def own_folder(path: str) -> None:
    """Makes `path` and what is missing above it, 0700 each; a folder that is there stays as it is. Raises OSError.

    `os.makedirs` gives its mode to the last one only: the others would be as open as the umask lets them.
    """
    above = os.path.dirname(path.rstrip(os.sep))
    if above and not os.path.isdir(above):
        own_folder(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def atomic_write(path: str, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replaces `path` with `data`: temp file beside it, fsync, rename, fsync of the folder.

    `mode` are the permission bits of the new file. A symlink at `path` is replaced, never followed.
    Raises OSError and leaves the old file where any step fails.
    """
    folder = os.path.dirname(path) or "."
    temp = os.path.join(folder, f".tmp-{os.getpid()}-{get_ident():x}-{os.urandom(4).hex()}")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
    try:
        try:
            write_all(fd, data)
            if hasattr(os, "fchmod"):
                os.fchmod(fd, mode)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temp, path)
    except BaseException:
        try:
            os.unlink(temp)
        except FileNotFoundError:
            pass
        raise
    if durable:
        fsync_dir(folder)


OWN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags of every file of ours: no child inherits it, no link is followed, no line ending is changed."""


def read_own(path: str, limit_bytes: int) -> bytes:
    """All of a file of ours, which is a plain one of at most `limit_bytes`; a link is not followed, a pipe not waited
    for. Raises FileNotFoundError, and OSError where it is anything else."""
    fd = os.open(path, os.O_RDONLY | OWN | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a plain file", path)
        if found.st_size > limit_bytes:
            raise OSError(errno.EFBIG, "too large", path)
        data = b""
        while piece := os.read(fd, found.st_size + 1 - len(data)):
            data += piece
        return data
    finally:
        os.close(fd)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """At most `size` bytes from `offset`. Where the system has no pread (Windows) the descriptor's place moves:
    one thread at a time."""
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


def write_at(fd: int, data: bytes, offset: int) -> int:
    """As `os.pwrite`, also where there is none; see `read_at`. Returns the bytes written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.write(fd, data)


def write_all(fd: int, data: bytes) -> None:
    """Writes every byte of `data` to `fd`. Raises OSError (ENOSPC, EIO, …)."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, memoryview(data)[written:])


def _thread_lock(path: str) -> LockType:
    """One lock a spelling of the path is enough: it only spares threads the waiting loop, `flock` keeps them apart."""
    lock = _threads.get(path)
    if lock is None:
        with _threads_guard:
            lock = _threads.setdefault(path, allocate_lock())
    return lock


def _forget_locks_of_the_parent() -> None:
    """A forked child must not inherit a lock that a thread of its parent holds."""
    global _threads_guard
    _threads_guard = allocate_lock()
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks_of_the_parent)


def _try_lock(fd: int, shared: bool = False) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        else:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unreachable,unused-ignore]
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _same_file(fd: int, path: str) -> bool:
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _holder(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            text = file.readline(200).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return text or None


class file_lock:
    """Holds an exclusive `flock` on `path` (created 0600 where missing) for the length of the block.

    Never fcntl record locks: those drop when any descriptor of the file closes (specs: audit section 4). Every
    acquisition opens a fresh descriptor behind a per-path thread lock, and checks after locking that the file was
    not replaced meanwhile. Raises Locked after `timeout_s` seconds, naming the holder.
    """

    __slots__ = ("_fd", "_path", "_thread_lock", "_timeout_s")

    def __init__(self, path: str, *, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._thread_lock = _thread_lock(path)
        self._fd = -1

    def __enter__(self) -> None:
        deadline, lock = time.monotonic() + self._timeout_s, self._thread_lock
        if not (lock.acquire(blocking=False) or lock.acquire(timeout=max(self._timeout_s, 0))):
            raise _locked(self._path, self._timeout_s)
        try:
            self._fd = _acquire(self._path, deadline, self._timeout_s)
        except BaseException:
            lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            os.close(self._fd)  # the kernel drops the flock with the descriptor
        finally:
            self._thread_lock.release()


_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


_LOOK_AGAIN_S = 0.25
_POLL_S = 0.002


def _acquire(path: str, deadline: float, timeout_s: float) -> int:
    while True:
        fd = os.open(path, _LOCK_FLAGS, 0o600)
        try:
            if (_try_lock(fd) or lock_in_line(fd, deadline, path)) and _same_file(fd, path):
                # one width, so that no truncation is needed: that costs ten times the rest on ext4
                write_at(fd, b"pid %-16d\n" % os.getpid(), 0)
                return fd
        except OSError as error:
            os.close(fd)
            raise OSError(error.errno, error.strerror, path) from error  # a descriptor's error names no file
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # replaced between open and lock, or still held
        if time.monotonic() >= deadline:
            raise _locked(path, timeout_s)


def lock_in_line(fd: int, deadline: float, path: str, *, shared: bool = False) -> bool:
    """Waits until `deadline` (monotonic) for a `flock` on `fd`, and only while that is the file at `path`.

    A thread waits in the kernel's own line, so that whoever comes next is woken at once; left behind, it lets go of
    what it gets. Where there is no thread or no line, this looks from time to time. `shared`: all who wait so are woken
    together; else the lock is exclusive.
    """
    if time.monotonic() >= deadline:
        return False
    line = _Line.of(fd, shared)
    try:
        while (left_s := deadline - time.monotonic()) > 0 and _same_file(fd, path):
            if line is None:
                time.sleep(min(left_s, _POLL_S))
                if _try_lock(fd, shared):
                    return True
            elif line.wait(min(left_s, _LOOK_AGAIN_S)):
                break
    except BaseException:
        if line is not None and line.leave():
            fcntl.flock(fd, fcntl.LOCK_UN)
        raise
    return line is not None and line.leave()


class _Line:
    """One place in the line for a lock."""

    __slots__ = ("_done", "_fd", "_guard", "_has", "_left", "_shared")

    def __init__(self, fd: int, shared: bool) -> None:
        self._fd, self._shared = fd, shared
        self._guard, self._done = allocate_lock(), allocate_lock()
        self._has = self._left = False
        self._done.acquire()

    @classmethod
    def of(cls, fd: int, shared: bool) -> _Line | None:
        """A place in the line for `fd`; None where that is not to be had."""
        if os.name == "nt":
            return None
        line = cls(os.dup(fd), shared)
        try:
            start_new_thread(line._stand, ())
        except RuntimeError:
            os.close(line._fd)
            return None
        return line

    def _stand(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX)
            with self._guard:
                self._has = not self._left
                if self._left:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError:
            pass
        finally:
            os.close(self._fd)
            self._done.release()

    def wait(self, timeout_s: float) -> bool:
        """Whether this place came to an end, for better or worse, in the time."""
        return self._done.acquire(timeout=timeout_s)

    def leave(self) -> bool:
        """Leaves the line; True where the lock is there (then it stays, with the descriptor that was given)."""
        with self._guard:
            self._left = True
            return self._has


def _locked(path: str, timeout_s: float) -> Locked:
    holder = _holder(path)
    who = f" by {holder}" if holder else ""
    return Locked(
        f"{path} has been locked{who} for more than {timeout_s:g} s",
        "wait for that process, or end it; the lock goes with it",
        holder=holder,
    )

"""Owns the witness daemon (level W2): another account's process that keeps the hash tree of each log it is told of.

Only leaf hashes come here, in order; what was added stays. So whoever runs as the log's own user, key in hand, cannot
make it forget. Asking it is left to `audit.overseen`, comparing a log with what it saw to `audit.verify`.

Protocol: one line a request, one line an answer, over a unix socket; docs/formats/audit-v2.md, "Witness daemon".
"""

from __future__ import annotations

import os
import re
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from chrono.audit.merkle import CompactRange
from chrono.errors import ChronoError
from chrono.files import atomic_write, fsync_dir, own_folder, write_all

MAX_LEAVES = 1000
MAX_REQUEST = 32 + MAX_LEAVES * 65 + 64
MAX_LOGS = 1000
"""Logs of one user: nobody fills the daemon's disk by inventing log ids."""
COMPACT_BYTES = 1 << 20
PATIENCE_S = 2.0
_PEER = struct.Struct("3i")  # struct ucred: pid, uid, gid
_ASKS = re.compile(rb"GET ([0-9a-f]{32})")
_ADDS = re.compile(rb"ADD ([0-9a-f]{32}) ([0-9]{1,15}) ([0-9a-f]{64}(?:,[0-9a-f]{64})*)")


class Overseer:
    """What the daemon remembers, in `folder`: one file a user and log, a line for each addition, the last counts."""

    def __init__(self, folder: str, now_s: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now_s = now_s
        self._known: dict[tuple[int, str], tuple[CompactRange, int]] = {}

    def answer(self, uid: int, request: bytes) -> bytes:
        """The answer to one request (without LF) of user `uid`, with LF."""
        asks, adds = _ASKS.fullmatch(request), _ADDS.fullmatch(request)
        try:
            if asks is not None:
                return _told("OK", *self._state(uid, asks[1].decode("ascii")))
            if adds is not None:
                leaves = [bytes.fromhex(leaf) for leaf in adds[3].decode("ascii").split(",")]
                return self._add(uid, adds[1].decode("ascii"), int(adds[2]), leaves)
        except OSError as error:
            return f"ERROR {error.strerror}\n".encode()
        return b"ERROR no such request\n"

    def _add(self, uid: int, log: str, size: int, leaves: list[bytes]) -> bytes:
        tree, at_s = self._state(uid, log)
        if tree.size != size:
            return _told("CONFLICT", tree, at_s)
        if len(leaves) > MAX_LEAVES:
            return b"ERROR too many leaves\n"
        tree, at_s = tree.copy(), int(self._now_s())
        for leaf in leaves:
            tree.add(leaf)
        if not size and len(os.listdir(self._of(uid))) >= MAX_LOGS:
            return b"ERROR too many logs\n"
        self._keep(os.path.join(self._of(uid), log), tree, at_s)
        self._known[uid, log] = (tree, at_s)
        return _told("OK", tree, at_s)

    def _of(self, uid: int) -> str:
        folder = os.path.join(self._folder, str(uid))
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        return folder

    def _state(self, uid: int, log: str) -> tuple[CompactRange, int]:
        known = self._known.get((uid, log))
        if known is None:
            if len(self._known) > MAX_LOGS:
                self._known.clear()
            known = self._known[uid, log] = _last(os.path.join(self._of(uid), log))
        return known

    def _keep(self, path: str, tree: CompactRange, at_s: int) -> None:
        line = f"{tree.size} {at_s} {','.join(part.hex() for part in tree.hashes)}\n".encode("ascii")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(fd).st_size
            write_all(fd, b"\n" + line if before else line)  # behind a line that a crash cut off, too
            os.fdatasync(fd)
        finally:
            os.close(fd)
        if not before:
            fsync_dir(os.path.dirname(path))
        if before > COMPACT_BYTES:
            with suppress(OSError):  # an append-only file (chattr +a) just grows
                atomic_write(path, line)


def _last(path: str) -> tuple[CompactRange, int]:
    """The last whole line of a file. Raises OSError: what cannot be read is not forgotten."""
    try:
        with open(path, "rb") as file:
            rows = file.read().split(b"\n")[:-1]
    except FileNotFoundError:
        return CompactRange(), 0
    for row in reversed(rows):
        size, _, rest = row.decode("ascii", "replace").partition(" ")
        at_s, _, hashes = rest.partition(" ")
        try:
            return CompactRange(int(size), [bytes.fromhex(part) for part in hashes.split(",")]), int(at_s)
        except ValueError:
            continue
    if any(rows):
        raise OSError(0, f"{path} is damaged")
    return CompactRange(), 0


def _told(word: str, tree: CompactRange, at_s: int) -> bytes:
    return f"{word} {tree.size} {tree.root().hex()} {at_s}\n".encode("ascii")


# --- the process


def serve(path: str, folder: str, ready: Callable[[], None] = lambda: None) -> None:
    """Answers on the socket `path` until the process ends; keeps what it sees in `folder`. One request a connection.

    Raises ChronoError where the folder or the socket could be changed by somebody else.
    """
    _require_own(folder)
    overseer = Overseer(folder)
    server = _listening(path)
    ready()
    while True:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.settimeout(PATIENCE_S)
            _pid, uid, _gid = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
            request = _line_of(connection)
            connection.sendall(overseer.answer(uid, request) if request is not None else b"ERROR no request\n")


def _line_of(connection: socket.socket) -> bytes | None:
    deadline, data = time.monotonic() + PATIENCE_S, b""
    while not data.endswith(b"\n"):
        if len(data) > MAX_REQUEST or time.monotonic() > deadline:
            return None
        piece = connection.recv(1 << 16)
        if not piece:
            return None
        data += piece
    return data[:-1]


def _listening(path: str) -> socket.socket:
    if not hasattr(socket, "SO_PEERCRED"):
        raise ChronoError("the witness daemon needs a system that tells who asks (Linux)")
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ChronoError(f"{path} is there and no socket", "name a path where nothing is")
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    os.chmod(path, 0o666)  # noqa: S103 - everybody may tell it of a log of their own; whose it is, the kernel says
    server.listen(64)
    return server


def _require_own(folder: str) -> None:
    own_folder(folder)
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o022:
        raise ChronoError(f"{folder} is not this account's own folder", "chmod 700, or name another")

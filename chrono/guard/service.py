"""Owns the resident service: it keeps what a hook needs open, and answers hooks of this installation only.

It takes hook payloads, nothing else; it builds the records itself and never signs bytes it is given. What is answered
is left to `engine`, the bytes to `wire`. A client in any doubt evaluates by itself, so this process may vanish at any
moment.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import struct
import sys
import threading
import time
from importlib import import_module

from chrono.agents.protocol import Decision
from chrono.errors import Locked
from chrono.files import atomic_write, file_lock, own_folder
from chrono.guard import wire, wording
from chrono.guard.caller import Caller
from chrono.guard.engine import answer
from chrono.guard.local import executable
from chrono.guard.resources import Resources
from chrono.guard.servicelog import note
from chrono.layout import HomeLayout
from chrono.tuples import NamedTuple

IDLE_S = 30 * 60.0
LOOK_S = 5.0
"""How often it looks, while nothing happens, whether it should leave."""

DEADLINE_S = 19.0
"""From the request on: below the client's own, so that its answer is the one that is read."""

_NEEDED = (
    "chrono.agents.claude_code",
    "chrono.agents.registry",
    "chrono.audit.log",
    "chrono.guard.effects",
    "chrono.guard.rechecking",
    "chrono.policy.decide",
    "chrono.policy.layers",
    "chrono.policy.load",
    "chrono.policy.pin",
    "chrono.scan.scanner",
    "chrono.store.hints",
    "chrono.store.repository",
    "chrono.workspace.actors",
    "chrono.workspace.machine_world",
    "chrono.workspace.project",
    "chrono.workspace.recover",
    "chrono.workspace.savepoints",
)

READ_S = 5.0
BACKLOG = 64


class _Request(NamedTuple):
    """One request, opened: who asks is known from the socket, what they see from the request."""

    adapter: str
    nonce: bytes
    cwd: bytes
    cwd_id: bytes
    namespace: bytes
    umask: bytes
    home: bytes
    environ: dict[bytes, bytes]
    payload: bytes
    body: bytes


def serve_from_client(package: str, environ: dict[bytes, bytes]) -> int:
    """The process that `client` starts: serves until it is idle, outdated or not wanted. The exit status."""
    os.closerange(3, 4096)
    os.chdir("/")
    home = wire.chrono_home(environ, sys.platform)
    if home is None:
        return 1
    try:
        with file_lock(os.fsdecode(wire.run_file(home, wire.build_id(package), "lock")), timeout_s=0):
            preload()
            signal.signal(signal.SIGTERM, _leave_now)
            Service(HomeLayout(os.fsdecode(home)), package).serve()
    except (Locked, _Leave):
        return 0  # another one serves, or this one was asked to end
    return 0


class _Leave(Exception):
    """Somebody wants this process to end; what is under way is finished first."""


def _leave_now(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Leave


def preload() -> None:
    """Imports all that an answer needs: nobody waits for it, and no file of a later version gets in."""
    for name in _NEEDED:
        import_module(name)


class Service:
    """One resident process: one socket, one key, the opened projects."""

    def __init__(self, home: HomeLayout, package: str, *, idle_s: float = IDLE_S, look_s: float = LOOK_S) -> None:
        self._home = home
        self._idle_s = idle_s
        self._look_s = look_s
        self._build = wire.build_id(package)
        self._uid = os.getuid()
        self._key = os.urandom(wire.KEY_BYTES)
        self._path = os.fsdecode(wire.socket_path(os.fsencode(home.root), self._build, self._uid))
        self._namespace = b"%d" % os.stat("/proc/self/ns/mnt").st_ino
        umask = os.umask(0o077)
        os.umask(umask)
        self._umask = b"%d" % umask
        self._home_id = _identity(home.root)
        self._log = os.fsdecode(wire.run_file(os.fsencode(home.root), self._build, "log"))
        self._resources = Resources(stays=True)
        self._busy = 0
        self._busy_guard = threading.Lock()
        self._last = time.monotonic()
        self._stopping = threading.Event()

    def serve(self) -> None:
        """Listens until it is time to leave; then takes its socket away and waits for what is under way."""
        listener, inode = self._listen()
        waiting = select.poll()  # select() knows no descriptor above 1023
        waiting.register(listener, select.POLLIN)
        self._sources = _sources()
        note(self._log, "listens")
        try:
            while not self._leaves(inode):
                ready = waiting.poll(self._look_s * 1000)
                if ready:
                    connection, _ = listener.accept()
                    self._enter()
                    threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()
        finally:
            note(self._log, "leaves")
            if _socket_inode(self._path) == inode:
                os.unlink(self._path)
            listener.close()
            self._wait_until_idle()
            self._resources.close()

    def stop(self) -> None:
        """Makes `serve` return soon."""
        self._stopping.set()

    def _listen(self) -> tuple[socket.socket, int]:
        """The key first, then the socket under a temporary name, then its real one: nobody meets half a service."""
        run = self._home.run
        own_folder(run)
        folder = os.path.dirname(self._path)
        if folder != run:
            own_folder(folder)
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077 or found.st_uid != self._uid:
            raise PermissionError(13, "not a private folder of this user", folder)
        atomic_write(os.fsdecode(wire.run_file(os.fsencode(self._home.root), self._build, "key")), self._key)
        temporary = f"{self._path}.{os.getpid() % 1000}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _unlink(temporary)
            listener.bind(temporary)
            os.chmod(temporary, 0o600)
            listener.listen(BACKLOG)
            inode = os.lstat(temporary).st_ino
            os.rename(temporary, self._path)
        except BaseException:
            listener.close()
            _unlink(temporary)
            raise
        return listener, inode

    def _leaves(self, inode: int) -> bool:
        """Whether this process has become the wrong one to ask."""
        if self._stopping.is_set():
            return True
        if _socket_inode(self._path) != inode:
            note(self._log, "its socket is gone, or is another one's")
            return True
        if self._is_stale():
            note(self._log, "the installation, or CHRONO_HOME, is not what it was")
            return True
        with self._busy_guard:
            return self._busy == 0 and time.monotonic() - self._last > self._idle_s

    def _is_stale(self) -> bool:
        """Whether the home is another one now, or the installed code is not the one that runs here."""
        try:
            return _identity(self._home.root) != self._home_id or self._sources != _sources(self._sources)
        except OSError:
            return True

    def _enter(self) -> None:
        with self._busy_guard:
            self._busy += 1
            self._last = time.monotonic()

    def _leave(self) -> None:
        with self._busy_guard:
            self._busy -= 1
            self._last = time.monotonic()

    def _wait_until_idle(self) -> None:
        until = time.monotonic() + 60
        while self._busy and time.monotonic() < until:
            time.sleep(0.02)

    def _serve_one(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(READ_S)
                pid = self._peer(connection)
                request = self._read(connection) if pid else None
                if request is None or self._is_stale() or not self._sees_the_same(request):
                    connection.sendall(wire.REFUSED)
                    note(self._log, f"sent process {pid or 'of another user or namespace'} away: {_why(request)}")
                    return
                connection.sendall(wire.ACCEPTED)
                self._answer(connection, request, pid)
        except (OSError, wire.Malformed):
            pass  # the client is gone, or is none; it evaluates by itself
        finally:
            self._settle()
            self._leave()

    def _peer(self, connection: socket.socket) -> int:
        """The pid of a process of this user that this process can see, else 0."""
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(pid) if uid == self._uid else 0

    def _read(self, connection: socket.socket) -> _Request | None:
        """The request; None where it is not sealed with this process's key or is meant for another build."""
        size = int.from_bytes(_exactly(connection, 4), "big")
        if size > wire.MAX_BYTES:
            return None
        data = _exactly(connection, size)
        body = wire.opened(self._key, data)
        if body is None:
            return None
        fields = wire.unpack(body, len(wire.FIELDS))
        protocol, build, adapter, nonce, cwd, cwd_id, namespace, umask, home, environ, payload = fields
        if protocol != wire.PROTOCOL or build != self._build.encode("ascii") or len(nonce) != wire.NONCE_BYTES:
            return None
        pairs = [pair.partition(b"=") for pair in environ.split(b"\0") if pair]
        return _Request(
            adapter.decode("utf-8", "surrogateescape"),
            nonce,
            cwd,
            cwd_id,
            namespace,
            umask,
            home,
            {name: value for name, _, value in pairs},
            payload,
            body,
        )

    def _sees_the_same(self, request: _Request) -> bool:
        """Whether paths mean here what they mean to the client, and files would be made as it would make them."""
        try:
            here = os.stat(request.cwd)
        except OSError:
            return False
        return (
            request.namespace == self._namespace
            and request.umask == self._umask
            and request.home == os.fsencode(self._home.root)
            and request.cwd_id == b"%d:%d" % (here.st_dev, here.st_ino)
            and not any(name.startswith(b"CHRONO_AUDIT_") for name in request.environ)
        )

    def _answer(self, connection: socket.socket, request: _Request, pid: int) -> None:
        """Evaluates in a thread of its own and waits up to the deadline; what takes longer is finished all the same."""
        deadline = time.monotonic() + DEADLINE_S
        caller = Caller(
            environ={os.fsdecode(name): os.fsdecode(value) for name, value in request.environ.items()},
            pid=pid,
            ppid=_parent(pid),
            exe=executable(pid),
            deadline_s=deadline,
            cwd=os.fsdecode(request.cwd),
        )
        done = threading.Event()
        reply: list[tuple[bytes, bytes, int]] = []

        def evaluate() -> None:
            try:
                found = answer(request.adapter, request.payload, caller, self._resources)
                reply.append((found.stdout, found.stderr, found.exit_code))
            finally:
                done.set()
                self._check_hints()
                self._leave()

        self._enter()
        threading.Thread(target=evaluate, daemon=True).start()
        if not done.wait(deadline - time.monotonic()):
            note(self._log, f"a call of process {pid} took longer than {DEADLINE_S:.0f} s and was denied")
            reply.insert(0, self._still_saving(request))
        stdout, stderr, code = reply[0]
        body = wire.pack((stdout, stderr, b"%d" % code))
        connection.settimeout(READ_S)
        connection.sendall(wire.sealed(self._key, body, request.nonce, request.body))

    def _settle(self) -> None:
        try:
            self._resources.settle()
        except Exception as error:
            note(self._log, f"a savepoint's ref is not synced yet, the next one sees to it: {error}")

    def _check_hints(self) -> None:
        try:
            for told in self._resources.check_hints():
                note(self._log, told)
        except Exception as error:
            note(self._log, f"the hints could not be checked: {error}")

    def _still_saving(self, request: _Request) -> tuple[bytes, bytes, int]:
        adapter = self._resources.adapter(request.adapter)
        reply = adapter.encode(Decision("block", wording.STILL_SAVING), None)
        return reply.stdout, reply.stderr, reply.exit_code


def _why(request: _Request | None) -> str:
    if request is None:
        return "its request is not sealed with this service's key, or is meant for another build"
    return "it sees another file system, works under another umask or has log settings of its own"


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(1 << 20, size - len(data)))
        if not piece:
            raise wire.Malformed("the request ended too early")
        data += piece
    return bytes(data)


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _socket_inode(path: str) -> int:
    try:
        return os.lstat(path).st_ino
    except OSError:
        return -1


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _parent(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


Sources = dict[str, tuple[int, int, int]]


def _sources(known: Sources | None = None) -> Sources:
    """(mtime, size, inode) of the files that this process's own code came from, and of its installation's RECORD."""
    paths = known if known is not None else _source_paths()
    found: Sources = {}
    for path in paths:
        info = os.stat(path)
        found[path] = (info.st_mtime_ns, info.st_size, info.st_ino)
    return found


def _source_paths() -> list[str]:
    paths = []
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) if name == "chrono" or name.startswith("chrono.") else None
        if path:
            paths.append(path)
    package = os.path.dirname(sys.modules["chrono"].__file__ or "")
    around = os.path.dirname(package)
    for name in os.listdir(around):
        if name.startswith("chrono_toolkit-") and name.endswith(".dist-info"):
            paths.append(os.path.join(around, name, "RECORD"))
    return paths

"""Owns the hook's own process: reads the payload, asks the resident service, else evaluates in this process.

The bytes of the exchange are left to `wire`, the answer to `service` and `local`. Builtins and C modules only, until
it has to evaluate by itself. It ends by `os._exit` with 0 or 42, and nothing it starts keeps its output open.
"""

import sys

TYPE_CHECKING = False  # importing `typing` costs half a bare start of Python, `__future__` a tenth
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

DEADLINE_S = 20.0
GRACE_S = 3.0
"""The whole hook, from start to answer. Clients wait 30 s for it."""

ACCEPT_S = 1.5
"""A service that has not said that it lives by then is passed over."""

RESPAWN_S = 10.0
"""A service that did not come up is not started again sooner."""

_SMALL_HEAP = {b"MALLOC_ARENA_MAX": b"1", b"MALLOC_MMAP_THRESHOLD_": b"65536"}
"""For the service, where each call is a thread: else the C library keeps a heap of freed memory for many of them, with
room for the largest thing that each ever held. What is larger than this goes back to the system at once."""

OBJECTS_BEFORE_COLLECTING = 500_000
"""A process that ends with its answer: one pass of the collector over the rules costs more than all that a call leaves
behind. A text that leaves far more is still collected after."""

INPUT_BYTES = 64 * 1024 * 1024
"""No client sends that much. An input without an end would else fill the memory of the machine before the deadline."""

BLOCKED = 42
_STILL = (
    "chrono: the guard could not finish within 20 s, so this call is denied. It may still be taking a savepoint of a "
    "large folder: try again in a moment. Name folders that need no savepoint in .chronoignore\n"
)


def main(here: str, arguments: list[str]) -> "NoReturn":
    """The hook, or with `--service` the resident process. `here` is the folder of this file."""
    from time import monotonic

    started = monotonic()
    import posix

    wire = _load(here, "wire")
    package = here.rpartition("/")[0]
    if arguments[:1] == ["--service"]:
        _enter_package(package, None)
        from chrono.guard.service import serve_from_client

        posix._exit(serve_from_client(package, posix.environ))
    adapter = arguments[0] if arguments else ""
    _occupy_standard_files(posix)
    watch = _Watch(posix, started + DEADLINE_S)
    payload = _read_all(posix)
    environ = posix.environ
    home = wire.chrono_home(environ, sys.platform)
    build = wire.build_id(package)
    wanted = _service_wanted(environ, home)
    answer = None
    if wanted and home is not None:
        try:
            answer = _ask(wire, posix, build, home, adapter, payload, started)
        except (OSError, wire.Malformed, ValueError):
            answer = None
    served = answer is not None
    if answer is None:
        import gc

        gc.set_threshold(OBJECTS_BEFORE_COLLECTING)
        _enter_package(package, None if home is None else wire.run_file(home, build, "paths"))
        from chrono.guard.local import answer_here

        reply = answer_here(adapter, payload, environ, started + DEADLINE_S)
        answer = (reply.stdout, reply.stderr, reply.exit_code)
    watch.over()
    status = _say(posix, *answer)
    if wanted and home is not None and not served and _may_start(wire, posix, build, home):
        _start_service(wire, posix, here, build, home)
    posix._exit(status)


def _load(here: str, name: str) -> "ModuleType":
    """A module of this folder, without importing the package around it."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import spec_from_file_location

    spec = spec_from_file_location("chrono_hook_" + name, f"{here}/{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _occupy_standard_files(posix: "ModuleType") -> None:
    """Fills closed standard descriptors: else the next file opened (a log) would be where the answer is written to.

    Raises OSError where the input is closed.
    """
    closed = []
    for fd in (0, 1, 2):
        try:
            posix.fstat(fd)
        except OSError:
            closed.append(fd)
            posix.open("/dev/null", posix.O_RDWR)  # the lowest free number, which is `fd`
    if 0 in closed:
        raise OSError("its standard input is closed")


def _read_all(posix: "ModuleType") -> bytes:
    """Standard input to its end. Raises OSError where it is closed, or longer than any client's."""
    pieces: list[bytes] = []
    left = INPUT_BYTES
    while left > 0:
        piece = posix.read(0, 1 << 16)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
    raise OSError("its input is longer than 64 MiB")


def _say(posix: "ModuleType", stdout: bytes, stderr: bytes, exit_code: int) -> int:
    """Writes the answer; the exit status. An answer that cannot be written blocks."""
    try:
        for fd, data in ((2, stderr), (1, stdout)):
            while data:
                data = data[posix.write(fd, data) :]
    except OSError:
        return BLOCKED
    return BLOCKED if exit_code else 0


class _Watch:
    """Blocks the call when the deadline passes, whatever this process is doing then.

    A thread says why. Where it does not get its turn, because one call into C holds the interpreter, the kernel ends
    the process a little later: any end but a plain one blocks.
    """

    def __init__(self, posix: "ModuleType", deadline: float) -> None:
        import _signal  # type: ignore[import-not-found]  # of C, as the others here: `signal` costs a start too much
        import _thread
        from time import monotonic

        self._lock = _thread.allocate_lock()
        self._lock.acquire()

        def wait() -> None:
            if self._lock.acquire(True, max(deadline - monotonic(), 0.001)):
                return
            _say(posix, b"", _STILL.encode("ascii"), 2)
            posix._exit(BLOCKED)

        _thread.start_new_thread(wait, ())
        self._alarm = _signal
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        _signal.setitimer(_signal.ITIMER_REAL, max(deadline - monotonic(), 0) + GRACE_S)

    def over(self) -> None:
        """The answer is there; from now on nobody else writes one."""
        self._lock.release()
        self._alarm.setitimer(self._alarm.ITIMER_REAL, 0)


def _service_wanted(environ: dict[bytes, bytes], home: bytes | None) -> bool:
    """Whether the service may be asked: not with a key in the environment, nor with other settings of the log."""
    if home is None or sys.platform != "linux" or environ.get(b"CHRONO_SERVICE", b"auto") != b"auto":
        return False
    return not any(name.startswith(b"CHRONO_AUDIT_") for name in environ)


def _ask(
    wire: "ModuleType", posix: "ModuleType", build: str, home: bytes, adapter: str, payload: bytes, started: float
) -> tuple[bytes, bytes, int] | None:
    """The service's answer; None where there is none that can be trusted."""
    import _socket
    from time import monotonic

    uid = posix.getuid()
    path = wire.socket_path(home, build, uid)
    if not _own_folder(posix, path.rpartition(b"/")[0], uid):
        return None
    key = _read_key(wire, posix, wire.run_file(home, build, "key"), uid)
    if key is None:
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(ACCEPT_S)
        connection.connect(path)
        pid, peer_uid = _peer(connection, _socket)
        if pid == 0 or peer_uid != uid:
            return None
        nonce = posix.urandom(wire.NONCE_BYTES)
        body = wire.pack(_fields(wire, posix, build, home, adapter, payload, nonce))
        connection.sendall(wire.sealed(key, body))
        if connection.recv(1) != wire.ACCEPTED:
            return None
        connection.settimeout(max(started + DEADLINE_S + 2 - monotonic(), 0.001))
        answer = wire.opened(key, _receive(wire, connection), nonce, body)
    finally:
        connection.close()
    if answer is None:
        return None
    stdout, stderr, code = wire.unpack(answer, 3)
    return stdout, stderr, int(code)


def _fields(
    wire: "ModuleType", posix: "ModuleType", build: str, home: bytes, adapter: str, payload: bytes, nonce: bytes
) -> tuple[bytes, ...]:
    cwd = posix.getcwdb()
    here = posix.stat(cwd)
    umask = posix.umask(0o077)
    posix.umask(umask)
    return (
        wire.PROTOCOL,
        build.encode("ascii"),
        adapter.encode("utf-8", "surrogateescape"),
        nonce,
        cwd,
        b"%d:%d" % (here.st_dev, here.st_ino),
        b"%d" % posix.stat("/proc/self/ns/mnt").st_ino,
        b"%d" % umask,
        home,
        b"\0".join([name + b"=" + value for name, value in posix.environ.items()]),
        payload,
    )


def _receive(wire: "ModuleType", connection: object) -> bytes:
    """One message behind its length. Raises Malformed where the connection ends before it does."""
    data = b""
    wanted = 4
    while len(data) < wanted:
        piece = connection.recv(1 << 16)  # type: ignore[attr-defined]
        if not piece:
            raise wire.Malformed("the service went away")
        data += piece
        if wanted == 4 and len(data) >= 4:
            wanted = 4 + int.from_bytes(data[:4], "big")
            if wanted > wire.MAX_BYTES:
                raise wire.Malformed("too long")
    return data[4:wanted]


def _peer(connection: object, module: "ModuleType") -> tuple[int, int]:
    """(pid, uid) of the process that listens."""
    data = connection.getsockopt(module.SOL_SOCKET, module.SO_PEERCRED, 12)  # type: ignore[attr-defined]
    return int.from_bytes(data[0:4], sys.byteorder), int.from_bytes(data[4:8], sys.byteorder)


def _own_folder(posix: "ModuleType", path: bytes, uid: int) -> bool:
    """Whether the folder is a real one, this user's, and closed to others."""
    found = posix.lstat(path)
    return bool(found.st_mode & 0o170077 == 0o040000 and found.st_uid == uid)


def _read_key(wire: "ModuleType", posix: "ModuleType", path: bytes, uid: int) -> bytes | None:
    fd = posix.open(path, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC | posix.O_NONBLOCK)
    try:
        found = posix.fstat(fd)
        if found.st_mode & 0o170077 != 0o100000 or found.st_uid != uid:
            return None
        key: bytes = posix.read(fd, 100)
    finally:
        posix.close(fd)
    return key if len(key) == wire.KEY_BYTES else None


def _enter_package(package: str, paths_file: bytes | None) -> None:
    """Makes `chrono` and what it depends on importable: this installation's `chrono`, never one from elsewhere."""
    import site

    site.main()
    for path in _further_paths(paths_file):
        if path not in sys.path:
            sys.path.append(path)
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import spec_from_file_location

    spec = spec_from_file_location("chrono", package + "/__init__.py", submodule_search_locations=[package])
    assert spec is not None and spec.loader is not None
    module = sys.modules["chrono"] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _further_paths(paths_file: bytes | None) -> list[str]:
    """Folders that `guard install` found to be needed (`--user` installations), one a line."""
    import posix

    if paths_file is None:
        return []
    try:
        fd = posix.open(paths_file, posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError:
        return []
    try:
        found = posix.fstat(fd)
        if found.st_mode & 0o170022 != 0o100000 or found.st_uid != posix.getuid():
            return []
        text = posix.read(fd, 1 << 16).decode("utf-8", "surrogateescape")
    finally:
        posix.close(fd)
    return [line for line in text.split("\n") if line.startswith("/")]


def _may_start(wire: "ModuleType", posix: "ModuleType", build: str, home: bytes) -> bool:
    """Whether no other call has just started the service."""
    from time import time

    try:
        age_s: float = time() - posix.stat(wire.run_file(home, build, "start")).st_mtime
    except OSError:
        return True
    return age_s < 0 or age_s > RESPAWN_S


def _start_service(wire: "ModuleType", posix: "ModuleType", here: str, build: str, home: bytes) -> None:
    """Starts the service for the next call: a session of its own, nothing of this process's output kept open."""
    try:
        marker = posix.open(
            wire.run_file(home, build, "start"),
            posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_NOFOLLOW | posix.O_CLOEXEC,
            0o600,
        )
        posix.write(marker, b"1")
        posix.close(marker)
        null = posix.open("/dev/null", posix.O_RDWR)
        kept = (b"HOME", b"CHRONO_HOME", b"XDG_STATE_HOME", b"PATH", b"LANG", b"USER", b"LOGNAME")
        posix.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", here + "/boot.py", "--service"],
            {name: value for name, value in posix.environ.items() if name in kept} | _SMALL_HEAP,
            file_actions=[(posix.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)],
            setsid=True,
        )
    except (OSError, NotImplementedError):
        pass  # the next call evaluates by itself again

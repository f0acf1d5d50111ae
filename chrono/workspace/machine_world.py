"""Owns the World over the real machine: memoised, never blocking, with a SHA-256 of every file it read.

What is asked of it is decided by `scan`; comparing the hashes after the call is left to `guard`.
"""

from __future__ import annotations

import errno
import os
import stat as stat_bits
import sys
from collections.abc import Callable, Iterable, Mapping

from chrono.digest import sha256
from chrono.scan.world import MAX_PATH, Read, Stat, Unreadable
from chrono.tuples import NamedTuple

MAX_NAMES = 20_000
"""A folder with more names than this is answered as not listable: a glob over it stays unknown."""

MAX_FOLDERS = 100
"""Links of paths deeper than this are resolved without remembering the folders on the way."""

_new = tuple.__new__

_UNASKED = Stat("", 0, 0, 0)
"""Stands for the answer about a path that was not asked for yet."""

MAX_TOTAL_BYTES = 32_000_000
"""All reads of one scan together; more is answered "too large"."""

_OWN = ("/proc/self/", "/proc/thread-self/")
_MAX_OWN = 8


class MachineWorld:
    """One scan's view of the machine: the first answer about a path stays the answer until the scan ends.

    `environ` is the environment of the agent's call, never that of the resident service. `project` is the root of the
    chrono project around `cwd`, or None.
    """

    def __init__(
        self, cwd: str, environ: Mapping[str, str], *, project: str | None, chrono_home: str, user_home: str
    ) -> None:
        self.cwd = cwd
        self.home = user_home
        self.uid = os.getuid() if hasattr(os, "getuid") else 0
        self.user = environ.get("USER") or environ.get("LOGNAME") or environ.get("USERNAME") or _user_name(self.uid)
        self.platform = sys.platform
        self.project = project
        self.chrono_home = chrono_home
        self._environ = environ
        self._reads: dict[str, Read | Unreadable] = {}
        self._hashes: dict[str, str] = {}
        self._stats: dict[str, Stat | None] = {}
        self._real: dict[str, str] = {"/": "/"}
        self._lists: dict[str, tuple[str, ...] | None] = {}
        self._homes: tuple[str, ...] | None = None
        self._left_bytes = MAX_TOTAL_BYTES

    def env(self, name: str) -> str | None:
        return self._environ.get(name)

    def read(self, path: str, limit_bytes: int) -> Read | Unreadable:
        """The content of a regular file of at most `limit_bytes`; a FIFO or a device is never opened for long."""
        path = self._seen_from_there(path)
        known = self._reads.get(path)
        if isinstance(known, Read) and len(known.data) > limit_bytes:
            return Unreadable("too large")
        if known is not None and known != Unreadable("too large"):
            return known
        answer = read_file(path, min(limit_bytes, self._left_bytes))
        if isinstance(answer, Read):
            self._left_bytes -= len(answer.data)
            self._hashes[path] = sha256(answer.data).hexdigest()
        self._reads[path] = answer
        return answer

    def head(self, path: str, size_bytes: int) -> Read | Unreadable:
        """The first `size_bytes` of a regular file, whatever its size: to tell a script from a compiled program."""
        path = self._seen_from_there(path)
        known = self._reads.get(path)
        if isinstance(known, Read):
            return Read(known.data[:size_bytes])
        return read_head(path, size_bytes)

    def hashes(self) -> tuple[tuple[str, str], ...]:
        """(absolute path, SHA-256 hex) of every file read so far, in the order of reading."""
        return tuple(self._hashes.items())

    def lstat(self, path: str) -> Stat | None:
        stats = self._stats
        found = stats.get(path, _UNASKED)
        if found is _UNASKED:
            if path.startswith(_OWN):
                path = self._seen_from_there(path)
            above = path.rpartition("/")[0]
            # There is nothing below what is not there.
            there = not above or stats.get(above, _UNASKED) is not None
            found = stats[path] = _lstat(path) if there else None
        return found

    def _seen_from_there(self, path: str) -> str:
        """`path` without the links that lead each process to its own folders: who looks here is not who will run."""
        for _ in range(_MAX_OWN):
            if not path.startswith(_OWN):
                break
            _, _, _, link, *rest = path.split("/", 4)
            if link not in ("cwd", "root"):
                break
            path = "/".join((self.cwd.rstrip("/") if link == "cwd" else "", *rest)) or "/"
        return path

    def realpath(self, path: str) -> str:
        known = self._real.get(path)
        if known is None:
            if path.startswith(_OWN):
                path = self._seen_from_there(path)
            known = self._real[path] = self._realpath(path)
        return known

    def _realpath(self, path: str) -> str:
        """Folder by folder, so that the folders that many paths share are looked at once."""
        if len(path) > MAX_PATH or f"{path}/".startswith(_OWN):
            return os.path.normpath(path)
        above, slash, name = path.rpartition("/")
        folder = self._real.get(above) if above else slash
        if folder and above != "/" and name not in _NO_NAMES:
            return self._walk(folder, (name,))
        first, *names = path.split("/")
        if first or len(names) >= MAX_FOLDERS or not _NO_NAMES.isdisjoint(names):
            return _resolved(path)
        if len(names) > 2 and names[0] in _HOMES_PARENTS:
            self.homes()  # most of them are known to be no links, without a look at each
            home = self._real.get(f"/{names[0]}/{names[1]}")
            if home is not None:
                return self._walk(home, names[2:])
        return self._walk("/", names)

    def _walk(self, real: str, names: Iterable[str]) -> str:
        """The way down from a folder whose links are resolved."""
        stats = self._stats
        there = stats.get(real, _UNASKED) is not None
        real = real.rstrip("/")
        for name in names:
            real = f"{real}/{name}"
            found = stats.get(real, _UNASKED)
            if found is _UNASKED:
                found = stats[real] = _lstat(real) if there else None
            if found is None:
                there = False
            elif found.kind == "link":
                target = self._real.get(real)
                if target is None:
                    target = self._real[real] = _resolved(real)
                real = target.rstrip("/")
        return real or "/"

    def listdir(self, path: str) -> tuple[str, ...] | None:
        path = self._seen_from_there(path)
        if path not in self._lists:
            self._lists[path] = _listdir(path)
        return self._lists[path]

    def homes(self) -> tuple[str, ...]:
        if self._homes is None:
            accounts, folders = _homes(self.platform)
            self._homes = tuple(dict.fromkeys((self.home, *accounts.paths, *folders.paths)))
            for path in folders.plain:
                self._real.setdefault(path, path)
        return self._homes


class ClosedWorld(MachineWorld):
    """A World that opens nothing: for a verdict on a bare text, without a project (product.md, `chrono.assess`)."""

    def read(self, path: str, limit_bytes: int) -> Read | Unreadable:
        return Unreadable("denied")

    def head(self, path: str, size_bytes: int) -> Read | Unreadable:
        return Unreadable("denied")

    def lstat(self, path: str) -> Stat | None:
        return None

    def realpath(self, path: str) -> str:
        return os.path.normpath(path)

    def listdir(self, path: str) -> tuple[str, ...] | None:
        return None

    def homes(self) -> tuple[str, ...]:
        return (self.home,)


def _user_name(uid: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError):
        return str(uid)


def read_file(path: str, limit_bytes: int, *, follow: bool = True) -> Read | Unreadable:
    """The whole of a regular file of at most `limit_bytes`. Never waits: not for a FIFO, not for a device.

    `follow` False also refuses a symbolic link in the file's place.
    """
    answer = _take(path, limit_bytes + 1, follow=follow)
    if isinstance(answer, Read) and len(answer.data) > limit_bytes:
        return Unreadable("too large")
    return answer


def read_head(path: str, size_bytes: int) -> Read | Unreadable:
    """The first `size_bytes` of a regular file. Never waits."""
    return _take(path, size_bytes, follow=True)


def _take(path: str, size_bytes: int, *, follow: bool) -> Read | Unreadable:
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", *(() if follow else ("O_NOFOLLOW",))):
        flags |= getattr(os, name, 0)
    try:
        # Looked at before it is opened as well: opening some devices has effects of its own.
        if not stat_bits.S_ISREG(os.stat(path, follow_symlinks=follow).st_mode):
            return Unreadable("not a file")
        fd = os.open(path, flags)
    except (OSError, ValueError) as error:
        return _unreadable(error)
    try:
        if not stat_bits.S_ISREG(os.fstat(fd).st_mode):
            return Unreadable("not a file")
        data = bytearray()
        while len(data) < size_bytes:
            piece = os.read(fd, min(1 << 20, size_bytes - len(data)))
            if not piece:
                break
            data += piece
        return Read(bytes(data))
    except OSError as error:
        return _unreadable(error)
    finally:
        os.close(fd)


def _unreadable(error: Exception) -> Unreadable:
    code = getattr(error, "errno", None)
    if code in (errno.ENOENT, errno.ENOTDIR):
        return Unreadable("missing")
    if code in (errno.EISDIR, errno.ENXIO):
        return Unreadable("not a file")
    return Unreadable("denied")


_NO_NAMES = frozenset(("", ".", ".."))


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return os.path.normpath(path)


def _lstat(path: str) -> Stat | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    mode = found.st_mode
    # The masks of S_IFMT and S_IMODE: this is asked of every folder on the way to every path.
    return _new(Stat, (_KINDS.get(mode & 0o170000, "other"), found.st_size, mode & 0o7777, found.st_uid))


_KINDS = {stat_bits.S_IFREG: "file", stat_bits.S_IFDIR: "dir", stat_bits.S_IFLNK: "link"}


def _listdir(path: str) -> tuple[str, ...] | None:
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > MAX_NAMES:
                    return None
    except (OSError, ValueError):
        return None
    return tuple(sorted(names))


class _Homes(NamedTuple):
    """The homes that a place names, and those of them that are known to be folders and no links."""

    paths: tuple[str, ...]
    plain: tuple[str, ...]


def _homes(platform: str) -> tuple[_Homes, _Homes]:
    """Home folders from the local accounts and from the usual parent; no directory service is asked, it may hang."""
    return _kept(ACCOUNTS, _account_homes), _kept("/Users" if platform == "darwin" else "/home", _folders_in)


_HOMES_PARENTS = ("home", "Users")
ACCOUNTS = "/etc/passwd"

_HOMES: dict[str, tuple[tuple[int, int, int, int, int], _Homes]] = {}
"""The homes that a place names, with the stamp of the place: the resident service asks for every command."""


def _kept(path: str, homes_of: Callable[[str], _Homes]) -> _Homes:
    """The homes that a file or a folder names, read again when it is another or has changed."""
    try:
        found = os.lstat(path)
        link = stat_bits.S_ISLNK(found.st_mode)
        if link:
            found = os.stat(path)
    except OSError:
        return _Homes((), ())
    stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, int(link))
    known = _HOMES.get(path)
    if known is None or known[0] != stamp:
        named = homes_of(path)
        homes = tuple(home for home in named.paths if home not in ("", "/", "/nonexistent"))
        # Below a link nothing is where its path says.
        known = _HOMES[path] = (stamp, _Homes(homes, () if link else named.plain))
    return known[1]


def _account_homes(path: str) -> _Homes:
    accounts = read_file(path, 1_000_000)  # not one of the files that the scan depends on
    text = accounts.data.decode("utf-8", "surrogateescape") if isinstance(accounts, Read) else ""
    rows = [line.split(":") for line in text.splitlines()]
    homes = (row[5] for row in rows if len(row) >= 6 and row[2].isdigit() and (row[2] == "0" or int(row[2]) >= 1000))
    return _Homes(tuple(homes), ())


def _folders_in(path: str) -> _Homes:
    homes = tuple(f"{path}/{name}" for name in _listdir(path) or ())
    found = ((home, _lstat(home)) for home in homes)
    return _Homes(homes, tuple(home for home, stat in found if stat is not None and stat.kind == "dir"))

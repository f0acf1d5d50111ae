"""Owns the stat cache: what every folder held at the last savepoint, in memory and in `.chrono/stat.cache`.

It only saves work: deleted, damaged or of another version it is not believed, and the next capture reads everything.
What a stat key proves is decided by `store.scanning`. Format: docs/formats/savepoint.md.
"""

from __future__ import annotations

import os
import stat as stat_module
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

from chrono.store.disk import READ_FILE, Disk
from chrono.store.snapshot import Totals
from chrono.tuples import NamedTuple

Key = tuple[int, int, int, int]
"""(mtime_ns, ctime_ns, size, inode)."""

ZERO: Key = (0, 0, 0, 0)
"""Never equal to a real key: the entry is read again next time."""

MAGIC = b"chrono-stat-cache 1\n"
_MAX_BYTES = 4 << 30
_RECORD = struct.Struct("<II")
_FOLDER = struct.Struct("<B4qIIIIIII")
_MARK = struct.Struct("<B20s20sQ")

CAPTURED = 0
"""A folder whose content is in the savepoint."""
HEAVY = 1
"""A folder found to be a build product by what is in it (CACHEDIR.TAG, pyvenv.cfg, …): its stat is kept."""
NESTED = 2
"""The root of another chrono project."""
KEPT = 3
"""A folder that could not be read: its content of the last savepoint stands in."""


class Folder:
    """One folder of the work tree. `files` of it run in parallel lists, sorted by name; links count as files.

    `forced` names files whose tree entry is escaped because of their content. `tree` and `piece` (20-byte id of the
    tree object, lines of the metadata blob) are None where they must be made again. `totals` are as of the last scan,
    None where none was since it was loaded: then the folder at the top has none either.
    """

    __slots__ = (
        "children",
        "excluded",
        "forced",
        "key",
        "keys",
        "live",
        "mode",
        "modes",
        "names",
        "oids",
        "parent",
        "path",
        "piece",
        "skips",
        "state",
        "totals",
        "touched",
        "tree",
    )

    def __init__(self, path: bytes, parent: Folder | None) -> None:
        self.path = path
        self.parent = parent
        self.key: Key = ZERO
        self.mode = 0o755
        self.state = CAPTURED
        self.names: list[bytes] = []
        self.keys: list[Key] = []
        self.modes: list[int] = []
        self.oids: list[bytes] = []
        self.children: list[Folder] = []
        self.excluded: list[tuple[bytes, str]] = []
        self.skips: list[tuple[bytes, str, bool]] = []
        self.live: list[bytes] = []
        self.forced: frozenset[bytes] = frozenset()
        self.tree: bytes | None = None
        self.piece: bytes | None = None
        self.totals: Totals | None = None
        self.touched = False

    @property
    def name(self) -> bytes:
        return self.path.rpartition(b"/")[2]

    def below(self, name: bytes) -> bytes:
        return self.path + b"/" + name if self.path else name

    def walk(self) -> list[Folder]:
        """This folder and all below it, a folder before its content, by name."""
        found, stack = [], [self]
        while stack:
            folder = stack.pop()
            found.append(folder)
            if folder.children:
                stack += folder.children[::-1]
        return found

    def dirty(self) -> None:
        """Its tree and metadata must be made again."""
        self.tree = None
        self.piece = None
        self.touched = True


class Cached(NamedTuple):
    """A cache that may be used: the root folder, the commit that holds it, and what the scan's rules were."""

    root: Folder
    head: bytes
    rules: bytes


class Stamp(NamedTuple):
    """Which file the state in memory came from or went to."""

    inode: int
    size: int
    mtime_ns: int


def stamp(path: bytes) -> Stamp | None:
    """The file's identity now, None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


def load(path: bytes) -> tuple[Cached, int] | None:
    """(the newest complete state, how many bytes of the file it takes), or None for no cache that can be believed."""
    data = _read(path)
    if data is None or not data.startswith(MAGIC):
        return None
    folders: dict[bytes, Folder] = {}
    pending: list[bytes] = []
    mark: tuple[bytes, bytes] | None = None
    good = position = len(MAGIC)
    end = len(data)
    while position + 8 <= end:
        size, checksum = _RECORD.unpack_from(data, position)
        body = data[position + 8 : position + 8 + size]
        if len(body) != size or zlib.crc32(body) != checksum or not body:
            break
        position += 8 + size
        if body[:1] != b"M":
            pending.append(body)
            continue
        try:
            _, head, rules, _ = _MARK.unpack(body)
            for record in pending:
                _apply(record, folders)
        except (struct.error, ValueError, IndexError):
            return None
        pending.clear()
        mark = (head, rules)
        good = position
    if mark is None or b"" not in folders:
        return None
    root = _link(folders)
    return (Cached(root, *mark), good) if root is not None else None


def save(path: bytes, cached: Cached, disk: Disk) -> None:
    """Writes the whole state beside `path` and renames it into place. Not synced: it may be lost."""
    temp = path + b".tmp-" + os.urandom(4).hex().encode()
    fd = disk.create(temp, 0o600)
    try:
        try:
            disk.write(fd, MAGIC + b"".join(_records(cached.root.walk(), (), cached)))
        finally:
            os.close(fd)
        disk.rename(temp, path)
    except BaseException:
        try:
            disk.unlink(temp)
        except OSError:
            pass
        raise


def append(path: bytes, cached: Cached, changed: Iterable[Folder], gone: Iterable[bytes], disk: Disk) -> None:
    """Adds what changed since the file was written."""
    fd = disk.open_append(path)
    try:
        disk.write(fd, b"".join(_records(changed, gone, cached)))
    finally:
        os.close(fd)


def _read(path: bytes) -> bytes | None:
    try:
        fd = os.open(path, READ_FILE)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if not stat_module.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_size > _MAX_BYTES:
            return None
        parts = []
        while chunk := os.read(fd, 1 << 24):
            parts.append(chunk)
    except OSError:
        return None
    finally:
        os.close(fd)
    return b"".join(parts)


def _records(changed: Iterable[Folder], gone: Iterable[bytes], cached: Cached) -> Iterator[bytes]:
    for path in gone:
        yield _framed(b"D" + path)
    for folder in changed:
        yield _framed(b"F" + _dump(folder))
    yield _framed(_MARK.pack(ord("M"), cached.head, cached.rules, 0))


def _framed(body: bytes) -> bytes:
    return _RECORD.pack(len(body), zlib.crc32(body)) + body


def _dump(folder: Folder) -> bytes:
    keys = array("q", chain.from_iterable(folder.keys))
    names = b"\0".join(folder.names)
    extra = b"\0\0".join(
        (
            b"\0".join(kind.encode() + b"/" + name for name, kind in folder.excluded),
            b"\0".join(reason.encode() + (b"/+" if kept else b"/-") + name for name, reason, kept in folder.skips),
            b"\0".join(folder.live),
            b"\0".join(sorted(folder.forced)),
        )
    )
    piece = folder.piece or b""
    head = _FOLDER.pack(
        folder.state,
        *folder.key,
        folder.mode,
        len(folder.names),
        len(folder.path),
        len(names),
        len(extra),
        len(piece),
        1 if folder.tree is not None and folder.piece is not None else 0,
    )
    modes = array("I", folder.modes)
    tree = folder.tree or b"\0" * 20
    return b"".join(
        (head, tree, folder.path, names, extra, piece, keys.tobytes(), modes.tobytes(), b"".join(folder.oids))
    )


def _apply(record: bytes, folders: dict[bytes, Folder]) -> None:
    if record[:1] == b"D":
        path = record[1:]
        for known in [known for known in folders if known == path or known.startswith(path + b"/")]:
            del folders[known]
    elif record[:1] == b"F":
        folder = _parse(record)
        folders[folder.path] = folder
    else:
        raise ValueError("unknown record")


def _parse(record: bytes) -> Folder:
    position = 1 + _FOLDER.size
    state, *rest = _FOLDER.unpack_from(record, 1)
    mode, count, path_size, names_size, extra_size, piece_size, complete = rest[4:]
    sizes = (20, path_size, names_size, extra_size, piece_size, 32 * count, 4 * count, 20 * count)
    if len(record) != position + sum(sizes):
        raise ValueError("record of another size")
    parts = []
    for size in sizes:
        parts.append(record[position : position + size])
        position += size
    tree, path, names, extra, piece, keys, modes, oids = parts
    folder = Folder(path, None)
    folder.state = state
    folder.key = (rest[0], rest[1], rest[2], rest[3])
    folder.mode = mode
    if count:
        folder.names = names.split(b"\0")
        numbers = iter(array("q", keys))
        folder.keys = list(zip(numbers, numbers, numbers, numbers, strict=True))
        folder.modes = list(array("I", modes))
        folder.oids = [oids[start : start + 20] for start in range(0, len(oids), 20)]
    if len(folder.names) != count:
        raise ValueError("names and count differ")
    if complete:
        folder.tree = tree
        folder.piece = piece
    if extra != b"\0" * 6:
        _parse_extra(extra, folder)
    return folder


def _parse_extra(extra: bytes, folder: Folder) -> None:
    excluded, skips, live, forced = extra.split(b"\0\0")
    for item in excluded.split(b"\0") if excluded else ():
        kind, _, name = item.partition(b"/")
        folder.excluded.append((name, kind.decode()))
    for item in skips.split(b"\0") if skips else ():
        reason, _, name = item.partition(b"/")
        folder.skips.append((name[1:], reason.decode(), name[:1] == b"+"))
    folder.live = live.split(b"\0") if live else []
    folder.forced = frozenset(forced.split(b"\0")) if forced else frozenset()


def _link(folders: dict[bytes, Folder]) -> Folder | None:
    """Parents and children tied together; None where a folder's parent is missing."""
    for path in sorted(folders):
        if not path:
            continue
        parent = folders.get(path.rpartition(b"/")[0])
        if parent is None:
            return None
        folders[path].parent = parent
        parent.children.append(folders[path])
    for folder in folders.values():
        folder.children.sort(key=_name_of)
    return folders[b""]


def _name_of(folder: Folder) -> bytes:
    return folder.name

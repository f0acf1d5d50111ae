"""Owns refs: reading loose and packed ones, and moving one by compare-and-swap under git's own lock files.

Written by hand so that no configuration, hook, reflog or symbolic ref of the repository can interfere. Which refs
there are is said in docs/formats/savepoint.md.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from heapq import merge

from chrono.errors import Conflict, StoreError
from chrono.store.disk import READ_FILE, Disk

AUTO = "refs/chrono/auto/"
RESCUE = "refs/chrono/rescue/"
BRANCHES = "refs/heads/"
META = "refs/chrono/meta"
OPERATIONS = "refs/chrono/op"
MERGE = "refs/chrono/merge"

STALE_LOCK_S = 2.0
"""git holds the lock of a ref for milliseconds; no other chrono works while we hold the store lock."""

_NAME = re.compile(r"refs(?:/(?![.])(?:(?!\.\.|@\{)[^\x00-\x20\x7f~^:?*\[\\/])+)+")
_PACKED = re.compile(r"^([0-9a-f]{40}) ([^\n]*)$", re.MULTILINE)
_ASIDE = re.compile(r"^(?:[#^][^\n]*)?$", re.MULTILINE)
_OID = re.compile(rb"[0-9a-f]{40}")


def check_name(name: str) -> str:
    """`name` if it is a ref git would accept. Raises StoreError."""
    parts = name.split("/")
    if not _NAME.fullmatch(name) or any(part.endswith((".lock", ".")) for part in parts):
        raise StoreError(f"{name!r} is not a ref name")
    return name


class Refs:
    """The refs of the repository at `repo` (absolute)."""

    def __init__(self, repo: bytes, disk: Disk) -> None:
        self._repo = repo
        self._disk = disk
        self._packed: dict[str, str] = {}
        self._packed_stamp: tuple[int, int, int] | None = None
        self._packed_names: dict[str, list[str]] = {}
        self._late: dict[bytes, str] = {}
        self._durable = (b"", "")

    def read(self, name: str) -> str | None:
        """The object id a ref holds, or None. An empty file, which a power cut can leave, counts as no ref."""
        data = _content(self._path(check_name(name)))
        if data is not None and data.strip(b"\0\n "):
            return _oid(name, data)
        return self._read_packed().get(name)

    def below(self, prefix: str) -> list[tuple[str, str]]:
        """(name, id) of all refs below `prefix`, which ends in "/"; numbers by value, else by name."""
        return sorted(self.all_below(prefix).items(), key=lambda item: _order(item[0]))

    def all_below(self, prefix: str) -> dict[str, str]:
        """The same by name, in no order."""
        while True:
            packed = self._read_packed()
            found = {name: oid for name, oid in packed.items() if name.startswith(prefix)}
            for name in self._loose(prefix.rstrip("/")):
                oid = self.read(name)
                if oid is not None:
                    found[name] = oid
            if self._read_packed() is packed:  # else loose ones were packed meanwhile, and are in neither list
                return found

    def newest_first(self, prefix: str) -> Iterator[tuple[str, str]]:
        """The refs directly below `prefix` from the end: names, then falling numbers; each is read at its turn."""
        while True:
            packed = self._packed_below(prefix)
            names = self._loose(prefix.rstrip("/"))
            if self._packed_below(prefix) is packed:
                break

        def rank(name: str) -> tuple[int, int, str]:
            return _rank(prefix, name)

        values, loose, last = self._packed, set(names), None
        for name in merge(sorted(names, key=rank, reverse=True), reversed(packed), key=rank, reverse=True):
            if name != last:
                oid = self.read(name) if name in loose else values[name]
                last = name
                if oid is not None:
                    yield name, oid

    def _packed_below(self, prefix: str) -> list[str]:
        """Names of packed refs below `prefix`, in order; the same list as long as nothing changed."""
        packed = self._read_packed()
        known = self._packed_names.get(prefix)
        if known is None:
            known = sorted((name for name in packed if name.startswith(prefix)), key=lambda name: _rank(prefix, name))
            self._packed_names[prefix] = known
        return known

    def count_loose(self, prefix: str) -> int:
        """How many refs below `prefix` have a file of their own."""
        return len(self._loose(prefix.rstrip("/")))

    def last_number(self, prefix: str) -> int:
        """The highest number used below `prefix`, 0 where there is none."""
        packed = (number for name in reversed(self._packed_below(prefix)) if (number := _rank(prefix, name)[1]))
        loose = (_rank(prefix, name)[1] for name in self._loose(prefix.rstrip("/")))
        return max(next(packed, 0), max(loose, default=0))

    def head(self) -> str:
        """The ref that HEAD names. Raises StoreError where HEAD names none below refs/heads/."""
        data = _content(os.path.join(self._repo, b"HEAD")) or b""
        text = data.decode("utf-8", "surrogateescape").strip()
        if not text.startswith("ref: " + BRANCHES):
            raise StoreError(
                "HEAD of the hidden repository names no branch",
                f"write the current one into it, `ref: {BRANCHES}main`; if more is damaged, {StoreError.BRING_BACK}",
            )
        return check_name(text[5:])

    def set_head(self, name: str) -> None:
        """Points HEAD to a branch, which need not exist yet."""
        if not check_name(name).startswith(BRANCHES):
            raise StoreError(f"{name} is not a branch")
        path = os.path.join(self._repo, b"HEAD")
        fd = self._lock(path + b".lock", "HEAD")
        self._replace(fd, path, b"ref: " + name.encode("utf-8", "surrogateescape") + b"\n")

    def doubt(self, name: str) -> None:
        """`name` may have been written without a sync: `late` has its file until that is made up for."""
        found = self.read(name)
        if found is not None and (self._path(name), found) != self._durable:
            self._late[self._path(name)] = found

    @property
    def late(self) -> dict[bytes, str]:
        """Files of refs that may not be durable yet, and what they hold."""
        return dict(self._late)

    def caught_up(self, late: dict[bytes, str]) -> None:
        """Notes that these files, and their names, are durable now."""
        for path, oid in late.items():
            if self._late.get(path) == oid:
                self._late.pop(path, None)
            self._durable = (path, oid)

    def update(self, name: str, old: str | None, new: str | None, *, durable: bool = True) -> None:
        """Compare and swap; None stands for "no such ref". Raises Conflict, StoreError.

        Durable when it returns, or `late` (not `durable`): after a power cut the ref may be missing or empty then.
        """
        path = self._path(check_name(name))
        try:
            self._make_folders(path)
            fd = self._lock(path + b".lock", name)
            try:
                now = self.read(name)
                if now != old:
                    raise Conflict(
                        f"{name} is {now or 'absent'}, not {old or 'absent'}", "another process moved it; try again"
                    )
                if new is None:
                    self._delete(name, path)
            except BaseException:
                self._unlock(fd, path + b".lock")
                raise
            if new is None:
                self._unlock(fd, path + b".lock")
                self._disk.fsync_folder(os.path.dirname(path))
            else:
                self._replace(fd, path, new.encode("ascii") + b"\n", durable=durable)
                if not durable:
                    self._late[path] = new
        except OSError as error:
            raise StoreError(f"{name} could not be written: {error.strerror}") from error

    def _delete(self, name: str, path: bytes) -> None:
        """The packed value goes first: else a crash in between would bring it back."""
        if name in self._read_packed():
            self._write_packed({}, {name})
        try:
            self._disk.unlink(path)
        except FileNotFoundError:
            pass

    def _write_packed(self, more: dict[str, str], gone: set[str]) -> None:
        """`packed-refs` anew, with `more` and without `gone`; durable when it returns."""
        path = os.path.join(self._repo, b"packed-refs")
        fd = self._lock(path + b".lock", "packed-refs")
        rows = {name.encode("utf-8", "surrogateescape"): oid for name, oid in {**self._read_packed(), **more}.items()}
        for name in gone:
            rows.pop(name.encode("utf-8", "surrogateescape"), None)
        lines = [b"%s %s\n" % (rows[name].encode(), name) for name in sorted(rows)]
        self._replace(fd, path, b"# pack-refs with: sorted \n" + b"".join(lines))

    def pack(self, prefix: str, most: int) -> int:
        """Moves up to `most` loose refs below `prefix` into `packed-refs`; how many. Raises Conflict, StoreError."""
        names = self._loose(prefix.rstrip("/"))[:most]
        values = {name: oid for name in names if (oid := self.read(name)) is not None}
        if not values:
            return 0
        try:
            self._write_packed(values, set())
            for name, oid in values.items():
                self._unlink_if(name, oid)
            self._disk.fsync_folder(self._path(prefix.rstrip("/")))
        except OSError as error:
            raise StoreError(f"the refs could not be packed: {error.strerror}") from error
        return len(values)

    def take_in(self, values: dict[str, str]) -> None:
        """Sets many refs at once, whatever they were; durable when it returns. Raises Conflict, StoreError."""
        try:
            loose = {name for name in values if os.path.lexists(self._path(check_name(name)))}
            packed = {name: oid for name, oid in values.items() if name not in loose}
            if packed:
                self._write_packed(packed, set())
        except OSError as error:
            raise StoreError(f"the refs could not be written: {error.strerror}") from error
        for name in sorted(loose):
            self.update(name, self.read(name), values[name])

    def remove(self, expected: dict[str, str]) -> int:
        """Deletes the refs that still hold what is expected of them; returns how many. Raises Conflict, StoreError."""
        still = {name: oid for name, oid in expected.items() if self.read(check_name(name)) == oid}
        if not still:
            return 0
        try:
            if not still.keys().isdisjoint(self._read_packed()):
                self._write_packed({}, set(still))
            for name, oid in still.items():
                self._unlink_if(name, oid)
            for folder in {os.path.dirname(self._path(name)) for name in still}:
                if os.path.isdir(folder):  # a ref that was only ever packed has none
                    self._disk.fsync_folder(folder)
        except OSError as error:
            raise StoreError(f"the refs could not be deleted: {error.strerror}") from error
        return len(still)

    def _unlink_if(self, name: str, oid: str) -> None:
        """Removes a loose ref if it holds `oid`. These are refs that chrono alone writes, under the store lock."""
        path = self._path(name)
        data = _content(path)
        if data is not None and data.strip(b"\0\n ") == oid.encode():
            self._disk.unlink(path)

    def _lock(self, path: bytes, name: str) -> int:
        """git's lock file. One that stays is what a crash left, and is removed (we hold the store lock)."""
        deadline = time.monotonic() + STALE_LOCK_S * 3
        while True:
            try:
                return self._disk.create(path, 0o644)
            except FileExistsError:
                pass
            try:
                age_s = time.time() - os.lstat(path).st_mtime
            except FileNotFoundError:
                continue
            if age_s > STALE_LOCK_S or age_s < -STALE_LOCK_S:
                self._disk.unlink(path)
            elif time.monotonic() > deadline:
                raise Conflict(f"{name} is locked by another git process", "try again when it has finished")
            else:
                time.sleep(0.02)

    def _unlock(self, fd: int, path: bytes) -> None:
        os.close(fd)
        try:
            self._disk.unlink(path)
        except OSError:
            pass

    def _replace(self, fd: int, path: bytes, data: bytes, *, durable: bool = True) -> None:
        """Writes the lock file (open as `fd`) and renames it over `path`."""
        lock = path + b".lock"
        try:
            self._disk.write(fd, data)
            if durable:
                self._disk.fsync(fd)
            self._disk.rename(lock, path)
        except BaseException:
            self._unlock(fd, lock)
            raise
        os.close(fd)
        if durable:
            self._disk.fsync_folder(os.path.dirname(path))

    def _make_folders(self, path: bytes) -> None:
        missing = []
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            try:
                self._disk.mkdir(folder, 0o700)
            except FileExistsError:
                if not os.path.isdir(folder):
                    raise
            self._disk.fsync_folder(os.path.dirname(folder))

    def _loose(self, prefix: str) -> list[str]:
        """Names of loose refs below the folder `prefix`; links are not followed."""
        found = []
        stack = [prefix]
        while stack:
            folder = stack.pop()
            try:
                with os.scandir(os.path.join(self._repo, folder.encode("utf-8", "surrogateescape"))) as entries:
                    for entry in entries:
                        name = f"{folder}/{os.fsdecode(entry.name)}"
                        if entry.is_dir(follow_symlinks=False):
                            stack.append(name)
                        elif entry.is_file(follow_symlinks=False) and not name.endswith(".lock"):
                            found.append(name)
            except (FileNotFoundError, NotADirectoryError):
                continue
        return found

    def _path(self, name: str) -> bytes:
        return os.path.join(self._repo, name.encode("utf-8", "surrogateescape"))

    def _read_packed(self) -> dict[str, str]:
        path = os.path.join(self._repo, b"packed-refs")
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            if self._packed_stamp is not None:
                self._packed, self._packed_stamp = {}, None
                self._packed_names = {}
            return self._packed
        stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
        if stamp != self._packed_stamp:
            packed = _packed_refs(_content(path) or b"")
            self._packed, self._packed_stamp = packed, stamp
            self._packed_names = {}
        return self._packed


def _packed_refs(data: bytes) -> dict[str, str]:
    """The refs in a `packed-refs`, some ten thousand of them. Raises StoreError."""
    text = data.decode("utf-8", "surrogateescape")
    found = _PACKED.findall(text)
    if len(found) != text.count("\n") + 1 - len(_ASIDE.findall(text)):
        raise StoreError("packed-refs of the hidden repository is damaged", StoreError.BRING_BACK)
    return {name: oid for oid, name in found}


def _content(path: bytes) -> bytes | None:
    """The bytes of a small regular file, None where there is none. Raises StoreError for a link or worse."""
    try:
        fd = os.open(path, READ_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.EISDIR:
            return None
        raise StoreError(f"{os.fsdecode(path)} cannot be read: {error.strerror}") from None
    try:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            return None
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{os.fsdecode(path)} is not a regular file")
        return os.read(fd, 64 << 20)
    finally:
        os.close(fd)


def _oid(name: str, data: bytes) -> str:
    text = data.strip()
    if not _OID.fullmatch(text):
        raise StoreError(f"{name} of the hidden repository is damaged", StoreError.BRING_BACK)
    return text.decode("ascii")


def _rank(prefix: str, name: str) -> tuple[int, int, str]:
    """The order of the refs directly below `prefix`: numbers by value, then names."""
    tail = name[len(prefix) :]
    return (0, int(tail), "") if tail.isdecimal() and tail.isascii() else (1, 0, tail)


def _order(name: str) -> list[tuple[int, str]]:
    """Part by part; numbers by value and before names."""
    return [(int(part), "") if part.isdecimal() and part.isascii() else (1 << 63, part) for part in name.split("/")]

"""Owns the home witness (level W1): an append-only file outside the project that remembers how far a log had come.

A mismatch latches an alarm there, which only a reset by a person ends. Comparing is done by `audit.log` on every
append and by `audit.verify`.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import NamedTuple

from chrono.canonical import Json, NotCanonical, canonical_bytes, parse
from chrono.errors import AuditUnverifiable
from chrono.files import atomic_write, file_lock, write_all

COMPACT_BYTES = 1 << 20
LOCK_WAIT_S = 5.0


class Mark(NamedTuple):
    """An appended state: `size` records, leaf hash (hex) of the last, its signed note, the boot it was written in."""

    size: int
    leaf: str
    note: str
    boot_id: str


class Alarm(NamedTuple):
    """A latched mismatch: what was expected, what was found, when."""

    code: str
    expected: Mark
    found_size: int
    found_leaf: str
    at: str


class State(NamedTuple):
    """What the file says. `mark`: the last `A`; `acknowledged`: the last `S`; `alarm`: latched and not reset."""

    mark: Mark | None
    acknowledged: int
    alarm: Alarm | None
    resets: int


EMPTY = State(None, 0, None, 0)


class Witness:
    """The witness file of one log; created 0600 where missing. Writers hold its lock for each line."""

    def __init__(self, path: str, lock: str) -> None:
        self._path = path
        self._lock = lock
        self._cached: tuple[tuple[int, int], State] | None = None

    def exists(self) -> bool:
        return os.path.lexists(self._path)

    def state(self) -> State:
        """What the file says now. Raises AuditUnverifiable where it is no plain file of this user."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return EMPTY
        except OSError as error:
            raise _unreadable(self._path, error) from None
        try:
            key = _checked(self._path, fd)
            if self._cached is not None:
                (inode, size), state = self._cached
                if (inode, size) == key:
                    return state
                if inode == key[0] and size < key[1]:
                    state = _replay(os.pread(fd, key[1] - size, size), state)
                    self._cached = (key, state)
                    return state
            state = _replay(os.pread(fd, key[1], 0), EMPTY)
        finally:
            os.close(fd)
        self._cached = (key, state)
        return state

    def appended(self, mark: Mark) -> None:
        """Notes an append (`A`), before it is acknowledged."""
        note = base64.b64encode(mark.note.encode("utf-8")).decode("ascii")
        self._write(f"A {mark.size} {mark.leaf or '-'} {note} {mark.boot_id}\n")

    def acknowledged(self, size: int) -> None:
        """Notes that `size` records are on the disk (`S`)."""
        self._write(f"S {size}\n")

    def latch(self, alarm: Alarm) -> None:
        """Latches `alarm`; the first one stays."""
        self._write(_latched(alarm))

    def reset(self) -> None:
        """Ends the alarm; the next mark counts from here on."""
        self._write("R\n")

    def _write(self, line: str) -> None:
        with file_lock(self._lock, timeout_s=LOCK_WAIT_S):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            try:
                fd = os.open(self._path, flags, 0o600)
            except OSError as error:
                raise _unreadable(self._path, error) from None
            try:
                _, size = _checked(self._path, fd)
                write_all(fd, line.encode("ascii"))
            finally:
                os.close(fd)
            if size > COMPACT_BYTES:
                self._compact()

    def _compact(self) -> None:
        state = self.state()
        lines = ["R\n"] * state.resets
        if state.alarm is not None:
            lines.append(_latched(state.alarm))
        if state.mark is not None:
            note = base64.b64encode(state.mark.note.encode("utf-8")).decode("ascii")
            lines.append(f"A {state.mark.size} {state.mark.leaf or '-'} {note} {state.mark.boot_id}\n")
        lines.append(f"S {state.acknowledged}\n")
        atomic_write(self._path, "".join(lines).encode("ascii"))


def _latched(alarm: Alarm) -> str:
    value: dict[str, Json] = {
        "at": alarm.at,
        "boot": alarm.expected.boot_id,
        "code": alarm.code,
        "found_leaf": alarm.found_leaf,
        "found_size": alarm.found_size,
        "leaf": alarm.expected.leaf,
        "note": alarm.expected.note,
        "size": alarm.expected.size,
    }
    return f"L {base64.b64encode(canonical_bytes(value)).decode('ascii')}\n"


def _checked(path: str, fd: int) -> tuple[int, int]:
    import stat

    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        raise AuditUnverifiable(f"the witness {path} is not a plain file with one name", "look at who changed it")
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise AuditUnverifiable(f"the witness {path} belongs to uid {info.st_uid}", "look at who changed it")
    return info.st_ino, info.st_size


def _unreadable(path: str, error: OSError) -> AuditUnverifiable:
    return AuditUnverifiable(f"the witness {path} cannot be used: {error.strerror}", "look at CHRONO_HOME")


def _replay(data: bytes, state: State) -> State:
    """The state after the lines of `data`; a torn last line (no LF) counts only once it is whole."""
    for line in data.split(b"\n")[:-1]:
        kind, _, rest = line.decode("ascii", "replace").partition(" ")
        if kind == "A":
            mark = _mark(rest)
            state = state._replace(mark=mark) if mark else state
        elif kind == "S" and rest.isdigit():
            state = state._replace(acknowledged=int(rest))
        elif kind == "L" and state.alarm is None:
            state = state._replace(alarm=_alarm(rest))
        elif kind == "R":
            state = state._replace(alarm=None, resets=state.resets + 1)
    return state


def _mark(rest: str) -> Mark | None:
    parts = rest.split(" ")
    if len(parts) != 4 or not parts[0].isdigit():
        return None
    try:
        note = base64.b64decode(parts[2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return Mark(int(parts[0]), "" if parts[1] == "-" else parts[1], note, parts[3])


def _alarm(rest: str) -> Alarm:
    """A damaged latch is still a latch."""
    try:
        value = parse(base64.b64decode(rest, validate=True))
    except (binascii.Error, NotCanonical, ValueError):
        value = None
    if not isinstance(value, dict):
        return Alarm("unreadable", Mark(0, "", "", ""), 0, "", "")

    def text(key: str) -> str:
        member = value.get(key)
        return member if isinstance(member, str) else ""

    def number(key: str) -> int:
        member = value.get(key)
        return member if isinstance(member, int) else 0

    expected = Mark(number("size"), text("leaf"), text("note"), text("boot"))
    return Alarm(text("code"), expected, number("found_size"), text("found_leaf"), text("at"))

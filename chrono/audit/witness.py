"""Owns the home witness (level W1): an append-only file outside the project that remembers how far a log had come.

A mismatch latches an alarm there, which only a reset by a person ends. Comparing is done by `audit.compare`, on every
append and by `audit.verify`.
"""

from __future__ import annotations

import os
import stat

from chrono.canonical import Json, base64_of, canonical_bytes, from_base64, parse
from chrono.errors import AuditUnverifiable, Locked
from chrono.files import atomic_write, file_lock, write_all
from chrono.tuples import NamedTuple

COMPACT_BYTES = 1 << 18  # read whole by each hook that has no resident service: a millisecond
LOCK_WAIT_S = 5.0
_BOOT_ID_CHARS = (1, 36)


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
    """What the file says.

    `mark`: the last `A`; `acknowledged`: the highest `S` since the last alarm or reset; `alarm`: latched and not
    reset; `resets`: how many there were; `dropped`: entries that found the log locked and are not in it.
    """

    mark: Mark | None
    acknowledged: int
    alarm: Alarm | None
    resets: int
    dropped: int


EMPTY = State(None, 0, None, 0, 0)


class _Upto(NamedTuple):
    """What the first `end` bytes of the file say."""

    end: int
    state: State


_NOTHING = _Upto(0, EMPTY)
_UNFORESEEN = _Upto(-1, EMPTY)


class Witness:
    """The witness file of one log; created 0600 where missing.

    Lines are single O_APPEND writes, so writers need no lock against each other; only compaction takes it.
    """

    def __init__(self, path: str, lock: str) -> None:
        self._path = path
        self._lock = lock
        self._fd = -1
        self._inode = (0, 0)
        self._known = _NOTHING  # what was read, up to a line's end
        self._due = _NOTHING  # what the file holds where nobody else wrote after that
        self._torn = False

    def state(self) -> State:
        """What the file says now. Raises AuditUnverifiable where it is no plain file of this user."""
        size = self._open(create=False)
        return EMPTY if size is None else self._caught_up(size)

    def news(self) -> State:
        """As `state`, of the file that is open, without a look at its path: enough right after one. A file that was
        compacted meanwhile is noticed."""
        info = os.fstat(self._fd) if self._fd >= 0 else None
        return self._caught_up(info.st_size) if info is not None and info.st_nlink else self.state()

    def _caught_up(self, size: int) -> State:
        """The state at `size` bytes; what this process wrote is not read again where nobody else wrote."""
        if size == self._due.end:
            self._known = self._due
        known = self._known if size >= self._known.end else _NOTHING
        if size > known.end:
            data = os.pread(self._fd, size - known.end, known.end)
            whole = data.rfind(b"\n") + 1
            known = _Upto(known.end + whole, _replay(data[:whole], known.state))
            self._torn = whole != len(data)
        self._known = self._due = known
        return known.state

    def appended(self, mark: Mark) -> None:
        """Notes an append (`A`), before it is acknowledged. The caller holds the log's lock, and has read `state`."""
        if self._fd < 0:
            self._open(create=True)  # else it is the file that `state` saw: under the log's lock nobody replaces it
        self._write(_marked(mark), State(mark, *self._due.state[1:]))
        if self._due.end > COMPACT_BYTES or self._known.end > COMPACT_BYTES:
            try:
                self._compact()
            except (OSError, Locked, AuditUnverifiable):
                pass  # the mark is in the file: the record stands, and the next append tries to tidy up again

    def acknowledged(self, size: int) -> None:
        """Notes that `size` records are on the disk (`S`)."""
        if self._fd < 0:
            self._open(create=True)
        line = f"S {size}\n"
        state = self._due.state
        self._write(line, State(state.mark, max(state.acknowledged, size), *state[2:]))
        if not os.fstat(self._fd).st_nlink:  # compacted since it was opened: the line is for the new file
            self._open(create=True)
            self._write(line)

    def latch(self, alarm: Alarm) -> None:
        """Latches `alarm`; the first one stays. The next mark counts from here on."""
        self._told(_latched(alarm))

    def reset(self) -> None:
        """Ends the alarm; the next mark counts from here on."""
        self._told("R\n")

    def dropped(self) -> None:
        """Counts an entry that could not be recorded, because the log was locked for too long."""
        self._told("D 1\n")

    def counted(self, dropped: int) -> None:
        """Notes that a record tells of `dropped` lost entries."""
        self._told(f"C {dropped}\n")

    def close(self) -> None:
        """Closes the file; it is opened again by itself."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._known, self._due, self._torn = -1, _NOTHING, _NOTHING, False

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # noqa: S110
            pass  # at the end of a process `os` may be gone already

    def _open(self, *, create: bool) -> int | None:
        """Makes `_fd` the file that is there now; its size, None where there is none."""
        try:
            info = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            self.close()
            if not create:
                return None
        else:
            if self._fd >= 0 and (info.st_dev, info.st_ino) == self._inode and info.st_nlink == 1:
                return info.st_size
            self.close()
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if create else 0)
        try:
            fd = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise AuditUnverifiable(
                f"the witness {self._path} cannot be used: {(error.strerror or '').lower()}", "look at CHRONO_HOME"
            ) from None
        info = os.fstat(fd)
        why = ""
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            why = "is not a plain file with one name"
        elif hasattr(os, "getuid") and info.st_uid != os.getuid():
            why = f"belongs to uid {info.st_uid}"
        if why:
            os.close(fd)
            raise AuditUnverifiable(f"the witness {self._path} {why}", "look at who changed it")
        self._fd, self._inode = fd, (info.st_dev, info.st_ino)
        return info.st_size

    def _told(self, line: str) -> None:
        """Appends a line of the rare kinds."""
        self._open(create=True)
        self._write(line)

    def _write(self, line: str, after: State | None = None) -> None:
        """Appends `line` to the open file. `after`: the state that it leads to, where that is known."""
        data = line.encode("ascii")
        if self._torn:
            data = b"\n" + data  # a write that was cut off must not swallow this line
        write_all(self._fd, data)
        foreseen = after is not None and not self._torn and self._due.end >= 0
        self._due = _Upto(self._due.end + len(data), after) if foreseen and after is not None else _UNFORESEEN

    def _compact(self) -> None:
        """Rewrites the file as its state. A line that another process adds meanwhile is carried over."""
        with file_lock(self._lock, timeout_s=LOCK_WAIT_S):
            state = self.state()
            old, read = os.dup(self._fd), self._known.end
            try:
                atomic_write(self._path, "".join(_lines_of(state)).encode("ascii"))
                late = os.pread(old, COMPACT_BYTES, read)
            finally:
                os.close(old)
            if late:
                self._open(create=True)
                write_all(self._fd, late)


def _lines_of(state: State) -> list[str]:
    lines = ["R\n"] * state.resets
    if state.alarm is not None:
        lines.append(_latched(state.alarm))
    if state.mark is not None:
        lines.append(_marked(state.mark))
    if state.acknowledged:
        lines.append(f"S {state.acknowledged}\n")
    if state.dropped:
        lines.append(f"D {state.dropped}\n")
    return lines


def _marked(mark: Mark) -> str:
    note = base64_of(mark.note.encode("utf-8"))
    return f"A {mark.size} {mark.leaf} {note} {mark.boot_id}\n"


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
    return f"L {base64_of(canonical_bytes(value))}\n"


def _replay(data: bytes, state: State) -> State:
    """The state after the whole lines of `data`. A line that is none of the six kinds says nothing."""
    mark, acknowledged, alarm, resets, dropped = state
    # A hook reads this file at each start, so marks are taken apart from the end, where one is enough.
    marks: list[bytes] = []
    heard: list[bytes] = []
    for line in data.split(b"\n"):
        kind, rest = line[:2], line[2:]
        if kind == b"A ":
            marks.append(rest)
        elif kind == b"S ":
            heard.append(rest)
        elif kind == b"D ":
            dropped += _number(rest)
        elif kind == b"C ":
            dropped = max(0, dropped - _number(rest))
        elif kind in (b"L ", b"L"):
            alarm = alarm or _alarm(rest)
            acknowledged, heard = 0, []
        elif line == b"R":
            alarm, acknowledged, resets, heard = None, 0, resets + 1, []
    newest = next((found for found in map(_mark, reversed(marks)) if found is not None), mark)
    acknowledged = max([acknowledged, *map(_number, heard)])
    return State(newest, acknowledged, alarm, resets, dropped)


def _number(rest: bytes) -> int:
    return int(rest) if rest.isdigit() and len(rest) < 16 else 0


def _mark(rest: bytes) -> Mark | None:
    parts = rest.decode("ascii", "replace").split(" ")
    if len(parts) != 4 or not (parts[0].isascii() and parts[0].isdigit()) or len(parts[3]) not in _BOOT_ID_CHARS:
        return None
    try:
        note = from_base64(parts[2]).decode("utf-8")
    except ValueError:
        return None
    return Mark(int(parts[0][:16]), parts[1], note, parts[3])


def _alarm(rest: bytes) -> Alarm:
    """A damaged latch is still a latch."""
    try:
        value = parse(from_base64(rest))
    except ValueError:
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

"""Owns appending: lock, checks against head and witness, one write, head, witness, sync (audit format v2, section 4).

Beginning and opening a log is left to `audit.log`, record bytes to `audit.record`, finding the end to `audit.tail`,
judging a whole log to `audit.verify`.
"""

from __future__ import annotations

import errno
import os
from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from itertools import islice

from chrono.audit import checkpoint, head
from chrono.audit.compare import Mismatch, may_be_lost
from chrono.audit.durable import settle
from chrono.audit.keys import KeySettings, find_signer
from chrono.audit.merkle import leaf_hash
from chrono.audit.opened import Opened
from chrono.audit.pin import Pin, Turn, read_pin, write_pin
from chrono.audit.place import LogPlace, open_text, segment_path, segments, whereabouts
from chrono.audit.record import NO_PREV, ROTATE_PREFIX, Act, Actor, Entry, encode, read
from chrono.audit.tail import Expected, Tail, find_tail, hands_over
from chrono.audit.text import PLAIN, EndlessLine, lines
from chrono.audit.witness import Alarm, Mark, Witness
from chrono.canonical import Json
from chrono.clock import Clock, rfc3339
from chrono.errors import AuditTampered, AuditUnverifiable, ChronoError, KeyRefused, Locked
from chrono.files import atomic_write, file_lock, fsync_dir
from chrono.ids import LogId
from chrono.layout import HomeLayout
from chrono.signing import Signer
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

STEPS = ("line", "head", "witness", "unlocked", "synced", "acknowledged")
"""The steps of an append in order; a crash test stops after each."""

SEGMENT_BYTES = 1 << 26
"""Where the file that grows is longer, it is closed as a segment, and the next one begins."""
ROLL_STEPS = ("closed", "renamed", "created", "opened")
"""The steps of closing a segment, in order, between the steps of its two records."""

AtStep = Callable[[str], None]
_CHRONO = Actor(source="chrono")


def go_on(step: str) -> None:
    """Nothing happens between two steps, outside a crash test."""


class Receipt(NamedTuple):
    """A record that was written: its number, leaf hash, and the tree it ended (`leaf` and `root` hex)."""

    n: int
    leaf: str
    size: int
    root: str


class AuditLog:
    """One log, open for appending. Safe with other threads, processes and objects on the same files.

    Made by `audit.log`: `create` or `open_log`. It keeps files, key and tree between appends, and looks under each
    lock whether somebody else wrote.
    """

    def __init__(
        self, place: LogPlace, home: HomeLayout, log: LogId, keys: KeySettings, clock: Clock, at_step: AtStep = go_on
    ) -> None:
        self.place = place
        self.home = home
        self.log_id = log
        self._keys = keys
        self._clock = clock
        self._at_step = at_step
        self._witness = Witness(home.witness_log(log), home.witness_lock(log))
        self._pin_path = home.pin(log)
        self._files = Opened(place)
        self._seen = (0, 0)  # size and mtime of the log when `_tail` was its end
        self._tail: Tail | None = None
        self._signer: Signer | None = None
        self._next_signer: Signer | None = None  # who signs the checkpoint of a rotation: the log ends under that key
        self._pin: Pin | None = None
        self._pin_stamp: tuple[int, ...] | None = None
        self._placed = False  # whether the open file lies where the pin says
        self._notes: tuple[tuple[str, Json], ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether this CHRONO_HOME trusts the log; a foreign one is never written."""
        return read_pin(self.home, self.log_id) is not None

    @property
    def dropped(self) -> int:
        """Entries that found the log locked for too long and that no record tells of yet."""
        return self._witness.state().dropped

    def append(self, entry: Entry, *, timeout_s: float) -> Receipt:
        """Appends one record; on return it is on the disk and witnessed.

        Raises Locked (counted in `dropped`), KeyRefused, AuditUnverifiable, AuditTampered (gone, or a copy), OSError;
        nothing is then acknowledged.
        """
        with self.writing(timeout_s) as writing:
            return writing.append(entry)

    def writing(self, timeout_s: float) -> Writing:
        """Holds the log for the block; what it appended is durable and acknowledged when the block has ended.

        `Writing.size` and `.root` are those of the log so far: a savepoint's trailer names them, and its record
        becomes number `size` (specs: the ring). Raises as `append`.
        """
        return Writing(self, file_lock(self.place.lock, timeout_s=timeout_s))

    def close(self) -> None:
        """Closes the files; the log opens them again by itself."""
        self._files.close()
        self._tail = None
        self._witness.close()

    def __del__(self) -> None:
        # Who forgets a workspace, say a long-lived program with the SDK, must not run out of descriptors.
        try:
            self.close()
        except Exception:  # noqa: S110
            pass  # at the end of a process `os` may be gone already

    def _acknowledge(self, fd: int, size: int, end: int) -> None:
        try:
            self._at_step("unlocked")
            settle(fd, self.place.log, size, self._witness, self._at_step)
            if self._keys.overseer is not None and end:
                self._tell_overseer(self._keys.overseer, fd, size, end)
        finally:
            os.close(fd)
        self._at_step("acknowledged")

    def _tell_overseer(self, path: str, fd: int, size: int, end: int) -> None:
        """A witness that is away is told later: by the next append, or by a verification."""
        from chrono.audit.overseen import told

        try:
            told(path, self.log_id, fd, size, end)
        except (ChronoError, OSError):
            pass

    def _count_dropped(self) -> None:
        try:
            self._witness.dropped()
        except (OSError, AuditUnverifiable):
            pass  # the caller is told of the lock anyway

    # -- under the lock

    def _refresh(self, writing: Writing) -> None:
        """Brings `_tail` to the log's end, and writes what must be told before anything else."""
        stamp, same = self._files.look()
        if not same:
            self._tail, self._placed = None, False
            self._witness.close()
        self._trust()
        state = self._witness.state()
        mark, tail = state.mark, self._tail
        if tail is None or stamp != self._seen or mark is None or (mark.size, mark.leaf) != _size_leaf(tail):
            assert self._pin is not None
            if not self._files.has_its_beginning(self.log_id):
                self.refuse_headless()
            expected = Expected(self.log_id, self._pin.active, self._pin.signed_from, self._pin.turn)
            try:
                found = find_tail(self.place, self._files.live, self._files.head, tail, state, expected, boot_id())
            except EndlessLine:
                self._remember("too-long", state.mark.size if state.mark is not None else 0)
                raise
            self._tail, self._notes = found.tail, (*self._notes, *found.notes)
            if found.mismatch is not None:
                alarm = self._latch(found.mismatch)
            elif may_be_lost(state, found.tail.tree.size, boot_id()):
                head.wipe_beyond(self._files.head, found.tail.tree.size)
            self._begin_file(writing)
            if found.mismatch is not None:
                self._tell(writing, found.mismatch, alarm)
        if self._pin is not None and self._pin.turn is not None:
            self._finish_turn(self._pin, self._pin.turn)
        self._begin_signing(writing)
        if state.dropped:
            writing.append(Entry("audit.dropped", _CHRONO, Act(more=(("count", state.dropped),))))
            self._witness.counted(state.dropped)
        if self._opened_bytes() >= SEGMENT_BYTES:
            self.roll(writing, _CHRONO)

    def _opened_bytes(self) -> int:
        """Bytes of the file that grows."""
        assert self._tail is not None
        return self._tail.offset - self._files.live.base

    def _trust(self) -> None:
        """Loads pin and key where they changed; refuses a log that is not this home's, and a key that is not its."""
        try:
            info = os.stat(self._pin_path, follow_symlinks=False)
            stamp = (info.st_ino, info.st_mtime_ns, info.st_size)
        except FileNotFoundError:
            stamp = (0, 0, 0)
        if self._pin is not None and stamp == self._pin_stamp and self._placed:
            return
        self._pin = pin = self._checked_pin()
        self._pin_stamp, self._placed = stamp, True
        if os.stat(self.place.folder).st_ino != pin.inode and whereabouts(pin, self.place) == "copied":
            self._placed = False
            raise AuditTampered(
                f"fork alarm: {self.place.log} is a copy of the log that this home keeps in {pin.path}",
                "run chrono init --adopt to give this copy a log of its own",
            )

    def _checked_pin(self) -> Pin:
        pin = read_pin(self.home, self.log_id)
        if pin is None:
            raise AuditUnverifiable(
                f"the audit log {self.place.log} is not this home's own: no key is pinned for it",
                "run chrono init --adopt if you trust where it came from",
            )
        wanted = pin.active
        if self._signer is None or (wanted is not None and self._signer.public != wanted):
            self._signer = find_signer(self.home, self._keys, create=wanted is None, wanted=wanted)
        if pin.turn is not None:
            return pin  # `_finish_turn` says which key it is
        if wanted is not None and self._signer is None:
            raise KeyRefused(
                "the audit log is signed; writing unsigned records into it is refused", "unset CHRONO_AUDIT_UNSIGNED"
            )
        if wanted is not None and self._signer is not None and self._signer.public != wanted:
            raise KeyRefused(
                f"key {self._signer.kid} is not the one this log is pinned to ({wanted.kid})",
                "give the right key, or look at chrono audit --keys",
            )
        return pin

    # -- segments

    def roll(self, writing: Writing, by: Actor) -> None:
        """Closes the file that grows as a segment, and begins the next (docs/formats/audit-v2.md, "Segments").

        A crash between any two steps leaves a log that verifies: the next writer goes on from where this one stopped.
        """
        assert self._tail is not None
        first = self._files.first
        said: Json = {"bytes": self._opened_bytes(), "first": first, "records": self._tail.tree.size + 1 - first}
        writing.append(Entry("segment.close", by, Act(more=(("segment", said),))))
        os.fdatasync(self._files.live.fd)
        self._at_step("closed")
        tail = self._tail
        self._files.put_aside(segment_path(self.place, first, PLAIN))
        self._at_step("renamed")
        self._files.create()
        fsync_dir(self.place.folder)
        self._at_step("created")
        self._files.go_on(tail.offset)
        self._tail = tail
        self._begin_file(writing, first)
        self._at_step("opened")

    def _begin_file(self, writing: Writing, before: int | None = None) -> None:
        """Writes the first record of a file that is to follow a segment, where it is not there yet."""
        tail = self._tail
        assert tail is not None
        if self._opened_bytes() or not tail.offset:
            return
        hashes: list[Json] = [part.hex() for part in tail.tree.hashes]
        said: Json = {
            "before": max(segments(self.place)) if before is None else before,
            "first": tail.tree.size,
            "hashes": hashes,
            "offset": tail.offset,
        }
        writing.append(Entry("segment.open", _CHRONO, Act(more=(("segment", said),))))

    # -- alarms and keys

    def _latch(self, mismatch: Mismatch) -> Alarm:
        """Latches the alarm, so that the old mark is not lost."""
        assert self._tail is not None
        size, leaf = _size_leaf(self._tail)
        expected = self._witness.state().mark or Mark(0, "", "", "")
        alarm = Alarm(mismatch.code, expected, size, leaf, self._now())
        self._witness.latch(alarm)
        return alarm

    def _tell(self, writing: Writing, mismatch: Mismatch, alarm: Alarm) -> None:
        """Says in the log that it does not fit its witness."""
        more: tuple[tuple[str, Json], ...] = (
            ("code", mismatch.code),
            ("expected_size", alarm.expected.size),
            ("found_size", alarm.found_size),
            ("note", alarm.expected.note),
        )
        writing.append(Entry("audit.discontinuity", _CHRONO, Act(message=mismatch.text, more=more)))

    def refuse_headless(self) -> NoReturn:
        """The log does not begin with its first record, so no record can follow. The alarm stays, even where somebody
        puts the old file back. Raises AuditTampered."""
        self._remember("truncated", 0)
        raise AuditTampered(
            f"the audit log {self.place.log} does not begin with its first record",
            "run chrono audit --verify",
            record=0,
        )

    def _remember(self, code: str, found_size: int) -> None:
        """Latches an alarm that no record can tell of, since none can be written."""
        state = self._witness.state()
        if state.alarm is None and state.mark is not None:
            self._witness.latch(Alarm(code, state.mark, found_size, "", self._now()))

    def _begin_signing(self, writing: Writing) -> None:
        """The first signature of a log that was begun unsigned: pin first, so that a crash leaves no stray key."""
        assert self._pin is not None and self._tail is not None
        if self._signer is None:
            return
        size = self._tail.tree.size
        if self._pin.key is None:
            self._pin = self._pin._replace(key=self._signer.public, signed_from=size)
            write_pin(self.home, self._pin)
        if self._pin.signed_from == size:
            key: Json = {"pub": self._signer.public.text}
            writing.append(Entry("key.add", _CHRONO, Act(more=(("key", key),))))
            write_pub(self.place, self._signer)

    def _finish_turn(self, pin: Pin, turn: Turn) -> None:
        """A rotation that a crash cut short: the log says whether the new key took over."""
        assert self._tail is not None
        done = False
        if self._tail.tree.size > turn.n:
            with open_text(self.place) as text:
                line = next(islice(lines(text), turn.n, None))
            done = line.data is not None and hands_over(read(line.data), turn.key)
        write_pin(self.home, pin._replace(rotated=turn.key if done else pin.rotated, turn=None))
        self._pin, self._signer = None, None
        self._trust()

    def rotate(self, writing: Writing, by: Actor, new: Signer, reason: str | None) -> Receipt:
        """Hands over to `new`, which proves that it exists; the pin follows. For `audit.rotation` only."""
        tail, pin, old = self._tail, self._pin, self._signer
        assert tail is not None and pin is not None and old is not None
        n = tail.tree.size
        text = f"{ROTATE_PREFIX}{self.log_id}\n{n}\n{tail.leaf}\n{old.kid}\n{new.public.text}\n"
        proof = b2a_base64(new.sign(text.encode("ascii")), newline=False).decode("ascii")
        # The pin first says that a turn was begun, so that a crash on either side of the record is told apart.
        write_pin(self.home, pin._replace(turn=Turn(n, new.public)))
        key: Json = {"pop": proof, "pub": new.public.text}
        self._next_signer = new
        try:
            receipt = writing.append(Entry("key.rotate", by, Act(message=reason, more=(("key", key),))))
        finally:
            self._next_signer = None
        self._at_step("rotated")
        self._pin = pin._replace(rotated=new.public, turn=None)
        write_pin(self.home, self._pin)
        self._pin_stamp, self._signer = None, new
        write_pub(self.place, new)
        return receipt

    def _now(self) -> str:
        return rfc3339(self._clock.now_ns())

    def _write(self, entry: Entry) -> Receipt:
        tail = self._tail
        assert tail is not None
        if self._notes:
            act = entry.act or Act()
            entry = entry._replace(act=act._replace(more=(*act.more, *self._notes)))
        n = tail.tree.size
        line = encode(entry, n=n, at=self._now(), log=self.log_id, prev=tail.leaf or NO_PREV, signer=self._signer)
        leaf = leaf_hash(line)
        tree = tail.tree.copy()
        tree.add(leaf)
        root = tree.root()
        after = Tail(tree, leaf.hex(), tail.offset + len(line) + 1)
        note = checkpoint.sign(checkpoint.Checkpoint(self.log_id, n + 1, root), self._next_signer or self._signer)
        self._tail = None  # in doubt until all is written
        try:
            self._write_line(line + b"\n")
            self._at_step("line")
            self._write_head(after, note)
            self._at_step("head")
            self._witness.appended(Mark(n + 1, after.leaf, note, boot_id()))
        except (OSError, AuditUnverifiable, Locked):
            self._take_back(tail)
            raise
        self._at_step("witness")
        self._tail, self._seen, self._notes = after, self._files.stamp, ()
        return Receipt(n, after.leaf, n + 1, root.hex())

    def _write_line(self, data: bytes) -> None:
        written = os.write(self._files.live.fd, data)
        if written != len(data):
            raise OSError(errno.ENOSPC, "only part of an audit record could be written", self.place.log)

    def _write_head(self, tail: Tail, note: str) -> None:
        tree, leaf, offset = tail
        head.write(self._files.head, head.Head(self.log_id, tree.size, offset, leaf, tuple(tree.hashes), note))

    def _take_back(self, tail: Tail) -> None:
        """Nobody was told of the record: better none than one without witness."""
        try:
            live = self._files.live
            os.ftruncate(live.fd, tail.offset - live.base)
            head.wipe(self._files.head, tail.tree.size + 1)
        except OSError:
            pass  # then it is a torn tail, or adopted, by the next append


class Writing:
    """The log, held by a `with` block. `size` and `root` (hex) are those of the records so far."""

    __slots__ = ("_held", "_lock", "_log", "appended", "size_after")

    def __init__(self, log: AuditLog, lock: file_lock) -> None:
        self._log = log
        self._lock = lock
        self._held = False
        self.appended = 0
        self.size_after = 0

    def __enter__(self) -> Writing:
        log = self._log
        try:
            self._lock.__enter__()
        except Locked:
            log._count_dropped()
            raise
        except OSError as error:
            raise AuditUnverifiable(
                f"the lock {log.place.lock} cannot be used: {(error.strerror or '').lower()}",
                "look at who put it there",
            ) from None
        self._held = True
        try:
            log._refresh(self)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        log, sync_fd, end = self._log, -1, 0
        self._held = False
        try:
            if self.appended and log._files:
                # another thread may have other files open once the lock is gone
                sync_fd = os.dup(log._files.live.fd)
                end = log._opened_bytes() if log._tail is not None else 0
        finally:
            self._lock.__exit__()
        if sync_fd >= 0:
            log._acknowledge(sync_fd, self.size_after, end)

    @property
    def log_id(self) -> LogId:
        return self._log.log_id

    @property
    def size(self) -> int:
        return self._tail.tree.size

    @property
    def root(self) -> str:
        return self._tail.tree.root().hex()

    def append(self, entry: Entry) -> Receipt:
        """Writes one record; it is acknowledged when the block ends. Raises OSError, NotCanonical."""
        _ = self._tail
        receipt = self._log._write(entry)
        self.appended += 1
        self.size_after = receipt.size
        return receipt

    @property
    def _tail(self) -> Tail:
        if not self._held or self._log._tail is None:
            raise RuntimeError("the log is not held, or the last append failed")
        return self._log._tail


def _size_leaf(tail: Tail) -> tuple[int, str]:
    return tail.tree.size, tail.leaf


@cache
def boot_id() -> str:
    """Tells whether the machine was restarted since a line was written; "-" where the system does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            text = file.read().strip()
    except OSError:
        return "-"
    return text if len(text) == 36 else "-"


def write_pub(place: LogPlace, signer: Signer) -> None:
    """Leaves the public key beside the log: information for people, never a trust root."""
    atomic_write(place.pub, (signer.public.text + "\n").encode("ascii"), mode=0o644)

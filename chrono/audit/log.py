"""Owns appending: lock, checks against head and witness, one write, head, witness, sync (audit format v2, section 4).

Record bytes are left to `audit.record`, the judgement of a whole log to `audit.verify`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from chrono.audit import checkpoint, head
from chrono.audit.compare import Mismatch, compare
from chrono.audit.keys import KeySettings, find_signer
from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.pin import Pin, pin_of_path, read_pin, write_pin
from chrono.audit.place import LogPlace, lines, log_id, open_plain
from chrono.audit.record import NO_PREV, Act, Actor, Entry, encode, read, signature_holds
from chrono.audit.witness import Alarm, Mark, Witness
from chrono.canonical import Json, NotCanonical
from chrono.clock import Clock, rfc3339
from chrono.errors import AuditTampered, AuditUnverifiable, KeyRefused, Locked
from chrono.files import atomic_write, file_lock, fsync_dir
from chrono.ids import LogId
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, Signer

STEPS = ("line", "head", "witness", "unlocked", "synced", "acknowledged")
"""The steps of an append in order; a crash test stops after each."""

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


class _Tail:
    """The end of the log as this object last saw it, under the lock."""

    __slots__ = ("leaf", "mtime_ns", "offset", "recovered", "tree", "warnings")

    def __init__(self, tree: CompactRange, leaf: str, offset: int) -> None:
        self.tree = tree
        self.leaf = leaf
        self.offset = offset
        self.mtime_ns = 0
        self.recovered: dict[str, Json] | None = None
        self.warnings: list[str] = []


class AuditLog:
    """One log, open for appending. Safe with other threads, processes and objects on the same files.

    `log_id` is None never: a log without genesis cannot be opened. Use `create` or `open_log`.
    """

    def __init__(
        self, place: LogPlace, home: HomeLayout, log: LogId, keys: KeySettings, clock: Clock, at_step: AtStep = go_on
    ) -> None:
        self.place = place
        self.home = home
        self.log_id = log
        self.dropped = 0
        self._keys = keys
        self._clock = clock
        self._at_step = at_step
        self._witness = Witness(home.witness_log(log), home.witness_lock(log))
        self._fd = -1
        self._inode = (0, 0)
        self._head_fd = -1
        self._tail: _Tail | None = None
        self._signer: Signer | None = None
        self._pin: Pin | None = None

    @property
    def pinned(self) -> bool:
        """Whether this CHRONO_HOME trusts the log; a foreign one is never written."""
        return read_pin(self.home, self.log_id) is not None

    def append(self, entry: Entry, *, timeout_s: float) -> Receipt:
        """Appends one record; on return it is on the disk and witnessed.

        Raises Locked (counted in `dropped`), KeyRefused, AuditUnverifiable, OSError; nothing is then acknowledged.
        """
        with self.writing(timeout_s) as writing:
            return writing.append(entry)

    @contextmanager
    def writing(self, timeout_s: float) -> Iterator[Writing]:
        """Holds the log for the block; what it appended is durable and acknowledged when the block has ended.

        `Writing.size` and `.root` are those of the log so far: a savepoint's trailer names them, and its record
        becomes number `size` (specs: the ring). Raises as `append`.
        """
        writing = None
        try:
            with file_lock(self.place.lock, timeout_s=timeout_s):
                self._refresh()
                writing = Writing(self)
                try:
                    if self.dropped:
                        dropped: tuple[tuple[str, Json], ...] = (("count", self.dropped),)
                        writing.append(Entry("audit.dropped", _CHRONO, Act(more=dropped)))
                        self.dropped = 0
                    yield writing
                except BaseException:
                    self._settle(writing)
                    raise
            self._at_step("unlocked")
        except Locked:
            if writing is None:
                self.dropped += 1
            raise
        self._settle(writing)

    def _settle(self, writing: Writing) -> None:
        if writing.appended:
            os.fdatasync(self._fd)
            self._at_step("synced")
            self._witness.acknowledged(writing.size)
            self._at_step("acknowledged")
            writing.appended = 0

    def close(self) -> None:
        """Closes the files; the log opens them again by itself."""
        for fd in (self._fd, self._head_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._head_fd = -1
        self._tail = None

    # -- under the lock

    def _refresh(self) -> None:
        self._open_files()
        info = os.fstat(self._fd)
        tail = self._tail
        if tail is None or info.st_size != tail.offset or info.st_mtime_ns != tail.mtime_ns:
            self._signer_for_writing()
            tail = self._tail = self._read_tail(info.st_size)
        witnessed = self._witness.state()
        mark = witnessed.mark
        mismatch = None
        if mark is None or mark.size != tail.tree.size or mark.leaf != tail.leaf:
            mismatch = self._against_witness()
        self._open_writing(mismatch)

    def _open_files(self) -> None:
        try:
            info = os.stat(self.place.log, follow_symlinks=False)
        except FileNotFoundError:
            self.close()
            raise AuditTampered(f"the audit log {self.place.log} is gone", "run chrono audit --verify") from None
        if self._fd >= 0 and (info.st_dev, info.st_ino) == self._inode and info.st_nlink == 1:
            return
        self.close()
        self._fd, opened = open_plain(self.place.log, os.O_RDWR | os.O_APPEND)
        self._inode = (opened.st_dev, opened.st_ino)
        self._head_fd, _ = open_plain(self.place.head, os.O_RDWR | os.O_CREAT)

    def _signer_for_writing(self) -> None:
        pin = read_pin(self.home, self.log_id)
        if pin is None:
            raise AuditUnverifiable(
                f"the audit log {self.place.log} is not this home's own: no key is pinned for it",
                "run chrono init --adopt if you trust where it came from",
            )
        signer = self._signer if self._signer is not None else find_signer(self.home, self._keys)
        if pin.key is not None:
            if signer is None:
                raise KeyRefused(
                    "the audit log is signed; writing unsigned records into it is refused",
                    "unset CHRONO_AUDIT_UNSIGNED",
                )
            if signer.public != pin.key:
                raise KeyRefused(
                    f"key {signer.public.kid} is not the one this log is pinned to ({pin.key.kid})",
                    "give the right key, or look at chrono audit --keys",
                )
        self._signer, self._pin = signer, pin

    @property
    def _key(self) -> PublicKey | None:
        return self._pin.key if self._pin is not None else None

    def _read_tail(self, size_bytes: int) -> _Tail:
        cached = head.read(self._head_fd)
        if cached is not None and self._believable(cached, size_bytes):
            return self._scan(_Tail(cached.range, cached.leaf, cached.offset))
        return self._scan(_Tail(CompactRange(), "", 0))

    def _believable(self, cached: head.Head, size_bytes: int) -> bool:
        if cached.log != self.log_id or not 0 < cached.offset <= size_bytes:
            return False
        try:
            signed = checkpoint.verified(cached.note, log=self.log_id, key=self._key)
        except checkpoint.NotACheckpoint:
            return False
        if (signed.size, signed.root) != (cached.size, cached.range.root()):
            return False
        start = max(0, cached.offset - (64 * 1024 + 2))
        before, newline, _ = os.pread(self._fd, cached.offset - start, start).rpartition(b"\n")
        return bool(newline) and leaf_hash(before.rpartition(b"\n")[2]).hex() == cached.leaf

    def _scan(self, tail: _Tail) -> _Tail:
        for line in lines(self._fd, tail.offset):
            if not line.whole:
                self._cut_torn_tail(tail, line.offset)
                break
            tail.tree.add(line.leaf)
            tail.leaf = line.leaf.hex()
            tail.offset = line.offset + line.length + 1
        tail.mtime_ns = os.fstat(self._fd).st_mtime_ns
        return tail

    def _cut_torn_tail(self, tail: _Tail, offset: int) -> None:
        """A crash in the middle of a write left part of a line, which nobody was told of."""
        from hashlib import sha256

        digest, position = sha256(), offset
        while chunk := os.pread(self._fd, 1 << 20, position):
            digest.update(chunk)
            position += len(chunk)
        tail.recovered = {"bytes": position - offset, "sha256": digest.hexdigest()}
        os.ftruncate(self._fd, offset)
        tail.offset = offset

    def _against_witness(self) -> Mismatch | None:
        """The log against the witness where the quick look differs: reads it all, since an old leaf is needed."""
        state = self._witness.state()
        seen = state.mark.size if state.mark is not None else 0
        leaf_at, prev, count = None, "", 0
        for line in lines(self._fd):
            if count == seen - 1:
                leaf_at = line.leaf.hex()
            elif count >= seen > 0 and not self._is_ours(line.data, prev):
                return Mismatch("forged", f"record {count} is not one that this log's key signed")
            prev = line.leaf.hex()
            count += 1
        found = compare(state, count, leaf_at, boot_id=boot_id())
        if self._tail is not None:
            self._tail.warnings.extend(found.warnings)
        return found.mismatch

    def _is_ours(self, line: bytes | None, prev: str) -> bool:
        """Whether an unwitnessed line may be adopted: a record of this log, chained, under its key."""
        try:
            record = read(line or b"")
        except NotCanonical:
            return False
        if record.log != self.log_id or record.prev != prev:
            return False
        return self._key is None or signature_holds(record.line, self._key)

    def _open_writing(self, mismatch: Mismatch | None) -> None:
        assert self._tail is not None
        if self._pin is None:
            self._signer_for_writing()
        if mismatch is not None:
            state = self._witness.state()
            expected = state.mark or Mark(0, "", "", "")
            self._witness.latch(Alarm(mismatch.code, expected, self._tail.tree.size, self._tail.leaf, self._now()))
            more: tuple[tuple[str, Json], ...] = (
                ("code", mismatch.code),
                ("expected_size", expected.size),
                ("found_size", self._tail.tree.size),
                ("note", expected.note),
            )
            writing = Writing(self)
            writing.append(Entry("audit.discontinuity", _CHRONO, Act(message=mismatch.text, more=more)))
            self._settle(writing)
        if self._signer is not None and self._pin is not None and self._pin.key is None:
            key: Json = {"pub": self._signer.public.text}
            writing = Writing(self)
            writing.append(Entry("key.add", _CHRONO, Act(more=(("key", key),))))
            self._settle(writing)
            self._pin = self._pin._replace(key=self._signer.public)
            write_pin(self.home, self._pin)

    def _now(self) -> str:
        return rfc3339(self._clock.now_ns())

    def _write(self, entry: Entry) -> Receipt:
        tail = self._tail
        assert tail is not None
        if tail.recovered is not None:
            recovered, tail.recovered = tail.recovered, None
            act = entry.act or Act()
            entry = entry._replace(act=act._replace(more=(*act.more, ("recovered", recovered))))
        n = tail.tree.size
        line = encode(entry, n=n, at=self._now(), log=self.log_id, prev=tail.leaf or NO_PREV, signer=self._signer)
        data = line + b"\n"
        written = os.write(self._fd, data)
        if written != len(data):
            os.ftruncate(self._fd, tail.offset)
            raise OSError(28, "only part of an audit record could be written; it was taken back", self.place.log)
        self._at_step("line")
        before = (tail.tree.copy(), tail.leaf, tail.offset)
        try:
            self._advance(tail, line)
        except BaseException:
            tail.tree, tail.leaf, tail.offset = before
            os.ftruncate(self._fd, tail.offset)
            self._tail = None
            raise
        return Receipt(n, tail.leaf, tail.tree.size, tail.tree.root().hex())

    def _advance(self, tail: _Tail, line: bytes) -> None:
        leaf = leaf_hash(line)
        tail.tree.add(leaf)
        tail.leaf = leaf.hex()
        tail.offset += len(line) + 1
        tail.mtime_ns = os.fstat(self._fd).st_mtime_ns
        signed = checkpoint.Checkpoint(self.log_id, tail.tree.size, tail.tree.root())
        note = checkpoint.sign(signed, self._signer)
        head.write(
            self._head_fd,
            head.Head(self.log_id, tail.tree.size, tail.offset, tail.leaf, tuple(tail.tree.hashes), note),
        )
        self._at_step("head")
        self._witness.appended(Mark(tail.tree.size, tail.leaf, note, boot_id()))
        self._at_step("witness")


class Writing:
    """The log, held. `size` and `root` (hex) are those of the records so far."""

    __slots__ = ("_log", "appended")

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self.appended = 0

    @property
    def log_id(self) -> LogId:
        return self._log.log_id

    @property
    def size(self) -> int:
        assert self._log._tail is not None
        return self._log._tail.tree.size

    @property
    def root(self) -> str:
        assert self._log._tail is not None
        return self._log._tail.tree.root().hex()

    def append(self, entry: Entry) -> Receipt:
        """Writes one record; it is acknowledged when the block ends. Raises OSError, NotCanonical."""
        receipt = self._log._write(entry)
        self.appended += 1
        return receipt


def boot_id() -> str:
    """Tells whether the machine was restarted since a line was written; "-" where the system does not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip() or "-"
    except OSError:
        return "-"


def create(
    place: LogPlace,
    home: HomeLayout,
    keys: KeySettings,
    clock: Clock,
    by: Actor,
    *,
    timeout_s: float = 30.0,
    more: tuple[tuple[str, Json], ...] = (),
) -> AuditLog:
    """Begins a log: key, pin, genesis record, head, witness. `more` joins the genesis record (`forked_from`).

    Idempotent: an existing log of this home is opened. Raises AuditTampered where a pin names this folder but the
    log is gone, AuditUnverifiable for a foreign log, KeyRefused.
    """
    for folder in (home.keys, home.witness, home.trust):
        os.makedirs(folder, mode=0o700, exist_ok=True)
    with file_lock(place.lock, timeout_s=timeout_s):
        existing = _begun(place, home)
        if existing is None:
            existing = _begin(place, home, keys, clock, by, more)
    return AuditLog(place, home, existing, keys, clock)


def _begun(place: LogPlace, home: HomeLayout) -> LogId | None:
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
    except FileNotFoundError:
        _refuse_vanished(place, home)
        return None
    os.close(fd)
    existing = log_id(place)
    if existing is not None:
        return LogId(existing)
    pin = pin_of_path(home, place.folder)
    if info.st_size == 0 or (pin is None and info.st_size < 64 * 1024):
        # a crash while it was begun: nobody was told of a record yet
        if pin is not None:
            state = Witness(home.witness_log(pin.log), home.witness_lock(pin.log)).state()
            if state.acknowledged > 0:
                raise AuditTampered(f"the audit log {place.log} was emptied", "run chrono audit --verify", record=0)
        os.unlink(place.log)
        return None
    raise AuditTampered(
        f"the audit log {place.log} does not begin with a record", "run chrono audit --verify", record=0
    )


def _refuse_vanished(place: LogPlace, home: HomeLayout) -> None:
    pin = pin_of_path(home, place.folder)
    if pin is None:
        return
    state = Witness(home.witness_log(pin.log), home.witness_lock(pin.log)).state()
    if state.acknowledged > 0 and os.stat(place.folder).st_ino == pin.inode:
        raise AuditTampered(
            f"the audit log {place.log} is gone; this home remembers {state.acknowledged} records of it",
            f"put it back, or end its pin: remove {home.pin(pin.log)}",
        )


def _begin(
    place: LogPlace,
    home: HomeLayout,
    keys: KeySettings,
    clock: Clock,
    by: Actor,
    more: tuple[tuple[str, Json], ...],
) -> LogId:
    signer = find_signer(home, keys, create=True)
    log = LogId(os.urandom(16).hex())
    key: Json = {"pub": signer.public.text} if signer is not None else None
    act = Act(more=((("key", key),) if key is not None else ()) + more)
    line = encode(Entry("genesis", by, act), n=0, at=rfc3339(clock.now_ns()), log=log, prev=NO_PREV, signer=signer)
    tree = CompactRange()
    tree.add(leaf_hash(line))
    note = checkpoint.sign(checkpoint.Checkpoint(log, 1, tree.root()), signer)
    leaf = leaf_hash(line).hex()
    pin = Pin(log, signer.public if signer is not None else None, place.folder, os.stat(place.folder).st_ino)
    write_pin(home, pin)
    witness = Witness(home.witness_log(log), home.witness_lock(log))
    atomic_write(place.log, line + b"\n")
    fd, _ = open_plain(place.head, os.O_RDWR | os.O_CREAT)
    try:
        head.write(fd, head.Head(log, 1, len(line) + 1, leaf, tuple(tree.hashes), note))
    finally:
        os.close(fd)
    witness.appended(Mark(1, leaf, note, boot_id()))
    fsync_dir(home.witness)
    witness.acknowledged(1)
    if signer is not None:
        atomic_write(place.pub, (signer.public.text + "\n").encode("ascii"), mode=0o644)
    return log


def open_log(
    place: LogPlace, home: HomeLayout, keys: KeySettings, clock: Clock, *, at_step: AtStep = go_on
) -> AuditLog:
    """Opens an existing log. Reads only its first line; the rest is checked by the first append.

    Raises AuditTampered where it is gone or does not begin with a record.
    """
    found = log_id(place)
    if found is None:
        if os.path.lexists(place.log):
            raise AuditTampered(
                f"the audit log {place.log} does not begin with a record", "run chrono audit --verify", record=0
            )
        _refuse_vanished(place, home)
        raise AuditUnverifiable(f"there is no audit log at {place.log}", "run chrono init")
    return AuditLog(place, home, LogId(found), keys, clock, at_step)


def reset_witness(log: AuditLog, by: Actor, reason: str | None, *, timeout_s: float = 30.0) -> Receipt | None:
    """Ends a latched alarm by a person's word: a `witness.reset` record with the old note. None: there was no alarm."""
    with log.writing(timeout_s) as writing:
        alarm = log._witness.state().alarm
        if alarm is None:
            return None
        more: tuple[tuple[str, Json], ...] = (
            ("code", alarm.code),
            ("expected_size", alarm.expected.size),
            ("note", alarm.expected.note),
        )
        receipt = writing.append(Entry("witness.reset", by, Act(message=reason, more=more)))
        log._witness.reset()
    return receipt

"""Owns what becomes of closed segments: packing them, and pruning old ones so that all that is left still verifies.

Closing one is a step of appending (`audit.append`), reading across them is left to `audit.text`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256

from chrono.audit.append import AuditLog, go_on
from chrono.audit.chain import matters
from chrono.audit.index import forget
from chrono.audit.place import LogPlace, first_of, open_text, segment_path, segments
from chrono.audit.record import MAX_LINE_BYTES, Act, Actor, Entry, read
from chrono.audit.reveal import erase
from chrono.audit.text import BLOCK_BYTES, PACKED, PLAIN, PRUNED, Line, Part, Text, lines, pack
from chrono.canonical import Json, NotCanonical
from chrono.errors import AuditTampered
from chrono.files import file_lock, fsync_dir
from chrono.tuples import NamedTuple

PACK_STEPS = ("written", "renamed", "removed")
PRUNE_STEPS = ("written", "recorded", "renamed", "removed")
"""The steps of packing and pruning one segment, in order; a crash test stops after each."""


class Segment(NamedTuple):
    """One file of a log: its first record, how many records, its form, the bytes it takes, and when its last record was
    written ("" where that cannot be told). `closed`: not the one that grows."""

    first: int
    records: int
    form: str
    bytes: int
    last_at: str
    closed: bool


def listed(place: LogPlace) -> tuple[Segment, ...]:
    """The files of the log, oldest first. Raises FileNotFoundError, AuditUnverifiable, SegmentBroken."""
    found = []
    with open_text(place) as text:
        ends = [_n_at(_last_line(text, at)) for at in range(len(text.parts))]
        first = 0
        for part, (n, last_at) in zip(text.parts, ends, strict=True):
            records, size = max(0, n + 1 - first), os.fstat(part.fd).st_size
            found.append(Segment(first, records, part.form, size, last_at, closed=bool(part.name)))
            first += records
    return tuple(found)


def _last_line(text: Text, at: int) -> bytes:
    part = text.parts[at]
    if part.form == PRUNED:
        size = text.packed(at).size
        tail = text.packed(at).pread(MAX_LINE_BYTES + 2, max(0, size - MAX_LINE_BYTES - 2))
    else:
        end = part.end or text.end
        start = max(part.start, end - MAX_LINE_BYTES - 2)
        tail = text.pread(end - start, start)
    return tail[: tail.rfind(b"\n") + 1].removesuffix(b"\n").rpartition(b"\n")[2]


def _n_at(line: bytes) -> tuple[int, str]:
    try:
        record = read(line)
    except NotCanonical:
        return -1, ""
    return record.n, record.at


def close(log: AuditLog, by: Actor, *, timeout_s: float) -> None:
    """Closes the file that grows, whatever its size. Raises as `AuditLog.append`."""
    with log.writing(timeout_s) as writing:
        log.roll(writing, by)


def pack_closed(place: LogPlace, at_step: Callable[[str], None] = go_on) -> tuple[int, ...]:
    """Packs every closed segment that still lies there as it was written; the first record of each.

    Its text stays the same, byte for byte. Raises OSError, Locked, SegmentBroken.
    """
    packed = []
    with _lock(place):
        _tidy(place)
        for first, forms in segments(place).items():
            if PLAIN not in forms:
                continue
            with open_text(place) as text:
                part = next((part for part in text.parts if part.name == os.path.basename(forms[PLAIN])), None)
                if part is None:
                    continue  # no part of this log
                target = segment_path(place, first, PACKED)
                _write(target, _chunks(text, part))
            at_step("written")
            os.rename(target + _NEW, target)
            fsync_dir(place.folder)
            at_step("renamed")
            os.unlink(forms[PLAIN])
            at_step("removed")
            packed.append(first)
    return tuple(packed)


class PrunePlan(NamedTuple):
    """Closed segments that hold nothing newer than `before` (RFC 3339)."""

    before: str
    segments: tuple[Segment, ...]

    @property
    def records(self) -> int:
        return sum(segment.records for segment in self.segments)


def plan_prune(place: LogPlace, before: str) -> PrunePlan:
    """What pruning would take. Raises FileNotFoundError, AuditUnverifiable, SegmentBroken."""
    old = []
    for segment in listed(place):
        if segment.closed and segment.form != PRUNED and segment.last_at and segment.last_at < before:
            old.append(segment)
    return PrunePlan(before, tuple(old))


def prune(
    log: AuditLog, plan: PrunePlan, by: Actor, *, timeout_s: float, at_step: Callable[[str], None] = go_on
) -> tuple[Segment, ...]:
    """Takes the text of the planned segments away; a leaf hash stays of each record, and the line of those that the
    verification needs (anchors, keys, sessions, resets, prunes). The log says so before it is done.

    For a log that was verified: what is wrong in a segment can no longer be told afterwards. What was kept of secrets
    in pruned commands is erased, and the index forgotten. Raises OSError, Locked, SegmentBroken, AuditTampered where a
    segment is no longer as planned.
    """
    place, done = log.place, []
    with _lock(place):
        _tidy(place)
        for segment in plan.segments:
            target = segment_path(place, segment.first, PRUNED)
            with open_text(place) as text:
                part = next((part for part in text.parts if part.name and first_of(part.name) == segment.first), None)
                if part is None or part.form != segment.form:
                    raise AuditTampered(f"the segment of record {segment.first} is not as it was", "plan again")
                left = _Left(text, part)
                _write(target, left.chunks())
            at_step("written")
            said: Json = {
                "first": segment.first,
                "kept": left.kept,
                "records": left.records,
                "sha256": left.digest.hexdigest(),
            }
            log.append(Entry("prune", by, Act(more=(("segment", said),))), timeout_s=timeout_s)
            at_step("recorded")
            os.rename(target + _NEW, target)
            fsync_dir(place.folder)
            at_step("renamed")
            for path in (segment_path(place, segment.first, form) for form in (PLAIN, PACKED)):
                with suppress(FileNotFoundError):
                    os.unlink(path)
            fsync_dir(place.folder)
            at_step("removed")
            for committed in left.committed:
                erase(log.home, committed)
            done.append(segment)
        if done:
            forget(log.home, log.log_id)
    return tuple(done)


class _Left:
    """What is left of a segment, and what was taken out of its commands and kept elsewhere."""

    def __init__(self, text: Text, part: Part) -> None:
        self._text = text
        self._part = part
        self.digest = sha256()
        self.records = self.kept = 0
        self.committed: list[str] = []

    def chunks(self) -> Iterator[bytes]:
        for line in lines(self._text, self._part.start, self._part.end):
            if line.data is None or not line.whole:
                raise AuditTampered(f"record {first_of(self._part.name) + self.records} is none", "run audit --verify")
            data = self._of(line, line.data)
            self.records += 1
            self.digest.update(data)
            yield data

    def _of(self, line: Line, data: bytes) -> bytes:
        if self.records == 0 or matters(data):
            self.kept += 1
            return data + b"\n"
        if b'"cmd_c":"' in data:
            with suppress(NotCanonical):
                committed = read(data).act.get("cmd_c")
                if isinstance(committed, str):
                    self.committed.append(committed)
        return line.leaf.hex().encode("ascii") + b"\n"


# --- files

_NEW = ".new"
_LOCK_WAIT_S = 30.0


def _lock(place: LogPlace) -> file_lock:
    """One at a time packs or prunes; appends do not wait for it."""
    return file_lock(place.log.removesuffix(".jsonl") + ".segments.lock", timeout_s=_LOCK_WAIT_S)


def _tidy(place: LogPlace) -> None:
    """Removes what a crash left: files that were not renamed yet, and a plain file beside its packed twin."""
    for first, forms in segments(place).items():
        if PLAIN in forms and PACKED in forms:
            os.unlink(forms[PACKED])  # packed again: which of the two is whole is not worth a question
        for form in (PACKED, PRUNED):
            with suppress(FileNotFoundError):
                os.unlink(segment_path(place, first, form) + _NEW)


def _chunks(text: Text, part: Part) -> Iterator[bytes]:
    at = part.start
    while at < part.end:
        data = text.pread(min(BLOCK_BYTES, part.end - at), at)
        if not data:
            break
        yield data
        at += len(data)


def _write(path: str, chunks: Iterator[bytes]) -> None:
    """Writes `chunks` in blocks into the new file for `path`, on the disk when it returns. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path + _NEW, flags, 0o600), "wb") as file:
        held = bytearray()
        for chunk in chunks:
            held += chunk
            while len(held) >= BLOCK_BYTES:
                file.write(pack(bytes(held[:BLOCK_BYTES])))
                del held[:BLOCK_BYTES]
        if held:
            file.write(pack(bytes(held)))
        file.flush()
        os.fsync(file.fileno())

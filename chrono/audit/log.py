"""Owns beginning, opening and adopting a log, and ending an alarm by a person's word. The door of the room.

Appending is left to `audit.append`, judging to `audit.verify`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from chrono.audit import checkpoint, head
from chrono.audit.append import STEPS, AtStep, AuditLog, Receipt, Writing, boot_id, go_on, write_pub
from chrono.audit.external import External, forget_external
from chrono.audit.keys import KeySettings, find_signer
from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.pin import Pin, pin_of_path, read_pin, remove_pin, write_pin
from chrono.audit.place import LogPlace, first_record, log_id, open_plain, open_text, segments, whereabouts
from chrono.audit.record import NO_PREV, Act, Actor, Entry, Record, encode, read, signature_holds
from chrono.audit.text import SegmentBroken
from chrono.audit.witness import Mark, Witness
from chrono.canonical import Json
from chrono.clock import Clock, rfc3339
from chrono.errors import AuditTampered, AuditUnverifiable
from chrono.files import atomic_write, file_lock, fsync_dir, own_folder
from chrono.ids import LogId
from chrono.layout import HomeLayout

__all__ = ["STEPS", "AuditLog", "Receipt", "Writing", "boot_id", "create", "open_log", "reset_witness"]

_RESET_COMMITS = 1000
_EARLIER = 100


def create(
    place: LogPlace,
    home: HomeLayout,
    keys: KeySettings,
    clock: Clock,
    by: Actor,
    *,
    timeout_s: float = 30.0,
    more: tuple[tuple[str, Json], ...] = (),
    adopt: bool = False,
) -> AuditLog:
    """Begins a log: key, witness, genesis record, head, pin. `more` joins the genesis record.

    Idempotent: an existing log of this home is opened. `adopt` (a person's word) begins a new log also where the old
    one is gone, foreign, damaged or a copy: what is there is moved aside, and the genesis record's `forked_from` names
    the old log. Raises AuditTampered (gone, damaged, a copy), AuditUnverifiable (foreign), KeyRefused.
    """
    for folder in (home.keys, home.witness, home.trust, place.folder):
        own_folder(folder)
    with file_lock(place.lock, timeout_s=timeout_s):
        try:
            existing = _begun(place, home, keys)
        except (AuditTampered, AuditUnverifiable):
            if not adopt:
                raise
            more = (*more, ("forked_from", _put_aside(place, home)))
            existing = None
        if existing is None:
            existing = _begin(place, home, keys, clock, by, more)
    return AuditLog(place, home, existing, keys, clock)


def _begun(place: LogPlace, home: HomeLayout, keys: KeySettings) -> LogId | None:
    """The log that is there and is this home's own, None where there is none yet."""
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
        os.close(fd)
        empty = info.st_size == 0
    except FileNotFoundError:
        empty = True
        if not segments(place):
            _refuse_vanished(place, home)
            return None
    if empty and segments(place):
        open_text(place).close()  # a file that is to follow segments cannot be begun without them
    existing = log_id(place)
    if existing is None:
        raise AuditTampered(
            f"the audit log {place.log} does not begin with a record", "run chrono audit --verify", record=0
        )
    pin = read_pin(home, existing)
    if pin is not None:
        if whereabouts(pin, place) == "copied":
            raise AuditTampered(f"fork alarm: {place.log} is a copy of the log in {pin.path}", _ADOPT)
    elif not _finish(place, home, keys, existing):
        raise AuditUnverifiable(f"the audit log {place.log} is not this home's own: no key is pinned for it", _ADOPT)
    return LogId(existing)


_ADOPT = "run chrono init --adopt to begin a new log that names this one"


def _refuse_vanished(place: LogPlace, home: HomeLayout) -> None:
    pin = pin_of_path(home, place.folder)
    if pin is not None:
        state = Witness(home.witness_log(pin.log), home.witness_lock(pin.log)).state()
        raise AuditTampered(
            f"the audit log {place.log} is gone; this home remembers {state.acknowledged} records of it",
            f"put it back, or {_ADOPT}",
        )


def _finish(place: LogPlace, home: HomeLayout, keys: KeySettings, log: str) -> bool:
    """Pins a log whose creation a crash cut short: one record, witnessed by this home, signed by its key."""
    mark = Witness(home.witness_log(log), home.witness_lock(log)).state().mark
    fd, _ = open_plain(place.log, os.O_RDONLY)
    try:
        line, _, rest = os.pread(fd, 128 * 1024, 0).partition(b"\n")
    finally:
        os.close(fd)
    if rest or mark is None or (mark.size, mark.leaf) != (1, leaf_hash(line).hex()):
        return False
    signer = find_signer(home, keys)
    if signer is not None and not signature_holds(line, signer.public):
        return False
    if signer is None and read(line).kid is not None:
        return False
    write_pin(home, Pin(log, signer.public if signer else None, place.folder, os.stat(place.folder).st_ino))
    return True


def _put_aside(place: LogPlace, home: HomeLayout) -> Json:
    """Moves what is there out of the way, ends this folder's pin, and tells what the new genesis record says of it."""
    pin = pin_of_path(home, place.folder)
    genesis = _genesis(place)
    closed = [path for forms in segments(place).values() for path in forms.values()]
    for path in (*closed, place.log, place.head):
        if os.path.lexists(path):
            os.rename(path, f"{path}.{genesis.log if genesis else 'unknown'}.{os.urandom(4).hex()}")
    old = genesis.log if genesis is not None else pin.log if pin is not None else None
    said: dict[str, Json] = {"log": old}
    before = genesis.act.get("forked_from") if genesis is not None else None
    if isinstance(before, dict):
        earlier = before.get("earlier")
        said["earlier"] = [before.get("log"), *(earlier if isinstance(earlier, list) else ())][:_EARLIER]
    if old is not None:
        state = Witness(home.witness_log(old), home.witness_lock(old)).state()
        if state.mark is not None:
            said.update(size=state.mark.size, note=state.mark.note)
    if pin is not None:
        remove_pin(home, pin.log)
    return said


def _genesis(place: LogPlace) -> Record | None:
    try:
        return first_record(place)
    except (AuditUnverifiable, SegmentBroken):
        return None


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
    # The witness first and the pin last: where a crash cuts this short, `_finish` knows the log for this home's own.
    witness = Witness(home.witness_log(log), home.witness_lock(log))
    witness.appended(Mark(1, leaf, note, boot_id()))
    fsync_dir(home.witness)
    atomic_write(place.log, line + b"\n")
    head_fd, _ = open_plain(place.head, os.O_RDWR | os.O_CREAT)
    try:
        head.write(head_fd, head.Head(log, 1, len(line) + 1, leaf, tuple(tree.hashes), note))
    finally:
        os.close(head_fd)
    write_pin(home, Pin(log, signer.public if signer else None, place.folder, os.stat(place.folder).st_ino))
    witness.acknowledged(1)
    witness.close()
    if signer is not None:
        write_pub(place, signer)
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
            pin = pin_of_path(home, place.folder)
            if pin is not None:
                AuditLog(place, home, LogId(pin.log), keys, clock, at_step).refuse_headless()
            raise AuditTampered(
                f"the audit log {place.log} does not begin with a record", "run chrono audit --verify", record=0
            )
        _refuse_vanished(place, home)
        raise AuditUnverifiable(f"there is no audit log at {place.log}", "run chrono init")
    return AuditLog(place, home, LogId(found), keys, clock, at_step)


def reset_witness(
    log: AuditLog,
    by: Actor,
    reason: str | None,
    *,
    commits: Sequence[str] = (),
    external: Sequence[External] = (),
    timeout_s: float = 30.0,
) -> Receipt | None:
    """Ends a latched alarm by a person's word: a `witness.reset` record with the old note.

    `commits`: savepoints that are known to have lost their record (`Report.unanchored`); the record names them, and
    verification no longer asks for them. `external`: what others, elsewhere, saw and the log no longer fits; the record
    names it, and it counts no longer. None where there was nothing of all that.
    """
    receipt = None
    with log.writing(timeout_s) as writing:
        alarm = log._witness.state().alarm
        if alarm is None and not commits and not external:
            return None
        more: list[tuple[str, Json]] = []
        if alarm is not None:
            more = [
                ("code", alarm.code),
                ("expected_size", alarm.expected.size),
                ("note", alarm.expected.note),
            ]
        if external:
            seen: list[Json] = [[entry.level, entry.holder, entry.size, entry.root] for entry in external]
            more.append(("external", seen))
        for start in range(0, max(1, len(commits)), _RESET_COMMITS):
            part: list[Json] = list(commits[start : start + _RESET_COMMITS])
            members = (*more, *((("commits", part),) if part else ()), *((("part", True),) if start else ()))
            receipt = writing.append(Entry("witness.reset", by, Act(message=reason, more=members)))
        if alarm is not None:
            log._witness.reset()
            log._witness.acknowledged(writing.size)
    if external:
        forget_external(log.home, log.log_id, external)
    return receipt

"""Owns finding the end of a log under its lock: from the head where it is believed, else from the first line.

What is found is compared with the witness here too; what follows from a mismatch is left to `audit.log`.
"""

from __future__ import annotations

import os

from chrono.audit import checkpoint, head
from chrono.audit.compare import Mismatch, compare
from chrono.audit.merkle import CompactRange, leaf_hash
from chrono.audit.pin import Turn
from chrono.audit.place import LogPlace, begin_of, open_text
from chrono.audit.record import MAX_LINE_BYTES, NO_PREV, Record, read, signature_holds
from chrono.audit.text import Line, SegmentBroken, Text, lines
from chrono.audit.witness import State
from chrono.canonical import Json, NotCanonical
from chrono.signing import PublicKey
from chrono.tuples import NamedTuple


class Tail(NamedTuple):
    """The end of a log: its tree, the leaf hash (hex) of its last line ("" when empty), the bytes up to there."""

    tree: CompactRange
    leaf: str
    offset: int


class Found(NamedTuple):
    """What a look at the log's end brought: the end, what does not fit the witness, and what the next record must tell:
    `recovered` (a torn line), `lost`, `adopted` (numbers of records)."""

    tail: Tail
    mismatch: Mismatch | None
    notes: tuple[tuple[str, Json], ...]


class Expected(NamedTuple):
    """What a line that the witness has not seen must be, to be taken for this log's own."""

    log: str
    key: PublicKey | None
    signed_from: int
    turn: Turn | None = None


class Live(NamedTuple):
    """The file that grows, open for writing: its text, the file itself, and the byte of the log at which it begins."""

    text: Text
    fd: int
    base: int


def find_tail(
    place: LogPlace, live: Live, head_fd: int, known: Tail | None, state: State, expected: Expected, boot_id: str
) -> Found:
    """The end of the log, held under its lock, as far as possible from `known`, the head or the live file's beginning
    onwards.

    Lines that the witness saw are covered by its leaf hash. Those behind its mark are adopted only where each is a
    valid record of this log. A torn last line is cut off. Raises OSError, SegmentBroken, EndlessLine.
    """
    end = live.text.end
    start = known if known is not None and live.base <= known.offset <= end else _of_head(live, head_fd, end, expected)
    seen = state.mark.size if state.mark is not None else 0
    if start is None or (state.mark is not None and start.tree.size > seen):
        start = _of_begin(live, expected)
    if start is not None and (state.mark is None or start.tree.size <= seen):
        return _from(live.text, live, start, state, expected, boot_id)
    with open_text(place) as text:
        return _from(text, live, Tail(CompactRange(), "", 0), state, expected, boot_id)


def _from(text: Text, live: Live, start: Tail, state: State, expected: Expected, boot_id: str) -> Found:
    """The end, from `start` on."""
    seen = state.mark.size if state.mark is not None else 0
    tree, leaf, offset = start.tree.copy(), start.leaf, start.offset
    leaf_at_mark = leaf if tree.size == seen else None
    notes: list[tuple[str, Json]] = []
    stranger: Mismatch | None = None
    for line in lines(text, offset):
        if not line.whole:
            if line.offset < live.base:
                raise SegmentBroken("a closed segment ends inside a record", "run chrono audit --verify")
            notes.append(("recovered", _cut(live.fd, line.offset - live.base)))
            break
        if state.mark is not None and tree.size >= seen and stranger is None:
            stranger, expected = _stranger(line, tree.size, leaf, expected)
        tree.add(line.leaf)
        leaf, offset = line.leaf.hex(), line.offset + line.length + 1
        if tree.size == seen:
            leaf_at_mark = leaf
    compared = compare(state, tree.size, leaf_at_mark, boot_id=boot_id)
    if stranger is None and compared.adopted:
        notes.append(("adopted", compared.adopted))
    if compared.lost:
        notes.append(("lost", compared.lost))
    return Found(Tail(tree, leaf, offset), compared.mismatch or stranger, tuple(notes))


def _stranger(line: Line, n: int, prev: str, expected: Expected) -> tuple[Mismatch | None, Expected]:
    """Why a line behind the witness's mark is not this log's own, and what is expected of the one after it."""
    try:
        record = read(line.data if line.data is not None else b"")
    except NotCanonical as error:
        text = f"record {n}, which the witness has not seen, is no record: {error}"
        return Mismatch("not-adopted", text), expected
    signed = expected.key is not None and n >= expected.signed_from
    if (record.n, record.log, record.prev) != (n, expected.log, prev or NO_PREV):
        why = "does not continue this log"
    elif signed and expected.key is not None and record.kid != expected.key.kid:
        why = "is not signed by the active key"
    elif signed and expected.key is not None and not signature_holds(record.line, expected.key):
        why = "has a signature that does not hold"
    else:
        turn = expected.turn
        if turn is not None and turn.n == n and hands_over(record, turn.key):
            expected = expected._replace(key=turn.key)
        return None, expected
    return Mismatch("not-adopted", f"record {n}, which the witness has not seen, {why}"), expected


def hands_over(record: Record, key: PublicKey) -> bool:
    """Whether a record is the rotation to `key`."""
    member = record.act.get("key")
    return record.ev == "key.rotate" and isinstance(member, dict) and member.get("pub") == key.text


def _of_begin(live: Live, expected: Expected) -> Tail | None:
    """Where the live file begins, as its first record says: what the witness saw since covers that record, too."""
    line, newline, _ = live.text.pread(MAX_LINE_BYTES + 1, live.base).partition(b"\n")
    begin = begin_of(line) if newline and live.base else None
    if begin is None or (begin.log, begin.offset) != (expected.log, live.base):
        return None
    return Tail(CompactRange(begin.first, begin.hashes), begin.prev, live.base)


def _of_head(live: Live, head_fd: int, end: int, expected: Expected) -> Tail | None:
    """The end that the head tells of, where it folds to a root that is signed and the last line rehashes."""
    found = head.read(head_fd)
    if found is None or found.log != expected.log or not 0 < found.offset <= end:
        return None
    key = expected.key if found.size > expected.signed_from else None
    try:
        signed = checkpoint.verified(found.note, log=expected.log, key=key)
    except checkpoint.NotACheckpoint:
        return None
    tree = found.range
    if (signed.size, signed.root) != (found.size, tree.root()):
        return None
    start = max(live.text.start, found.offset - (MAX_LINE_BYTES + 2))
    before = live.text.pread(found.offset - start, start) if start < found.offset else b""
    if not before.endswith(b"\n") or leaf_hash(before[:-1].rpartition(b"\n")[2]).hex() != found.leaf:
        return None
    return Tail(tree, found.leaf, found.offset)


def _cut(fd: int, offset: int) -> dict[str, Json]:
    """Cuts off part of a line that a crash left behind; nobody was told of it. What it was stays as a digest."""
    from hashlib import sha256

    digest, position = sha256(), offset
    while chunk := os.pread(fd, 1 << 20, position):
        digest.update(chunk)
        position += len(chunk)
    os.ftruncate(fd, offset)
    return {"bytes": position - offset, "sha256": digest.hexdigest()}

"""Owns proofs about a log that stand without it: one record is in it, one checkpoint continues another.

A proof of a record is a C2SP tlog-proof (c2sp.org/tlog-proof), with the record's line as its extra data. The hashing is
`audit.merkle`, the signed tree head `audit.checkpoint`.
"""

from __future__ import annotations

import base64
import binascii
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from chrono.audit import checkpoint, head
from chrono.audit.checkpoint import Checkpoint, NotACheckpoint
from chrono.audit.merkle import (
    CompactRange,
    Span,
    consistency_spans,
    inclusion_spans,
    leaf_hash,
    root_of_inclusion,
)
from chrono.audit.place import LogPlace, open_plain, open_text
from chrono.audit.record import Record, read, signature_holds
from chrono.audit.text import Text, lines
from chrono.canonical import NotCanonical
from chrono.signing import PublicKey
from chrono.tuples import NamedTuple

HEADER = "c2sp.org/tlog-proof@v1"
MAX_PROOF_BYTES = 1 << 18


class NotAProof(ValueError):
    """Text that is no proof, or proves nothing; the text says why."""


class Proof(NamedTuple):
    """Record `n` in the tree of the checkpoint `note`: `path` are the hashes up to its root, `line` the record."""

    n: int
    path: tuple[bytes, ...]
    note: str
    line: bytes

    @property
    def text(self) -> str:
        """The file, ending in LF."""
        hashes = "".join(f"{_text(part)}\n" for part in self.path)
        return f"{HEADER}\nextra {_text(self.line)}\nindex {self.n}\n{hashes}\n{self.note}"


class Proved(NamedTuple):
    """What a proof showed: the record, the checkpoint it is under, and the key that signed that."""

    record: Record
    checkpoint: Checkpoint
    key: PublicKey


def roots_of(leaves: Iterable[bytes], spans: Sequence[Span]) -> tuple[bytes, ...]:
    """The root of each span, from one reading of the leaf hashes. Raises ValueError where they end too early."""
    order = sorted(range(len(spans)), key=lambda at: spans[at].start)
    starts = [spans[at].start for at in order]
    trees = [CompactRange() for _ in spans]
    for number, leaf in enumerate(leaves):
        at = bisect_right(starts, number) - 1
        if at >= 0 and number < spans[order[at]].end:
            trees[order[at]].add(leaf)
    if any(tree.size != span.end - span.start for tree, span in zip(trees, spans, strict=True)):
        raise ValueError("the log is shorter than its checkpoint")
    return tuple(tree.root() for tree in trees)


def prove_in(place: LogPlace, n: int) -> Proof:
    """The proof of record `n` under the newest checkpoint of the log at `place`.

    Raises FileNotFoundError, AuditUnverifiable, NotAProof where there is no such record, no checkpoint over it, or
    where the log is not the one that the checkpoint was signed for.
    """
    note = newest_checkpoint(place)
    try:
        _, size, root = checkpoint.parse(note)[0]
    except NotACheckpoint as error:
        raise NotAProof(f"the log's checkpoint is none: {error}") from None
    if not 0 <= n < size:
        raise NotAProof(f"the newest checkpoint covers records 0 to {size - 1}, not {n}")
    held: list[bytes] = []

    def leaves(text: Text) -> Iterator[bytes]:
        for number, line in enumerate(lines(text)):
            if number == n and line.data is not None:
                held.append(line.data)
            if number < size:
                yield line.leaf

    try:
        with open_text(place) as text:
            path = roots_of(leaves(text), inclusion_spans(n, size))
    except ValueError as error:
        raise NotAProof(str(error)) from None
    if not held:
        raise NotAProof(f"record {n} cannot be read: it was pruned, or is too long")
    if root_of_inclusion(n, size, leaf_hash(held[0]), path) != root:
        raise NotAProof("the records do not have the root of the log's checkpoint: run chrono audit --verify")
    return Proof(n, path, note, held[0])


def newest_checkpoint(place: LogPlace) -> str:
    """The note in the head. Raises NotAProof where there is none, AuditUnverifiable."""
    try:
        fd, _ = open_plain(place.head, os.O_RDONLY)
    except FileNotFoundError:
        raise NotAProof("the log has no checkpoint: the next append writes one") from None
    try:
        found = head.read(fd)
    finally:
        os.close(fd)
    if found is None:
        raise NotAProof("the log's checkpoint is damaged: the next append writes it again")
    return found.note


def continuation(leaves: Iterable[bytes], old: int, size: int) -> tuple[bytes, ...]:
    """The path that proves the tree of `old` records to be the beginning of that of `size`. Raises ValueError."""
    return roots_of(leaves, consistency_spans(old, size))


def parse(text: str) -> Proof:
    """The proof in a file. Raises NotAProof."""
    head, blank, note = text.partition("\n\n")
    lines = head.split("\n")
    if not blank or lines[0] != HEADER:
        raise NotAProof("this is no tlog-proof")
    if len(lines) < 3 or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise NotAProof("the proof does not hold the record and its number")
    number = lines[2].removeprefix("index ")
    if not number.isascii() or not number.isdigit() or len(number) > 16 or str(int(number)) != number:
        raise NotAProof("the record's number is malformed")
    path = tuple(_bytes(part) for part in lines[3:])
    if len(path) > 63 or any(len(part) != 32 for part in path):
        raise NotAProof("the path is malformed")
    return Proof(int(number), path, note, _bytes(lines[1].removeprefix("extra ")))


def verified(proof: Proof, keys: Sequence[PublicKey]) -> Proved:
    """What `proof` shows under one of `keys`. Raises NotAProof with what does not hold.

    The record's own signature is checked where one of `keys` made it; the tree covers it in any case.
    """
    try:
        record = read(proof.line)
        found, _ = checkpoint.parse(proof.note)
    except NotCanonical as error:
        raise NotAProof(f"the record is none: {error}") from None
    except NotACheckpoint as error:
        raise NotAProof(f"the checkpoint is none: {error}") from None
    if (record.n, record.log) != (proof.n, found.log):
        raise NotAProof("the record is another than the proof is about")
    root = root_of_inclusion(proof.n, found.size, leaf_hash(proof.line), proof.path)
    if root != found.root:
        raise NotAProof(f"record {proof.n} is not in the tree of this checkpoint")
    key = _signer(proof.note, found, keys)
    for own in keys:
        if own.kid == record.kid and not signature_holds(record.line, own):
            raise NotAProof(f"the signature of record {proof.n} does not hold")
    return Proved(record, found, key)


def _signer(note: str, found: Checkpoint, keys: Sequence[PublicKey]) -> PublicKey:
    why = "there is no key to check it with"
    for key in keys:
        try:
            checkpoint.verified(note, log=found.log, key=key)
        except NotACheckpoint as error:
            why = str(error)
        else:
            return key
    raise NotAProof(f"the checkpoint is not signed by a trusted key: {why}")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotAProof("malformed base64") from None
    if _text(data) != text:
        raise NotAProof("base64 with stray bits")
    return data

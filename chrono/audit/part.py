"""Owns the quick reading of a stretch of lines that are all as they should be: chain, form, signatures, tree.

A stretch with anything unusual in it is handed back unread to `audit.chain`, the only judge of what is wrong. Who reads
which stretch, and in how many processes, is left to `audit.spread`.
"""

from __future__ import annotations

import os
import re
from binascii import hexlify
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple

from chrono.audit.merkle import CompactRange, Subtree
from chrono.audit.record import KINDS, MAX_LINE_BYTES, read, signature_holds
from chrono.canonical import NotCanonical, parse
from chrono.signing import PublicKey

FAST, STRICT, FULL = 0, 1, 2
"""How closely lines are read: chain and tree; the canonical form of each, too; each signature, too."""

_SIG_END = 88 + len('"}')
_CHUNK_BYTES = 1 << 20
_BLOCK_LEVEL = 8
_BLOCK = 1 << _BLOCK_LEVEL
_READ_WHOLE = ("key.", "prune", "witness.reset", "session.", "genesis", "segment.", "remote.fetch")
_PLAIN_KINDS = tuple(
    f'"ev":"{kind}'.encode()
    for kind in sorted(KINDS, key=lambda kind: (kind != "command", kind != "savepoint", kind))
    if not kind.startswith(_READ_WHOLE)
)
_ANCHOR = b'"anchor":{'
_PLAIN_KEYS = frozenset(("act", "at", "by", "ev", "fmt", "kid", "log", "n", "prev", "sig"))
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_SIG = re.compile(rb'[A-Za-z0-9+/]{85}[AQgw]=="\}\Z')
_NUMBER = re.compile(
    rb'"log":"[0-9a-f]{32}","n":(\d{1,16}),"prev":"([0-9a-f]{64})"(?:,"sig":"[A-Za-z0-9+/]{86}==")?\}\Z'
)


class Asked(NamedTuple):
    """A stretch to read: bytes `start` to `end` (whole lines), records from number `first` on, after leaf `prev` (hex;
    64 zeros at 0) of log `log` signed by `key`, at depth `depth`. `sizes`: where trees are wanted."""

    start: int
    end: int
    first: int
    prev: str
    log: str
    key: PublicKey
    depth: int
    sizes: tuple[int, ...]


class At(NamedTuple):
    """The tree of the stretch where the log has `size` records, and the last leaf (hex)."""

    size: int
    leaf: str
    subtrees: tuple[Subtree, ...]


class Notable(NamedTuple):
    """A record that others must confirm: its number, the leaf (hex) before it, and its line."""

    n: int
    prev: str
    line: bytes


class Anchored(NamedTuple):
    """A record that is no more than a savepoint's: what its anchor says."""

    n: int
    commit: str
    sha256: str


class Regular(NamedTuple):
    """A stretch in which nothing was unusual: how many records, its last leaf (hex), its subtrees, what it holds.

    `first_at` and `last_at`: the time stamps that were looked at, "" where none was.
    """

    records: int
    leaf: str
    subtrees: tuple[Subtree, ...]
    at: tuple[At, ...]
    notable: tuple[Notable | Anchored, ...]
    first_at: str
    last_at: str
    last_line: bytes


def numbered(line: bytes) -> tuple[int, str] | None:
    """(number, leaf before it) that a line claims for itself, None where it is no record's."""
    found = _NUMBER.search(line, max(0, len(line) - 260))
    return (int(found[1]), found[2].decode("ascii")) if found is not None else None


def read_part(fd: int, asked: Asked) -> Regular | None:
    """Reads a stretch; None where any line of it is not what it should be, or needs a judge. Raises OSError."""
    return _Reader(asked).read(fd)


class _Reader:
    """One stretch, being read."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.n = asked.first
        self.prev = asked.prev.encode("ascii")
        self.leaves: list[bytes] = []
        self.subtrees: list[Subtree] = []
        self.grown = asked.first  # records that are in `subtrees`
        self.at: list[At] = []
        self.notable: list[Notable | Anchored] = []
        self.first_at = self.last_at = ""
        self.last_line = b""

    def read(self, fd: int) -> Regular | None:
        wanted = iter(sorted(self.asked.sizes))
        stop = next(wanted, -1)
        for lines, anchors in _batches(fd, self.asked.start, self.asked.end):
            begin = 0
            while begin < len(lines):
                upto = min(len(lines), begin + stop - self.n) if stop > self.n else len(lines)
                if not self._lines(lines[begin:upto], anchors):
                    return None
                begin = upto
                if self.n == stop:
                    self._grow()
                    self.at.append(At(self.n, self.prev.decode("ascii"), tuple(self.subtrees)))
                    stop = next(wanted, -1)
            self._grow()
        return Regular(
            self.n - self.asked.first,
            self.prev.decode("ascii"),
            tuple(self.subtrees),
            tuple(self.at),
            tuple(self.notable),
            self.first_at,
            self.last_at,
            self.last_line,
        )

    def _lines(self, lines: list[bytes], anchors: bool) -> bool:
        """The hot loop: a microsecond more here is a second more for a million records."""
        asked, n, prev = self.asked, self.n, self.prev
        before = f'","fmt":2,"kid":"{asked.key.kid}","log":"{asked.log}","n":'.encode("ascii")
        closely, plain, add = asked.depth > FAST, _PLAIN_KINDS, self.leaves.append
        for line in lines:
            end = b'%b%d,"prev":"%b","sig":"' % (before, n, prev)
            if not line.endswith(end, 0, -_SIG_END) or line[-4:] != b'=="}' or len(line) > MAX_LINE_BYTES:
                return False
            matters = (anchors and _ANCHOR in line) or not line.endswith(plain, 0, -_SIG_END - len(end))
            if (closely or matters) and not self._closely(line, n, prev, matters):
                return False
            leaf = sha256(b"\x00" + line).digest()
            add(leaf)
            prev = hexlify(leaf)
            n += 1
        self.n, self.prev = n, prev
        if lines:
            self.last_line = lines[-1]
        return True

    def _closely(self, line: bytes, n: int, prev: bytes, matters: bool) -> bool:
        try:
            record = read(line) if matters else None
            at = record.at if record is not None else _time_of(line)
        except NotCanonical:
            return False
        if at < self.last_at:
            return False  # a clock that went back: for the judge
        self.first_at, self.last_at = self.first_at or at, at
        if record is not None:
            if record.ev.startswith("key."):
                return False
            anchor = record.anchor
            commit, digest = (anchor.get("commit"), anchor.get("sha256")) if anchor is not None else (None, None)
            if isinstance(commit, str) and isinstance(digest, str) and not record.ev.startswith(_READ_WHOLE):
                self.notable.append(Anchored(n, commit, digest))
            else:
                self.notable.append(Notable(n, prev.decode("ascii"), line))
        return self.asked.depth < FULL or signature_holds(line, self.asked.key)

    def _grow(self) -> None:
        """Moves the leaves into the list of perfect subtrees, whole blocks at once."""
        leaves, at, index = self.leaves, 0, self.grown
        while at < len(leaves):
            if index % _BLOCK == 0 and at + _BLOCK <= len(leaves):
                self._push(index, Subtree(_BLOCK_LEVEL, _block_root(leaves[at : at + _BLOCK])))
                at, index = at + _BLOCK, index + _BLOCK
            else:
                self._push(index, Subtree(0, leaves[at]))
                at, index = at + 1, index + 1
        self.grown = index
        leaves.clear()

    def _push(self, index: int, tree: Subtree) -> None:
        """Adds the subtree that begins at leaf `index`, joined with the left siblings that this stretch has."""
        level, digest = tree
        place = index >> level
        stack = self.subtrees
        while place & 1 and stack and stack[-1].level == level:
            digest = sha256(b"\x01" + stack.pop().digest + digest).digest()
            level, place = level + 1, place >> 1
        stack.append(Subtree(level, digest))


def _time_of(line: bytes) -> str:
    """The time stamp of a line that ends as a record must and holds nothing that others must confirm; the rest of its
    form is checked. Raises NotCanonical."""
    value = parse(line)
    if not isinstance(value, dict) or not value.keys() <= _PLAIN_KEYS or _SIG.match(line, len(line) - 90) is None:
        raise NotCanonical("not a plain record")
    at = value.get("at")
    objects = isinstance(value.get("by"), dict) and isinstance(value.get("act", {}), dict)
    if not objects or not isinstance(at, str) or _AT.fullmatch(at) is None:
        raise NotCanonical("not a plain record")
    return at


def _block_root(leaves: list[bytes]) -> bytes:
    data = b"".join(leaves)
    while len(data) > 32:
        data = b"".join([sha256(b"\x01" + data[at : at + 64]).digest() for at in range(0, len(data), 64)])
    return data


def _batches(fd: int, start: int, end: int) -> Iterator[tuple[list[bytes], bool]]:
    """The lines of a stretch, some hundred at once, and whether any of them may hold an anchor.

    A line without end is held back to no more than a record's length: the rest of it comes as lines of its own, which
    are no records.
    """
    rest, position = b"", start
    while position < end:
        chunk = os.pread(fd, min(_CHUNK_BYTES, end - position), position)
        if not chunk:
            break
        position += len(chunk)
        data = rest + chunk
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(rest) > MAX_LINE_BYTES:
            lines.append(rest)
            rest = b""
        yield lines, _ANCHOR in data
    if rest:
        yield [rest], True


def absorbed(tree: CompactRange, subtrees: Iterable[Subtree]) -> CompactRange:
    """`tree` with the subtrees of the stretch that follows it."""
    grown = tree.copy()
    for subtree in subtrees:
        grown.add_subtree(subtree)
    return grown

"""Owns the quick reading of a stretch of lines that are all as they should be: chain, form, signatures, tree.

A stretch with anything unusual in it is handed back unread to `audit.chain`, the only judge of what is wrong. Who reads
which stretch, and in how many processes, is left to `audit.spread`.
"""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Iterable, Iterator
from hashlib import sha256
from operator import gt

from chrono.audit.form import signatures_in_form, usual_head
from chrono.audit.merkle import CompactRange, Subtree
from chrono.audit.record import KINDS, MAX_LINE_BYTES, is_time, read, signature_holds
from chrono.audit.text import Text
from chrono.canonical import NotCanonical, parse
from chrono.signing import PublicKey
from chrono.tuples import NamedTuple

FAST, STRICT, FULL = 0, 1, 2
"""How closely lines are read: chain and tree; the canonical form of each, too; each signature, too."""

_SIG_END = 88 + len('"}')
_AFTER_NUMBER = ',"prev":"' + "0" * 64 + '","sig":"'
_CHUNK_BYTES = 1 << 17  # with all that is made of it, it stays in a core's own cache
_BLOCK_LEVEL = 8
_BLOCK = 1 << _BLOCK_LEVEL
_READ_WHOLE = ("key.", "prune", "witness.reset", "session.", "genesis", "segment.", "remote.fetch")
_PLAIN_KINDS = tuple(
    f'"ev":"{kind}'.encode()
    for kind in sorted(KINDS, key=lambda kind: (kind != "command", kind != "savepoint", kind))
    if not kind.startswith(_READ_WHOLE)
)
_KIND_BYTES = max(map(len, _PLAIN_KINDS))
_ANCHOR = b'"anchor":{'
_PLAIN_KEYS = frozenset(("act", "at", "by", "ev", "fmt", "kid", "log", "n", "prev", "sig"))
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


def read_part(text: Text, asked: Asked) -> Regular | None:
    """Reads a stretch; None where any line of it is not what it should be, or needs a judge. Raises OSError."""
    return _Reader(asked).read(text)


class _Reader:
    """One stretch, being read."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.n = asked.first
        self.prev = asked.prev
        self.leaves: list[bytes] = []
        self.subtrees: list[Subtree] = []
        self.grown = asked.first  # records that are in `subtrees`
        self.at: list[At] = []
        self.notable: list[Notable | Anchored] = []
        self.first_at = self.last_at = ""
        self.last_line = b""

    def read(self, text: Text) -> Regular | None:
        wanted = iter(sorted(self.asked.sizes))
        stop = next(wanted, -1)
        for lines, anchors in _batches(text, self.asked.start, self.asked.end):
            begin = 0
            while begin < len(lines):
                upto = min(len(lines), begin + stop - self.n) if stop > self.n else len(lines)
                if not self._lines(lines[begin:upto], anchors):
                    return None
                begin = upto
                if self.n == stop:
                    self._grow(whole=True)
                    self.at.append(At(self.n, self.prev, tuple(self.subtrees)))
                    stop = next(wanted, -1)
            self._grow()
        self._grow(whole=True)
        return Regular(
            self.n - self.asked.first,
            self.prev,
            tuple(self.subtrees),
            tuple(self.at),
            tuple(self.notable),
            self.first_at,
            self.last_at,
            self.last_line,
        )

    def _lines(self, lines: list[bytes], anchors: bool) -> bool:
        """Column by column, not line by line: a microsecond more a line is a second more for a million records."""
        while lines:
            digits = len(str(self.n))
            some, lines = lines[: 10**digits - self.n], lines[10**digits - self.n :]
            if not self._column(some, digits, anchors):
                return False
        return True

    def _column(self, lines: list[bytes], digits: int, anchors: bool) -> bool:
        """Lines whose numbers have so many digits, so that what must stand in each stands at the same place."""
        asked, first = self.asked, self.n
        leaves = [sha256(b"\x00" + line).digest() for line in lines]
        hexes = hexlify(b"".join(leaves)).decode("ascii")
        before = f'","fmt":2,"kid":"{asked.key.kid}","log":"{asked.log}","n":'
        due = [
            f'{before}{n},"prev":"{prev}","sig":"'
            for n, prev in enumerate([self.prev, *(hexes[at : at + 64] for at in range(0, len(hexes) - 64, 64))], first)
        ]
        ends = -_SIG_END - len(before) - digits - len(_AFTER_NUMBER)
        if (
            b"".join([line[ends:-_SIG_END] for line in lines]) != "".join(due).encode("ascii")
            or b"".join([line[-4:] for line in lines]) != b'=="}' * len(lines)
            or max(map(len, lines)) > MAX_LINE_BYTES
        ):
            return False
        matters = _of_other_kinds(lines, ends)
        if anchors:
            matters |= {at for at, line in enumerate(lines) if _ANCHOR in line}
        if asked.depth > FAST:
            if not self._forms(lines, ends, matters, hexes):
                return False
        elif not all(self._matters(lines[at], first + at, self._before(hexes, at)) for at in sorted(matters)):
            return False
        if asked.depth == FULL and not all(signature_holds(line, asked.key) for line in lines):
            return False
        self.leaves += leaves
        self.n, self.prev, self.last_line = first + len(lines), hexes[-64:], lines[-1]
        return True

    def _before(self, hexes: str, at: int) -> str:
        """The leaf before line `at` of a column."""
        return hexes[64 * at - 64 : 64 * at] if at else self.prev

    def _forms(self, lines: list[bytes], ends: int, matters: set[int], hexes: str) -> bool:
        """Whether each line has its one form; what comes from byte `ends` on was looked at. Most lines fit a pattern,
        what does not is parsed."""
        fits = usual_head()
        try:
            b"".join(lines).decode("utf-8")
        except UnicodeDecodeError:
            return False
        if not signatures_in_form(lines):
            return False
        found = [fits(line, 0, len(line) + ends) for line in lines]
        if not matters and None not in found:
            times = [match[1] for match in found if match is not None]
            going_on = not any(map(gt, times, times[1:])) and self._timed(times[0].decode("ascii"))
            self.last_at = times[-1].decode("ascii")
            return going_on
        for at, (line, match) in enumerate(zip(lines, found, strict=True)):
            if at in matters:
                if not self._matters(line, self.n + at, self._before(hexes, at)):
                    return False
            else:
                try:
                    time = match[1].decode("ascii") if match is not None else _time_of(line)
                except NotCanonical:
                    return False
                if not self._timed(time):
                    return False
        return True

    def _timed(self, at: str) -> bool:
        """False where the clock went back: that is for the judge."""
        if at < self.last_at:
            return False
        self.first_at, self.last_at = self.first_at or at, at
        return True

    def _matters(self, line: bytes, n: int, prev: str) -> bool:
        """Keeps what others must confirm of a line."""
        try:
            record = read(line)
        except NotCanonical:
            return False
        if record.ev.startswith("key.") or not self._timed(record.at):
            return False
        anchor = record.anchor
        commit, digest = (anchor.get("commit"), anchor.get("sha256")) if anchor is not None else (None, None)
        if isinstance(commit, str) and isinstance(digest, str) and not record.ev.startswith(_READ_WHOLE):
            self.notable.append(Anchored(n, commit, digest))
        else:
            self.notable.append(Notable(n, prev, line))
        return True

    def _grow(self, *, whole: bool = False) -> None:
        """Moves the leaves into the list of perfect subtrees, whole blocks at once; the rest waits for its block unless
        the tree is wanted as it is (`whole`)."""
        leaves, at, index = self.leaves, 0, self.grown
        while at < len(leaves):
            if index % _BLOCK == 0 and at + _BLOCK <= len(leaves):
                self._push(index, Subtree(_BLOCK_LEVEL, _block_root(leaves[at : at + _BLOCK])))
                at, index = at + _BLOCK, index + _BLOCK
            elif index % _BLOCK == 0 and not whole:
                break
            else:
                self._push(index, Subtree(0, leaves[at]))
                at, index = at + 1, index + 1
        self.grown = index
        del leaves[:at]

    def _push(self, index: int, tree: Subtree) -> None:
        """Adds the subtree that begins at leaf `index`, joined with the left siblings that this stretch has."""
        level, digest = tree
        place = index >> level
        stack = self.subtrees
        while place & 1 and stack and stack[-1].level == level:
            digest = sha256(b"\x01" + stack.pop().digest + digest).digest()
            level, place = level + 1, place >> 1
        stack.append(Subtree(level, digest))


def _of_other_kinds(lines: list[bytes], ends: int) -> set[int]:
    """Which lines are of a kind that must be read whole. What comes before byte `ends` of a line names its kind, and is
    the same in nearly all of them."""
    kinds = [line[ends - _KIND_BYTES : ends] for line in lines]
    others = {kind for kind in set(kinds) if not kind.endswith(_PLAIN_KINDS)}
    return {at for at, kind in enumerate(kinds) if kind in others} if others else set()


def _time_of(line: bytes) -> str:
    """The time stamp of a line that ends as a record must and holds nothing that others must confirm; the rest of its
    form is checked. Raises NotCanonical."""
    value = parse(line)
    if not isinstance(value, dict) or not value.keys() <= _PLAIN_KEYS or _SIG.match(line, len(line) - 90) is None:
        raise NotCanonical("not a plain record")
    at = value.get("at")
    objects = isinstance(value.get("by"), dict) and isinstance(value.get("act", {}), dict)
    if not objects or not isinstance(at, str) or not is_time(at):
        raise NotCanonical("not a plain record")
    return at


def _block_root(leaves: list[bytes]) -> bytes:
    data = b"".join(leaves)
    while len(data) > 32:
        data = b"".join([sha256(b"\x01" + data[at : at + 64]).digest() for at in range(0, len(data), 64)])
    return data


def _batches(text: Text, start: int, end: int) -> Iterator[tuple[list[bytes], bool]]:
    """The lines of a stretch, some hundred at once, and whether any of them may hold an anchor.

    A line without end is held back to no more than a record's length: the rest of it comes as lines of its own, which
    are no records.
    """
    rest, position = b"", start
    while position < end:
        chunk = text.pread(min(_CHUNK_BYTES, end - position), position)
        if not chunk:
            break
        position += len(chunk)
        lines = chunk.split(b"\n")
        lines[0] = rest + lines[0]
        anchors = _ANCHOR in chunk or _ANCHOR in lines[0]
        rest = lines.pop()
        if len(rest) > MAX_LINE_BYTES:
            lines.append(rest)
            rest = b""
        yield lines, anchors
    if rest:
        yield [rest], True


def absorbed(tree: CompactRange, subtrees: Iterable[Subtree]) -> CompactRange:
    """`tree` with the subtrees of the stretch that follows it."""
    grown = tree.copy()
    for subtree in subtrees:
        grown.add_subtree(subtree)
    return grown

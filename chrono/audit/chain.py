"""Owns reading a log line by line: form, chain, numbers, keys, and what the records say that others must confirm.

Whom the result is held against (head, witness, commits) is left to `audit.verify`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from chrono.audit.merkle import CompactRange
from chrono.audit.part import FAST, FULL, Anchored, Asked, Regular, absorbed
from chrono.audit.pin import Pin
from chrono.audit.place import first_of
from chrono.audit.record import MAX_LINE_BYTES, NO_PREV, ROTATE_PREFIX, Record, read, signature_holds
from chrono.audit.report import Notebook
from chrono.audit.resume import Verified
from chrono.audit.spread import Asking, Crew
from chrono.audit.text import PRUNED, Line, Span, Text, lines
from chrono.canonical import Json, NotCanonical
from chrono.errors import KeyRefused
from chrono.signing import PublicKey, public_key_of_text
from chrono.tuples import NamedTuple

_SIGNATURE_END = 88 + len('"}')
_READ_WHOLE = (
    b'"ev":"key.',
    b'"ev":"prune"',
    b'"ev":"witness.reset"',
    b'"ev":"session.',
    b'"ev":"genesis"',
    b'"ev":"remote.fetch"',
    b'"ev":"segment.',
)
_TORN_LOOKS = 5
QUICK_BYTES = 1 << 18
"""Where a log is smaller, reading line by line costs nothing worth a second way."""
WORTH_BYTES = (1 << 25, 1 << 23, 1 << 22)
"""Where a log is smaller, helpers start slower than it is read, at each depth."""


class Trust(NamedTuple):
    """Under which keys a log is read: this home's pin, or what an auditor trusts instead."""

    log: str
    pin: Pin | None
    trusted: tuple[PublicKey, ...]
    require_key: bool


class Chain:
    """What the lines of a log hold, read once, in order, in bounded memory."""

    def __init__(self, trust: Trust, notes: Notebook) -> None:
        self._trust = trust
        self._notes = notes
        self.key: PublicKey | None = trust.pin.key if trust.pin is not None else None
        self.signed = False
        self.count = 0
        self.tree = CompactRange()
        self.leaf = ""
        self.roots: dict[int, str] = {}
        self.leaves: dict[int, str] = {}
        self.anchors: dict[str, tuple[int, str]] = {}
        self.pruned: set[str] = set()
        self.pruned_segments: dict[int, str] = {}
        self.excused: set[str] = set()
        self.earlier_logs: set[str] = set()
        self.resets = 0
        self.open_sessions: set[str] = set()
        self._last_at = ""
        self._last: bytes | None = None
        self._signs: PublicKey | None = None  # the key that the last record is due to be signed by
        self._revoked: set[str] = set()
        self._signed_since: list[tuple[int, str]] = []
        self._depth = self._asked_depth = FAST
        self.begun = self.ended = 0
        """Where in the file reading began, and where the last whole record ended."""

    def resume(self, state: Verified, key: PublicKey) -> None:
        """Begins behind the records of `state`, which `key` signed and whose last record is there. Before `read`."""
        self.key = key
        self.signed, self.count, self.tree, self.leaf = True, state.size, state.tree, state.leaf
        self.roots = {size: root for size, root, _ in state.seen}
        self.leaves = {size: leaf for size, _, leaf in state.seen}
        self.anchors = {commit: (n, digest) for commit, n, digest in state.anchors}
        self.pruned, self.excused = set(state.pruned), set(state.excused)
        self.earlier_logs, self.open_sessions = set(state.earlier_logs), set(state.open_sessions)
        self.resets, self._last_at = state.resets, state.last_at
        self._signed_since, self._revoked = list(state.keys), set(state.revoked)
        self.begun = state.offset

    def verified(self, at: str) -> Verified:
        """What is known behind the last whole record, for `resume`."""
        return Verified(
            log=self._trust.log,
            at=at,
            depth=self._asked_depth,
            size=self.count,
            offset=self.ended,
            leaf=self.leaf,
            hashes=tuple(part.hex() for part in self.tree.hashes),
            last_at=self._last_at,
            seen=tuple((size, root, self.leaves.get(size, "")) for size, root in sorted(self.roots.items())),
            anchors=tuple((commit, n, digest) for commit, (n, digest) in self.anchors.items()),
            pruned=tuple(sorted(self.pruned)),
            excused=tuple(sorted(self.excused)),
            earlier_logs=tuple(sorted(self.earlier_logs)),
            resets=self.resets,
            open_sessions=tuple(sorted(self.open_sessions)),
            keys=tuple(self._signed_since),
            revoked=tuple(sorted(self._revoked)),
        )

    def read(self, text: Text, *, depth: int, sizes: Iterable[int], workers: int = 1) -> None:
        """Reads the log. `roots` and `leaves` then hold root and last leaf (hex) of the tree at each of `sizes`.

        `depth` (`part.FAST`, `STRICT`, `FULL`): the chain, and the lines that matter to others; the form of every line;
        each signature. `workers`: so many processes may help where it is worth their start.
        """
        wanted = frozenset(sizes)
        self._seen(wanted)
        self._depth = self._asked_depth = depth
        self.ended = offset = self._quickly(text, wanted, workers)
        for line in _settled_lines(text, offset):
            if not line.whole:
                self._notes.warn(f"the last {line.length} bytes are part of a record that a crash cut off")
                break
            self._take(line, wanted)
            self.ended = line.offset + line.length + 1
        self._hold_pruned(text)
        self._end()

    def _take(self, line: Line, wanted: frozenset[int]) -> None:
        before = self.key
        self._line(line)
        self._signs = before or self.key
        self.tree.add(line.leaf)
        self.leaf = line.leaf.hex()
        self.count += 1
        self._last = line.data
        if self.count in wanted:
            self._seen(wanted)

    def _quickly(self, text: Text, wanted: frozenset[int], workers: int) -> int:
        """Reads as much as is quickly read: stretches in which all is as it should be. The offset where it ended."""
        offset, end = self.begun, text.end
        if end - offset < QUICK_BYTES:
            return offset
        with Crew(text, workers if end - offset >= WORTH_BYTES[self._depth] else 1) as crew:
            for span in text.spans(self.begun):
                if span.pruned:
                    for line in lines(text, span.start, span.end):
                        self._take(line, wanted)
                    offset = span.end
                else:
                    offset = self._stretches(text, span, crew, wanted)
                if offset < span.end:
                    return offset
        return offset

    def _stretches(self, text: Text, span: Span, crew: Crew, wanted: frozenset[int]) -> int:
        """Reads a run of files that are whole. The offset where it ended."""
        first = next(lines(text, span.start, span.end), None)
        if first is None or not first.whole:
            return span.start
        self._take(first, wanted)
        offset = span.start + first.length + 1
        if self.key is None or not self.signed:
            return offset
        asking = Asking(text, offset, span.end, self._trust.log, self._depth, sorted(wanted))
        for asked, regular in crew.read(asking, lambda: self.key):
            if self._notes.findings or self.key is None or self.key.kid in self._revoked:
                return offset
            if regular is None or not self._absorb(asked, regular):
                for line in lines(text, asked.start, asked.end):
                    self._take(line, wanted)
            offset = asked.end
        return offset

    def _absorb(self, asked: Asked, regular: Regular) -> bool:
        """Adds a stretch in which all was as it should be; False where it does not go on from here."""
        here = (self.count, self.leaf, self.key)
        if (asked.first, asked.prev, asked.key) != here or (regular.first_at and regular.first_at < self._last_at):
            return False
        for at in regular.at:
            self.roots[at.size] = absorbed(self.tree, at.subtrees).root().hex()
            self.leaves[at.size] = at.leaf
        for noted in regular.notable:
            if isinstance(noted, Anchored):
                self._anchored(noted.commit, noted.sha256, noted.n)
            else:
                self.leaf = noted.prev
                self._record(read(noted.line), noted.n)
        self.tree, self._signs = absorbed(self.tree, regular.subtrees), asked.key
        self.count, self.leaf, self._last = asked.first + regular.records, regular.leaf, regular.last_line
        self._last_at = max(self._last_at, regular.last_at)
        return True

    def _pruned_segment(self, said: Json | None) -> None:
        if isinstance(said, dict):
            first, digest = said.get("first"), said.get("sha256")
            if isinstance(first, int) and isinstance(digest, str):
                self.pruned_segments[first] = digest

    def _hold_pruned(self, text: Text) -> None:
        """Each pruned file must be the one that a record names; what lies before the beginning was held before."""
        for at, part in enumerate(text.parts):
            if part.form != PRUNED or part.end <= self.begun:
                continue
            first = first_of(part.name)
            said = self.pruned_segments.get(first)
            if said is None:
                self._notes.fail("segment", first, f"{part.name} was pruned, and no record says so")
            elif said != text.packed(at).sha256():
                self._notes.fail("segment", first, f"{part.name} is not what pruning left of the segment")

    def _seen(self, wanted: frozenset[int]) -> None:
        if self.count in wanted:
            self.roots[self.count] = self.tree.root().hex()
            self.leaves[self.count] = self.leaf

    def _end(self) -> None:
        """The chain reaches back from the last record, so one signature speaks for all that come before it."""
        pin, n = self._trust.pin, self.count - 1
        if not self.signed:
            due = pin.signed_from if pin is not None else 0
            if (self.key is not None or self._trust.trusted) and n >= due:
                self._notes.fail("downgrade", due, f"record {due} and what follows is unsigned in a signed log")
        elif self._last is not None and self._signs is not None and not signature_holds(self._last, self._signs):
            self._notes.fail("signature", n, f"the signature of record {n} does not hold")
        active = pin.active if pin is not None else None
        if pin is not None and pin.turn is not None and pin.turn.key == self.key:
            active = self.key  # a crash between the rotation's record and the pin; the next append writes it
        if self.signed and active is not None and self.key is not None and active != self.key:
            text = f"the log ends under key {self.key.kid}, but this home knows {active.kid} as its active key"
            self._notes.fail("not-pinned", n, text)

    def _line(self, line: Line) -> None:
        n, data = self.count, line.data
        if self._notes.findings:
            self._depth = FULL  # something is wrong: name all of it
        if self._notes.full:
            return
        if line.pruned:
            return
        if data is None:
            self._notes.fail(
                "too-long", n, f"record {n} is too long: {line.length} bytes, {MAX_LINE_BYTES} is the most"
            )
            return
        if self._depth == FAST and n > 0 and self._continues(data) and not matters(data):
            return
        try:
            record = read(data)
        except NotCanonical as error:
            code = "too-long" if len(data) > MAX_LINE_BYTES else "malformed"
            self._notes.fail("non-canonical" if "canonical" in str(error) else code, n, f"record {n}: {error}")
            return
        self._record(record, n)

    def _continues(self, data: bytes) -> bool:
        """Whether the line ends as the next record of this log must, byte for byte, up to its signature."""
        end = f'"log":"{self._trust.log}","n":{self.count},"prev":"{self.leaf}"'
        if not self.signed or self.key is None:
            return not self.signed and data.endswith(f",{end}}}".encode("ascii"))
        end = f',"kid":"{self.key.kid}",{end},"sig":"'
        start = len(data) - _SIGNATURE_END
        return data.endswith(b'=="}') and data.endswith(end.encode("ascii"), 0, start)

    def _record(self, record: Record, n: int) -> None:
        if record.log != self._trust.log:
            self._notes.fail("foreign-log", n, f"record {n} belongs to log {record.log}")
        if record.prev != (self.leaf or NO_PREV):
            self._notes.fail("chain", n, f"record {n} does not follow the record before it")
        if record.n != n:
            self._notes.fail("sequence", n, f"record number {record.n} stands where number {n} should")
        if record.at < self._last_at:
            self._notes.warn(f"the clock went back at record {n}")
        self._last_at = max(self._last_at, record.at)
        if n == 0:
            self._genesis(record)
        self._key_of(record, n)
        self._effects(record, n)

    # -- keys

    def _genesis(self, record: Record) -> None:
        if record.ev != "genesis":
            self._notes.fail("genesis", 0, f"a log begins with genesis, not with {record.ev}")
        earlier = record.act.get("forked_from")
        if isinstance(earlier, dict):
            self.earlier_logs.update(_texts([earlier.get("log")]), _texts(earlier.get("earlier")))

    def _key_of(self, record: Record, n: int) -> None:
        pin = self._trust.pin
        if record.kid is None:
            due = self.signed or self._trust.require_key
            if due or (pin is not None and pin.key is not None and n >= pin.signed_from):
                self._notes.fail("downgrade", n, f"record {n} is unsigned in a signed log")
            return
        if not self.signed:
            self._first_signed(record, n)
        if self.key is None:
            return
        if record.kid != self.key.kid:
            self._notes.fail(
                "key-not-active", n, f"record {n} is signed by key {record.kid}, which is not the active one"
            )
            return
        if (self._depth == FULL or n == 0 or record.ev.startswith("key.")) and not signature_holds(
            record.line, self.key
        ):
            self._notes.fail("signature", n, f"the signature of record {n} does not hold")
        if record.kid in self._revoked:
            self._notes.fail("key-revoked", n, f"record {n} is signed by key {record.kid}, which was revoked")
        if record.ev == "key.rotate":
            self._rotate(record, n)
        elif record.ev == "key.revoke":
            self._revoke(record, n)

    def _first_signed(self, record: Record, n: int) -> None:
        """The record that brings the key: genesis, or `key.add` in a log that was begun unsigned."""
        self.signed = True
        pin = self._trust.pin
        pub = self._pub(record, n)
        if record.ev != ("genesis" if n == 0 else "key.add") or (pub is not None and pub.kid != record.kid):
            self._notes.fail("key-not-active", n, f"record {n} is signed by a key that nothing introduced")
        if self._trust.trusted:
            self.key = next((key for key in self._trust.trusted if key.kid == record.kid), None)
            if self.key is None:
                self._notes.fail("not-pinned", n, f"record {n} is signed by key {record.kid}, which is not trusted")
        elif self.key is None:
            self._notes.fail("not-pinned", n, f"record {n} is signed, but no key is pinned for this log")
        elif record.kid != self.key.kid:
            self._notes.fail(
                "not-pinned", n, f"the log is signed by key {record.kid}, not by the pinned {self.key.kid}"
            )
        elif pin is not None and n != pin.signed_from:
            self._notes.fail("not-pinned", n, f"the log is signed from record {n} on, pinned was {pin.signed_from}")
        if self.key is not None:
            self._signed_since.append((n, self.key.kid))

    def _pub(self, record: Record, n: int) -> PublicKey | None:
        member = record.act.get("key")
        pub = member.get("pub") if isinstance(member, dict) else None
        if not isinstance(pub, str):
            self._notes.fail("malformed", n, f"record {n} brings a key and does not show it")
            return None
        try:
            return public_key_of_text(pub)
        except KeyRefused as error:
            self._notes.fail("weak-key", n, f"record {n}: {error.message}")
            return None

    def _rotate(self, record: Record, n: int) -> None:
        """The old key hands over to a new one, which proves that it exists (specs: audit section 6)."""
        key = self._pub(record, n)
        if key is None or self.key is None:
            return
        member = record.act.get("key")
        pop = member.get("pop") if isinstance(member, dict) else None
        text = f"{ROTATE_PREFIX}{record.log}\n{n}\n{record.prev}\n{self.key.kid}\n{key.text}\n"
        try:
            proof = base64.b64decode(pop if isinstance(pop, str) else "", validate=True)
        except (binascii.Error, ValueError):
            proof = b""
        if not key.verifies(proof, text.encode("ascii")):
            self._notes.fail("rotation", n, f"record {n}: the new key does not prove that it exists")
            return
        self.key = key
        self._signed_since.append((n + 1, key.kid))

    def _revoke(self, record: Record, n: int) -> None:
        kid, until = record.act.get("kid"), record.act.get("trusted_until")
        if not isinstance(kid, str) or not isinstance(until, int):
            self._notes.fail("malformed", n, f"record {n} revokes no key")
            return
        ends = [start for start, _ in self._signed_since[1:]] + [n]
        for (start, used), end in zip(self._signed_since, ends, strict=True):
            first = max(start, until)
            if used == kid and first < end:
                self._notes.fail("key-revoked", first, f"record {first} is signed by key {kid}, which was revoked")
        self._revoked.add(kid)

    # -- what others must confirm

    def _effects(self, record: Record, n: int) -> None:
        if record.anchor is not None:
            self._anchor(record.anchor, n)
        if record.ev == "prune":
            self.pruned.update(_texts(record.act.get("commits")))
            self._pruned_segment(record.act.get("segment"))
        elif record.ev == "witness.reset":
            self.excused.update(_texts(record.act.get("commits")))
            self.resets += record.act.get("part") is not True
        elif record.ev == "remote.fetch":
            # Logs of other machines, verified when they came: their savepoints need no record here.
            self.earlier_logs.update(_texts(record.act.get("logs")))
        elif record.ev in ("session.start", "session.end"):
            session = record.by.get("session")
            if isinstance(session, str):
                (self.open_sessions.add if record.ev == "session.start" else self.open_sessions.discard)(session)

    def _anchor(self, anchor: dict[str, Json], n: int) -> None:
        commit, digest = anchor.get("commit"), anchor.get("sha256")
        if not isinstance(commit, str) or not isinstance(digest, str):
            self._notes.fail("malformed", n, f"record {n} has a malformed anchor")
        else:
            self._anchored(commit, digest, n)

    def _anchored(self, commit: str, digest: str, n: int) -> None:
        if commit in self.anchors:
            first = self.anchors[commit][0]
            self._notes.fail("anchor-twice", n, f"savepoint {commit[:12]} is anchored in records {first} and {n}")
        else:
            self.anchors[commit] = (n, digest)


def _settled_lines(text: Text, start: int) -> Iterator[Line]:
    """The lines of a log that may grow meanwhile: a last line without end is looked at again while it grows."""
    looks = 0
    while True:
        torn = None
        for line in lines(text, start):
            if line.whole:
                yield line
            else:
                torn = line
        if torn is None:
            return
        looks += 1
        if looks > _TORN_LOOKS or text.end == torn.offset + torn.length:
            yield torn
            return
        start = torn.offset


def matters(data: bytes) -> bool:
    """Whether the fast verification must read a line too: it holds an anchor, or changes what others must confirm.

    Inside a text a quotation mark is escaped, so a command cannot look like one of these.
    """
    return b'"anchor":{' in data or any(mark in data for mark in _READ_WHOLE)


def _texts(value: Json | None) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

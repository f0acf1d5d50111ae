"""Owns the verdict on a log: chain, tree, signatures, witness, commits. Reads only; every doubt is a finding.

Which commits there are is told by the caller through `CommitLookup`; exit codes and words are shown by `cli`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from chrono.audit import checkpoint, head
from chrono.audit.compare import compare
from chrono.audit.log import boot_id
from chrono.audit.merkle import CompactRange
from chrono.audit.pin import Pin, pin_of_path, read_pin
from chrono.audit.place import Line, LogPlace, lines, log_id, open_plain
from chrono.audit.record import MAX_LINE_BYTES, NO_PREV, Record, read, signature_holds, signed_bytes
from chrono.audit.witness import EMPTY, State, Witness
from chrono.canonical import NotCanonical
from chrono.errors import AuditUnverifiable, ChronoError, KeyRefused
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, public_key_of_text

_CHAIN = re.compile(rb'"n":(\d{1,15}),"prev":"([0-9a-f]{64})"(?:,"sig":"[A-Za-z0-9+/=]{88}")?\}')
_TAIL_BYTES = 210
_KEY_ROTATE = "chrono-key-rotate/v2\n"
FAIL_LIMIT = 100


class AuditFinding(NamedTuple):
    """One thing that is wrong: a stable `code`, the record number where there is one, and a sentence."""

    code: str
    record: int | None
    text: str


class Level(NamedTuple):
    """A witness level: `state` "checked", "failed" or "not checked", and why."""

    name: str
    state: str
    text: str


class Trailer(NamedTuple):
    """What a commit on a ref says of the log: `Chrono-Audit: v2 <log> <size> <root>`; `log` "" where nothing."""

    commit: str
    log: str
    size: int
    root: str


class CommitLookup(Protocol):
    """The commits of the hidden repository, as the verifier needs them."""

    def trailers(self) -> Iterable[Trailer]:
        """Every commit that a ref reaches, once."""
        ...

    def sha256(self, commit: str) -> str | None:
        """SHA-256 (hex) of the raw commit object, as its anchor names it; None where the object is missing."""
        ...


class Report(NamedTuple):
    """The verdict. `findings` empty: intact. `size` and `root` (hex) of the log as read.

    `integrity` and `completeness` are one sentence each; `exit_code`: 0 intact, 20 tampered, 21 cannot verify,
    22 intact with resets or degraded levels (specs: audit section 9).
    """

    findings: tuple[AuditFinding, ...]
    warnings: tuple[str, ...]
    levels: tuple[Level, ...]
    size: int
    root: str
    resets: int
    open_sessions: int
    exit_code: int
    integrity: str
    completeness: str


def verify(
    place: LogPlace,
    home: HomeLayout,
    *,
    commits: CommitLookup | None = None,
    trusted: tuple[PublicKey, ...] = (),
    require_key: bool = False,
    full: bool = False,
    strict: bool = False,
) -> Report:
    """Judges the log at `place`. Never raises for anything a file can hold.

    `trusted`: keys that an auditor trusts instead of this home's pin. `full`: every line in canonical form and every
    signature, not only chain, tree, last signature, witness and anchors. `strict`: warnings and resets fail too.
    """
    run = _run(_Run(place, home, trusted, require_key), commits, full)
    if run.findings and not full:
        # something is wrong: read every line closely, to name what it is and where
        run = _run(_Run(place, home, trusted, require_key), commits, True)
    return run.report(strict)


def _run(run: _Run, commits: CommitLookup | None, full: bool) -> _Run:
    try:
        run.judge(commits, full)
    except ChronoError as error:
        run.unverifiable = error.message
    except Exception as error:
        run.fail("malformed", run.count, f"the verifier could not go on at record {run.count}: {error!r}")
    return run


class _Run:
    """One verification: what was read so far."""

    def __init__(self, place: LogPlace, home: HomeLayout, trusted: tuple[PublicKey, ...], require_key: bool) -> None:
        self.place = place
        self.home = home
        self.trusted = trusted
        self.require_key = require_key
        self.findings: list[AuditFinding] = []
        self.warnings: list[str] = []
        self.levels: list[Level] = []
        self.unverifiable: str | None = None
        self.log = ""
        self.key: PublicKey | None = None
        self.pin: Pin | None = None
        self.signed = False
        self.count = 0
        self.tree = CompactRange()
        self.leaf = ""
        self.resets = 0
        self.open_sessions: set[str] = set()
        self.anchors: dict[str, tuple[int, str]] = {}
        self.pruned: set[str] = set()
        self.last_at = ""
        self.external = "none"
        self.torn = 0
        self.witness_leaf: str | None = None

    def fail(self, code: str, record: int | None, text: str) -> None:
        if len(self.findings) < FAIL_LIMIT:
            self.findings.append(AuditFinding(code, record, text))

    # -- the whole

    def judge(self, commits: CommitLookup | None, full: bool) -> None:
        try:
            fd, info = open_plain(self.place.log, os.O_RDONLY)
        except FileNotFoundError:
            self._missing()
            return
        try:
            self._trust()
            if info.st_mode & 0o022 and os.name == "posix":
                self.warnings.append(f"others may write {self.place.log} (mode {stat.S_IMODE(info.st_mode):04o})")
            trailers = [trailer for trailer in commits.trailers() if trailer.log == self.log] if commits else []
            foreign = [trailer for trailer in commits.trailers() if trailer.log != self.log] if commits else []
            witness = Witness(self.home.witness_log(self.log), self.home.witness_lock(self.log)).state()
            self._read_all(fd, full, trailers, witness)
            self._against_head(fd)
            self._against_witness(witness)
            if commits is not None:
                self._against_commits(commits, trailers, foreign)
            else:
                self.levels.append(Level("W3", "not checked", "no savepoints here"))
        finally:
            os.close(fd)

    def _missing(self) -> None:
        pin = pin_of_path(self.home, self.place.folder)
        if pin is None:
            self.unverifiable = f"there is no audit log at {self.place.log}"
            return
        self.log = pin.log
        state = Witness(self.home.witness_log(pin.log), self.home.witness_lock(pin.log)).state()
        seen = max(state.acknowledged, state.mark.size if state.mark else 0)
        self.fail("log-missing", None, f"the audit log is gone; this home remembers {seen} records of log {pin.log}")

    def _trust(self) -> None:
        found = log_id(self.place)
        pinned = pin_of_path(self.home, self.place.folder)
        if found is None:
            if pinned is None:
                raise AuditUnverifiable("the first line is no record, and nothing is pinned for this folder")
            self.log, self.pin, self.key = pinned.log, pinned, pinned.key
            return
        self.log = found
        if self.trusted:
            return
        self.pin = read_pin(self.home, found)
        if self.pin is None:
            if pinned is not None:
                self.fail("not-pinned", 0, f"this is log {found}, but log {pinned.log} is pinned for this folder")
                self.pin, self.key, self.log = pinned, pinned.key, pinned.log
                return
            raise AuditUnverifiable(
                f"no key is pinned for log {found} on this machine",
                "give the keys you trust in CHRONO_AUDIT_TRUSTED_KEYS",
            )
        self.key = self.pin.key
        if self.require_key and self.key is None:
            raise AuditUnverifiable("CHRONO_AUDIT_REQUIRE_KEY is set, and no key is pinned for this log")

    # -- the lines

    def _read_all(self, fd: int, full: bool, trailers: list[Trailer], witness: State) -> None:
        wanted: dict[int, list[Trailer]] = {}
        for trailer in trailers:
            wanted.setdefault(trailer.size, []).append(trailer)
        seen = witness.mark.size - 1 if witness.mark is not None else -1
        self._roots(wanted, 0)
        before = len(self.findings)
        for line in lines(fd):
            if not line.whole:
                self._torn(line)
                break
            self._line(line, full or before != len(self.findings))
            if self.count == seen:
                self.witness_leaf = line.leaf.hex()
            self.tree.add(line.leaf)
            self.leaf = line.leaf.hex()
            self.count += 1
            if self.count in wanted:
                self._roots(wanted, self.count)
        for size, there in wanted.items():
            if size > self.count:
                for trailer in there:
                    self.fail("trailer-ahead", None, f"savepoint {trailer.commit[:12]} names {size} records")

    def _roots(self, wanted: dict[int, list[Trailer]], size: int) -> None:
        root = self.tree.root().hex()
        for trailer in wanted.get(size, ()):
            if trailer.root != root:
                self.fail(
                    "trailer-root",
                    None,
                    f"savepoint {trailer.commit[:12]} names another root for the first {size} records",
                )

    def _torn(self, line: Line) -> None:
        self.warnings.append(f"the last {line.length} bytes are part of a record that a crash cut off")
        self.torn = line.length

    def _line(self, line: Line, closely: bool) -> None:
        n = self.count
        prev = self.leaf or NO_PREV
        data = line.data
        if data is None:
            self.fail("too-long", n, f"record {n} is too long: {line.length} bytes, {MAX_LINE_BYTES} is the most")
            return
        chain = _CHAIN.search(data, max(0, len(data) - _TAIL_BYTES)) if not closely else None
        interesting = n == 0 or not chain or chain.end() != len(data) or _interesting(data)
        if (
            chain is not None
            and not interesting
            and int(chain.group(1)) == n
            and chain.group(2).decode() == prev
            and (b',"sig":"' in chain.group(0)) == self.signed
        ):
            return
        try:
            record = read(data)
        except NotCanonical as error:
            code = "too-long" if str(error).startswith("too long") else _shape(str(error))
            self.fail(code, n, f"record {n}: {error}")
            return
        self._record(record, n, prev, closely)

    def _record(self, record: Record, n: int, prev: str, closely: bool) -> None:
        if record.log != self.log:
            self.fail("foreign-log", n, f"record {n} belongs to log {record.log}")
        if record.prev != prev:
            self.fail("chain", n, f"record {n} does not follow the record before it")
        if record.n != n:
            self.fail("sequence", n, f"record number {record.n} stands where number {n} should")
        if record.at < self.last_at:
            self.warnings.append(f"the clock went back at record {n}")
        self.last_at = max(self.last_at, record.at)
        if n == 0:
            self._genesis(record)
        self._key_of(record, n, closely)
        self._effects(record, n)

    def _genesis(self, record: Record) -> None:
        if record.ev != "genesis":
            self.fail("genesis", 0, f"a log begins with genesis, not with {record.ev}")
        if self.trusted:
            self.key = next((key for key in self.trusted if key.kid == record.kid), None)
            if self.key is None:
                self.fail("not-pinned", 0, "the log was begun under a key that is not among the trusted ones")
        self.signed = record.kid is not None
        if record.kid is not None and self.key is not None and record.kid != self.key.kid:
            self.fail("not-pinned", 0, f"the log was begun under key {record.kid}, not under the pinned {self.key.kid}")
        member = record.act.get("key")
        if isinstance(member, dict) and isinstance(member.get("pub"), str):
            self._checked_key(str(member["pub"]), 0)

    def _checked_key(self, text: str, n: int) -> PublicKey | None:
        try:
            return public_key_of_text(text)
        except KeyRefused as error:
            self.fail("weak-key", n, f"record {n}: {error.message}")
            return None

    def _key_of(self, record: Record, n: int, closely: bool) -> None:
        if record.kid is None:
            if self.signed or (self.key is not None and self.pin is None) or self.require_key:
                self.fail("downgrade", n, f"record {n} is unsigned in a signed log")
            return
        if not self.signed:
            if record.ev != "key.add":
                self.fail("key-not-active", n, f"record {n} is signed before any key was added")
            self.signed = True
        if self.key is None:
            self.fail("key-not-active", n, f"record {n} is signed, but no key is pinned")
            return
        if record.kid != self.key.kid:
            self.fail("key-not-active", n, f"record {n} is signed by key {record.kid}, which is not the active one")
            return
        if (closely or n == 0 or record.ev.startswith("key.")) and not signature_holds(record.line, self.key):
            self.fail("signature", n, f"the signature of record {n} does not hold")
        if record.ev == "key.rotate":
            self._rotate(record, n)

    def _rotate(self, record: Record, n: int) -> None:
        """The old key hands over to a new one, which proves that it exists (specs: audit section 6)."""
        import base64
        import binascii

        member = record.act.get("key")
        pub = member.get("pub") if isinstance(member, dict) else None
        pop = member.get("pop") if isinstance(member, dict) else None
        key = self._checked_key(pub, n) if isinstance(pub, str) else None
        if key is None or self.key is None:
            self.fail("rotation", n, f"record {n} rotates to no key")
            return
        text = f"{_KEY_ROTATE}{record.log}\n{n}\n{record.prev}\n{self.key.kid}\n{key.text}\n"
        try:
            proof = base64.b64decode(pop if isinstance(pop, str) else "", validate=True)
        except (binascii.Error, ValueError):
            proof = b""
        if not key.verifies(proof, text.encode("ascii")):
            self.fail("rotation", n, f"record {n}: the new key does not prove that it exists")
            return
        self.key = key

    def _effects(self, record: Record, n: int) -> None:
        if record.anchor is not None:
            commit, digest = record.anchor.get("commit"), record.anchor.get("sha256")
            if not isinstance(commit, str) or not isinstance(digest, str):
                self.fail("malformed", n, f"record {n} has a malformed anchor")
            elif commit in self.anchors:
                self.fail(
                    "anchor-twice",
                    n,
                    f"savepoint {commit[:12]} is anchored twice, in records {self.anchors[commit][0]} and {n}",
                )
            else:
                self.anchors[commit] = (n, digest)
        if record.ev == "prune":
            names = record.act.get("commits")
            if isinstance(names, list):
                self.pruned.update(name for name in names if isinstance(name, str))
        elif record.ev == "witness.reset":
            self.resets += 1
        elif record.ev in ("session.start", "session.end"):
            session = record.by.get("session")
            if isinstance(session, str):
                (self.open_sessions.add if record.ev == "session.start" else self.open_sessions.discard)(session)

    # -- against others

    def _against_head(self, fd: int) -> None:
        self._last_signature(fd)
        try:
            head_fd, _ = open_plain(self.place.head, os.O_RDONLY)
        except FileNotFoundError:
            self.warnings.append("the head file is gone; the next append writes it again")
            self.levels.append(Level("W0", "not checked", "no head file"))
            return
        except AuditUnverifiable as error:
            self.fail("head", None, error.message)
            return
        try:
            found = head.read(head_fd)
        finally:
            os.close(head_fd)
        if found is None:
            self.warnings.append("the head file is damaged; the next append writes it again")
            self.levels.append(Level("W0", "not checked", "damaged head file"))
            return
        if found.log != self.log:
            self.fail("head-foreign", None, f"foreign origin: the head belongs to log {found.log}")
            self.levels.append(Level("W0", "failed", "head of another log"))
            return
        try:
            signed = checkpoint.verified(found.note, log=self.log, key=self.key)
        except checkpoint.NotACheckpoint as error:
            if "foreign origin" in str(error):
                self.fail("head-foreign", None, f"the head: {error}")
            else:
                self.warnings.append(f"the head is not believed ({error}); the next append writes it again")
            self.levels.append(Level("W0", "not checked", str(error)))
            return
        if signed.size > self.count:
            self.fail(
                "truncated",
                self.count,
                f"truncated: a signed checkpoint covers {signed.size} records, the log has {self.count}",
            )
        elif signed.size == self.count and signed.root != self.tree.root():
            self.fail("root", None, f"the {self.count} records do not have the root that was signed")
        self.levels.append(Level("W0", "checked", f"checkpoint of {signed.size} records"))

    def _last_signature(self, fd: int) -> None:
        """The chain reaches back from the last record, so one signature speaks for all (not for who wrote each)."""
        last: Line | None = None
        for line in lines(fd, self._last_line_offset(fd)):
            if line.whole:
                last = line
        if last is None or last.data is None or self.key is None or not self.signed:
            return
        if signed_bytes(last.data) is None:
            return  # a downgrade or a malformed line, which is a finding already
        if not signature_holds(last.data, self.key):
            self.fail("signature", self.count - 1, f"the signature of record {self.count - 1} does not hold")

    def _last_line_offset(self, fd: int) -> int:
        end = os.fstat(fd).st_size
        start = max(0, end - 2 * (MAX_LINE_BYTES + 2))
        data = os.pread(fd, end - start, start).rstrip(b"\n")
        if self.torn:
            data = data[: len(data) - self.torn].rstrip(b"\n")
        return start + data.rfind(b"\n") + 1

    def _against_witness(self, state: State) -> None:
        if state == EMPTY and self.trusted:
            self.levels.append(Level("W1", "not checked", "this machine did not witness the log"))
            return
        found = compare(state, self.count, self.witness_leaf, boot_id=boot_id())
        self.warnings.extend(found.warnings)
        if found.mismatch is not None:
            self.fail(found.mismatch.code, None, f"witness: {found.mismatch.text}")
        if state.alarm is not None:
            expected = state.alarm.expected
            self.fail(
                "alarm",
                None,
                f"the witness latched an alarm ({state.alarm.code}) at {state.alarm.at}: it had seen {expected.size} "
                f"records, the log had {state.alarm.found_size}; chrono audit --reset-witness ends it",
            )
        failed = found.mismatch is not None or state.alarm is not None
        self.levels.append(
            Level("W1", "failed" if failed else "checked", f"home witness of {state.acknowledged} records")
        )

    def _against_commits(self, commits: CommitLookup, trailers: list[Trailer], foreign: list[Trailer]) -> None:
        before = len(self.findings)
        named: dict[str, Trailer] = {trailer.commit: trailer for trailer in trailers}
        for trailer in [*trailers, *foreign]:
            anchored = self.anchors.get(trailer.commit)
            if anchored is None:
                self.fail(
                    "commit-without-record",
                    None,
                    f"savepoint {trailer.commit[:12]} is in no record: the log was "
                    "cut after it, or somebody else wrote it",
                )
            elif trailer.commit in named and trailer.size > anchored[0]:
                self.fail(
                    "trailer-ahead",
                    anchored[0],
                    f"savepoint {trailer.commit[:12]} claims to be younger than its record {anchored[0]}",
                )
        for commit, (n, digest) in self.anchors.items():
            found = commits.sha256(commit)
            if found is None:
                if commit not in self.pruned:
                    self.fail(
                        "anchor-missing",
                        n,
                        f"savepoint {commit[:12]} of record {n} is gone, and no prune record names it",
                    )
            elif found != digest:
                self.fail(
                    "anchor-altered", n, f"savepoint {commit[:12]} of record {n} is not the commit that was recorded"
                )
            elif commit not in named and commit not in self.pruned:
                self.fail("anchor-missing", n, f"savepoint {commit[:12]} of record {n} hangs on no ref")
        failed = len(self.findings) > before or any(finding.code.startswith("trailer") for finding in self.findings)
        self.levels.append(Level("W3", "failed" if failed else "checked", f"{len(self.anchors)} savepoints"))

    # -- the words

    def report(self, strict: bool) -> Report:
        passed = [level.name for level in self.levels if level.state == "checked"]
        if strict:
            for warning in self.warnings:
                self.fail("strict", None, warning)
            if self.resets:
                self.fail("strict", None, f"the witness was reset {self.resets} times")
        degraded = "W1" not in passed
        if self.findings:
            code = 20
            first = self.findings[0]
            where = f"record {first.record}: " if first.record is not None else ""
            integrity = f"FAIL {where}{first.text}"
        elif self.unverifiable is not None:
            code, integrity = 21, f"CANNOT VERIFY {self.unverifiable}"
        else:
            code = 22 if self.resets or degraded else 0
            integrity = f"OK local ({','.join(passed)}); remote: not checked; last external checkpoint {self.external}"
            if self.resets:
                integrity += f"; {self.resets} reset" + ("s" if self.resets > 1 else "")
        lost = [f for f in self.findings if f.code in ("commit-without-record", "truncated", "log-missing")]
        if lost:
            completeness = f"INCOMPLETE {lost[0].text}"
        elif self.open_sessions:
            completeness = f"{len(self.open_sessions)} sessions have no end yet"
        else:
            completeness = "nothing is missing that other records or savepoints name"
        return Report(
            tuple(self.findings), tuple(self.warnings), tuple(self.levels), self.count, self.tree.root().hex(),
            self.resets, len(self.open_sessions), code, integrity, completeness,
        )  # fmt: skip


def _interesting(data: bytes) -> bool:
    """Whether a line must be read whole also by the fast verification: it carries an anchor or changes a state."""
    return b'"anchor":{' in data or any(mark in data for mark in _MARKS)


_MARKS = (b'"ev":"key.', b'"ev":"prune"', b'"ev":"witness.reset"', b'"ev":"session.', b'"ev":"genesis"')


def _shape(reason: str) -> str:
    return "non-canonical" if "canonical" in reason else "malformed"


def read_records(place: LogPlace, start: int = 0) -> Iterator[Record | None]:
    """The records of the log from number `start` on, None for a line that is none. For reading, not for proof.

    Raises AuditUnverifiable, FileNotFoundError.
    """
    fd, _ = open_plain(place.log, os.O_RDONLY)
    try:
        for number, line in enumerate(lines(fd)):
            if number < start or not line.whole:
                continue
            try:
                yield read(line.data or b"")
            except NotCanonical:
                yield None
    finally:
        os.close(fd)

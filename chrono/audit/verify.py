"""Owns the verdict on a log: its lines held against head, witness, pin and commits. Every doubt is a finding.

The lines are read by `audit.chain`; which commits there are is told by the caller through `CommitLookup`; exit codes
and words are shown by `cli`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from chrono.audit import checkpoint, head
from chrono.audit.append import boot_id
from chrono.audit.chain import Chain, Trust
from chrono.audit.compare import compare, may_be_lost
from chrono.audit.external import External, read_external
from chrono.audit.part import FAST, FULL, STRICT
from chrono.audit.pin import pin_of_path, read_pin
from chrono.audit.place import LogPlace, log_id, open_plain, open_text, segments, whereabouts
from chrono.audit.record import Record, read
from chrono.audit.report import (
    AuditFinding,
    CommitLookup,
    Level,
    Notebook,
    Report,
    Trailer,
    completeness_of,
    integrity_of,
)
from chrono.audit.resume import Verified, read_verified, still_there, write_verified
from chrono.audit.text import EndlessLine, SegmentBroken, Text, lines
from chrono.audit.witness import EMPTY, State, Witness
from chrono.canonical import NotCanonical
from chrono.errors import AuditUnverifiable, ChronoError
from chrono.layout import HomeLayout
from chrono.signing import PublicKey, Signer
from chrono.tuples import NamedTuple

__all__ = ["AuditFinding", "CommitLookup", "Keep", "Level", "Report", "Trailer", "read_records", "verify"]


def verify(
    place: LogPlace,
    home: HomeLayout,
    *,
    commits: CommitLookup | None = None,
    trusted: tuple[PublicKey, ...] = (),
    require_key: bool = False,
    full: bool = False,
    strict: bool = False,
    workers: int = 1,
    external: tuple[External, ...] = (),
    resume: bool = False,
    keep: Keep | None = None,
) -> Report:
    """Judges the log at `place`. Never raises for anything a file can hold, and takes no lock.

    `trusted`: keys that an auditor trusts instead of this home's pin. `strict`: every line must have its one form, and
    warnings and resets fail, too. `full`: every signature, too, not only chain, tree, last signature, witness and
    anchors. `workers`: so many processes may help. `external`: what others, elsewhere, say to have seen, besides what
    they answered before. `resume`: go on behind what was verified as closely before and kept, where that is possible;
    what is before it is not read again. `keep`: who signs how far the log is verified now, where it is intact.
    """
    depth = FULL if full else STRICT if strict else FAST
    run = _run(_Verification(place, home, trusted, require_key, workers, external, resume=resume), commits, depth)
    if run.notes.findings and not full:
        # something is wrong: read every line closely, to name what it is and where
        closely = _run(_Verification(place, home, trusted, require_key, workers, external), commits, FULL)
        run = closely if closely.notes.findings else run
    report = run.report(strict)
    if keep is not None and report.exit_code == 0:
        run.keep(keep)
    return report


class Keep(NamedTuple):
    """Who signs how far a log was verified, and the time."""

    signer: Signer
    at: str


def _run(run: _Verification, commits: CommitLookup | None, depth: int) -> _Verification:
    try:
        run.judge(commits, depth)
    except ChronoError as error:
        run.unverifiable = "; ".join(filter(None, (error.message, error.hint)))
    except OSError as error:
        run.unverifiable = f"{error.filename or run.place.log}: {error.strerror}"
    except Exception as error:
        n = run.chain.count if run.chain is not None else 0
        run.notes.fail("malformed", n, f"the verifier could not go on at record {n}: {error!r}")
    return run


class _Verification:
    """One verification: what was found so far."""

    def __init__(
        self,
        place: LogPlace,
        home: HomeLayout,
        trusted: tuple[PublicKey, ...],
        require_key: bool,
        workers: int,
        external: tuple[External, ...],
        *,
        resume: bool = False,
    ) -> None:
        self.place = place
        self.home = home
        self.trusted = trusted
        self.require_key = require_key
        self.workers = workers
        self.external = external
        self.resume = resume
        self.resumed: Verified | None = None
        self.notes = Notebook()
        self.levels: list[Level] = []
        self.unanchored: list[str] = []
        self.unverifiable: str | None = None
        self.chain: Chain | None = None

    def judge(self, commits: CommitLookup | None, depth: int) -> None:
        try:
            os.close(open_plain(self.place.log, os.O_RDONLY)[0])
        except FileNotFoundError:
            if not segments(self.place):
                self._missing()
                return
        text = None
        try:
            trust = self._trust()
            self.chain = chain = Chain(trust, self.notes)
            # All that the log is held against is looked at before the log: it only grows, so a writer at work
            # meanwhile makes no finding.
            witness = Witness(self.home.witness_log(trust.log), self.home.witness_lock(trust.log))
            state = witness.state()
            witness.close()
            signed_head, head_state = self._head()
            trailers = list(commits.trailers()) if commits is not None else []
            sizes = [trailer.size for trailer in trailers if trailer.log == trust.log]
            sizes += [state.mark.size] if state.mark is not None else []
            sizes += [signed_head.size] if signed_head is not None else []
            self.external += read_external(self.home, trust.log)
            sizes += [entry.size for entry in self.external]
            text = open_text(self.place)
            self._modes(text)
            if self.resume:
                self._go_on(text, trust, chain, depth, sizes)
            chain.read(text, depth=depth, sizes=sizes, workers=self.workers)
        except SegmentBroken as error:
            self.notes.fail("segment", error.record, error.message)
            return
        except EndlessLine as error:
            self.notes.fail("too-long", chain.count, error.message)
            return
        finally:
            if text is not None:
                text.close()
        self._against_head(chain, trust, signed_head, head_state, state)
        self._against_witness(chain, state)
        if commits is not None:
            self._against_commits(chain, trust, commits, trailers)
        else:
            self.levels.append(Level("W3", "not checked", "no savepoints here"))
        self._against_external(chain)
        if not chain.count:
            self._empty(trust)

    def _modes(self, text: Text) -> None:
        """Warns of what others may write."""
        for part in text.parts:
            mode = os.fstat(part.fd).st_mode
            if os.name == "posix" and mode & 0o022:
                path = os.path.join(self.place.folder, part.name) if part.name else self.place.log
                self.notes.warn(f"others may write {path} (mode {stat.S_IMODE(mode):04o})")

    def _go_on(self, text: Text, trust: Trust, chain: Chain, depth: int, sizes: list[int]) -> None:
        """Begins behind what was verified before, if as closely, and if nothing is asked of what is before it that was
        not asked then."""
        key = trust.pin.active if trust.pin is not None else None
        state = read_verified(self.home, trust.log, key) if key is not None else None
        if key is None or state is None or state.depth < depth or not still_there(text, state):
            return
        known = {size for size, _, _ in state.seen}
        if all(size >= state.size or size in known for size in sizes):
            chain.resume(state, key)
            self.resumed = state

    def keep(self, keep: Keep) -> None:
        """Keeps how far the log is verified, where the key that signs it is the log's own."""
        chain = self.chain
        if chain is not None and chain.signed and chain.key == keep.signer.public and not self.trusted:
            with suppress(OSError, NotCanonical):
                write_verified(self.home, chain.verified(keep.at), keep.signer)

    def _missing(self) -> None:
        pin = pin_of_path(self.home, self.place.folder)
        if pin is None:
            self.unverifiable = f"there is no audit log at {self.place.log}"
            return
        state = Witness(self.home.witness_log(pin.log), self.home.witness_lock(pin.log)).state()
        seen = max(state.acknowledged, state.mark.size if state.mark else 0)
        self.notes.fail(
            "log-missing", None, f"the audit log is gone; this home remembers {seen} records of log {pin.log}"
        )

    def _empty(self, trust: Trust) -> None:
        """Where there is no record, nothing was signed, and nothing can be called intact."""
        if trust.pin is None:
            raise AuditUnverifiable("the audit log holds no record that the keys given could have signed")
        if not self.notes.findings:
            self.notes.fail("log-missing", 0, "the audit log holds no record, not even the first, which is pinned")

    def _trust(self) -> Trust:
        found = log_id(self.place)
        here = pin_of_path(self.home, self.place.folder) if not self.trusted else None
        if found is None:
            if here is None and not self.trusted:
                raise AuditUnverifiable("the first line is no record, and nothing is pinned for this folder")
            return Trust(here.log if here is not None else "", here, self.trusted, self.require_key)
        if self.trusted:
            return Trust(found, None, self.trusted, self.require_key)
        pin = read_pin(self.home, found)
        if pin is None and here is not None:
            self.notes.fail("not-pinned", 0, f"this is log {found}, but log {here.log} is pinned for this folder")
            return Trust(here.log, here, (), self.require_key)
        if pin is None:
            raise AuditUnverifiable(
                f"no key is pinned for log {found} on this machine",
                "give the keys you trust in CHRONO_AUDIT_TRUSTED_KEYS",
            )
        if self.require_key and pin.key is None:
            raise AuditUnverifiable(
                "CHRONO_AUDIT_REQUIRE_KEY is set, and no key is pinned for this log",
                "its first signed record pins one: unset CHRONO_AUDIT_UNSIGNED where the log is written",
            )
        if pin.key is None:
            self.notes.warn("no record is signed: whoever can write this log and this home can make another one")
        where = whereabouts(pin, self.place)
        if where == "copied":
            self.notes.fail("copied", None, f"fork alarm: this is a copy of the log that this home keeps in {pin.path}")
        elif where == "moved":
            self.notes.warn(f"the log was moved here from {pin.path}; the pin does not know yet")
        return Trust(found, pin, (), self.require_key)

    # -- head

    def _head(self) -> tuple[head.Head | None, str]:
        try:
            fd, _ = open_plain(self.place.head, os.O_RDONLY)
        except FileNotFoundError:
            return None, "no head file"
        try:
            found = head.read(fd)
        finally:
            os.close(fd)
        return found, "" if found is not None else "damaged head file"

    def _against_head(self, chain: Chain, trust: Trust, found: head.Head | None, why: str, witnessed: State) -> None:
        if found is None:
            self.notes.warn(f"{why}: the next append writes it again")
            self.levels.append(Level("W0", "not checked", why))
            return
        try:
            first = trust.pin.signed_from if trust.pin is not None else 0
            key = chain.key if found.size > first else None
            signed = checkpoint.verified(found.note, log=trust.log, key=key)
            if signed.size != found.size:
                raise checkpoint.NotACheckpoint(f"its checkpoint is of {signed.size} records, not of {found.size}")
        except checkpoint.NotACheckpoint as error:
            foreign = "foreign origin" in str(error)
            if foreign:
                self.notes.fail("head-foreign", None, f"the head: {error}")
            else:
                self.notes.warn(f"the head is not believed ({error}); the next append writes it again")
            self.levels.append(Level("W0", "failed" if foreign else "not checked", str(error)))
            return
        state = "failed"
        if signed.size > chain.count and may_be_lost(witnessed, chain.count, boot_id()):
            self.notes.warn("the head saw records that were lost, unacknowledged, when the machine went down")
            state = "not checked"
        elif signed.size > chain.count:
            self.notes.fail(
                "truncated",
                chain.count,
                f"truncated: a signed checkpoint covers {signed.size} records, the log has {chain.count}",
            )
        elif signed.root.hex() != chain.roots.get(signed.size):
            self.notes.fail("root", None, f"the first {signed.size} records do not have the root that was signed")
        else:
            state = "checked"
        self.levels.append(Level("W0", state, f"checkpoint of {_count(signed.size, 'record')}"))

    # -- witness

    def _against_witness(self, chain: Chain, state: State) -> None:
        if state == EMPTY and self.trusted:
            self.levels.append(Level("W1", "not checked", "this machine did not witness the log"))
            return
        leaf = chain.leaves.get(state.mark.size) if state.mark is not None else None
        found = compare(state, chain.count, leaf, boot_id=boot_id())
        if found.lost:
            self.notes.warn(f"{found.lost} unacknowledged records were lost when the machine went down")
        if found.adopted:
            are = "is" if found.adopted == 1 else "are"
            self.notes.warn(f"{_count(found.adopted, 'record')} {are} not witnessed yet; the next append adopts them")
        if found.mismatch is not None:
            record = chain.count if found.mismatch.code == "truncated" else None
            self.notes.fail(found.mismatch.code, record, f"witness: {found.mismatch.text}")
        if state.alarm is not None:
            expected = state.alarm.expected
            self.notes.fail(
                "alarm",
                None,
                f"the witness latched an alarm ({state.alarm.code}) at {state.alarm.at}: it had seen {expected.size} "
                f"records, the log had {state.alarm.found_size}; chrono audit --reset-witness ends it",
            )
        if state.dropped:
            self.notes.warn(f"{state.dropped} entries found the log locked; the next record tells of them")
        failed = found.mismatch is not None or state.alarm is not None
        self.levels.append(
            Level("W1", "failed" if failed else "checked", f"home witness of {_count(state.acknowledged, 'record')}")
        )

    # -- commits

    def _against_commits(self, chain: Chain, trust: Trust, commits: CommitLookup, trailers: list[Trailer]) -> None:
        before = len(self.notes.findings)
        for trailer in trailers:
            if trailer.commit not in chain.excused:
                self._trailer(chain, trust, trailer)
        on_refs = {trailer.commit for trailer in trailers}
        if any(commit not in on_refs for commit in chain.anchors):
            on_refs |= {trailer.commit for trailer in commits.trailers()}  # a savepoint made meanwhile
        for commit, (n, digest) in chain.anchors.items():
            self._anchored(chain, commits, commit, n, digest, commit in on_refs)
        failed = len(self.notes.findings) > before
        text = _count(len(chain.anchors), "savepoint")
        self.levels.append(Level("W3", "failed" if failed else "checked", text))

    def _trailer(self, chain: Chain, trust: Trust, trailer: Trailer) -> None:
        name = f"savepoint {trailer.commit[:12]}"
        mine = trailer.log == trust.log
        if mine and trailer.size > chain.count:
            self.notes.fail("trailer-ahead", None, f"{name} was taken when the log had {trailer.size} records")
        elif mine and trailer.root != chain.roots.get(trailer.size):
            self.notes.fail("trailer-root", None, f"{name} names another root for the first {trailer.size} records")
        anchored = chain.anchors.get(trailer.commit)
        if anchored is None:
            if trailer.log not in chain.earlier_logs:
                self.unanchored.append(trailer.commit)
                self.notes.fail(
                    "commit-without-record",
                    None,
                    f"{name} is in no record: the log was cut after it, or somebody else wrote it",
                )
        elif not mine:
            self.notes.fail("trailer-foreign", anchored[0], f"{name} of record {anchored[0]} does not name this log")
        elif trailer.size > anchored[0]:
            self.notes.fail("trailer-ahead", anchored[0], f"{name} claims to be younger than its record {anchored[0]}")

    def _anchored(self, chain: Chain, commits: CommitLookup, commit: str, n: int, digest: str, on_a_ref: bool) -> None:
        name = f"savepoint {commit[:12]} of record {n}"
        found = commits.sha256(commit)
        if found is not None and found != digest:
            self.notes.fail("anchor-altered", n, f"{name} is not the commit that was recorded")
        elif commit in chain.pruned:
            return
        elif found is None:
            self.notes.fail("anchor-missing", n, f"{name} is gone, and no prune record names it")
        elif not on_a_ref:
            self.notes.fail("anchor-missing", n, f"{name} hangs on no ref")

    # -- what others saw

    def _against_external(self, chain: Chain) -> None:
        state: dict[str, str] = {}
        seen: dict[str, int] = {}
        for entry in self.external:
            before = len(self.notes.findings)
            if entry.size > chain.count:
                self.notes.fail(
                    "truncated", chain.count, f"truncated: {entry.holder} saw {entry.size} records on {entry.at[:10]}"
                )
            elif chain.roots.get(entry.size) != entry.root:
                text = f"{entry.holder} saw other records: the first {entry.size} have another root there"
                self.notes.fail("external", None, text)
            failed = len(self.notes.findings) > before
            state[entry.level] = "failed" if failed else state.get(entry.level, "checked")
            seen[entry.level] = max(seen.get(entry.level, 0), entry.size)
        for level in sorted(state):
            holders = len({entry.holder for entry in self.external if entry.level == level})
            text = f"{seen[level]} of {chain.count} records, by {holders} holder{'s' if holders > 1 else ''}"
            self.levels.append(Level(level, state[level], text))

    # -- the verdict

    def report(self, strict: bool) -> Report:
        chain = self.chain
        resets = chain.resets if chain is not None else 0
        if strict:
            for warning in self.notes.warnings:
                self.notes.fail("strict", None, warning)
            if resets:
                self.notes.fail("strict", None, f"the witness was reset {resets} times")
        count = chain.count if chain is not None else 0
        seen = max((entry.size for entry in self.external), default=0)
        code, integrity = integrity_of(
            self.notes, self.levels, self.unverifiable, resets, (seen, count), trusted_elsewhere=bool(self.trusted)
        )
        if self.resumed is not None and code in (0, 22):
            before = self.resumed
            integrity += f"; the first {before.size:,} records were verified on {before.at[:19]}Z and not read again"
        sessions = len(chain.open_sessions) if chain is not None else 0
        return Report(
            findings=tuple(self.notes.findings),
            warnings=tuple(self.notes.warnings),
            levels=tuple(self.levels),
            size=chain.count if chain is not None else 0,
            root=chain.tree.root().hex() if chain is not None else "",
            resets=resets,
            open_sessions=sessions,
            exit_code=code,
            integrity=integrity,
            completeness=completeness_of(self.notes, sessions, code),
            unanchored=tuple(self.unanchored),
        )


def read_records(place: LogPlace, start: int = 0) -> Iterator[Record | None]:
    """The records of the log from number `start` on, None for a line that is none. For reading, not for proof.

    Raises AuditUnverifiable, FileNotFoundError.
    """
    with open_text(place) as text:
        for number, line in enumerate(lines(text)):
            if number < start or not line.whole:
                continue
            try:
                yield read(line.data or b"")
            except NotCanonical:
                yield None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}"

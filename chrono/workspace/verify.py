"""Owns `audit --verify` of a project: the log judged by `audit.verify` against the commits that `store` holds.

The verdict, its words and its exit code are audit's; printing is left to `cli`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from chrono.errors import AuditTampered, ChronoError, NoSuchSavepoint, StoreError
from chrono.ids import CommitId

if TYPE_CHECKING:
    from chrono.audit.cosign import Answer, Quorum
    from chrono.audit.external import External
    from chrono.audit.push import Kept
    from chrono.audit.verify import Keep, Report, Trailer
    from chrono.store.repository import Store
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace


class StoreCommits:
    """The commits of a store as the verifier asks for them (`audit.verify.CommitLookup`)."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.unreadable = ""
        """What cannot be read of the history, in a sentence; "" where all of it can."""

    def trailers(self) -> tuple[Trailer, ...]:
        """Every commit that a ref reaches now, once, with what it says of the log. Asked again, it looks again.

        Raises StoreError where not even the refs can be read.
        """
        try:
            found = list(chain(self._store.history(), self._store.operations()))
        except (NoSuchSavepoint, StoreError) as error:
            self.unreadable = str(error)
            found = list(self._readable())
        return tuple(map(_trailer, found))

    def sha256(self, commit: str) -> str | None:
        """SHA-256 of the raw commit object; None where it is missing, "" where its bytes are not a commit's."""
        try:
            return hashlib.sha256(self._store.raw_commit(CommitId(commit))).hexdigest()
        except NoSuchSavepoint:
            return None
        except StoreError:
            return ""

    def _readable(self) -> Iterator[Savepoint]:
        """What refs reach without the commits that are gone or damaged: each of those is judged by its anchor."""
        from chrono.store.refs import AUTO, BRANCHES, MERGE, OPERATIONS, RESCUE

        waiting = [commit for prefix in (BRANCHES, AUTO, RESCUE) for _, commit in self._store.refs(prefix)]
        waiting += [commit for ref in (MERGE, OPERATIONS) if (commit := self._store.ref(ref)) is not None]
        seen: set[str] = set()
        while waiting:
            commit = waiting.pop()
            if commit in seen:
                continue
            seen.add(commit)
            try:
                savepoint = self._store.savepoint(commit)
            except (NoSuchSavepoint, StoreError):
                continue
            yield savepoint
            waiting += map(CommitId, savepoint.parents)


def _trailer(savepoint: Savepoint) -> Trailer:
    from chrono.audit.verify import Trailer

    log, size, root = parse_trailer(savepoint.trailer("Chrono-Audit") or "")
    return Trailer(savepoint.id, log, size, root)


def parse_trailer(text: str) -> tuple[str, int, str]:
    """(log, size, root) of `v2 <log> <size> <root>`; ("", 0, "") for anything else."""
    parts = text.split(" ")
    if len(parts) != 4 or parts[0] != "v2" or not parts[2].isascii() or not parts[2].isdigit():
        return "", 0, ""
    return parts[1], int(parts[2]), parts[3]


def verify(
    ws: Workspace,
    *,
    full: bool = False,
    strict: bool = False,
    external: tuple[External, ...] = (),
    resume: bool = False,
) -> Report:
    """The verdict on the project's log and on its tie to the savepoints, both ways. Never raises for what files hold.

    `strict`: every line in its one form, and warnings and resets fail, too. `full`: every signature, too. All cores
    help with a long log. `resume`: what was verified before, as closely, is not read again. A store that cannot be read
    leaves the savepoints unchecked, and the report says so.
    """
    from chrono.audit.place import project_place
    from chrono.audit.verify import verify as judge

    commits = None
    unreadable = ""
    try:
        commits = StoreCommits(ws.store)
        commits.trailers()  # what cannot be read of them is told, and is not the end of the verification
        unreadable = commits.unreadable
    except (ChronoError, OSError) as error:
        commits, unreadable = None, str(error)
    keys = ws.keys
    away = _overseen(ws, keys.overseer) if keys.overseer else ""
    report = judge(
        project_place(ws.layout),
        ws.home,
        commits=commits,
        trusted=keys.trusted,
        require_key=keys.require,
        full=full,
        strict=strict,
        workers=os.cpu_count() or 1,
        external=external,
        resume=resume,
        keep=_keep(ws),
    )
    if away:
        report = _with_warning(report, away, strict)
    if ws.environ.get("CHRONO_AUDIT_WITNESS") and report.size:
        report = _with_quorum(ws, report, strict)
    if not unreadable:
        return report
    from chrono.audit.report import UNTOLD

    told = f"the savepoints cannot be read: {unreadable}"
    report = report._replace(warnings=(*report.warnings, told))
    if report.findings:
        return report
    return report._replace(exit_code=21, integrity=f"CANNOT VERIFY {told}", completeness=UNTOLD)


def with_copy(ws: Workspace, report: Report, path: str) -> Report:
    """`report`, and whether each record that the exported file `path` keeps is the log's own.

    What the copy has and the log has not is a finding, `copy-differs`; that the copy holds only some records is not.
    Raises ChronoError where the file cannot be read or is no copy.
    """
    from chrono.audit.copy import differences
    from chrono.audit.export import NotACopy, lines_of
    from chrono.audit.place import project_place

    try:
        with open(path, encoding="utf-8", newline="") as file:
            found, compared = differences(project_place(ws.layout), lines_of(file))
        if not (found or compared):
            raise NotACopy("it keeps no record")
    except OSError as error:
        raise ChronoError(f"{path} cannot be read: {error.strerror}") from None
    except (NotACopy, UnicodeDecodeError) as error:
        why = str(error) if isinstance(error, NotACopy) else "it is not UTF-8 text"
        raise ChronoError(f"{path} is no copy of the log: {why}", "one comes from chrono audit export") from None
    if not found:
        return report._replace(integrity=f"{report.integrity}; {compared} records of the copy are the log's own")
    integrity = report.integrity if report.findings else f"FAIL {found[0].text}"
    return report._replace(findings=(*report.findings, *found), exit_code=20, integrity=integrity)


def push_log(ws: Workspace, url: str, auth: str | None) -> tuple[Kept, int]:
    """Sends the store at `url` what it lacks of this project's log, and keeps in mind what it then has; (what it has,
    records sent). Raises ChronoError."""
    from chrono.audit.place import project_place
    from chrono.audit.push import auth_for, push, store_at

    store = store_at(url, auth_for(url, auth))
    kept, sent = push(project_place(ws.layout), store, ws.log.log_id)
    _remember(ws, url, kept)
    return kept, sent


def ask_store(ws: Workspace, url: str | None, auth: str | None) -> External:
    """What the store at `url` (None: the one that was pushed to last) has seen of this project's log, under the log's
    own signature. Raises ChronoError where it does not answer or never had a checkpoint, AuditTampered where what it
    has is not signed by this log's key."""
    from chrono.audit.external import read_external
    from chrono.audit.push import auth_for, kept_at, store_at

    known = [entry for entry in read_external(ws.home, ws.log.log_id) if entry.level == "remote"]
    if url is None:
        if not known:
            raise ChronoError("no store is known for this log", "give its address: chrono audit --push URL")
        url = max(known, key=lambda entry: entry.at).holder
    kept = kept_at(store_at(url, auth_for(url, auth)), ws.log.log_id)
    if not kept.note:
        raise ChronoError(f"{url} has no checkpoint of this log", "chrono audit --push URL sends one")
    return _remember(ws, url, kept)


def _remember(ws: Workspace, url: str, kept: Kept) -> External:
    from chrono.audit.checkpoint import NotACheckpoint
    from chrono.audit.external import External, add_external
    from chrono.audit.pin import read_pin
    from chrono.audit.push import signed_by
    from chrono.clock import rfc3339

    log = ws.log.log_id
    pin = read_pin(ws.home, log)
    keys = tuple(key for key in (pin.key, pin.rotated) if key is not None) if pin is not None else ()
    try:
        seen = signed_by(kept.note, log, keys or ws.keys.trusted)
    except NotACheckpoint as error:
        raise AuditTampered(f"what {url} keeps is not this log's: {error}", "look at who else pushes there") from None
    at = rfc3339(ws.clock.now_ns())
    entry = External("remote", url.rstrip("/"), seen.size, seen.root.hex(), at, kept.note)
    add_external(ws.home, log, [entry])
    return entry


def ask_witnesses(ws: Workspace) -> tuple[Quorum, tuple[Answer, ...]]:
    """Has the witnesses of CHRONO_AUDIT_WITNESS cosign this project's log, and keeps their signatures.

    Raises UsageError where none is named, AuditTampered where one saw another log.
    """
    from chrono.audit.cosign import cosign, quorum_of
    from chrono.audit.external import add_external, read_external
    from chrono.audit.place import project_place

    quorum = quorum_of(ws.environ.get("CHRONO_AUDIT_WITNESS") or "")
    log = ws.log.log_id
    answers = cosign(project_place(ws.layout), quorum, read_external(ws.home, log))
    add_external(ws.home, log, [answer.seen for answer in answers if answer.seen is not None])
    return quorum, answers


def _with_quorum(ws: Workspace, report: Report, strict: bool) -> Report:
    """`report`, and a warning where fewer witnesses than CHRONO_AUDIT_WITNESS wants have signed anything of the log."""
    from chrono.audit.cosign import quorum_of, still_signed
    from chrono.audit.external import read_external

    quorum = quorum_of(ws.environ["CHRONO_AUDIT_WITNESS"])
    kept = [entry for entry in read_external(ws.home, ws.log.log_id) if entry.level == "W5"]
    signed = sum(still_signed(entry, quorum) for entry in kept)
    if signed >= quorum.least:
        return report
    told = f"{signed} of the {quorum.least} witnesses that must sign have: chrono audit --witness asks them"
    return _with_warning(report, told, strict)


def _keep(ws: Workspace) -> Keep | None:
    """Who signs how far the log was verified; None where the key cannot be had, which is no reason to stop."""
    from chrono.audit.keys import find_signer
    from chrono.audit.pin import read_pin
    from chrono.audit.place import log_id, project_place
    from chrono.audit.verify import Keep
    from chrono.clock import rfc3339

    try:
        log = log_id(project_place(ws.layout))
        pin = read_pin(ws.home, log) if log is not None and ws.standing().own else None
        signer = find_signer(ws.home, ws.keys, wanted=pin.active) if pin is not None and pin.active else None
    except (ChronoError, OSError):
        return None
    return Keep(signer, rfc3339(ws.clock.now_ns())) if signer is not None else None


def _overseen(ws: Workspace, path: str) -> str:
    """Keeps in mind what the witness daemon has seen of the log, for it to be held against; or why it was not asked.

    It is told the rest afterwards: what it saw before is what counts now.
    """
    from chrono.audit.external import External, add_external
    from chrono.audit.head import read
    from chrono.audit.overseen import caught_up, seen
    from chrono.audit.place import log_id, open_plain, project_place
    from chrono.clock import rfc3339

    place = project_place(ws.layout)
    try:
        log = log_id(place)
        if log is None:
            return ""
        state = seen(path, log)
        if state.size:
            at = rfc3339(state.at_s * 1_000_000_000)
            add_external(ws.home, log, [External("W2", path, state.size, state.root, at, "")])
        fd, _ = open_plain(place.head, os.O_RDONLY)
        try:
            head = read(fd)
        finally:
            os.close(fd)
        if head is not None and head.size > state.size and ws.standing().own:
            caught_up(path, log, place, head.size)
    except FileNotFoundError:
        return ""
    except (ChronoError, OSError) as error:
        return str(error)
    return ""


def _with_warning(report: Report, told: str, strict: bool) -> Report:
    report = report._replace(warnings=(*report.warnings, told))
    if not strict:
        return report
    from chrono.audit.report import AuditFinding

    integrity = report.integrity if report.findings else f"FAIL {told}"
    findings = (*report.findings, AuditFinding("strict", None, told))
    return report._replace(findings=findings, exit_code=20, integrity=integrity)

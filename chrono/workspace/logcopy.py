"""Owns the copy of an audit log that travels with the savepoints: how it is cut into files, put together and judged.

Chunks end at the first line end after 64 KiB, so that all but the last never change. Judging is left to `audit.verify`;
the format is in docs/formats/remote.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from chrono.errors import AuditTampered, AuditUnverifiable, RemoteError, StoreError
from chrono.files import file_lock
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.audit.place import LogPlace
    from chrono.audit.report import Report, Trailer
    from chrono.layout import HomeLayout
    from chrono.signing import PublicKey
    from chrono.store.exchange import Layered
    from chrono.workspace.project import Workspace

CHUNK_BYTES = 64 * 1024
_CHUNK = "log."
_HEAD, _BRANCH, _FORMAT = "head", "branch", "format"
_VERSION = b"1\n"


class LogCopy(NamedTuple):
    """`lines` are the log's bytes, `head` those of its signed head, `branch` the branch it was on."""

    lines: bytes
    head: bytes
    branch: str


class Judged(NamedTuple):
    """A copy that was checked against the savepoints that came with it. `key` None: the log is unsigned."""

    log: str
    copy: LogCopy
    report: Report
    key: PublicKey | None
    earlier: frozenset[str]


def take(ws: Workspace, *, timeout_s: float) -> LogCopy:
    """The project's log and head as they are at one moment. Raises Locked, AuditUnverifiable."""
    from chrono.audit.place import open_plain, open_text, project_place

    place = project_place(ws.layout)
    with file_lock(place.lock, timeout_s=timeout_s):
        with open_text(place) as text:
            lines = b"".join(text.pread(span.end - span.start, span.start) for span in text.spans(0))
        fd, info = open_plain(place.head, os.O_RDONLY)
        try:
            head = os.pread(fd, info.st_size, 0)
        finally:
            os.close(fd)
    return LogCopy(lines[: lines.rfind(b"\n") + 1], head, ws.store.head_ref().removeprefix("refs/heads/"))


def files(copy: LogCopy) -> dict[str, bytes]:
    """The files that hold a copy."""
    made = {_HEAD: copy.head, _BRANCH: copy.branch.encode("utf-8", "surrogateescape"), _FORMAT: _VERSION}
    start = number = 0
    while start < len(copy.lines):
        cut = copy.lines.find(b"\n", start + CHUNK_BYTES) + 1 or len(copy.lines)
        made[f"{_CHUNK}{number:08}"] = copy.lines[start:cut]
        start, number = cut, number + 1
    return made


def joined(found: Mapping[str, bytes]) -> LogCopy:
    """The inverse of `files`. Raises RemoteError for files of another version."""
    if found.get(_FORMAT) != _VERSION:
        raise RemoteError("the remote was written by another version of chrono", "pip install --upgrade chrono-toolkit")
    lines = b"".join(found[name] for name in sorted(found) if name.startswith(_CHUNK))
    return LogCopy(lines, found.get(_HEAD, b""), found.get(_BRANCH, b"main").decode("utf-8", "surrogateescape"))


def pruned(copy: LogCopy) -> bool:
    """Whether leaf hashes stand in the place of some lines."""
    return any(_LEAF.fullmatch(line) for line in copy.lines.splitlines())


def continued(copy: LogCopy, mine: LogCopy, shown: str) -> LogCopy:
    """`mine`, whose beginning `copy` must be; what was pruned here stays as it is there. Raises AuditTampered."""
    lines = mine.lines if mine.lines.startswith(copy.lines) else _filled(copy.lines, mine.lines)
    if not lines.startswith(copy.lines):
        raise AuditTampered(
            f"{shown} holds other records of this very log: one of the two was rewritten, or the project was copied "
            "and both copies were pushed",
            "run chrono audit --verify; a copy gets a log of its own with chrono init --adopt",
        )
    return mine._replace(lines=lines)


_LEAF = re.compile(rb"[0-9a-f]{64}")


def _filled(theirs: bytes, mine: bytes) -> bytes:
    """The lines of `mine`, with those of `theirs` where only their leaf hash is left."""
    kept = theirs.split(b"\n")
    rows = mine.split(b"\n")
    for at, line in enumerate(rows[: len(kept)]):
        if _LEAF.fullmatch(line) and sha256(b"\x00" + kept[at]).hexdigest().encode("ascii") == line:
            rows[at] = kept[at]
    return b"\n".join(rows)


class _Commits:
    """The savepoints that came with a log, as the verifier asks for them."""

    def __init__(self, objects: Layered, log: str, tips: Mapping[str, str]) -> None:
        self._objects = objects
        self._log = log
        self._tips = tips

    def trailers(self) -> tuple[Trailer, ...]:
        return tuple(self._walk())

    def _walk(self) -> Iterator[Trailer]:
        from chrono.audit.verify import Trailer
        from chrono.workspace.verify import parse_trailer

        seen: set[str] = set()
        stack = [oid for name, oid in self._tips.items() if name not in ("audit", "meta")]
        while stack:
            commit = stack.pop()
            if commit in seen:
                continue
            seen.add(commit)
            value = self._objects.commit(commit)
            log, size, root = parse_trailer(value.trailer("Chrono-Audit") or "")
            if log == self._log:
                yield Trailer(value.id, log, size, root)
            stack.extend(value.parents)

    def sha256(self, commit: str) -> str | None:
        import hashlib

        try:
            return hashlib.sha256(self._objects.read(commit, b"commit")).hexdigest()
        except StoreError:
            return None


def judge(objects: Layered, folder: str, log: str, tips: Mapping[str, str], pinned: str | None) -> Judged:
    """Checks a fetched log: its chain, its signatures, and its tie to the savepoints below `tips`, both ways.

    `folder` is a scratch folder. `pinned`: the key that this log is known by, as text; None on first contact: then the
    key is the one that the log itself brings. Raises AuditTampered, AuditUnverifiable, RemoteError.
    """
    from chrono.audit.place import first_record
    from chrono.audit.verify import verify
    from chrono.layout import HomeLayout
    from chrono.store.exchange import read_files

    copy = joined(read_files(objects, tips["audit"]))
    place = _lay(folder, copy)
    first = first_record(place)
    if first is None or first.log != log:
        raise AuditTampered(f"what the remote calls log {log} is another one, or none", "do not use this remote")
    key = _key_of(place)
    if pinned is not None and (key.text if key is not None else "") != pinned:
        raise AuditTampered(
            f"log {log} on the remote is signed by another key than before",
            "do not use what it holds before you know why; chrono remote remove forgets the old key",
        )
    home = HomeLayout(os.path.join(folder, "home"))
    _empty_home(home, place, log, key)
    report = verify(
        place, home, commits=_Commits(objects, log, tips), trusted=(key,) if key is not None else (), full=True
    )
    if report.exit_code == 20:
        raise AuditTampered(f"log {log} of the remote does not hold: {report.integrity}", "do not use what it holds")
    if report.exit_code == 21:
        raise AuditUnverifiable(f"log {log} of the remote cannot be verified: {report.integrity}")
    earlier = first.act.get("forked_from")
    return Judged(log, copy, report, key, _logs_of(earlier))


def _lay(folder: str, copy: LogCopy) -> LogPlace:
    from chrono.audit.place import LogPlace

    os.makedirs(folder, mode=0o700)
    paths = [os.path.join(folder, name) for name in ("audit.jsonl", "audit.head", "audit.lock", "audit.pub")]
    for path, data in zip(paths, (copy.lines, copy.head), strict=False):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    return LogPlace(folder, *paths)


def _empty_home(home: HomeLayout, place: LogPlace, log: str, key: PublicKey | None) -> None:
    """A home that never saw the log; an unsigned one is pinned there, since no key can be trusted instead."""
    from chrono.audit.append import boot_id
    from chrono.audit.merkle import leaf_hash
    from chrono.audit.pin import Pin, write_pin
    from chrono.audit.witness import Mark, Witness

    for path in (home.witness, home.trust):
        os.makedirs(path, mode=0o700)
    if key is None:
        write_pin(home, Pin(log, None, place.folder, os.stat(place.folder).st_ino))
        with open(place.log, "rb") as file:
            first = leaf_hash(file.readline().removesuffix(b"\n"))
        witness = Witness(home.witness_log(log), home.witness_lock(log))
        witness.appended(Mark(1, first.hex(), "", boot_id()))
        witness.close()


def _key_of(place: LogPlace) -> PublicKey | None:
    """The key that the log itself brings first. Raises KeyRefused for a weak one."""
    from chrono.audit.verify import read_records
    from chrono.signing import public_key_of_text

    for record in read_records(place):
        if record is not None and record.ev in ("genesis", "key.add"):
            member = record.act.get("key")
            text = member.get("pub") if isinstance(member, dict) else None
            if isinstance(text, str):
                return public_key_of_text(text)
    return None


def _logs_of(value: object) -> frozenset[str]:
    """The logs that a genesis record says it goes on from."""
    if not isinstance(value, dict):
        return frozenset()
    earlier = value.get("earlier")
    names = [value.get("log"), *(earlier if isinstance(earlier, list) else ())]
    return frozenset(name for name in names if isinstance(name, str))

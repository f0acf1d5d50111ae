"""Owns finding again, after a call ran, what was decided about it before: in the log itself, from its end.

So it works whoever decided, the resident service or a hook by itself, and nothing else has to be kept in step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from chrono.audit.place import LogPlace, open_plain
from chrono.audit.record import Record, read
from chrono.canonical import NotCanonical, canonical_bytes, recordable
from chrono.errors import AuditUnverifiable
from chrono.tuples import NamedTuple

LOOK_BYTES = 4 << 20
"""How far back it looks: some thousand records. A result that comes later than that is recorded without its pair."""

_CHUNK_BYTES = 64 << 10
"""Read at a time: the resident service must not keep room for megabytes from a look at a long log."""


class Earlier(NamedTuple):
    """The decision about a call, its record number, and (path, SHA-256) of the files that were followed."""

    n: int
    decision: str
    files: tuple[tuple[str, str], ...]


def earlier(place: LogPlace, call_id: str) -> Earlier | None:
    """The newest decision about the call `call_id`, None where there is none near the end of the log."""
    needle = b'"tool_use_id":' + canonical_bytes(recordable(call_id))
    return next(filter(None, (_decision(line) for line in _lines_backwards(place) if needle in line)), None)


def newest_at(place: LogPlace, ev: str) -> str | None:
    """When the newest record of kind `ev` near the end of the log was written (RFC 3339), None where there is none."""
    needle = b'"ev":' + canonical_bytes(ev)
    found = _records(line for line in _lines_backwards(place) if needle in line)
    return next((record.at for record in found if record.ev == ev), None)


def backwards(place: LogPlace) -> Iterator[Record]:
    """The records near the end of the log, newest first; what is no record is left out."""
    return _records(_lines_backwards(place))


def _records(lines: Iterator[bytes]) -> Iterator[Record]:
    for line in lines:
        try:
            yield read(line)
        except NotCanonical:
            continue


def _lines_backwards(place: LogPlace) -> Iterator[bytes]:
    """The whole lines near the end of the log, newest first, without LF; none where there is no readable log."""
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
    except (FileNotFoundError, AuditUnverifiable):
        return
    try:
        end, floor = info.st_size, max(0, info.st_size - LOOK_BYTES)
        rest: bytes | None = None  # the end of a line that begins further ahead; None: what is there has no end yet
        while end > floor:
            begin = max(floor, end - _CHUNK_BYTES)
            pieces = os.pread(fd, end - begin, begin).split(b"\n")
            end = begin
            if rest is not None:
                pieces[-1] += rest
            elif len(pieces) > 1:
                pieces.pop()
            else:
                continue
            rest = pieces[0]
            yield from reversed(pieces[1:])
        if rest is not None and floor == 0:
            yield rest
    finally:
        os.close(fd)


def _decision(line: bytes) -> Earlier | None:
    try:
        record = read(line)
    except NotCanonical:
        return None
    decision = record.act.get("decision")
    if record.ev not in ("command", "file") or not isinstance(decision, str):
        return None
    return Earlier(record.n, decision, _files(record))


def _files(record: Record) -> tuple[tuple[str, str], ...]:
    pairs = record.act.get("files")
    found = []
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], str):
            found.append((pair[0], pair[1]))
    return tuple(found)

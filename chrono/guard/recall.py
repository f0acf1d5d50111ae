"""Owns finding again, after a call ran, what was decided about it before: in the log itself, from its end.

So it works whoever decided, the resident service or a hook by itself, and nothing else has to be kept in step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from chrono.audit.place import LogPlace, open_plain
from chrono.audit.record import Record, read
from chrono.canonical import NotCanonical, canonical_bytes, recordable
from chrono.errors import AuditUnverifiable

LOOK_BYTES = 4 << 20
"""How far back it looks: some thousand records. A result that comes later than that is recorded without its pair."""

_CHUNK_BYTES = 256 << 10


class Earlier(NamedTuple):
    """The decision about a call, its record number, and (path, SHA-256) of the files that were followed."""

    n: int
    decision: str
    files: tuple[tuple[str, str], ...]


def earlier(place: LogPlace, call_id: str) -> Earlier | None:
    """The newest decision about the call `call_id`, None where there is none near the end of the log."""
    needle = b'"tool_use_id":' + canonical_bytes(recordable(call_id))
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
    except (FileNotFoundError, AuditUnverifiable):
        return None
    try:
        look = _CHUNK_BYTES
        while True:
            start = max(0, info.st_size - look)
            found = _newest(os.pread(fd, info.st_size - start, start), needle)
            if found is not None or start == 0 or look >= LOOK_BYTES:
                return found
            look *= 4
    finally:
        os.close(fd)


def newest_at(place: LogPlace, ev: str) -> str | None:
    """When the newest record of kind `ev` near the end of the log was written (RFC 3339), None where there is none."""
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
    except (FileNotFoundError, AuditUnverifiable):
        return None
    try:
        start = max(0, info.st_size - LOOK_BYTES)
        data = os.pread(fd, info.st_size - start, start)
    finally:
        os.close(fd)
    needle = b'"ev":' + canonical_bytes(ev)
    end = len(data)
    while (at := data.rfind(needle, 0, end)) >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        stop = data.find(b"\n", at)
        try:
            record = read(data[begin:stop])
            if record.ev == ev:
                return record.at
        except NotCanonical:
            pass
        end = begin
    return None


def backwards(place: LogPlace) -> Iterator[Record]:
    """The records near the end of the log, newest first; what is no record is left out."""
    try:
        fd, info = open_plain(place.log, os.O_RDONLY)
    except (FileNotFoundError, AuditUnverifiable):
        return
    try:
        start = max(0, info.st_size - LOOK_BYTES)
        lines = os.pread(fd, info.st_size - start, start).split(b"\n")[:-1]
    finally:
        os.close(fd)
    for line in reversed(lines[1:] if start else lines):
        try:
            yield read(line)
        except NotCanonical:
            continue


def _newest(data: bytes, needle: bytes) -> Earlier | None:
    end = len(data)
    while (at := data.rfind(needle, 0, end)) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        stop = data.find(b"\n", at)
        found = _decision(data[start:stop]) if stop >= 0 else None
        if found is not None:
            return found
        end = start
    return None


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

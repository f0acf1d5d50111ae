"""Owns what each store file says of each trace, and the cache of it, so that a list need not read every file again.

What traces that makes is left to `record.reading`. The cache, `index` in the store's folder, is never trusted over a
file: a line of it counts only while the file is the one that was read, byte for byte as far as the system's record of
it tells. Missing, torn or stale, it is made anew from the files (decision 0097).
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chrono.files import atomic_write
from chrono.record import frames
from chrono.record.frames import Damage, DamagedStore, Frame
from chrono.record.shapes import misshapen
from chrono.record.storefile import StoreFile, file_names
from chrono.tuples import NamedTuple

INDEX = "index"
FORMAT = b"1"
SETTLED_NS = 2_000_000_000
"""A file that was written to later than so long ago is read again: the system's times are coarser than a write."""

Json = Any


class SpanFacts(NamedTuple):
    """What a list needs of a span; `status` is `open` where it has none yet."""

    closed: bool
    service: str
    status: str
    started_at: str | None
    ended_at: str | None


class TraceFacts(NamedTuple):
    """What a list needs of a trace's first announcement."""

    name: str | None
    labels: dict[str, str]
    started_at: str | None


@dataclass(slots=True)
class Held:
    """What one file, or several, hold of one trace. `opened` are envelopes that were written open, `closed` counts the
    closed ones; `size_bytes` is what the trace's own records take."""

    trace: TraceFacts | None = None
    spans: dict[str, SpanFacts] = field(default_factory=dict)
    closed: int = 0
    opened: set[str] = field(default_factory=set)
    size_bytes: int = 0

    def add_span(self, span_id: str, span: SpanFacts) -> None:
        """A closed state counts before an open one, a later one before an earlier one; of open ones the first."""
        if span.closed or span_id not in self.spans:
            self.spans[span_id] = span

    def add(self, later: Held) -> None:
        """Takes in what a later file holds."""
        self.trace = self.trace or later.trace
        for span_id, span in later.spans.items():
            self.add_span(span_id, span)
        self.closed += later.closed
        self.opened |= later.opened
        self.size_bytes += later.size_bytes


def held(folder: str) -> dict[str, Held]:
    """What the store in `folder` holds, by trace id. Reads what the cache does not know, and leaves it there for the
    next one where the folder can be written. Raises OSError, DamagedStore for a newer format."""
    known = _read_index(folder)
    lines: list[bytes] = []
    found: dict[str, Held] = {}
    new = False
    for name in file_names(folder):
        try:
            mark = _mark(folder, name)
            line = known.get(mark)
            traces = None if line is None else _parsed(line)
            if line is None or traces is None:
                with StoreFile(os.path.join(folder, name)) as file:
                    traces = _read(file)
                line = None
                if _settled(mark):
                    line, new = _line(mark, traces), True
        except FileNotFoundError:
            continue  # pruned meanwhile
        if line is not None:
            lines.append(line)
        for trace_id, one in traces.items():
            if trace_id in found:
                found[trace_id].add(one)
            else:
                found[trace_id] = one
    if new:
        try:
            atomic_write(os.path.join(folder, INDEX), b"".join(lines), durable=False)
        except OSError:
            pass  # a store that may only be read
    return found


def names_with(folder: str, trace_id: str) -> Iterator[str]:
    """Names of the files that may hold something of a trace, oldest first: all but those that are known not to."""
    known = _read_index(folder)
    wanted = trace_id.encode()
    for name in file_names(folder):
        try:
            line = known.get(_mark(folder, name))
        except FileNotFoundError:
            continue
        if line is None or wanted in line:
            yield name


def readable(file: StoreFile, record: Frame) -> Json | None:
    """The record's value; None where it is damaged, or nothing that a reader can take."""
    try:
        value = file.value(record)
    except (DamagedStore, json.JSONDecodeError, RecursionError):
        return None
    return value if misshapen(record.kind, value) is None else None


def _read(file: StoreFile) -> dict[str, Held]:
    """What the file holds, by trace id. O(its bytes), without the bodies of closed envelopes."""
    found: dict[bytes, Held] = {}
    file.header()
    for record in file.records(0):
        if isinstance(record, Damage) or record.trace_id == frames.NO_TRACE:
            continue
        one = found.get(record.trace_id)
        if one is None:
            one = found[record.trace_id] = Held()
        one.size_bytes += record.end - record.start
        if record.kind == frames.ENVELOPE:
            one.closed += 1
            continue
        value = readable(file, record)
        if value is None:
            continue
        if record.kind == frames.TRACE:
            one.trace = one.trace or TraceFacts(
                value.get("name"), dict(value.get("metadata") or {}), value.get("started_at")
            )
        elif record.kind == frames.OPEN_ENVELOPE:
            one.opened.add(value["envelope_id"])
        else:
            status = str(value.get("status") or "open")
            times = value.get("started_at"), value.get("ended_at")
            one.add_span(value["span_id"], SpanFacts(record.kind == frames.SPAN, str(value["service"]), status, *times))
    return {trace_id.decode(): one for trace_id, one in found.items()}


# A line: format, name, inode, size, the times of the last write and the last change, a checksum of these and of the
# JSON that follows.


def _mark(folder: str, name: str) -> bytes:
    """What a file is known by. Nobody who does not set the system's clock changes it and leaves this as it was."""
    now = os.stat(os.path.join(folder, name))
    head = FORMAT, os.fsencode(name), now.st_ino, now.st_size
    return b"%b %b %x %x %x %x" % (*head, now.st_mtime_ns, now.st_ctime_ns)


def _settled(mark: bytes) -> bool:
    """Whether the mark tells this file from what it may become; nor is a file kept whose name nobody of ours gave."""
    *head, written, changed = mark.split()
    return len(head) == 4 and time.time_ns() - max(int(written, 16), int(changed, 16)) > SETTLED_NS


def _line(mark: bytes, traces: dict[str, Held]) -> bytes:
    value = {
        trace_id: [one.trace, one.spans, one.closed, sorted(one.opened), one.size_bytes]
        for trace_id, one in traces.items()
    }
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%b %08x %b\n" % (mark, zlib.crc32(text, zlib.crc32(mark)), text)


def _parsed(line: bytes) -> dict[str, Held] | None:
    try:
        value = json.loads(line.split(b" ", 7)[7])
        return {
            trace_id: Held(
                None if trace is None else TraceFacts(*trace),
                {span_id: SpanFacts(*span) for span_id, span in spans.items()},
                closed,
                set(opened),
                size_bytes,
            )
            for trace_id, (trace, spans, closed, opened, size_bytes) in value.items()
        }
    except (ValueError, TypeError, AttributeError):
        return None  # of another making


def _read_index(folder: str) -> dict[bytes, bytes]:
    """Whole lines of the cache, by what their file is known by; none where there is none."""
    known: dict[bytes, bytes] = {}
    try:
        with open(os.path.join(folder, INDEX), "rb") as file:
            for line in file:
                parts = line.split(b" ", 7)
                if len(parts) < 8 or not line.endswith(b"\n"):
                    continue
                mark, text = b" ".join(parts[:6]), parts[7][:-1]
                if parts[6] == b"%08x" % zlib.crc32(text, zlib.crc32(mark)):
                    known[mark] = line
    except OSError:
        return {}
    return known

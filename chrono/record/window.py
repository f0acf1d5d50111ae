"""Owns what leaves for a control plane at once: the next records of a file, within the plane's limits, each in its
newest state. Sending is left to `record.sending`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from chrono.record import frames
from chrono.record.frames import Damage, DamagedStore, Frame
from chrono.record.plane import Limits
from chrono.record.storefile import StoreFile

_BESIDE_BYTES = 64
"""What a batch holds besides its envelopes."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _go_on() -> None:
    pass


@dataclass(slots=True)
class Item:
    """One record to send; `place` is where it begins in its file."""

    kind: bytes
    trace_id: str
    body: bytes
    place: int


@dataclass(slots=True)
class Window:
    """Records up to byte `end` of a file. Of several states of one thing the newest is here, of a trace the first.

    `count` are the records read, `damaged` the places that could not be, `repaired` those with a lone surrogate.
    """

    end: int
    traces: list[Item] = field(default_factory=list)
    spans: list[Item] = field(default_factory=list)
    envelopes: list[Item] = field(default_factory=list)
    count: int = 0
    damaged: int = 0
    repaired: int = 0


def next_window(file: StoreFile, start: int, limits: Limits, rest: Callable[[], None] = _go_on) -> Window:
    """The records of `file` from `start` that go together; one that is too long for any batch goes alone. `rest` is
    called between them."""
    window = Window(start)
    size, has_open = _BESIDE_BYTES, False
    for record in file.records(start):
        rest()
        if isinstance(record, Damage):
            window.damaged += 1
        elif record.kind not in (frames.HEADER, frames.PIECE):
            try:
                body = file.whole(record)
            except DamagedStore:
                window.damaged += 1
                window.end = record.end
                continue
            if window.count and (window.count >= limits.items or size + len(body) > limits.body_bytes):
                break
            item, changed = sendable(record, body)
            window.repaired += changed
            size += len(item.body) + 1
            window.count += 1
            if record.kind == frames.TRACE:
                window.traces.append(item)
            elif record.kind in (frames.SPAN, frames.OPEN_SPAN):
                window.spans.append(item)
            else:
                window.envelopes.append(item)
                has_open = has_open or record.kind == frames.OPEN_ENVELOPE
        window.end = record.end
    window.spans = _newest(window.spans, "span_id") if len(window.spans) > 1 else window.spans
    if has_open:
        window.envelopes = _newest(window.envelopes, "envelope_id")
    return window


def sendable(record: Frame, body: bytes) -> tuple[Item, bool]:
    """The record as a plane can take it, and whether a lone surrogate had to go for that."""
    changed = False
    if b"\\u" in body and _SURROGATE.search(body):
        body, changed = _without_lone_surrogates(body)
    return Item(record.kind, record.trace_id.decode(), body, record.start), changed


def _newest(items: list[Item], id_name: str) -> list[Item]:
    last: dict[tuple[str, str], Item] = {}
    for item in items:
        key = (item.trace_id, json.loads(item.body)[id_name])
        last.pop(key, None)
        last[key] = item
    return list(last.values())


def _without_lone_surrogates(body: bytes) -> tuple[bytes, bool]:
    """The same JSON with U+FFFD for what has no UTF-8 form: a plane that takes the escape cannot give it back."""
    text = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.encode(), whole != text

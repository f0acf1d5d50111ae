"""Owns the sink behind recording: entries go to the local store, and from there to the control plane that is set.

Appending is left to `record.local`, delivery to `record.delivery`.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from chrono.record import frames
from chrono.record.client import ClientTarget
from chrono.record.counters import COUNTERS
from chrono.record.courtesy import Courtesy
from chrono.record.delivery import Delivery, Pace
from chrono.record.entry import EnvelopeEntry, SpanEntry, TraceEntry, wire
from chrono.record.local import StoreUnwritable, StoreWriter
from chrono.record.plane import HttpPlane, Target
from chrono.record.pruning import Bounds
from chrono.record.settings import Settings, store_folder


class StoreSink:
    """The Sink of a program. What a `put` returned from survives the process; no `put` waits for a network, unless
    `on_overflow` is `block`. `flush` waits for the plane with `fail_open` False only."""

    def __init__(self, writer: StoreWriter, delivery: Delivery, *, fail_open: bool = True) -> None:
        self._writer = writer
        self._delivery = delivery
        self._fail_open = fail_open

    def put_trace(self, entry: TraceEntry) -> None:
        """Raises StoreUnwritable."""
        self._put(frames.TRACE, entry)

    def put_span(self, entry: SpanEntry) -> None:
        """Raises StoreUnwritable."""
        self._put(frames.OPEN_SPAN if entry.ended_at_ns is None else frames.SPAN, entry)

    def put_envelope(self, entry: EnvelopeEntry) -> None:
        """Raises StoreUnwritable."""
        self._put(frames.OPEN_ENVELOPE if entry.ended_at_ns is None else frames.ENVELOPE, entry)

    def flush(self) -> None:
        """Raises DeliveryError with `fail_open` False: the plane does not have everything."""
        if self._fail_open:
            self._delivery.nudge()
        else:
            self._delivery.flush()

    def close(self) -> None:
        """Ends delivery, then makes everything durable; idempotent. Raises OSError."""
        self._delivery.close()
        self._writer.sync()
        self._writer.close()

    def _put(self, kind: bytes, entry: TraceEntry | SpanEntry | EnvelopeEntry) -> None:
        try:
            written = self._writer.append(kind, entry.trace_id, wire(entry))
        except StoreUnwritable as error:
            COUNTERS.unwritable += 1
            COUNTERS.last_error = error.message
            raise
        self._delivery.added(written)


def open_sink(settings: Settings, client: Any = None) -> StoreSink:
    """The sink that `settings` ask for; `client` is an own control-plane client (specs: record A6) and goes before
    `control_plane_url`. Nothing is opened before the first entry. Raises ControlPlaneError for a URL that is none."""
    plane = None
    if client is not None:
        # Only what this process records is its business: no other process has the same object.
        plane = f"client-{os.urandom(8).hex()}"
    elif settings.control_plane_url:
        plane = plane_name(settings.control_plane_url)
    writer = StoreWriter(store_folder(settings), plane=plane)
    courtesy = Courtesy(writer)
    target: Target | None = None
    if client is not None:
        target = ClientTarget(client, courtesy.rest)
    elif settings.control_plane_url:
        target = HttpPlane(settings.control_plane_url, settings.api_key, timeout_s=settings.timeout)
    pace = Pace(
        batch_size=settings.batch_size,
        interval_s=settings.flush_interval,
        timeout_s=settings.timeout,
        max_waiting=settings.max_queue if settings.on_overflow == "block" else 0,
    )
    bounds = Bounds(max_bytes=settings.store_max_bytes)
    return StoreSink(writer, Delivery(writer, target, plane, pace, bounds, courtesy), fail_open=settings.fail_open)


def plane_name(url: str) -> str:
    """The name of a control plane in the store: of its URL only, since a key may be changed for another."""
    return hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:16]

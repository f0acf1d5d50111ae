"""Owns the door through which entries leave the recorder: the Sink protocol, and the sink of tests that keeps them.

The local store behind it is `record.local`, the way to the control plane `record.delivery`.
"""

from __future__ import annotations

from typing import Protocol

from chrono.record.entry import EnvelopeEntry, SpanEntry, TraceEntry


class Sink(Protocol):
    """Takes entries in the order they happen, from any thread. What `put_*` returned from is acknowledged: it
    survives the death of the process. The caller's thread never waits for a network."""

    def put_trace(self, entry: TraceEntry) -> None: ...

    def put_span(self, entry: SpanEntry) -> None:
        """Called twice a span, open and closed; a crash leaves it open."""
        ...

    def put_envelope(self, entry: EnvelopeEntry) -> None:
        """Called once an envelope, with `emit_open` twice. The entry's JSON objects belong to the sink from then on."""
        ...

    def flush(self) -> None:
        """Deliver what is there. Raises DeliveryError with `fail_open=False`, otherwise never."""
        ...

    def close(self) -> None:
        """Flush and end; idempotent. A later `put_*` opens again."""
        ...


class MemorySink:
    """Keeps entries in lists: for tests, and for a program that wants to look at what it recorded."""

    def __init__(self) -> None:
        self.traces: list[TraceEntry] = []
        self.spans: list[SpanEntry] = []
        self.envelopes: list[EnvelopeEntry] = []
        self.flushes = 0

    def put_trace(self, entry: TraceEntry) -> None:
        self.traces.append(entry)

    def put_span(self, entry: SpanEntry) -> None:
        self.spans.append(entry)

    def put_envelope(self, entry: EnvelopeEntry) -> None:
        self.envelopes.append(entry)

    def flush(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        self.flush()

"""Owns the `traceparent` header (W3C Trace Context, version 00): TraceContext in and out.

Which request may carry it is left to `record.propagation`.
"""

from __future__ import annotations

import re

from chrono.trace.ids import EnvelopeId, TraceId, is_short_id, is_trace_id
from chrono.tuples import NamedTuple

HEADER = "traceparent"
_LAYOUT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_FLAGS = re.compile(r"[0-9a-f]{2}")


class TraceContext(NamedTuple):
    """Whose call a request is: the trace and the caller's envelope. `flags` are two hex characters, "01" = sampled."""

    trace_id: TraceId
    parent_envelope_id: EnvelopeId
    flags: str = "01"


def parse_traceparent(header: str | None) -> TraceContext | None:
    """The context of a header, or None where it is not exactly version 00, lower case and not zero. Never raises."""
    if not isinstance(header, str):
        return None
    found = _LAYOUT.fullmatch(header.strip(" \t"))
    if found is None:
        return None
    trace_id, parent, flags = found.groups()
    if not is_trace_id(trace_id) or not is_short_id(parent):
        return None
    return TraceContext(TraceId(trace_id), EnvelopeId(parent), flags)


def format_traceparent(context: TraceContext) -> str:
    """The header's value. Raises ValueError where the context's parts are no ids."""
    if not (is_trace_id(context.trace_id) and is_short_id(context.parent_envelope_id)):
        raise ValueError(f"not a trace id and an envelope id: {context!r}")
    if _FLAGS.fullmatch(context.flags) is None:
        raise ValueError(f"flags are two lower-case hex characters, not {context.flags!r}")
    return f"00-{context.trace_id}-{context.parent_envelope_id}-{context.flags}"

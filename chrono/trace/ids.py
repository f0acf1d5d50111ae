"""Owns the identifiers of traces: how they look and how they are minted. Savepoint and log ids are `chrono.ids`."""

from __future__ import annotations

import os
import re
from typing import NewType

TraceId = NewType("TraceId", str)
"""32 lower-case hex characters, not all zero (W3C trace-id)."""

SpanId = NewType("SpanId", str)
"""16 lower-case hex characters, not all zero (W3C parent-id)."""

EnvelopeId = NewType("EnvelopeId", str)
"""As SpanId; unique within a trace."""

TRACE_ID_PATTERN = r"^[0-9a-f]{32}$"
SHORT_ID_PATTERN = r"^[0-9a-f]{16}$"

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SHORT_ID = re.compile(r"[0-9a-f]{16}")
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


def new_trace_id() -> TraceId:
    """A new trace id from the random source of the operating system (specs: record A2)."""
    while (minted := os.urandom(16).hex()) == _NO_TRACE:
        pass
    return TraceId(minted)


def new_span_id() -> SpanId:
    """A new span id, as `new_trace_id`."""
    while (minted := os.urandom(8).hex()) == _NO_SPAN:
        pass
    return SpanId(minted)


def is_trace_id(text: str) -> bool:
    return _TRACE_ID.fullmatch(text) is not None and text != _NO_TRACE


def is_short_id(text: str) -> bool:
    """Whether `text` can be a span id or an envelope id."""
    return _SHORT_ID.fullmatch(text) is not None and text != _NO_SPAN

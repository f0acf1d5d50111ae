"""Claims about ids and the traceparent header."""

from __future__ import annotations

import os

import pytest

from chrono.trace.ids import EnvelopeId, TraceId, is_short_id, is_trace_id, new_span_id, new_trace_id
from chrono.trace.traceparent import TraceContext, format_traceparent, parse_traceparent

TRACE, SPAN = "0123456789abcdef" * 2, "fedcba9876543210"


def test_minted_ids_are_well_formed_and_differ() -> None:
    minted = {new_trace_id() for _ in range(100)}
    assert len(minted) == 100
    assert all(is_trace_id(one) for one in minted)
    assert is_short_id(new_span_id())


def test_zeros_are_never_minted(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [bytes(16), b"\1" * 16, bytes(8), b"\1" * 8]
    monkeypatch.setattr(os, "urandom", lambda size: answers.pop(0))
    assert new_trace_id() == "01" * 16
    assert new_span_id() == "01" * 8


def test_a_header_goes_round() -> None:
    context = TraceContext(TraceId(TRACE), EnvelopeId(SPAN))
    assert format_traceparent(context) == f"00-{TRACE}-{SPAN}-01"
    assert parse_traceparent(format_traceparent(context)) == context
    assert parse_traceparent(f" 00-{TRACE}-{SPAN}-00\t") == context._replace(flags="00")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        f"01-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-0\u0661",
        b"00",
        7,
    ],
)
def test_every_other_header_is_none_and_never_raises(header: str | None) -> None:
    assert parse_traceparent(header) is None


def test_a_context_that_is_none_is_not_written() -> None:
    for context in (TraceContext(TraceId("x"), EnvelopeId(SPAN)), TraceContext(TraceId(TRACE), EnvelopeId(SPAN), "1")):
        with pytest.raises(ValueError, match=r"trace id|flags"):
            format_traceparent(context)

"""Owns opening a span: `record` begins a trace, `span` and `aspan` join a caller's or begin one.

What is written at both ends is left to `record.runtime`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from chrono.record.hooks import default_hooks
from chrono.record.propagation import extract
from chrono.record.runtime import close_session, open_session, replaying, sink_of
from chrono.record.session import HERE, Here, RecordingSession, metadata_key
from chrono.record.settings import Settings, get_settings
from chrono.trace.ids import is_trace_id, new_span_id, new_trace_id
from chrono.trace.traceparent import TraceContext

Parent = TraceContext | Mapping[str, str] | None


@contextmanager
def record(
    name: str | None = None,
    *,
    trace_id: str | None = None,
    labels: dict[str, str] | None = None,
    service: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> Iterator[RecordingSession]:
    """The root span of a new trace, `name` and `labels` on the trace, `metadata` on the span.

    Raises ValueError for a `trace_id` that is none, RegistrationError with `registration_fail_open=False`, at the end
    DeliveryError with `fail_open=False`.
    """
    if trace_id is not None and not is_trace_id(trace_id):
        raise ValueError(f"a trace id is 32 lower-case hex characters and not zero, not {trace_id!r}")
    settings = get_settings()
    session = _session(settings, trace_id or new_trace_id(), None, service, metadata)
    with _open(session, name=name, labels=_labels(labels or {}, session)):
        yield session


@contextmanager
def span(
    parent: Parent = None, *, service: str | None = None, metadata: dict[str, Any] | None = None
) -> Iterator[RecordingSession]:
    """A span of this service: of the caller's trace, where `parent` (a TraceContext, or a request's headers) names
    one and `extract` is on, otherwise of a new trace. Raises at its end as `record`."""
    settings = get_settings()
    context = _context(parent, settings)
    trace_id = context.trace_id if context is not None else new_trace_id()
    caller = context.parent_envelope_id if context is not None else None
    session = _session(settings, trace_id, caller, service, metadata)
    with _open(session, labels={} if context is None else None):
        yield session


@asynccontextmanager
async def aspan(
    parent: Parent = None, *, service: str | None = None, metadata: dict[str, Any] | None = None
) -> AsyncIterator[RecordingSession]:
    """As `span`, for `async with`; a strict flush at the end does not hold the event loop."""
    settings = get_settings()
    context = _context(parent, settings)
    trace_id = context.trace_id if context is not None else new_trace_id()
    caller = context.parent_envelope_id if context is not None else None
    session = _session(settings, trace_id, caller, service, metadata)
    with _open(session, labels={} if context is None else None, strict=False):
        yield session
    if session.sink is not None and session.recording and not settings.fail_open:
        import asyncio

        await asyncio.to_thread(session.sink.flush)


@contextmanager
def _open(
    session: RecordingSession, *, name: str | None = None, labels: dict[str, str] | None = None, strict: bool = True
) -> Iterator[None]:
    open_session(session, name=name, labels=labels)
    token = HERE.set(Here(session))
    try:
        yield
    except BaseException:
        _leave(token)
        close_session(session, failed=True)
        raise
    _leave(token)
    close_session(session, failed=False)
    if strict and session.sink is not None and session.recording and not session.settings.fail_open:
        session.sink.flush()


def _leave(token: Any) -> None:
    try:
        HERE.reset(token)
    except ValueError:
        # A generator-based caller (a fixture, a framework's dependency) may end in another context than it began in.
        HERE.set(Here(None))


def _session(
    settings: Settings, trace_id: str, caller: str | None, service: str | None, metadata: dict[str, Any] | None
) -> RecordingSession:
    outer = HERE.get().session or replaying(settings)
    control = outer.replay if outer is not None else None
    session = RecordingSession(
        trace_id=trace_id,
        span_id=new_span_id(),
        service=service or settings.service_name,
        parent_envelope_id=caller,
        sink=sink_of(settings) if settings.enabled and control is None else None,
        settings=settings,
        hooks=default_hooks.copy(),
        metadata=metadata,
    )
    if control is not None:
        control.span(session)
    return session


def _context(parent: Parent, settings: Settings) -> TraceContext | None:
    if parent is None or not settings.extract:
        return None
    return parent if isinstance(parent, TraceContext) else extract(parent)


def _labels(labels: Mapping[str, Any], session: RecordingSession) -> dict[str, str]:
    """Labels as they may be written: keys of the allowed form, text values, redacted."""
    clean, secret = session.rules.clean, session.rules.secret_key
    found: dict[str, str] = {}
    for key, value in labels.items():
        text = str(value)
        if secret is not None and secret(str(key)):
            text = "[REDACTED]"
        elif clean is not None:
            text = clean(text)
        found[metadata_key(str(key))] = text
    return found

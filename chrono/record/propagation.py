"""Owns who gets and who gives the trace header: `extract` from a request, `inject` into one, and to which hosts.

The header's form is `trace.traceparent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from chrono.record.session import HERE
from chrono.record.settings import get_settings, host_allowed
from chrono.trace.ids import EnvelopeId, TraceId
from chrono.trace.traceparent import HEADER, TraceContext, format_traceparent, parse_traceparent


def extract(headers: Mapping[str, str] | None) -> TraceContext | None:
    """The caller's context in a request's headers (names in any case, text or bytes), or None. Never raises.

    Two different headers are none: whoever sent the second one is not the caller.
    """
    if headers is None:
        return None
    try:
        found = {
            value
            for name, value in ((_text(name), _text(value)) for name, value in headers.items())
            if name.lower() == HEADER
        }
    except Exception:
        return None
    return parse_traceparent(found.pop()) if len(found) == 1 else None


def inject(headers: Mapping[str, str] | None = None, *, url: str | None = None) -> dict[str, str]:
    """A copy of `headers` with the trace header of the crossing in progress; without one, or where `inject` is off,
    just the copy. With `url`, only hosts of `inject_hosts` get it."""
    sent = dict(headers or {})
    settings = get_settings()
    here = HERE.get()
    session, envelope_id = here.session, here.envelope_id
    if not settings.inject or session is None or envelope_id is None or session.is_replay:
        return sent
    if url is not None and not url_allowed(url):
        return sent
    for name in [name for name in sent if name.lower() == HEADER]:
        del sent[name]
    sent[HEADER] = format_traceparent(TraceContext(TraceId(session.trace_id), EnvelopeId(envelope_id)))
    return sent


def url_allowed(url: str) -> bool:
    """Whether the host of `url` is one that gets the header."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if not parts.hostname:
        return False
    if port is None:
        port = {"http": 80, "https": 443}.get(parts.scheme)
    return host_allowed(get_settings(), parts.hostname, port)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value

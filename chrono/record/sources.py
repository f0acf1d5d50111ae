"""Owns where a recording to replay comes from: the local store, a control plane, an exported file.

Replaying it is `record.replaying`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chrono.record.errors import ControlPlaneError
from chrono.record.plan import Matching, ReplayPlan
from chrono.record.reading import NoSuchTrace, StoredTrace, read_trace
from chrono.record.recording import BadRecording, Recording, recording_of
from chrono.record.replaying import ReplayRun, replay_recording
from chrono.record.settings import get_settings, store_folder


@contextmanager
def replay_trace(
    trace_id: str,
    span_id: str | None = None,
    plan: ReplayPlan | None = None,
    *,
    client: Any = None,
    matching: Matching = "count",
) -> Iterator[ReplayRun]:
    """Replay a span of a trace, or all its spans: from `client` where one is given (a control-plane client, specs:
    record A6), else from the local store, else from the control plane that is set.

    Raises NoSuchTrace, BadRecording where the trace has no such span, ControlPlaneError.
    """
    if client is not None:
        if span_id is None:
            raise BadRecording("a control-plane client is asked for one span", "name the span")
        envelopes = client.read_span_envelopes(trace_id, span_id)
        if not envelopes:
            # A plane answers so for ids that it does not know: a typo must not become a replay of nothing.
            raise NoSuchTrace(f"the control plane has no calls of span {span_id} of trace {trace_id}")
        recording = recording_of(envelopes, trace_id=trace_id)
    else:
        recording = recording_from(stored_or_fetched(trace_id), span_id)
    with replay_recording(recording, plan, matching=matching) as run:
        yield run


@contextmanager
def replay_file(
    path: str, span_id: str | None = None, plan: ReplayPlan | None = None, *, matching: Matching = "count"
) -> Iterator[ReplayRun]:
    """Replay an exported trace (`chrono trace export`), or one span of it. Raises NotATrace, BadRecording, OSError."""
    with replay_recording(recording_from(read_file(path), span_id), plan, matching=matching) as run:
        yield run


def read_file(path: str) -> StoredTrace:
    """The trace of an exported file. Raises NotATrace, OSError."""
    from chrono.record.exchange import load

    return load(path)


def stored_or_fetched(trace_id: str) -> StoredTrace:
    """A trace of the local store, else of the control plane that is set. Raises NoSuchTrace, ControlPlaneError."""
    settings = get_settings()
    try:
        return read_trace(store_folder(settings), trace_id)
    except NoSuchTrace:
        if not settings.control_plane_url:
            raise
    from chrono.record.exchange import fetched
    from chrono.record.plane import HttpPlane

    plane = HttpPlane(settings.control_plane_url, settings.api_key, timeout_s=settings.timeout)
    try:
        return fetched(plane, trace_id)
    except ControlPlaneError as error:
        if error.status_code == 404:
            raise NoSuchTrace(f"no trace {trace_id} here or at {settings.control_plane_url}") from None
        raise
    finally:
        plane.close()


def recording_from(trace: StoredTrace, span_id: str | None = None) -> Recording:
    """The recording of a trace, or of one span of it. Raises BadRecording."""
    recording = recording_of(trace.envelopes, trace.spans, trace.trace_id)
    if span_id is None:
        return recording
    chosen = tuple(span for span in recording.spans if span.span_id == span_id)
    if not chosen:
        known = ", ".join(span.span_id for span in recording.spans)
        raise BadRecording(f"trace {trace.trace_id} has no span {span_id}", f"it has {known}")
    return recording._replace(spans=chosen)

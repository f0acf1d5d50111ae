"""Owns what there is once in a process: the sink, the ambient session, and their begin and end.

Sessions that a program opens itself are `record.spans`; where entries go is `record.storesink`.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
import time
from typing import Any

from chrono.record.entry import SpanEntry, TraceEntry
from chrono.record.hooks import default_hooks, log
from chrono.record.session import RecordingSession, clean_metadata, rules_of
from chrono.record.settings import Settings, configure_settings, forget_settings, get_settings
from chrono.record.sink import Sink
from chrono.trace.ids import new_span_id, new_trace_id

_lock = threading.RLock()
_client: Any = None
_own_sink: Sink | None = None
_sink: Sink | None = None
_sink_key: object = None
_ambient: RecordingSession | None = None
_registered = False
_replays: list[RecordingSession] = []


def configure(*, client: Any = None, **settings: Any) -> None:
    """Set what is given over all other sources (specs: record A7) and close the ambient span.

    `client`: an own control-plane client, before `control_plane_url`. Raises ValueError for what cannot be meant; then
    nothing has changed.
    """
    global _client
    with _lock:
        configure_settings(settings)
        if client is not None:
            _client = client
        _close_ambient()


def reset() -> None:
    """Forget what `configure` was given, end delivery and close the ambient span. Hooks stay registered."""
    global _client
    with _lock:
        _close_ambient()
        _close_sink()
        _client = None
        forget_settings()
    from chrono.record.threads import uninstall

    uninstall()


def flush() -> None:
    """Deliver what is there. Raises DeliveryError with `fail_open=False`; otherwise it does not wait."""
    sink = _sink
    if sink is not None:
        sink.flush()


def shutdown() -> None:
    """Close the ambient span and end delivery; also done at exit. Recording again opens both again."""
    with _lock:
        _close_ambient()
        _close_sink()


def is_enabled() -> bool:
    """Whether calls are recorded."""
    return get_settings().enabled


def use_sink(sink: Sink | None) -> None:
    """Record into `sink` instead of the local store; None: into the store again. For tests and embedders."""
    global _own_sink
    with _lock:
        _close_ambient()
        _close_sink()
        _own_sink = sink


def sink_of(settings: Settings) -> Sink:
    """The process's sink under `settings`; made anew where what it depends on has changed."""
    global _sink, _sink_key
    if _own_sink is not None:
        return _own_sink
    key = (
        settings.store, settings.store_max_bytes, settings.control_plane_url, settings.api_key, settings.batch_size,
        settings.flush_interval,
        settings.max_queue, settings.on_overflow, settings.timeout, settings.fail_open, id(_client),
    )  # fmt: skip
    sink = _sink
    if sink is not None and _sink_key == key:
        return sink
    with _lock:
        if _sink is None or _sink_key != key:
            from chrono.record.storesink import open_sink

            _close_sink()
            _register()
            _sink, _sink_key = open_sink(settings, _client), key
        return _sink


def ambient_session() -> RecordingSession | None:
    """The session of calls outside every span: opened on first use, one a process. None: nothing is recorded and no
    hook is registered."""
    settings = get_settings()
    session = _ambient
    if _replays or settings.replay is not None:
        return replaying(settings)
    if session is not None and session.settings is settings:
        return session
    if not settings.enabled and not default_hooks.hooks:
        return None
    if sys.is_finalizing():  # a finaliser calls after everything was closed: nothing can be imported or opened any more
        return None
    return _ambient_under(settings)


def replaying(settings: Settings) -> RecordingSession | None:
    """The session that answers for code that runs in no span of its own, while there is a replay: a thread that was
    there before it must not make calls for real. Raises ReplayMismatchError where several replays could be meant."""
    if not _replays and settings.replay is not None:
        # By name, as the facade does: what replays stands on this module.
        program = importlib.import_module("chrono.record.program")
        with _lock:
            if not _replays:
                _replays.append(program.begin(settings))
    if len(_replays) > 1:
        from chrono.record.errors import ReplayMismatchError

        raise ReplayMismatchError("a call outside of every span, while several replays are open: it belongs to none")
    return _replays[0] if _replays else None


def begin_replay(session: RecordingSession) -> None:
    """From now on code in no span of its own belongs to `session`."""
    from chrono.record.threads import install

    install()
    _replays.append(session)
    if session.draws:
        _patching().opened(session)


def end_replay(session: RecordingSession) -> None:
    """Take `begin_replay` back."""
    if session in _replays:
        _replays.remove(session)
        if session.draws:
            _patching().closed(session)


def open_session(session: RecordingSession, *, name: str | None = None, labels: dict[str, str] | None = None) -> None:
    """Write the start of a span and, where `labels` are given, of its trace. Never raises but RegistrationError."""
    from chrono.record.threads import install

    if session.settings.threads or session.replay is not None:
        install()
    if session.draws:
        _patching().opened(session)
    if not session.recording or session.sink is None:
        return
    if session.settings.record_files:
        _note_files(session, "before")
    try:
        if labels is not None:
            clean = session.rules.clean
            shown = clean(name) if name and clean is not None else name
            session.sink.put_trace(TraceEntry(session.trace_id, shown or None, labels, session.started_at_ns))
        session.sink.put_span(_span(session, None, None))
    except Exception as error:
        if labels is not None and not session.settings.registration_fail_open:
            from chrono.record.errors import RegistrationError

            raise RegistrationError(f"the trace could not be registered: {error}") from error
        log.exception("the span of %s could not be recorded", session.service)


def close_session(session: RecordingSession, *, failed: bool) -> None:
    """Write the end of a span, once."""
    if session.closed:
        return
    session.closed = True
    if session.draws:
        _patching().closed(session)
    if not session.recording or session.sink is None:
        return
    if session.settings.record_files:
        _note_files(session, "after")
    try:
        ended_ns = max(time.time_ns(), session.started_at_ns)
        session.sink.put_span(_span(session, ended_ns, "failure" if failed else "success"))
    except Exception:
        log.exception("the end of a span of %s could not be recorded", session.service)


def _patching() -> Any:
    """By name, as the facade does: what it records goes through boundaries, which stand on this module."""
    return importlib.import_module("chrono.record.patching")


def _note_files(session: RecordingSession, moment: str) -> None:
    from chrono.record.files import note_files

    note_files(session, moment)


def _span(session: RecordingSession, ended_ns: int | None, status: str | None) -> SpanEntry:
    return SpanEntry(
        session.trace_id,
        session.span_id,
        session.parent_envelope_id,
        session.service,
        session.started_at_ns,
        ended_ns,
        status,
        clean_metadata(session.metadata, session.rules),
    )


def _ambient_under(settings: Settings) -> RecordingSession | None:
    global _ambient
    with _lock:
        session = _ambient
        if session is None:
            _register()
            session = RecordingSession(
                trace_id=new_trace_id(),
                span_id=new_span_id(),
                service=settings.service_name,
                sink=sink_of(settings) if settings.enabled else None,
                settings=settings,
                hooks=default_hooks,
                metadata={"chrono.ambient": True},
            )
            session.ambient, session.draws = True, frozenset()
            open_session(session, labels={})
            _ambient = session
        elif session.settings is not settings:
            # The environment has changed meanwhile: the span goes on under what holds now.
            session.sink = sink_of(settings) if settings.enabled else session.sink
            session.settings, session.rules = settings, rules_of(settings)
            session.recording = settings.enabled and session.sink is not None
        return session


def _close_ambient() -> None:
    global _ambient
    session, _ambient = _ambient, None
    if session is not None:
        close_session(session, failed=False)


def _close_sink() -> None:
    global _sink, _sink_key
    sink, _sink, _sink_key = _sink, None, None
    if sink is not None:
        try:
            sink.close()
        except Exception:
            log.exception("the end of delivery failed")


def _register() -> None:
    global _registered
    if not _registered:
        _registered = True
        atexit.register(shutdown)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    """The child begins an ambient span of its own; the parent's is closed by the parent."""
    global _ambient, _lock
    _ambient = None
    _lock = threading.RLock()

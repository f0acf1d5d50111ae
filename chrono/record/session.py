"""Owns sessions: one span while it is open, its counters, and whose call the current one is.

Opening and closing them is `record.spans`, the ambient one `record.runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import Any, Protocol

from chrono.record.entry import JsonObject
from chrono.record.hooks import HookRegistry
from chrono.record.redact import clean_texts, is_secret_key, redact_default
from chrono.record.serialise import Rules
from chrono.record.settings import Settings, get_settings
from chrono.record.sink import Sink
from chrono.tuples import NamedTuple

CLOCK, RANDOM, UUID = "clock", "random", "uuid"
"""What of Python's own a span may record (`record.patching`)."""


class SessionMode(StrEnum):
    """Whether calls are recorded or answered from a recording."""

    RECORD = "record"
    REPLAY = "replay"


class BoundaryMode(StrEnum):
    """What replay does with a call: answer from the recording, or let it run."""

    STUB = "stub"
    RUN = "run"


class ReplayControl(Protocol):
    """What replays: asked for each crossing instead of making it. `record.replaying` implements it. `draws`: what of
    Python's own clock, chance and ids the recording has."""

    draws: frozenset[str]

    def cross(
        self,
        crossing: Any,
        call: Callable[[tuple[Any, ...], dict[str, Any]], Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The recorded result, the recorded exception, or what `call(args, kwargs)` gives live; for an async boundary
        `call` answers with an awaitable, and so may this."""
        ...  # fmt: skip

    def span(self, session: RecordingSession) -> None:
        """A span that is opened within the replay: `session` becomes part of it."""
        ...


class RecordingSession:
    """One span while it is open. Threads, tasks and forked children may share it: its counters need no lock."""

    __slots__ = (
        "__weakref__",
        "_invocations",
        "_sequence",
        "ambient",
        "closed",
        "draws",
        "hooks",
        "metadata",
        "mode",
        "parent_envelope_id",
        "recording",
        "replay",
        "rules",
        "service",
        "settings",
        "sink",
        "span_id",
        "started_at_ns",
        "trace_id",
    )  # fmt: skip

    def __init__(
        self,
        *,
        trace_id: str,
        span_id: str,
        service: str,
        mode: SessionMode = SessionMode.RECORD,
        parent_envelope_id: str | None = None,
        sink: Sink | None = None,
        settings: Settings | None = None,
        hooks: HookRegistry | None = None,
        replay: ReplayControl | None = None,
        started_at: datetime | None = None,
        metadata: JsonObject | None = None,
    ) -> None:
        import time

        self.trace_id = trace_id
        self.span_id = span_id
        self.service = service
        self.mode = SessionMode(mode)
        self.parent_envelope_id = parent_envelope_id
        self.sink = sink
        self.settings = settings if settings is not None else get_settings()
        self.hooks = hooks if hooks is not None else HookRegistry()
        self.replay = replay
        self.started_at_ns = time.time_ns() if started_at is None else int(started_at.timestamp() * 1_000_000_000)
        self.metadata: JsonObject = dict(metadata or {})
        self.recording = self.settings.enabled and sink is not None and self.mode == SessionMode.RECORD
        self.rules = rules_of(self.settings)
        self.draws = draws_of(self.settings) if self.recording else frozenset[str]()
        self.ambient = False
        self.closed = False
        self._sequence = count(1)
        self._invocations: dict[str, count[int]] = {}

    @property
    def is_replay(self) -> bool:
        return self.mode == SessionMode.REPLAY

    @property
    def started_at(self) -> datetime:
        return datetime.fromtimestamp(self.started_at_ns / 1_000_000_000, UTC)

    def replayed(self, control: ReplayControl, counters_of: RecordingSession | None = None) -> None:
        """Answer this span's calls through `control`; number them on from `counters_of`."""
        self.mode, self.replay, self.recording, self.sink = SessionMode.REPLAY, control, False, None
        self.draws = control.draws
        if counters_of is not None:
            self._sequence, self._invocations = counters_of._sequence, counters_of._invocations

    def count_on(self, calls: Iterable[Any]) -> None:
        """Number calls on from recorded ones (`recording.Recorded`)."""
        last = 0
        numbers: dict[str, int] = {}
        for call in calls:
            last += 1
            numbers[call.name] = numbers.get(call.name, 0) + 1
        self._sequence = count(last + 1)
        self._invocations = {name: count(number + 1) for name, number in numbers.items()}

    def next_sequence(self) -> int:
        """1, 2, 3 … in the order in which crossings begin in this span."""
        return next(self._sequence)

    def next_invocation(self, name: str) -> int:
        """1, 2, 3 … for each boundary name of this span."""
        counter = self._invocations.get(name)
        if counter is None:
            counter = self._invocations.setdefault(name, count(1))
        return next(counter)


class Here(NamedTuple):
    """Where the current code runs: its span, the innermost crossing in progress, and the attempt it belongs to."""

    session: RecordingSession | None
    envelope_id: str | None = None
    attempt: int = 1
    retry_of: str | None = None


NOWHERE = Here(None)
HERE: ContextVar[Here] = ContextVar("chrono.record.here", default=NOWHERE)

AT_WORK: ContextVar[bool] = ContextVar("chrono.record.at_work", default=False)
"""Set while hooks, redactors and extractors run: replay does not run them, so what they ask is not recorded."""


def current_session() -> RecordingSession | None:
    """The session of the span around this code, or None; never the ambient one."""
    session = HERE.get().session
    return None if session is None or session.ambient else session


def draws_of(settings: Settings) -> frozenset[str]:
    """What of Python's own clock, chance and ids is recorded under `settings`."""
    asked = ((CLOCK, settings.record_clock), (RANDOM, settings.record_random), (UUID, settings.record_uuid))
    return frozenset(group for group, wanted in asked if wanted)


def rules_of(settings: Settings) -> Rules:
    """How values are written under `settings`: the default redactors first, then the user's, in their order."""
    redactors = settings.redactors
    if settings.default_redactors:
        redactors = (redact_default, *redactors)
    clean: Callable[[str], str] | None
    if len(redactors) <= 1:
        clean = redactors[0] if redactors else None
    else:

        def clean(text: str) -> str:
            for redactor in redactors:
                text = redactor(text)
            return text

    return Rules(
        clean,
        is_secret_key if settings.default_redactors else None,
        settings.max_payload_bytes,
        settings.max_items,
        _plain_names if clean is redact_default else None,
        clean_texts if clean is redact_default else None,
    )


_plain_names: set[str] = set()  # an own redactor may know more secrets tomorrow than today


@contextmanager
def attempt(number: int, *, of: str | None = None) -> Iterator[None]:
    """Calls inside are the `number`-th try (from 1) of what envelope `of` tried first.

    Raises ValueError for a number below 1. An `of` that is no envelope id is ignored, with a warning in the log: a
    wrong label must not fail the call.
    """
    from chrono.record.hooks import log
    from chrono.trace.ids import is_short_id

    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"an attempt is a number from 1, not {number!r}")
    if of is not None and not (isinstance(of, str) and is_short_id(of)):
        log.warning("attempt(of=%r): not an envelope id; the link is left out", of)
        of = None
    token = HERE.set(HERE.get()._replace(attempt=number, retry_of=of))
    try:
        yield
    finally:
        HERE.reset(token)


def clean_metadata(metadata: Mapping[str, Any] | None, rules: Rules) -> JsonObject:
    """Metadata as it may be written: keys of the allowed form and not the recorder's own, values redacted JSON.

    A key of another form is mended (`Session-Id` -> `session_id`), because one bad key would lose the whole record.
    """
    from chrono.record.serialise import to_json

    if not metadata:
        return {}
    found = to_json(dict(metadata), rules)
    return {metadata_key(key): value for key, value in found.items()}


def metadata_key(key: str) -> str:
    """`key` in the form `[a-z0-9_]+(.[a-z0-9_]+)*`; one that is reserved for the recorder gets `user.` before it."""
    import re

    if not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9_]+)*", key):
        key = re.sub(r"[^a-z0-9_.]", "_", key.lower())
        key = ".".join(part or "_" for part in key.split("."))
    return f"user.{key}" if key.startswith("chronicle.") else key

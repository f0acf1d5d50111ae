"""Owns a replay: calls answered from a recording, the few that the plan lets run, and what was different this time.

Finding a call's recording is `record.matching`, making its answer `record.answers`, telling differences
`record.divergence`; whole programs are `record.program`. Nothing runs that the plan does not name: what has no
recording fails instead (decision 0077).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from chrono.record.answers import answered
from chrono.record.arguments import Args, Kwargs
from chrono.record.compare import MAX_CHANGES, Change, changes_between
from chrono.record.crossing import Crossing
from chrono.record.divergence import CHANGED, LEFTOVER, MASKED, MISSING_CALL, ORDER, PLAN, Divergence, as_text
from chrono.record.entry import JsonObject
from chrono.record.errors import ReplayMismatchError
from chrono.record.hooks import default_hooks
from chrono.record.matching import Match, Matcher, Place, without_names
from chrono.record.patching import groups_in
from chrono.record.plan import Matching, ReplayPlan, checked_matching
from chrono.record.recording import BadRecording, Recorded, RecordedSpan, Recording, recording_of
from chrono.record.runtime import begin_replay, end_replay
from chrono.record.serialise import MASK, PLAIN, to_json
from chrono.record.session import HERE, BoundaryMode, Here, RecordingSession
from chrono.record.settings import get_settings
from chrono.record.sink import Sink
from chrono.trace.ids import new_span_id
from chrono.tuples import NamedTuple

Call = Callable[[Args, Kwargs], Any]


class CallRecord(NamedTuple):
    """One call of a replay, in the order in which they came."""

    name: str
    invocation_index: int
    mode: BoundaryMode


class Ran:
    """A call that was let run: its arguments as JSON, then what it gave or raised."""

    __slots__ = ("arguments", "done", "error", "recorded", "result")

    def __init__(self, arguments: JsonObject, recorded: Recorded | None) -> None:
        self.arguments = arguments
        self.recorded = recorded
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False

    def end(self, result: Any, error: BaseException | None) -> None:
        self.result, self.error, self.done = result, error, True


class ReplayState:
    """What has happened so far in one replay. Threads and tasks may share it."""

    def __init__(self, recording: Recording, plan: ReplayPlan, matching: Matching) -> None:
        self.recording = recording
        self.plan = plan
        self.matching = matching
        self.lock = threading.RLock()
        self.ran: dict[tuple[str, int], Ran] = {}
        self.calls: list[CallRecord] = []
        self.noted: list[Divergence] = []
        self.counts: dict[str, int] = {}
        self.draws = groups_in(call.name for call in recording.calls)
        self.spans = [_SpanReplay(self, span) for span in recording.spans] or [_SpanReplay(self, _EMPTY)]
        self._unopened = list(self.spans)
        self.new_calls: Sink | None = None
        self.forked = _Fork(self.spans, plan.fork_at) if plan.fork_at is not None else None

    def record_missing(self, sink: Sink) -> None:
        """From now on let calls run that have no recording, and record them into `sink` as part of their span."""
        self.new_calls = sink

    def claim(self, service: str) -> _SpanReplay | None:
        """The next recorded span that no span of this run stands for yet, of the same service where there is one."""
        with self.lock:
            waiting = [one for one in self._unopened if not one.recorded.ambient] or self._unopened
            found = next((one for one in waiting if one.recorded.service == service), waiting[0] if waiting else None)
            if found is not None:
                self._unopened.remove(found)
            return found

    def mode_for(self, name: str, invocation_index: int) -> BoundaryMode:
        return self.plan.mode_for(name, invocation_index)

    def recorded_failures(self) -> list[Recorded]:
        """The recorded calls that failed, in order."""
        return [call for call in self.recording.calls if call.error is not None]

    def divergences(self) -> list[Divergence]:
        with self.lock:
            found = list(self.noted)
            for span in self.spans:
                found += [
                    Divergence(LEFTOVER, call.name, span.matcher.path_of(call), call.number, call.envelope_id)
                    for call in span.matcher.leftovers()
                ]
            for name, invocation in self.plan.meant_to_run():
                if not any(name == one and invocation in (None, number) for one, number in self.ran):
                    found.append(Divergence(PLAN, name, (), invocation))
            if self.forked is not None and not self.forked.reached:
                found.append(Divergence(PLAN, f"fork at {self.plan.fork_at}"))
        return found


class ReplayRun:
    """The handle of a replay, for looking at what happened (specs: record A6). Counts begin with 1."""

    def __init__(self, session: RecordingSession, state: ReplayState) -> None:
        self.session = session
        self.state = state

    @property
    def trace_id(self) -> str:
        return self.session.trace_id

    def captured_input(self, name: str, invocation_index: int = 1) -> JsonObject | None:
        """The arguments, as JSON by name, of a call that the plan let run; None where it did not run."""
        ran = self.state.ran.get((name, invocation_index))
        return ran.arguments if ran is not None else None

    def captured_result(self, name: str, invocation_index: int = 1) -> Any:
        """What a call that the plan let run gave; None where it did not run or failed."""
        ran = self.state.ran.get((name, invocation_index))
        return ran.result if ran is not None else None

    def captured_error(self, name: str, invocation_index: int = 1) -> BaseException | None:
        """What a call that the plan let run raised."""
        ran = self.state.ran.get((name, invocation_index))
        return ran.error if ran is not None else None

    def invocation_count(self, name: str) -> int:
        """How often `name` was called."""
        return self.state.counts.get(name, 0)

    def call_log(self) -> list[CallRecord]:
        """Every call, in order."""
        return list(self.state.calls)

    def recorded_failures(self) -> list[Recorded]:
        """The recorded calls that failed."""
        return self.state.recorded_failures()

    @property
    def divergences(self) -> list[Divergence]:
        """How this run has differed so far; calls that were recorded and not made yet are among it."""
        return self.state.divergences()

    def report(self) -> str:
        """The divergences as text; empty where there is none."""
        return as_text(self.divergences)

    def check(self) -> None:
        """Raises ReplayMismatchError with the report where there is a divergence."""
        report = self.report()
        if report:
            raise ReplayMismatchError(f"the replay of {self.trace_id} differed from its recording\n{report}")


@contextmanager
def replay(
    envelopes: Iterable[Any],
    plan: ReplayPlan | None = None,
    *,
    trace_id: str | None = None,
    spans: Iterable[Any] = (),
    matching: Matching = "count",
) -> Iterator[ReplayRun]:
    """Answer the calls inside from `envelopes` (models, or their JSON objects), but for those that `plan` lets run.

    Spans that are opened inside stand for the recorded ones, in order. How calls are matched: `plan.Matching`; with
    `strict`, a divergence raises ReplayMismatchError at the end, too. Raises BadRecording for what is none.
    """
    with replay_recording(recording_of(envelopes, spans, trace_id), plan, matching=matching) as run:
        yield run


@contextmanager
def replay_recording(
    recording: Recording, plan: ReplayPlan | None = None, *, matching: Matching = "count", checked: bool = True
) -> Iterator[ReplayRun]:
    """As `replay`, of a recording that is read already; `checked` False: `strict` raises nothing at the end."""
    run = opened(recording, plan, matching)
    begin_replay(run.session)
    token = HERE.set(Here(run.session))
    try:
        yield run
    finally:
        try:
            HERE.reset(token)
        except ValueError:  # a fixture may end in another context than it began in
            HERE.set(Here(None))
        end_replay(run.session)
    if matching == "strict" and checked:
        run.check()


def opened(recording: Recording, plan: ReplayPlan | None, matching: str) -> ReplayRun:
    """A replay that nothing runs in yet. Raises BadRecording for a fork at a call that is not there."""
    state = ReplayState(recording, plan if plan is not None else ReplayPlan(), checked_matching(matching))
    first = state.spans[0]
    session = RecordingSession(
        trace_id=recording.trace_id,
        span_id=first.recorded.span_id or new_span_id(),
        service=first.recorded.service or get_settings().service_name,
        hooks=default_hooks.copy(),
    )
    session.replayed(first)
    return ReplayRun(session, state)


class _Fork:
    """Where answers end and calls begin."""

    def __init__(self, spans: list[_SpanReplay], at: str | int) -> None:
        found = [
            (span, call)
            for span in spans
            for call in span.recorded.calls
            if at in (call.envelope_id, call.sequence) and not isinstance(at, bool)
        ]
        if not found:
            raise BadRecording(f"no recorded call {at}", "name an envelope id, or a call's number in its span")
        span, self._target = found[0]
        self._around = span.matcher.around(self._target.envelope_id)
        self.reached = False

    def runs(self, call: Recorded | None) -> bool:
        """Whether a call runs: from the target on all do, also those that nobody recorded."""
        if call is None:
            return self.reached
        target = self._target
        if call.envelope_id in self._around:
            return True
        after = (call.sequence >= target.sequence) if call.span_id == target.span_id else (
            call.started_s >= target.started_s
        )  # fmt: skip
        self.reached = self.reached or after
        return after


class _Asked:
    """The arguments of one call; what they cost is paid when they are asked for."""

    def __init__(self, crossing: Crossing, args: Args, kwargs: Kwargs) -> None:
        self._named = crossing.arguments(args, kwargs)
        self._rules = crossing.session.rules
        self._json: JsonObject | None = None

    def same(self, call: Recorded) -> bool:
        """Whether these are the recorded arguments, which are masked and cut as the settings of then had it."""
        given = call.given
        if not given:
            return True
        try:
            if (self._named == given) is True:
                return True
        except Exception:  # noqa: S110  (values may refuse to be compared)
            pass
        patched = call.patched
        given = without_names(given, patched)
        if without_names(self.json(), patched) == given:
            return True
        plain = to_json(self._named, PLAIN)
        return isinstance(plain, dict) and without_names(plain, patched) == given

    def json(self) -> JsonObject:
        if self._json is None:
            found = to_json(self._named, self._rules)
            self._json = found if isinstance(found, dict) else {"value": found}
        return self._json


class _SpanReplay:
    """The ReplayControl of the spans that stand for one recorded span."""

    def __init__(self, state: ReplayState, recorded: RecordedSpan) -> None:
        self.state = state
        self.recorded = recorded
        self.draws = state.draws
        self.matcher = Matcher(recorded.calls, state.matching)
        self._places: dict[str, Place] = {}  # of calls that run, by the id of their live envelope
        self._counters: RecordingSession | None = None
        self._recorder: RecordingSession | None = None  # of calls that are new (`record_missing`)

    def span(self, session: RecordingSession) -> None:
        """A span that is opened inside: it stands for the next recorded one, else it is part of this one."""
        control = self.state.claim(session.service) or self
        session.replayed(control, control._counters)
        control._counters = session

    def cross(self, crossing: Crossing, call: Call, args: Args, kwargs: Kwargs) -> Any:
        """See `session.ReplayControl`."""
        state, name, number = self.state, crossing.spec.name, crossing.invocation
        asked = _Asked(crossing, args, kwargs)
        with state.lock:
            parent = self._places.get(crossing.here.envelope_id or "", self.matcher.root)
            match = self.matcher.take(parent, name, asked.same, asked.json)
            recorded = match.place.call if match.place is not None else None
            mode = state.plan.mode_for(name, number)
            if mode == BoundaryMode.STUB and state.forked is not None and state.forked.runs(recorded):
                mode = BoundaryMode.RUN
            if recorded is None and crossing.spec.harmless and state.new_calls is None and state.matching != "strict":
                mode = BoundaryMode.RUN
            state.counts[name] = state.counts.get(name, 0) + 1
            state.calls.append(CallRecord(name, number, mode))
            is_new = recorded is None and mode == BoundaryMode.STUB and state.new_calls is not None
            if not is_new and (not match.same or match.late or recorded is None):
                self._note(match, mode, parent, name, number, asked)
            if mode == BoundaryMode.RUN:
                if match.place is not None:
                    match.place.ran = True
                self._places[crossing.envelope_id] = match.place or parent
                state.ran[name, number] = ran = Ran(asked.json(), recorded)
        if is_new:
            return self._record(crossing, call, args, kwargs, parent)
        if mode == BoundaryMode.RUN:
            return self._run(crossing, call, args, kwargs, ran, asked)
        assert recorded is not None
        return answered(recorded, args, kwargs, invocation=number, make=crossing.spec.answer)

    def _note(self, match: Match, mode: BoundaryMode, parent: Place, name: str, number: int, asked: _Asked) -> None:
        """Keep what is different about a call. Raises ReplayMismatchError where it can neither be answered nor run."""
        path = self.matcher.path(parent)
        recorded = match.place.call if match.place is not None else self.matcher.expected(parent, name)
        envelope_id = recorded.envelope_id if recorded is not None else None
        changes: tuple[Change, ...] = ()
        if not match.same and recorded is not None:
            left, right = (without_names(one, recorded.patched) for one in (recorded.given, asked.json()))
            changes = tuple(islice(changes_between(left, right), MAX_CHANGES))
        strict = self.state.matching == "strict"
        kind = ORDER if match.late else CHANGED if match.place is not None else MISSING_CALL
        forked = self.state.forked is not None and mode == BoundaryMode.RUN
        if forked and match.place is None:
            return  # after the fork there is no recording to differ from
        one = Divergence(kind, name, path, number, envelope_id, changes)
        self.state.noted.append(one)
        if mode == BoundaryMode.STUB and (match.place is None or (strict and match.late)):
            raise ReplayMismatchError(f"{as_text([one])}\n{self._hint(name, recorded, match)}")

    def _hint(self, name: str, expected: Recorded | None, match: Match) -> str:
        if match.late:
            return "matching is strict: calls come in the recorded order"
        if expected is not None:
            return f"matching is {self.state.matching}: only a call with equal arguments is answered"
        known = sum(call.name == name for call in self.recorded.calls)
        if known:
            return f"the recording has {known} of it, elsewhere or already used; let it run: ReplayPlan().run({name!r})"
        return f"it would have run for real; to let it: ReplayPlan().run({name!r})"

    def _run(self, crossing: Crossing, call: Call, args: Args, kwargs: Kwargs, ran: Ran, asked: _Asked) -> Any:
        if self.state.recording.masked:
            self._refuse_masks(crossing, asked)
        crossing.told = ran.end
        args, kwargs = crossing.begin(args, kwargs)
        if crossing.session.hooks.hooks:
            patched = to_json(crossing.arguments(args, kwargs), PLAIN)
            ran.arguments = patched if isinstance(patched, dict) else ran.arguments
        return _called(crossing, call, args, kwargs)

    def _record(self, crossing: Crossing, call: Call, args: Args, kwargs: Kwargs, parent: Place) -> Any:
        """Make a call that the recording does not have, as one more of this span."""
        if self._recorder is None:
            self._recorder = RecordingSession(
                trace_id=self.state.recording.trace_id,
                span_id=self.recorded.span_id,
                service=crossing.session.service,
                sink=self.state.new_calls,
                hooks=default_hooks.copy(),
            )
            self._recorder.count_on(self.recorded.calls)
        above = parent.call.envelope_id if parent.call is not None else None
        recording = Crossing(crossing.spec, self._recorder, crossing.here._replace(
            session=self._recorder, envelope_id=above
        ))  # fmt: skip
        args, kwargs = recording.begin(args, kwargs)
        return _called(recording, call, args, kwargs)

    def _refuse_masks(self, crossing: Crossing, asked: _Asked) -> None:
        """A masked value that came out of the recording must not reach anything real."""
        if _has_mask(to_json(asked.json(), PLAIN)):
            name, number = crossing.spec.name, crossing.invocation
            one = Divergence(MASKED, name, (), number)
            with self.state.lock:
                self.state.noted.append(one)
            raise ReplayMismatchError(f"{as_text([one])}\nanswer it from the recording, or record without masking it")


def _called(crossing: Crossing, call: Call, args: Args, kwargs: Kwargs) -> Any:
    """The call itself; what an async boundary answers with is awaited inside the crossing."""
    token = HERE.set(crossing.inner)
    try:
        result = call(args, kwargs)
    except BaseException as error:
        HERE.reset(token)
        crossing.fail(error)
        raise
    HERE.reset(token)
    return crossing.awaited(result) if inspect.iscoroutine(result) else crossing.settle(result)


def _has_mask(json: Any) -> bool:
    if isinstance(json, str):
        return MASK in json
    if isinstance(json, Mapping):
        return any(map(_has_mask, json.values()))
    return isinstance(json, list) and any(map(_has_mask, json))


_EMPTY = RecordedSpan("0" * 32, "", None, False, (), {})

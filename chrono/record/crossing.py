"""Owns one crossing of a boundary, from the enter hooks to the envelope in the sink (specs: record A8).

What a boundary is declared as is `record.boundaries`; streams and generators that stay open are `record.generators` and
`record.streams`. The caller always has the real result or the real exception: an error of recording is logged only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from chrono.record.arguments import Args, Kwargs, Shape, Unknown, shape_of
from chrono.record.entry import EnvelopeEntry, Json, JsonObject
from chrono.record.generators import GENERATORS, observed_generator
from chrono.record.hooks import AbortCall, CallInfo, Entered, log, wants_record
from chrono.record.provider import LlmAdapter, canonical_input, canonical_output
from chrono.record.runtime import ambient_session
from chrono.record.serialise import PLAIN, Rules, type_name, write
from chrono.record.session import AT_WORK, HERE, Here, RecordingSession, clean_metadata
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.record.answers import Answer

Call = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


class BoundarySpec(NamedTuple):
    """What is fixed about a boundary. `observe` may answer with an object for the caller in place of the result; it
    then owes the crossing its `finish` or `fail` (a stream that is still to be read)."""

    name: str
    kind: str
    shape: Shape | Unknown
    provider: str | None = None
    adapter: LlmAdapter | None = None
    extract_input: Callable[..., Mapping[str, Any]] | None = None
    extract_result: Callable[[Any], Any] | None = None
    extract_metadata: Callable[[Any], Mapping[str, Any]] | None = None
    metadata: JsonObject | None = None
    observe: Callable[[Any, Crossing], Any] | None = None
    harmless: bool = False
    """It changes nothing outside: no hook is asked of it, and replay lets it run where the recording has none."""
    answer: Callable[[Answer], Any] | None = None
    """Makes of a recording what `observe` would have handed to the caller; None: the usual way (`record.answers`)."""


class Crossing:
    """One call of a boundary while it is recorded. `finish` or `fail` closes it, once; later calls do nothing."""

    __slots__ = (
        "_entered", "_first_ns", "_input", "_metadata", "_notes", "_open", "_raw", "_sequence", "_started_ns",
        "_tick_ns", "_truncated", "envelope_id", "here", "inner", "invocation", "session", "spec", "told",
    )  # fmt: skip

    def __init__(self, spec: BoundarySpec, session: RecordingSession, here: Here) -> None:
        self.spec = spec
        self.session = session
        self.here = here
        self.envelope_id = _short_id()
        self._sequence = session.next_sequence()
        self.invocation = session.next_invocation(spec.name)
        self.inner = Here(session, self.envelope_id)
        self._started_ns = time.time_ns()
        self._tick_ns = time.monotonic_ns()
        self._first_ns: int | None = None
        self._entered: Entered | None = None
        self._input: JsonObject = {}
        self._raw: JsonObject = {}
        self._notes: JsonObject = {}
        self._metadata: JsonObject = {}
        self._truncated = False
        self._open = True
        self.told: Callable[[Any, BaseException | None], None] | None = None  # hears the result or error at the end

    # -- before the call

    def begin(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """Ask the enter hooks and capture the input as the call will get it. Raises what a hook stops the call with;
        the failure is then recorded and the earlier hooks have had their leave."""
        if not self.session.draws:
            return self._begin(args, kwargs)
        with _own_work():
            return self._begin(args, kwargs)

    def _begin(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        hooks = self.session.hooks.hooks
        if hooks and not self.spec.harmless:
            args, kwargs = self._enter(hooks, args, kwargs)
        if self.session.recording:
            try:
                self._capture(args, kwargs)
            except Exception:
                log.exception("the input of %s could not be recorded", self.spec.name)
        return args, kwargs

    def _enter(self, hooks: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        arguments = write(self.arguments(args, kwargs), PLAIN).json
        call = self._call_info(arguments)
        self._entered = entered = Entered(call, hooks, self.session.settings.hooks_fail_call_on_error)
        try:
            patches = entered.enter()
            if patches:
                args, kwargs, refused = self.spec.shape.patched(args, kwargs, patches)
                for name in refused:
                    log.warning("%s takes no argument %r: the hook's patch of it is left out", self.spec.name, name)
                self.note("chrono.patched", sorted(str(name) for name in patches))
        except BaseException as error:
            if self.session.recording:
                self._capture(args, kwargs)
            self.fail(error)
            raise
        return args, kwargs

    def _call_info(self, arguments: JsonObject) -> CallInfo:
        from chrono.trace.enums import Kind

        return CallInfo(
            self.spec.name,
            Kind(self.spec.kind),
            arguments,
            self.invocation,
            self.here.attempt,
            self.session.trace_id,
            self.session.span_id,
            self.envelope_id,
        )

    def arguments(self, args: Args, kwargs: Kwargs) -> Any:
        """The arguments by name, as values. Never raises."""
        extract = self.spec.extract_input
        if extract is not None:
            try:
                return dict(extract(*args, **kwargs))
            except Exception:
                log.exception("extract_input of %s failed; all arguments are recorded", self.spec.name)
        try:
            return self.spec.shape.by_name(args, kwargs)
        except Exception:
            return {"args": list(args), "kwargs": kwargs}

    def _capture(self, args: Args, kwargs: Kwargs) -> None:
        session = self.session
        raw: JsonObject = {}
        if session.settings.capture_input:
            written = write(self.arguments(args, kwargs), session.rules)
            raw = written.json if isinstance(written.json, dict) else {"value": written.json}
            self._truncated = written.truncated
            if written.notes:
                self._notes["input"] = written.notes
        self._raw = raw
        self._input = (
            canonical_input(self.spec.provider, self.spec.adapter, raw) if self.spec.kind == "llm" else {"raw": raw}
        )
        if session.settings.emit_open:
            self._put(None, None, None)

    # -- after the call

    def note(self, key: str, value: Json) -> None:
        """Put a fact of the recorder's own into the metadata."""
        self._metadata[key] = value

    def first_chunk(self) -> None:
        """Note that the first chunk of a stream is there."""
        if self._first_ns is None:
            self._first_ns = time.monotonic_ns()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Calls made within are children of this crossing."""
        token = HERE.set(self.inner)
        try:
            yield
        finally:
            HERE.reset(token)

    async def awaited(self, result: Awaitable[Any]) -> Any:
        """What the caller gets for a `result` that has to be awaited first."""
        with self.inside():
            try:
                answer = await result
            except BaseException as error:
                self.fail(error)
                raise
        return self.settle(answer)

    def settle(self, result: Any) -> Any:
        """What the caller gets for `result`: the result, recorded, or what observes it while it is still open."""
        try:
            observed = self.spec.observe(result, self) if self.spec.observe is not None else None
            if observed is None and type(result) in GENERATORS:
                observed = observed_generator(result, self)
        except Exception:
            log.exception("the result of %s could not be observed", self.spec.name)
            observed = None
        if observed is not None:
            return observed
        self.finish(result)
        return result

    def finish(
        self,
        result: Any,
        *,
        live: Any = None,
        partial: bool = False,
        metadata: Mapping[str, Any] | None = None,
        chunks: Sequence[Any] | None = None,
    ) -> None:
        """Close as a success with `result` as the output. `live`: what hooks see, where that is something else;
        `partial`: the caller did not take all of it; `chunks`: what `result` came in, one by one."""
        seen = result if live is None else live
        self._close(seen, None, lambda ended_ns: self._succeeded(result, ended_ns, partial, metadata, chunks))

    def fail(
        self,
        error: BaseException,
        *,
        result: Any = None,
        metadata: Mapping[str, Any] | None = None,
        chunks: Sequence[Any] | None = None,
    ) -> None:
        """Close as a failure. `result` and `chunks`: what had come before the error, where something had. Never raises
        for the sake of recording; hooks that were entered get their leave."""
        self._close(result, error, lambda ended_ns: self._failed(error, result, ended_ns, metadata, chunks))

    def _close(self, seen: Any, error: BaseException | None, record: Callable[[int], EnvelopeEntry]) -> None:
        """The one end of a crossing: who waits for it hears it, it is recorded, hooks get what is theirs."""
        if not self._open:
            return
        self._open = False
        if not self.session.draws:
            self._closed(seen, error, record)
            return
        with _own_work():
            self._closed(seen, error, record)

    def _closed(self, seen: Any, error: BaseException | None, record: Callable[[int], EnvelopeEntry]) -> None:
        if self.told is not None:
            self.told(seen, error)
        ended_ns = self._ended_ns()
        entry = None
        if self.session.recording:
            try:
                entry = record(ended_ns)
            except Exception:
                what = "result" if error is None else "failure"
                log.exception("the %s of %s could not be recorded", what, self.spec.name)
        entered = self._entered
        if entered is not None:
            try:
                if error is None:
                    entered.crossing(seen)
                self._record_hooks(entry)
            finally:
                entered.leave()

    def _succeeded(
        self,
        result: Any,
        ended_ns: int,
        partial: bool,
        metadata: Mapping[str, Any] | None,
        chunks: Sequence[Any] | None,
    ) -> EnvelopeEntry:
        spec, session = self.spec, self.session
        extracted = result
        if spec.extract_result is not None:
            try:
                extracted = spec.extract_result(result)
            except Exception:
                log.exception("extract_result of %s failed; the whole result is recorded", spec.name)
        raw: Json = None
        if session.settings.capture_output:
            raw = self._written("output", extracted)
        output = self._output(raw)
        if chunks is not None:
            self._keep_chunks(output, chunks)
        if partial:
            self._metadata["chrono.partial"] = True
        self._describe(result, metadata)
        return self._put(ended_ns, "success", output)

    def _failed(
        self,
        error: BaseException,
        result: Any,
        ended_ns: int,
        metadata: Mapping[str, Any] | None,
        chunks: Sequence[Any] | None,
    ) -> EnvelopeEntry:
        rules = self.session.rules
        message = write(_message(error), rules).json
        name = "AbortCall" if isinstance(error, AbortCall) else type(error).__name__
        output: JsonObject = {"error": {"type": name, "message": message}}
        if result is not None and self.session.settings.capture_output:
            raw = self._written("output", result)
            output = self._output(raw) | output
            if chunks is not None:
                self._keep_chunks(output, chunks)
            self._metadata["chrono.partial"] = True
        self._metadata["chrono.error"] = _error_facts(error, rules)
        self._describe(None, metadata)
        return self._put(ended_ns, "failure", output)

    def _keep_chunks(self, output: JsonObject, chunks: Sequence[Any]) -> None:
        """The chunks beside what they make up. Not where that holds a secret: cut in pieces, nobody would see one."""
        self._metadata["chrono.chunks"] = len(chunks)
        if not self.session.settings.capture_output or "redacted" in self._notes.get("output", {}).values():
            return
        output["chunks"] = self._written("chunks", list(chunks))

    def _output(self, raw: Json) -> JsonObject:
        if self.spec.kind != "llm":
            return {"raw": raw}
        return canonical_output(self.spec.provider, self.spec.adapter, raw, self._input.get("model"))

    def _written(self, side: str, value: Any) -> Json:
        written = write(value, self.session.rules)
        self._truncated = self._truncated or written.truncated
        if written.notes:
            self._notes[side] = written.notes
        return written.json

    def _describe(self, result: Any, metadata: Mapping[str, Any] | None) -> None:
        spec, rules = self.spec, self.session.rules
        if spec.metadata:
            self._metadata.update(spec.metadata)
        if spec.extract_metadata is not None and result is not None:
            try:
                self._metadata.update(clean_metadata(spec.extract_metadata(result), rules))
            except Exception:
                log.exception("extract_metadata of %s failed", spec.name)
        if metadata:
            self._metadata.update(clean_metadata(metadata, rules))
        if self._first_ns is not None:
            self._metadata["chrono.first_chunk_ms"] = (self._first_ns - self._tick_ns) / 1_000_000

    def _put(self, ended_ns: int | None, status: str | None, output: JsonObject | None) -> EnvelopeEntry:
        metadata = dict(self._metadata)
        if self._notes:
            metadata["chrono.types"] = self._notes
        metadata["chronicle.sequence"] = self._sequence
        metadata["chronicle.invocation_index"] = self.invocation
        if self._truncated:
            metadata["chronicle.truncated"] = True
        session, here = self.session, self.here
        entry = EnvelopeEntry(
            session.trace_id,
            session.span_id,
            self.envelope_id,
            here.envelope_id if here.session is session else None,
            self.spec.name,
            self.spec.kind,
            here.attempt,
            here.retry_of,
            self._started_ns,
            ended_ns,
            status,
            self._input,
            output,
            metadata,
        )
        if session.sink is not None:
            session.sink.put_envelope(entry)
        return entry

    def _record_hooks(self, entry: EnvelopeEntry | None) -> None:
        entered = self._entered
        if entry is not None and entered is not None and wants_record(entered.hooks):
            from chrono.record.entry import wire
            from chrono.trace.entities import Envelope

            entered.record(Envelope.model_validate(wire(entry)))

    def _ended_ns(self) -> int:
        """By the steady clock: a clock that is set back meanwhile must not make an end before its start."""
        return self._started_ns + time.monotonic_ns() - self._tick_ns


@contextmanager
def _own_work() -> Iterator[None]:
    """While hooks, redactors and extractors run, what these ask of clock and chance is not the program's."""
    token = AT_WORK.set(True)
    try:
        yield
    finally:
        AT_WORK.reset(token)


def invoke(spec: BoundarySpec, function: Call, args: Args, kwargs: Kwargs) -> Any:
    """Call `function` as the boundary `spec`; the result is the function's own, or what observes it."""
    here = HERE.get()
    session = here.session
    if session is None:
        session = ambient_session()
        if session is None:
            return function(*args, **kwargs)
    if not (session.recording or session.hooks.hooks or session.replay is not None):
        return function(*args, **kwargs)
    crossing = Crossing(spec, session, here)
    if session.replay is not None:
        return session.replay.cross(crossing, lambda a, k: function(*a, **k), args, kwargs)
    args, kwargs = crossing.begin(args, kwargs)
    token = HERE.set(crossing.inner)
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        HERE.reset(token)
        crossing.fail(error)
        raise
    HERE.reset(token)
    return crossing.settle(result)


async def ainvoke(spec: BoundarySpec, function: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Any:
    """As `invoke`, for a function whose answer is awaited."""
    here = HERE.get()
    session = here.session
    if session is None:
        session = ambient_session()
        if session is None:
            return await function(*args, **kwargs)
    if not (session.recording or session.hooks.hooks or session.replay is not None):
        return await function(*args, **kwargs)
    crossing = Crossing(spec, session, here)
    if session.replay is not None:
        answer = session.replay.cross(crossing, lambda a, k: function(*a, **k), args, kwargs)
        return await answer if isinstance(answer, Awaitable) else answer
    args, kwargs = crossing.begin(args, kwargs)
    token = HERE.set(crossing.inner)
    try:
        result = await function(*args, **kwargs)
    except BaseException as error:
        HERE.reset(token)
        crossing.fail(error)
        raise
    HERE.reset(token)
    return crossing.settle(result)


def spec_of(name: str, kind: str, function: Call, **given: Any) -> BoundarySpec:
    """The spec of a boundary around `function`."""
    return BoundarySpec(name, kind, shape_of(function), **given)


def _short_id() -> str:
    while (minted := os.urandom(8).hex()) == "0" * 16:
        pass
    return minted


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} without a text>"


def _made_with(error: BaseException) -> list[Any]:
    """The arguments that make such an exception again: some keep one beside `args` (the file name of an OSError)."""
    try:
        made = error.__reduce__()
        if isinstance(made, tuple) and made[0] is type(error) and isinstance(made[1], tuple):
            return list(made[1])
    except Exception:
        log.debug("%s cannot be reduced", type(error), exc_info=True)
    return list(error.args)


def _error_facts(error: BaseException, rules: Rules) -> JsonObject:
    """What replay needs to raise the same again: the class, its bases by name, its arguments and attributes."""
    facts: JsonObject = {
        "class": type_name(error),
        "bases": [f"{one.__module__}:{one.__qualname__}" for one in type(error).__mro__[1:-2]],
    }
    for side, value in (("args", _made_with(error)), ("attributes", dict(vars(error)))):
        if value:
            written = write(value, rules)
            facts[side] = written.json
            if written.notes:
                facts[f"{side}_types"] = written.notes
    if error.__cause__ is not None:
        facts["cause"] = type_name(error.__cause__)
    return facts

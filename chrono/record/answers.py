"""Owns what a call gets in replay: the recorded value, exception or stream, as the kind of thing it was.

Values are made by `record.rebuild`, exceptions by `record.failures`, streams by `record.playback`; a boundary may make
its own objects of an Answer (`BoundarySpec.answer`).
"""

from __future__ import annotations

from typing import Any, Final

from chrono.record import generators, streams
from chrono.record.arguments import Args, Kwargs
from chrono.record.entry import Json
from chrono.record.errors import ReplayMismatchError
from chrono.record.failures import recorded_error
from chrono.record.playback import (
    Managed,
    Pieces,
    RecordedResponse,
    RecordedStream,
    async_generator,
    failed,
    generator,
    ready,
)
from chrono.record.rebuild import rebuild
from chrono.record.recorded import readable
from chrono.record.recording import Recorded
from chrono.tuples import NamedTuple

_MANAGED: Final = (streams.MANAGED, streams.ASYNC_MANAGED)
_RESPONSES: Final = (streams.RESPONSE, streams.ASYNC_RESPONSE)


class Answer(NamedTuple):
    """A recorded call for one that is made now with `args` and `kwargs`. `value` is what it gave, `raw` the same as
    JSON; `pieces` where it came piece by piece; `form` says what the caller held (`streams.STREAM`, …), None for the
    value itself."""

    call: Recorded
    value: Any
    raw: Json
    pieces: Pieces | None
    form: str | None
    args: Args
    kwargs: Kwargs

    @property
    def is_async(self) -> bool:
        return self.form is not None and self.form.startswith("async")


def answered(
    call: Recorded, args: Args, kwargs: Kwargs, *, invocation: int, make: Any = None, name: str | None = None
) -> Any:
    """What the caller gets for `call`; `make` is its boundary's `answer`. Raises the recorded exception."""
    output = call.output
    if output is None:
        raise ReplayMismatchError(f"{name or call.name} #{call.number} was still running when the recording ended")
    metadata = call.metadata
    form = metadata.get("chrono.stream")
    awaited = metadata.get("chrono.awaited") is True
    if form is None and "error" in output:
        error = recorded_error(call, invocation)
        if awaited:
            return failed(error)
        raise error
    if form is None and make is None and not metadata.get("chrono.stream_part"):
        value = _value(call, output)
        return ready(value) if awaited else value
    answer = Answer(call, _value(call, output), output.get("raw"), _pieces(call, invocation), form, args, kwargs)
    made = make(answer) if make is not None else None
    if made is None:
        made = _usual(answer)
    part = metadata.get("chrono.stream_part")
    if isinstance(part, str):
        made = {part: made}
    return ready(made) if awaited else made


def _value(call: Recorded, output: Any) -> Any:
    raw = output.get("raw")
    notes = call.notes.get("output")
    if notes and isinstance(notes, dict):
        value = rebuild(raw, notes).value
        top = notes.get("")
        if isinstance(top, list) and any(isinstance(one, dict) and one.get("type") == "raw response" for one in top):
            return RecordedResponse(value)
        return value
    # Other recorders keep no types. What a model answered is most often an object whose fields are read as attributes.
    return readable(raw) if call.kind == "llm" and type(raw) is dict else _fresh(raw)


def _fresh(json: Json) -> Json:
    """A copy: what a caller changes must not change the recording."""
    kind = type(json)
    if kind is dict:
        return {name: _fresh(value) for name, value in json.items()}
    return [_fresh(value) for value in json] if kind is list else json


def _pieces(call: Recorded, invocation: int) -> Pieces | None:
    output, metadata = call.output or {}, call.metadata
    form = metadata.get("chrono.stream")
    if form is None:
        return None
    error = recorded_error(call, invocation) if "error" in output else None
    abandoned = metadata.get("chrono.partial") is True and error is None
    if form in (generators.GENERATOR, generators.ASYNC_GENERATOR):
        items = _value(call, output) or ()
        cut = metadata.get("chrono.items_cut") is True
        return Pieces(call.name, items, error, metadata.get("chrono.returned"), abandoned or cut)
    chunks = output.get("chunks")
    if not isinstance(chunks, list):
        if metadata.get("chrono.chunks"):
            raise ReplayMismatchError(
                f"the chunks of {call.name} #{call.number} were not kept, as they held a secret; let the call run"
            )
        chunks = []
    notes = call.notes.get("chunks")
    return Pieces(
        call.name, rebuild(chunks, notes if isinstance(notes, dict) else {}).value, error, abandoned=abandoned
    )


def _usual(answer: Answer) -> Any:
    form, pieces = answer.form, answer.pieces
    if pieces is None:
        return answer.value
    if form == generators.GENERATOR:
        return generator(pieces)
    if form == generators.ASYNC_GENERATOR:
        return async_generator(pieces)
    if form in _RESPONSES:
        parsed = RecordedStream(pieces) if answer.call.metadata.get("chrono.parsed") else answer.value
        return RecordedResponse(parsed, is_async=answer.is_async)
    if form in _MANAGED:
        return managed(RecordedStream(pieces), pieces)
    return RecordedStream(pieces)


def managed(stream: Any, pieces: Pieces) -> Managed:
    """`stream` in a context manager; where nothing came before the error, entering fails."""
    return Managed(stream, pieces.error if not pieces.items else None)

"""Claims about one crossing: what is written, that the caller sees no difference, and what hooks may do."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chrono import record as chronicle
from chrono.record.entry import EnvelopeEntry, encode
from chrono.record.sink import MemorySink
from chrono.trace.entities import Envelope
from tests.waiting import LONG_S


@chronicle.boundary("search")
def search(query: str, limit: int = 10, *tags: str, **more: Any) -> list[str]:
    return [query] * 2


def test_arguments_are_recorded_by_name_with_their_defaults(sink: MemorySink) -> None:
    with chronicle.record():
        search("a")
        search("a", 5, "x", "y", colour="red")
        search(query="a", limit=1)
    assert [one.input["raw"] for one in sink.envelopes] == [
        {"query": "a", "tags": [], "limit": 10},
        {"query": "a", "limit": 5, "tags": ["x", "y"], "colour": "red"},
        {"tags": [], "query": "a", "limit": 1},
    ]
    assert sink.envelopes[0].output == {"raw": ["a", "a"]}


def test_self_is_no_argument(sink: MemorySink) -> None:
    class Tools:
        @chronicle.boundary("tool")
        def tool(self, value: int, /) -> int:
            return value + 1

    with chronicle.record():
        assert Tools().tool(1) == 2
    assert sink.envelopes[0].input == {"raw": {"value": 1}}


def test_calls_inside_are_children_and_numbers_count_up(sink: MemorySink) -> None:
    @chronicle.boundary("outer")
    def outer() -> None:
        search("1")
        search("2")

    with chronicle.record() as session:
        outer()
    first, second, whole = sink.envelopes
    assert first.parent_envelope_id == second.parent_envelope_id == whole.envelope_id
    assert whole.parent_envelope_id is None
    assert [one.metadata["chronicle.sequence"] for one in sink.envelopes] == [2, 3, 1]
    assert [one.metadata["chronicle.invocation_index"] for one in sink.envelopes] == [1, 2, 1]
    assert {one.trace_id for one in sink.envelopes} == {session.trace_id}


def test_an_error_reaches_the_caller_and_its_facts_the_record(sink: MemorySink) -> None:
    class Busy(ValueError):
        def __init__(self, message: str, retry_after: int) -> None:
            super().__init__(message)
            self.retry_after = retry_after

    error = Busy("try later, password=hunter2", 7)

    @chronicle.boundary("busy")
    def busy() -> None:
        raise error

    with chronicle.record(), pytest.raises(Busy) as caught:
        busy()
    assert caught.value is error
    (entry,) = sink.envelopes
    assert entry.status == "failure"
    assert entry.output == {"error": {"type": "Busy", "message": "try later, password=[REDACTED]"}}
    facts = entry.metadata["chrono.error"]
    assert facts["class"].endswith("Busy") and facts["bases"][0] == "builtins:ValueError"
    assert facts["attributes"] == {"retry_after": 7}
    assert "hunter2" not in encode(entry).decode()


def test_a_missing_file_keeps_its_name(sink: MemorySink) -> None:
    @chronicle.boundary("read")
    def read() -> None:
        Path("/no/such/file").read_bytes()

    with chronicle.record(), pytest.raises(FileNotFoundError):
        read()
    assert sink.envelopes[0].metadata["chrono.error"]["args"] == [2, "No such file or directory", "/no/such/file"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interruption_is_recorded_as_a_failure(error: type[BaseException], sink: MemorySink) -> None:
    @chronicle.boundary("stopped")
    def stopped() -> None:
        raise error

    with pytest.raises(error), chronicle.record():
        stopped()
    assert (sink.envelopes[0].output or {})["error"]["type"] == error.__name__
    assert sink.spans[-1].status == "failure"


def test_the_live_value_is_handed_on_whatever_the_record_hides(sink: MemorySink) -> None:
    seen = []

    @chronicle.boundary("login")
    def login(password: str, note: object) -> dict[str, Any]:
        seen.append((password, note))
        return {"token": "sk-" + "a" * 30, "note": note}

    note = object()
    with chronicle.record():
        answer = login("hunter2", note)
    assert seen == [("hunter2", note)]
    assert answer["note"] is note and answer["token"] == "sk-" + "a" * 30
    assert b"hunter2" not in encode(sink.envelopes[0]) and b"sk-aaa" not in encode(sink.envelopes[0])


def test_what_the_function_does_to_its_arguments_is_not_its_input(sink: MemorySink) -> None:
    @chronicle.boundary("drain")
    def drain(items: list[int]) -> None:
        items.clear()

    with chronicle.record():
        drain([1, 2])
    assert sink.envelopes[0].input == {"raw": {"items": [1, 2]}}


def test_an_async_boundary_is_recorded_and_its_tasks_stay_inside(sink: MemorySink) -> None:
    finished = [asyncio.Event() for _ in range(3)]

    @chronicle.boundary("inner")
    async def inner(number: int) -> int:
        if number < 2:
            await finished[number + 1].wait()  # the last that began ends first
        finished[number].set()
        return number

    @chronicle.boundary("outer")
    async def outer() -> list[int]:
        return await asyncio.gather(*(inner(number) for number in range(3)))

    async def main() -> list[int]:
        async with chronicle.aspan():
            return await outer()

    assert asyncio.run(main()) == [0, 1, 2]
    *inners, whole = sink.envelopes
    assert {one.parent_envelope_id for one in inners} == {whole.envelope_id}
    assert [one.output for one in inners] == [{"raw": 2}, {"raw": 1}, {"raw": 0}]
    assert [one.metadata["chronicle.invocation_index"] for one in inners] == [3, 2, 1]


def test_a_callable_object_and_a_builtin_can_be_boundaries(sink: MemorySink) -> None:
    class Adder:
        async def __call__(self, one: int) -> int:
            return one + 1

    with chronicle.record():
        assert asyncio.run(chronicle.boundary("adder")(Adder())(1)) == 2
        assert chronicle.boundary("max")(max)(1, 2) == 2
    assert [one.output for one in sink.envelopes] == [{"raw": 2}, {"raw": 2}]
    assert sink.envelopes[1].input == {"raw": {"args": [1, 2]}}


def test_a_boundary_of_another_kind_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="a router is"):
        chronicle.boundary("x", kind="router")
    with pytest.raises(ValueError, match="llm or tool"):
        chronicle.boundary("x", kind="other")
    with pytest.raises(ValueError, match="a name"):
        chronicle.wrap_llm("", print)


def test_extractors_choose_what_is_recorded_and_their_faults_are_only_logged(
    sink: MemorySink, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = chronicle.boundary(
        "chosen",
        extract_input=lambda number: {"doubled": number * 2},
        extract_result=lambda result: result["keep"],
        extract_metadata=lambda result: {"Cost-Center": result["cost"], "chronicle.sequence": 99},
    )(lambda number: {"keep": number, "cost": 5})
    broken = chronicle.boundary(
        "broken", extract_input=lambda: 1, extract_result=lambda r: 1 / 0, extract_metadata=len
    )(lambda number: number)
    with chronicle.record():
        assert chosen(1) == {"keep": 1, "cost": 5}
        assert broken(3) == 3
    first, second = sink.envelopes
    assert (first.input, first.output) == ({"raw": {"doubled": 2}}, {"raw": 1})
    assert first.metadata["cost_center"] == 5 and first.metadata["chronicle.sequence"] == 1
    assert (second.input, second.output) == ({"raw": {"number": 3}}, {"raw": 3})
    assert len([one for one in caplog.records if one.levelno >= logging.ERROR]) == 3


def test_a_sink_that_fails_does_not_fail_the_call(sink: MemorySink, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise OSError("disk full")

    sink.put_envelope = sink.put_span = sink.put_trace = broken  # type: ignore[method-assign, assignment]
    with chronicle.record():
        assert search("a") == ["a", "a"]
    assert "disk full" in caplog.text


def test_recording_can_be_switched_off_and_input_and_output_left_out(
    sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONO_RECORD_ENABLED", "false")
    assert not chronicle.is_enabled()
    with chronicle.record():
        search("a")
    search("b")
    assert (sink.envelopes, sink.spans, sink.traces) == ([], [], [])
    monkeypatch.delenv("CHRONO_RECORD_ENABLED")
    chronicle.configure(capture_input=False, capture_output=False)
    with chronicle.record():
        search("a")
    assert (sink.envelopes[0].input, sink.envelopes[0].output) == ({"raw": {}}, {"raw": None})


def test_a_long_text_is_cut_and_the_record_says_so(sink: MemorySink) -> None:
    chronicle.configure(max_payload_bytes=10)
    with chronicle.record():
        search("é" * 100)
    (entry,) = sink.envelopes
    assert entry.input["raw"]["query"] == "é" * 5 + "...[truncated]"
    assert entry.metadata["chronicle.truncated"] is True


def test_an_open_envelope_is_written_first_where_that_is_asked(sink: MemorySink) -> None:
    chronicle.configure(emit_open=True)
    with chronicle.record():
        search("a")
    opened, closed = sink.envelopes
    assert (opened.envelope_id, opened.status, opened.output) == (closed.envelope_id, None, None)
    assert Envelope.model_validate_json(encode(opened)).envelope_status.state == "open"


def test_a_model_call_has_its_canonical_shape(sink: MemorySink) -> None:
    chat = chronicle.wrap_llm("chat", lambda model, messages: "hello")
    with chronicle.record():
        assert chat("m", [{"role": "user", "content": "hi"}]) == "hello"
    read = Envelope.model_validate_json(encode(sink.envelopes[0]))
    assert read.kind == "llm" and read.input.model == "m"  # type: ignore[union-attr]
    assert read.output.content[0].text == "hello"  # type: ignore[union-attr]
    assert read.output.provider == "unknown" and read.output.usage is None  # type: ignore[union-attr]


def test_an_attempt_is_numbered_and_linked_and_a_wrong_label_does_not_fail_the_call(sink: MemorySink) -> None:
    with chronicle.record():
        search("a")
        with chronicle.attempt(2, of=sink.envelopes[0].envelope_id):
            search("a")
        with chronicle.attempt(3, of="bad"):
            search("a")
        with pytest.raises(ValueError, match="from 1"), chronicle.attempt(0):
            search("a")
    assert [(one.attempt, one.retry_of is not None) for one in sink.envelopes] == [(1, False), (2, True), (3, False)]
    assert all(Envelope.model_validate_json(encode(one)) for one in sink.envelopes)


def size(value: Any) -> int:
    return len(value)


def test_a_value_that_holds_itself_costs_nothing(sink: MemorySink) -> None:
    knot: dict[str, Any] = {}
    for name in "abcd":
        knot[name] = knot
    began = time.process_time()
    with chronicle.record():
        chronicle.boundary("knot")(size)(knot)
        chronicle.boundary("long")(size)([{"a": 1}] * 1_000_000)
    assert time.process_time() - began < 5
    assert sink.envelopes[0].input["raw"]["value"]["a"] == "<cycle: dict>"
    assert len(sink.envelopes[1].input["raw"]["value"]) < 100_001
    assert sink.envelopes[1].metadata["chronicle.truncated"] is True


# -- hooks


class Watcher(chronicle.Hook):
    def __init__(self, name: str, log: list[str], patch: Mapping[str, Any] | None = None, fails: str = "") -> None:
        self.name, self.log, self.patch, self.fails = name, log, patch, fails

    def _note(self, moment: str) -> None:
        self.log.append(f"{self.name}.{moment}")
        if self.fails == moment:
            raise RuntimeError(moment)
        if self.fails == f"abort {moment}":
            raise chronicle.AbortCall(moment)

    def enter(self, call: chronicle.CallInfo) -> Mapping[str, Any] | None:
        self._note("enter")
        return self.patch

    def leave(self, call: chronicle.CallInfo) -> None:
        self._note("leave")

    def crossing(self, call: chronicle.CallInfo, result: Any) -> None:
        self._note("crossing")

    def record(self, envelope: Envelope) -> None:
        self._note("record")


def test_hooks_are_asked_in_their_order_and_the_later_patch_wins(sink: MemorySink) -> None:
    log: list[str] = []
    chronicle.default_hooks.register(Watcher("a", log, {"query": "a", "limit": 1}))
    with chronicle.record() as session:
        session.hooks.register(Watcher("b", log, {"query": "b"}))
        assert search("x", 3) == ["b", "b"]
    assert log == ["a.enter", "b.enter", "a.crossing", "b.crossing", "a.record", "b.record", "a.leave", "b.leave"]
    assert sink.envelopes[0].input["raw"] == {"query": "b", "limit": 1, "tags": []}


def test_the_record_agrees_with_the_patched_call_however_it_was_made(sink: MemorySink) -> None:
    got = []

    @chronicle.boundary("call")
    def call(first: int, /, second: int, *, third: int = 3) -> None:
        got.append((first, second, third))

    chronicle.default_hooks.register(
        chronicle.FunctionHook(enter=lambda info: {"first": 10, "second": 20, "third": 30, "fourth": 40})
    )
    with chronicle.record():
        call(1, 2)
        call(1, second=2, third=3)
    assert got == [(10, 20, 30)] * 2
    assert [one.input["raw"] for one in sink.envelopes] == [{"first": 10, "second": 20, "third": 30}] * 2


@pytest.mark.parametrize("fails", ["abort enter", "enter"])
def test_hooks_before_the_one_that_stops_the_call_get_their_leave(fails: str, sink: MemorySink) -> None:
    log: list[str] = []
    chronicle.configure(hooks_fail_call_on_error=True)
    for hook in (Watcher("a", log), Watcher("b", log, fails=fails), Watcher("c", log)):
        chronicle.default_hooks.register(hook)
    with chronicle.record(), pytest.raises((chronicle.AbortCall, RuntimeError)):
        search("x")
    assert log == ["a.enter", "b.enter", "a.record", "b.record", "c.record", "a.leave"]
    kind = "AbortCall" if "abort" in fails else "RuntimeError"
    assert (sink.envelopes[0].output or {})["error"]["type"] == kind
    assert sink.envelopes[0].input["raw"]["query"] == "x"


@pytest.mark.parametrize("moment", ["enter", "crossing", "record", "leave"])
def test_an_error_of_a_hook_is_logged_and_an_abort_always_reaches_the_caller(
    moment: str, sink: MemorySink, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []
    with chronicle.record() as session:
        session.hooks.register(Watcher("a", log, fails=moment))
        session.hooks.register(Watcher("b", log))
        assert search("x") == ["x", "x"]
        assert f"failed in {moment}" in caplog.text
        assert log[-1] == "b.leave"
        session.hooks.clear()
        session.hooks.register(Watcher("a", log, fails=f"abort {moment}"))
        session.hooks.register(Watcher("b", log))
        log.clear()
        with pytest.raises(chronicle.AbortCall):
            search("x")
    assert log.count("b.leave") == log.count("b.enter")
    assert len(sink.envelopes) == 2


def test_hooks_run_though_nothing_is_recorded(sink: MemorySink) -> None:
    log: list[str] = []
    chronicle.configure(enabled=False)
    chronicle.default_hooks.register(Watcher("a", log, {"query": "patched"}))
    assert search("x") == ["patched", "patched"]
    assert log == ["a.enter", "a.crossing", "a.leave"]
    assert sink.envelopes == []


def test_a_hook_sees_what_is_not_yet_redacted_and_the_envelope_as_it_was_written(sink: MemorySink) -> None:
    calls: list[chronicle.CallInfo] = []
    envelopes: list[Envelope] = []
    chronicle.default_hooks.register(chronicle.FunctionHook(enter=calls.append, record=envelopes.append))  # type: ignore[arg-type]
    with chronicle.record() as session:
        search("password=hunter2")
    (call,), (envelope,) = calls, envelopes
    assert call.arguments["query"] == "password=hunter2"
    assert (call.name, call.kind, call.invocation_index, call.attempt) == ("search", "tool", 1, 1)
    assert (call.trace_id, call.span_id) == (session.trace_id, session.span_id)
    assert envelope == Envelope.model_validate_json(encode(sink.envelopes[0]))


def entry_times(entry: EnvelopeEntry) -> tuple[int, int]:
    assert entry.ended_at_ns is not None
    return entry.started_at_ns, entry.ended_at_ns


def test_a_clock_that_is_set_back_makes_no_negative_duration(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    @chronicle.boundary("slow")
    def slow() -> None:
        monkeypatch.setattr(time, "time_ns", lambda: 1)
        time.sleep(0.01)

    with chronicle.record():
        slow()
    started, ended = entry_times(sink.envelopes[0])
    assert 5_000_000 < ended - started < LONG_S * 1e9
    assert sink.spans[-1].ended_at_ns == sink.spans[-1].started_at_ns

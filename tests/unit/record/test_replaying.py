"""Claims about replay: who gets which recording, what runs, what is told; the points 1 to 7 of the spec's A16."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chrono import record
from chrono.record import ReplayPlan, replay
from chrono.record.recording import BadRecording
from chrono.record.session import BoundaryMode
from chrono.record.sink import MemorySink
from tests.waiting import LONG_S

LIVE: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_live() -> None:
    LIVE.clear()


@record.boundary("search")
def search(query: str, limit: int = 10) -> list[str]:
    LIVE.append(query)
    return [f"about {query}"]


@record.boundary("outer")
def outer(query: str) -> list[str]:
    return [*search(query), *search(query + "!")]


@record.boundary("delete")
def delete(path: str) -> str:
    LIVE.append(path)
    return f"gone: {path}"


@record.boundary("find")
async def find(query: str, delay_s: float) -> str:
    LIVE.append(query)
    await asyncio.sleep(delay_s)
    return f"found {query}"


def recorded(sink: MemorySink, program: Callable[[], Any]) -> list[Any]:
    with record.record("the request"):
        program()
    LIVE.clear()
    found, sink.envelopes = sink.envelopes, []
    return found


def test_a_recorded_call_is_answered_and_not_made(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: search("a"))
    with replay(calls) as run:
        assert search("a") == ["about a"]
    assert LIVE == [] and sink.envelopes == []
    assert run.divergences == [] and run.report() == ""
    assert [tuple(one) for one in run.call_log()] == [("search", 1, BoundaryMode.STUB)]
    assert (run.invocation_count("search"), run.trace_id) == (1, calls[0].trace_id)


def test_what_was_nested_below_an_answered_call_is_used_up_with_it(sink: MemorySink) -> None:
    def program() -> list[Any]:
        return [outer("a"), search("b")]

    first: list[Any] = []
    calls = recorded(sink, lambda: first.extend(program()))
    with replay(calls) as run:
        assert program() == first == [["about a", "about a!"], ["about b"]]
    assert LIVE == [] and run.divergences == []


def test_below_a_call_that_runs_its_own_calls_are_answered(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), outer("a")))
    with replay(calls, ReplayPlan().run("outer")) as run:
        assert search("a") == ["about a"]
        assert outer("a") == ["about a", "about a!"]
    assert LIVE == [] and run.divergences == []
    assert run.captured_input("outer", 1) == {"query": "a"}
    assert run.captured_result("outer", 1) == ["about a", "about a!"]


@pytest.mark.parametrize("delays", [(0.02, 0.0), (0.0, 0.02)])
def test_parallel_calls_in_another_order_get_their_own_results(sink: MemorySink, delays: tuple[float, float]) -> None:
    async def ask(names: tuple[str, ...]) -> list[str]:
        return await asyncio.gather(*(find(name, delay) for name, delay in zip(names, delays, strict=True)))

    calls = recorded(sink, lambda: asyncio.run(ask(("x", "y"))))

    async def other_way() -> list[str]:
        return [await find("y", delays[1]), await find("x", delays[0])]

    with replay(calls) as run:
        assert asyncio.run(other_way()) == ["found y", "found x"]
    assert LIVE == [] and run.divergences == []


def test_calls_one_after_the_other_in_another_order_are_reported(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), time.sleep(0.001), search("b")))
    with replay(calls) as run:
        assert (search("b"), search("a")) == (["about b"], ["about a"])
    assert [(one.kind, one.name, one.invocation) for one in run.divergences] == [("order", "search", 2)]


def test_a_tool_that_a_worker_thread_calls_is_answered(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (delete("1"), delete("2"), delete("3")))
    got: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def older() -> None:
        begun.set()
        assert go.wait(LONG_S)
        got.append(delete("1"))

    before = threading.Thread(target=older)
    before.start()
    assert begun.wait(LONG_S)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        with replay(calls) as run:
            go.set()
            before.join()
            thread = threading.Thread(target=lambda: got.append(delete("2")))
            thread.start()
            thread.join()
            got.append(pool.submit(delete, "3").result())
    assert got == ["gone: 1", "gone: 2", "gone: 3"]
    assert LIVE == [] and run.divergences == []


def test_a_span_that_is_opened_inside_stays_in_the_replay(sink: MemorySink) -> None:
    def program() -> str:
        with record.record("its own"):
            return delete("a")

    program()
    calls, sink.envelopes = sink.envelopes, []
    LIVE.clear()
    with replay(calls) as run:
        assert program() == "gone: a"
        with pytest.raises(record.ReplayMismatchError):
            program()
    assert LIVE == [] and sink.envelopes == [] and len(run.divergences) == 1


def test_a_call_after_the_replay_of_what_began_inside_is_not_made(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: delete("a"))
    go = threading.Event()
    raised: list[BaseException] = []

    def late() -> None:
        go.wait(LONG_S)
        try:
            delete("b")
        except LookupError as error:
            raised.append(error)

    with replay(calls):
        delete("a")
        thread = threading.Thread(target=late)
        thread.start()
    go.set()
    thread.join()
    assert LIVE == [] and len(raised) == 1


def test_a_changed_argument_gets_its_recording_and_is_reported(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: search("a", limit=5))
    with replay(calls) as run:
        assert search("a", limit=6) == ["about a"]
    (one,) = run.divergences
    assert (one.kind, one.name, one.envelope_id) == ("changed", "search", calls[0].envelope_id)
    assert [tuple(change) for change in one.changes] == [("/limit", 5, 6)]
    assert "- 5" in run.report() and "+ 6" in run.report()
    with pytest.raises(record.ReplayMismatchError, match="limit"):
        run.check()


def test_what_is_left_over_missing_or_misspelt_is_reported(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), outer("b")))
    with replay(calls, ReplayPlan().run("serach")) as run:
        search("a")
        with pytest.raises(record.ReplayMismatchError, match="not in the recording"):
            delete("x")
    assert LIVE == []
    assert [(one.kind, one.name) for one in run.divergences] == [
        ("missing", "delete"), ("leftover", "outer"), ("plan", "serach"),
    ]  # fmt: skip


def test_an_unknown_trace_or_span_is_an_error(sink: MemorySink) -> None:
    from chrono.record.reading import NoSuchTrace

    with pytest.raises(NoSuchTrace), record.replay_trace("ab" * 16, "cd" * 8):
        pass
    with pytest.raises(BadRecording), replay([{"name": "x"}]):
        pass
    with pytest.raises(BadRecording), replay(recorded(sink, lambda: search("a")), ReplayPlan().fork(99)):
        pass


def test_a_call_that_was_dropped_shifts_nothing(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: [search(one) for one in "abc"])
    with replay(calls) as run:
        assert (search("b"), search("c")) == (["about b"], ["about c"])
    assert [(one.kind, one.invocation) for one in run.divergences] == [("leftover", 1)]


def test_by_input_only_equal_arguments_are_answered(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), search("b")))
    with replay(calls, matching="input"):
        assert (search("b"), search("a")) == (["about b"], ["about a"])
        with pytest.raises(record.ReplayMismatchError):
            search("a")
    assert LIVE == []


def test_strict_takes_no_other_order_and_no_leftover(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), time.sleep(0.001), search("b")))
    with replay(calls, matching="strict"):
        search("a"), search("b")
    with pytest.raises(record.ReplayMismatchError, match="leftover"), replay(calls, matching="strict"):
        search("a")
    with replay(calls) as _, pytest.raises(record.ReplayMismatchError), replay(calls, matching="strict"):
        search("b")
        search("a")
    with pytest.raises(ValueError, match="strict"), replay(calls, matching="fuzzy"):  # type: ignore[arg-type]
        pass


def test_a_recorded_error_is_caught_by_its_own_type(sink: MemorySink) -> None:
    @record.boundary("read")
    def read(path: str) -> str:
        LIVE.append(path)
        raise FileNotFoundError(2, "No such file", path)

    def program() -> str:
        try:
            return read("/nowhere")
        except FileNotFoundError as error:
            return f"{error.errno} {error.filename}"

    calls = recorded(sink, program)
    with replay(calls) as run:
        assert program() == "2 /nowhere"
    with replay(calls), pytest.raises(record.RecordedCallError) as caught:
        read("/nowhere")
    assert LIVE == [] and [one.name for one in run.recorded_failures()] == ["read"]
    assert (caught.value.error_type, caught.value.name, caught.value.invocation_index) == (
        "FileNotFoundError", "read", 1,
    )  # fmt: skip
    assert str(caught.value) == "[Errno 2] No such file: '/nowhere'"


def test_a_call_that_runs_and_raises_leaves_what_it_was_given(sink: MemorySink) -> None:
    bad = True

    @record.boundary("fix")
    def fix(number: int) -> int:
        if bad:
            raise ValueError(number)
        return number

    bad = False
    calls = recorded(sink, lambda: fix(1))
    bad = True
    with replay(calls, ReplayPlan().run("fix")) as run, pytest.raises(ValueError, match="1"):
        fix(1)
    assert run.captured_input("fix", 1) == {"number": 1}
    assert run.captured_result("fix", 1) is None and isinstance(run.captured_error("fix", 1), ValueError)


def test_a_plan_names_one_call_of_several(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: [delete(one) for one in "abc"])
    with replay(calls, ReplayPlan().run("delete", 2)) as run:
        assert [delete(one) for one in "abc"] == ["gone: a", "gone: b", "gone: c"]
    assert LIVE == ["b"] and run.divergences == []
    assert run.captured_result("delete", 2) == "gone: b" and run.captured_result("delete", 1) is None


def test_a_fork_answers_what_came_before_and_runs_the_rest(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), outer("b"), search("c")))
    inner = next(one for one in calls if one.parent_envelope_id and one.input["raw"]["query"] == "b!")
    with replay(calls, ReplayPlan().fork(inner.envelope_id)) as run:
        search("a"), outer("b"), search("c"), delete("new")
    assert LIVE == ["b!", "c", "new"] and run.divergences == []


def test_hooks_are_asked_of_what_runs_and_of_nothing_else(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: (search("a"), delete("a")))
    seen: list[str] = []

    def enter(call: Any) -> dict[str, Any] | None:
        seen.append(call.name)
        return {"path": "patched"}

    record.default_hooks.register(record.FunctionHook(enter=enter))
    with replay(calls, ReplayPlan().run("delete")) as run:
        search("a"), delete("a")
    assert seen == ["delete"] and LIVE == ["patched"]
    assert run.captured_input("delete", 1) == {"path": "patched"}


def test_a_mask_never_reaches_a_call_that_runs(sink: MemorySink) -> None:
    @record.boundary("login")
    def login() -> dict[str, str]:
        return {"api_key": "sk-" + "a1B2" * 12}

    calls = recorded(sink, lambda: delete(login()["api_key"]))
    with (
        replay(calls, ReplayPlan().run("delete")) as run,
        pytest.raises(record.ReplayMismatchError, match="masked"),
    ):
        delete(login()["api_key"])
    assert LIVE == [] and "masked" in [one.kind for one in run.divergences]


def test_a_redacted_argument_is_the_same_argument(sink: MemorySink) -> None:
    secret = "sk-" + "a1B2" * 12
    calls = recorded(sink, lambda: search(secret))
    with replay(calls) as run:
        search(secret)
    assert run.divergences == []


def test_what_a_caller_changes_does_not_change_the_recording(sink: MemorySink) -> None:
    calls = recorded(sink, lambda: search("a"))
    for _ in range(2):
        with replay(calls):
            answer = search("a")
            assert answer == ["about a"]
            answer.append("more")


def test_generators_come_again_item_by_item(sink: MemorySink) -> None:
    @record.boundary("count")
    def count(to: int) -> Any:
        for number in range(to):
            LIVE.append(number)
            yield number
        return "done"

    @record.boundary("acount")
    async def acount(to: int) -> Any:
        for number in range(to):
            LIVE.append(number)
            yield number

    @record.boundary("breaks")
    def breaks() -> Any:
        yield 1
        raise TimeoutError("too slow")

    async def aread() -> list[int]:
        return [one async for one in acount(3)]

    def returned() -> Any:
        return (yield from count(2))

    def program() -> tuple[Any, ...]:
        read = []
        with pytest.raises(TimeoutError, match="too slow"):
            for one in breaks():
                read.append(one)
        first = next(iter(count(9)))
        return list(count(3)), asyncio.run(aread()), read, first

    calls = recorded(sink, program)
    with replay(calls) as run:
        assert program() == ([0, 1, 2], [0, 1, 2], [1], 0)
    assert LIVE == [] and run.divergences == []
    left = [one for one in calls if one.metadata.get("chrono.partial") and one.name == "count"]
    with replay(left), pytest.raises(record.ReplayMismatchError, match="stopped reading"):
        list(count(9))
    calls = recorded(sink, lambda: list(returned()))
    with replay(calls), pytest.raises(StopIteration) as end:
        reading = returned()
        while True:
            next(reading)
    assert end.value.value == "done" and LIVE == []


def test_several_spans_are_replayed_each_in_its_own(sink: MemorySink) -> None:
    def program() -> list[str]:
        with record.record("caller", service="front") as session:
            headers = {"traceparent": f"00-{session.trace_id}-{'1' * 16}-01"}
            first = delete("front")
            with record.span(headers, service="back"):
                return [first, delete("back")]

    program()
    calls, spans = sink.envelopes, list(sink.spans)
    LIVE.clear()
    from chrono.record.entry import wire

    with replay(calls, spans=[wire(one) for one in spans]) as run:
        assert program() == ["gone: front", "gone: back"]
    assert LIVE == [] and run.divergences == []


def test_an_argument_that_a_hook_had_changed_is_no_difference(sink: MemorySink) -> None:
    record.default_hooks.register(record.FunctionHook(enter=lambda call: {"limit": 99}))
    calls = recorded(sink, lambda: (search("a"), search("b")))
    assert calls[0].input["raw"]["limit"] == 99
    with replay(calls) as run:
        search("b"), search("a")
    assert [one.kind for one in run.divergences if one.kind != "order"] == []


def test_no_public_name_is_that_of_a_module() -> None:
    """Importing the module would put it in the place of the name."""
    from pathlib import Path

    modules = {path.stem for path in Path(record.__file__ or "").parent.glob("*.py")}
    assert modules.isdisjoint(record.__all__)

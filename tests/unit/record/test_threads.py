"""Claims about threads: what is started or submitted in a span belongs to it, and nothing else does."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

from chrono import record as chronicle
from chrono.record import threads
from chrono.record.sink import MemorySink


@chronicle.boundary("work")
def work(name: str) -> str:
    return name


def owner(sink: MemorySink, name: str) -> str:
    return next(one.trace_id for one in sink.envelopes if one.input["raw"]["name"] == name)


def test_a_thread_is_in_the_span_and_the_crossing_that_start_it(sink: MemorySink) -> None:
    @chronicle.boundary("outer")
    def outer() -> None:
        thread = threading.Thread(target=work, args=("child",))
        thread.start()
        thread.join()

    with chronicle.record() as session:
        outer()
    child, whole = sink.envelopes
    assert (child.trace_id, child.parent_envelope_id) == (session.trace_id, whole.envelope_id)


def test_a_pool_shared_by_two_spans_keeps_their_jobs_apart(sink: MemorySink) -> None:
    work("before")
    with ThreadPoolExecutor(1) as pool:
        with chronicle.record() as first:
            pool.submit(work, "first").result()
        with chronicle.record() as second:
            assert list(pool.map(work, ["second", "again"])) == ["second", "again"]
        pool.submit(work, "outside").result()
    assert owner(sink, "first") == first.trace_id
    assert owner(sink, "second") == owner(sink, "again") == second.trace_id
    assert owner(sink, "outside") == owner(sink, "before") not in (first.trace_id, second.trace_id)


def test_a_subclass_with_its_own_run_and_asyncios_executors_are_in_the_span(sink: MemorySink) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            work("worker")

    async def main() -> str:
        async with chronicle.aspan() as session:
            await asyncio.get_running_loop().run_in_executor(None, work, "executor")
            await asyncio.to_thread(work, "to_thread")
            worker = Worker()
            worker.start()
            worker.join()
        return session.trace_id

    trace_id = asyncio.run(main())
    assert {owner(sink, name) for name in ("worker", "executor", "to_thread")} == {trace_id}


def test_other_context_variables_stay_as_threads_have_them(sink: MemorySink) -> None:
    other = ContextVar("other", default="unset")
    seen = []
    other.set("set")
    with chronicle.record():
        thread = threading.Thread(target=lambda: seen.append(other.get()))
        thread.start()
        thread.join()
    assert seen == ["unset"]


def test_the_wrappers_come_off_again_and_can_be_left_off(sink: MemorySink) -> None:
    threads.uninstall()
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    chronicle.configure(threads=False)
    with chronicle.record():
        assert threading.Thread.start is start
    chronicle.configure(threads=True)
    with chronicle.record():
        assert threading.Thread.start is not start
    chronicle.reset()
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == (start, submit)

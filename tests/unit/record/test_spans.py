"""Claims about spans: which trace they join, what is written at both ends, and the ambient one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from chrono import record as chronicle
from chrono.record.entry import encode
from chrono.record.errors import DeliveryError, RegistrationError
from chrono.record.reading import read_trace, summaries
from chrono.record.runtime import use_sink
from chrono.record.sink import MemorySink
from chrono.trace.entities import Span, Trace
from chrono.trace.traceparent import TraceContext

TRACE, CALLER = "0123456789abcdef" * 2, "fedcba9876543210"
HEADER = f"00-{TRACE}-{CALLER}-01"


@chronicle.boundary("call")
def call() -> None: ...


def test_record_begins_a_trace_with_name_and_labels(sink: MemorySink) -> None:
    with chronicle.record("checkout", labels={"session_id": "s1"}, service="shop", metadata={"a": [1]}) as session:
        assert chronicle.current_session() is session
        call()
    assert chronicle.current_session() is None
    (trace,), (opened, closed) = sink.traces, sink.spans
    assert (trace.trace_id, trace.name, trace.metadata) == (session.trace_id, "checkout", {"session_id": "s1"})
    assert (opened.status, opened.ended_at_ns) == (None, None)
    assert (closed.status, closed.service, closed.metadata) == ("success", "shop", {"a": [1]})
    assert closed.span_id == session.span_id == sink.envelopes[0].span_id
    assert Trace.model_validate_json(encode(trace)).state == "open"
    assert Span.model_validate_json(encode(closed)).state == "closed"


def test_a_trace_id_can_be_given_and_another_text_is_refused(sink: MemorySink) -> None:
    with chronicle.record(trace_id=TRACE) as session:
        assert session.trace_id == TRACE
    for bad in ("", "x", "0" * 32):
        with pytest.raises(ValueError, match="trace id"), chronicle.record(trace_id=bad):
            pass


@pytest.mark.parametrize("parent", [{"TraceParent": HEADER}, TraceContext(TRACE, CALLER)])  # type: ignore[arg-type]
def test_a_span_joins_the_callers_trace(parent: object, sink: MemorySink) -> None:
    with chronicle.span(parent) as session:  # type: ignore[arg-type]
        pass
    assert (session.trace_id, session.parent_envelope_id) == (TRACE, CALLER)
    assert sink.spans[-1].parent_envelope_id == CALLER
    assert sink.traces == []  # the root has written it


def test_a_span_without_a_caller_or_with_extract_off_begins_a_trace(sink: MemorySink) -> None:
    with chronicle.span({"traceparent": "junk"}) as first:
        pass
    chronicle.configure(extract=False)
    with chronicle.span({"traceparent": HEADER}) as second:
        pass
    assert first.trace_id != second.trace_id != TRACE
    assert len(sink.traces) == 2


def test_a_span_fails_with_its_body_and_the_error_passes(sink: MemorySink) -> None:
    with pytest.raises(KeyError), chronicle.record():
        raise KeyError

    async def main() -> None:
        async with chronicle.aspan():
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(main())
    assert [one.status for one in sink.spans] == [None, "failure", None, "failure"]


def test_labels_names_and_metadata_are_redacted_and_bad_keys_mended(sink: MemorySink) -> None:
    with chronicle.record(
        "login with password=hunter2",
        labels={"User-Id": "u", "api_key": "hunter2", "note": "Bearer abc123def456", "chronicle.x": "1"},
        metadata={"Authorization": "hunter2", "url": "https://u:hunter2@h/?key=hunter2"},
    ):
        pass
    text = encode(sink.traces[0]) + encode(sink.spans[-1])
    assert b"hunter2" not in text and b"abc123def456" not in text
    assert sink.traces[0].metadata.keys() == {"user_id", "api_key", "note", "user.chronicle.x"}
    assert Trace.model_validate_json(encode(sink.traces[0])) and Span.model_validate_json(encode(sink.spans[-1]))


def test_calls_outside_every_span_go_to_one_ambient_span(sink: MemorySink) -> None:
    seen = []
    call()
    chronicle.boundary("look")(lambda: seen.append(chronicle.current_session()))()
    assert seen == [None]
    assert len({one.span_id for one in sink.envelopes}) == 1
    assert [one.status for one in sink.spans] == [None]
    chronicle.configure(service_name="other")
    assert [one.status for one in sink.spans] == [None, "success"]
    call()
    assert (sink.spans[-1].service, len({one.span_id for one in sink.envelopes})) == ("other", 2)


def test_the_ambient_span_follows_the_environment(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    monkeypatch.setenv("CHRONICLE_ENABLED", "0")
    call()
    assert len(sink.envelopes) == 1
    monkeypatch.delenv("CHRONICLE_ENABLED")
    call()
    assert len(sink.envelopes) == 2


def test_a_strict_delivery_fails_the_span_at_its_end_but_never_hides_its_error(sink: MemorySink) -> None:
    class Unreachable(MemorySink):
        def flush(self) -> None:
            raise DeliveryError("no plane")

        def close(self) -> None:
            pass

    use_sink(Unreachable())
    chronicle.configure(fail_open=False)
    with pytest.raises(DeliveryError), chronicle.record():
        call()
    with pytest.raises(KeyError), chronicle.record():
        raise KeyError

    async def main() -> None:
        async with chronicle.aspan():
            call()

    with pytest.raises(DeliveryError):
        asyncio.run(main())


def test_a_registration_that_fails_stops_the_request_only_where_that_is_asked(sink: MemorySink) -> None:
    def broken(_: object) -> None:
        raise OSError("read-only")

    sink.put_trace = broken  # type: ignore[method-assign, assignment]
    with chronicle.record():
        call()
    chronicle.configure(registration_fail_open=False)
    with pytest.raises(RegistrationError, match="read-only"), chronicle.record():
        call()


def test_a_program_leaves_its_records_in_the_store_without_any_setting(tmp_path: Path) -> None:
    """In a process of its own, with the real store: what an exit, a fork and a thread leave behind."""
    program = textwrap.dedent("""
        import os, threading
        from chrono import record as chronicle

        @chronicle.boundary("call")
        def call(name):
            return name

        call("ambient")
        with chronicle.record("whole"):
            thread = threading.Thread(target=call, args=("thread",)); thread.start(); thread.join()
        if os.fork() == 0:
            call("child")
            raise SystemExit
        os.wait()
    """)
    environment = {"CHRONO_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment | {"PYTHONPATH": str(root)}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    folder = str(tmp_path / "home" / "traces")
    traces = [read_trace(folder, one.trace_id) for one in summaries(folder)]
    assert len(traces) == 3  # the parent's ambient one, the whole, the child's ambient one
    names = sorted(envelope["input"]["raw"]["name"] for trace in traces for envelope in trace.envelopes)
    assert names == ["ambient", "child", "thread"]
    assert all(span["state"] == "closed" for trace in traces for span in trace.spans)

"""Claims about the trace header: who gets it, who is believed, and the middleware."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from chrono import record as chronicle
from chrono.record.propagation import url_allowed
from chrono.record.sink import MemorySink

TRACE, CALLER = "0123456789abcdef" * 2, "fedcba9876543210"
HEADER = f"00-{TRACE}-{CALLER}-01"


def test_a_header_is_found_in_any_case_and_as_bytes() -> None:
    for headers in ({"TraceParent": HEADER}, {b"traceparent": HEADER.encode()}, {"traceparent": HEADER, "x": "y"}):
        found = chronicle.extract(headers)  # type: ignore[arg-type]
        assert found is not None and (found.trace_id, found.parent_envelope_id) == (TRACE, CALLER)


@pytest.mark.parametrize("headers", [None, {}, {"traceparent": "x"}, {"traceparent": HEADER, "Traceparent": "x"}, 5])
def test_what_is_no_caller_is_none_and_never_raises(headers: Any) -> None:
    assert chronicle.extract(headers) is None


def test_only_a_crossing_in_progress_is_injected(sink: MemorySink) -> None:
    sent: list[dict[str, str]] = []
    send = chronicle.boundary("send")(lambda: sent.append(chronicle.inject({"Traceparent": "old", "a": "b"})))
    assert chronicle.inject({"a": "b"}) == {"a": "b"}
    with chronicle.record() as session:
        assert "traceparent" not in chronicle.inject()
        send()
    assert sent[0] == {"a": "b", "traceparent": f"00-{session.trace_id}-{sink.envelopes[0].envelope_id}-01"}
    chronicle.configure(inject=False)
    with chronicle.record():
        send()
    assert sent[1] == {"Traceparent": "old", "a": "b"}


def test_with_a_url_only_listed_hosts_get_the_header(sink: MemorySink) -> None:
    chronicle.configure(inject_hosts=["peer.internal", "local:8080"])
    assert url_allowed("https://PEER.internal/x") and url_allowed("http://local:8080/")
    for url in ("http://local/", "https://peer.internal.evil/", "http://evil/?peer.internal", "x", "http://[", ""):
        assert not url_allowed(url)
    send = chronicle.boundary("send")(lambda url: chronicle.inject(url=url))
    with chronicle.record():
        assert "traceparent" in send("https://peer.internal/")
        assert send("https://other/") == {}


async def _ask(app: Any, scope: MutableMapping[str, Any]) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await chronicle.ChronicleMiddleware(app, service="web")(scope, receive, send)
    return sent


@chronicle.boundary("work")
async def work() -> None: ...


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_request_is_a_span_of_the_callers_trace_and_a_streamed_answer_lies_inside(
    kind: str, sink: MemorySink
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500})
        for _ in range(2):
            await work()
            await send({"type": "http.response.body", "more_body": True})

    sent = asyncio.run(_ask(app, {"type": kind, "headers": [(b"traceparent", HEADER.encode())]}))
    assert len(sent) == 3
    assert {(one.trace_id, one.span_id) for one in sink.envelopes} == {(TRACE, sink.spans[-1].span_id)}
    assert (sink.spans[-1].service, sink.spans[-1].status) == ("web", "success")
    assert sink.spans[-1].parent_envelope_id == CALLER


def test_other_scopes_pass_and_two_callers_are_none(sink: MemorySink) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    asyncio.run(_ask(app, {"type": "lifespan"}))
    assert sink.spans == []
    twice = [(b"traceparent", HEADER.encode()), (b"traceparent", HEADER.replace("01", "00").encode())]
    asyncio.run(_ask(app, {"type": "http", "headers": twice}))
    assert sink.spans[-1].trace_id != TRACE


def test_an_application_that_raises_makes_the_span_a_failure(sink: MemorySink) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(_ask(app, {"type": "http"}))
    assert sink.spans[-1].status == "failure"

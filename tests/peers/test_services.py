"""Claims about programs of several parts: threads, pools, and services that call each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import OpenAI

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.conftest import said
from tests.peers.fake_provider import FakeProvider, Whole
from tests.peers.serving import serving

# Ports, threads and ids of messages are others each time: these look at recording alone.
pytestmark = pytest.mark.live_only

QUESTION: list[Any] = [{"role": "user", "content": "The capital of France?"}]


@pytest.fixture
def client(provider: FakeProvider, sink: MemorySink) -> OpenAI:
    provider.plan("/chat/completions", answers.chat_whole())
    return record.wrap(OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0))


def ask(client: OpenAI) -> str | None:
    return client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION).choices[0].message.content


def test_each_try_that_a_client_makes_by_itself_is_within_one_call(
    provider: FakeProvider, sink: MemorySink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """429 with and without a hint, then 500, then the answer; both SDKs sleep between, which is cut short here."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    refusals = [Whole({"error": {"message": "slow down"}}, status) for status in (429, 429, 500)]
    provider.plan("/chat/completions", *refusals, answers.chat_whole())
    provider.plan("/v1/messages", *refusals, answers.message_whole())
    openai = record.wrap(OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=3))
    anthropic = record.wrap(Anthropic(api_key="k", base_url=provider.url, max_retries=3))
    with record.record("tries"):
        ask(openai)
        anthropic.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=QUESTION)
    assert len(provider.asked) == 8
    assert [(one.name, one.status) for one in sink.envelopes] == [
        ("openai.chat", "success"), ("anthropic.messages", "success"),
    ]  # fmt: skip


def test_tries_of_the_program_are_marked_as_such(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", Whole({"error": {"message": "no"}}, 500), answers.chat_whole())
    with record.record("tries"):
        for number in (1, 2):
            with record.attempt(number):
                try:
                    ask(client)
                except Exception:
                    continue
    assert [(one.attempt, one.status) for one in sink.envelopes] == [(1, "failure"), (2, "success")]


def test_calls_of_threads_and_pools_are_in_the_span_that_started_them(client: OpenAI, sink: MemorySink) -> None:
    with record.record("one") as first:
        thread = threading.Thread(target=ask, args=(client,))
        thread.start()
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _: ask(client), range(20))) == {"Paris."}
        thread.join()
    with record.record("two") as second, ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: ask(client), range(5)))
    spans = [one.span_id for one in sink.envelopes]
    assert (spans.count(first.span_id), spans.count(second.span_id), len(spans)) == (21, 5, 26)
    # 26 threads, one client, no count twice.
    indices = sorted(one.metadata["chronicle.invocation_index"] for one in sink.envelopes[:21])
    assert indices == list(range(1, 22))


def test_two_services_are_one_trace_and_a_stream_stays_in_it(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    """front -> httpx -> back; each answers in pieces, and the model is called while the back's pieces leave."""
    provider.plan("/chat/completions", answers.chat_pieces())
    record.configure(inject_hosts=["127.0.0.1"])
    record.instrument_httpx()
    back, front = FastAPI(), FastAPI()
    back.add_middleware(record.ChronicleMiddleware, service="back")
    front.add_middleware(record.ChronicleMiddleware, service="front")

    @back.get("/answer")
    def answer() -> StreamingResponse:
        def pieces() -> Iterator[str]:
            for chunk in client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION, stream=True):
                yield chunk.choices[0].delta.content or "" if chunk.choices else ""

        return StreamingResponse(pieces())

    with serving(back) as back_url:

        @front.get("/")
        async def index() -> StreamingResponse:
            async def pieces() -> Any:
                async with httpx.AsyncClient() as http, http.stream("GET", f"{back_url}/answer") as response:
                    async for text in response.aiter_text():
                        yield text

            return StreamingResponse(pieces())

        try:
            with serving(front) as front_url:
                caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
                # Not through httpx: this caller is nobody that is recorded.
                from urllib.request import Request, urlopen

                with urlopen(Request(front_url, headers={"traceparent": caller}), timeout=120) as heard:
                    assert heard.read() == b"Paris."
        finally:
            record.uninstrument_httpx()
    spans = {one.service: one for one in sink.spans}
    assert {one.trace_id for one in (*sink.spans, *sink.envelopes)} == {"4bf92f3577b34da6a3ce929d0e0e4736"}
    assert spans["front"].parent_envelope_id == "00f067aa0ba902b7"
    calls = {one.name.split(" ")[0]: one for one in sink.envelopes}
    assert spans["back"].parent_envelope_id == _request_to(sink, "/answer").envelope_id
    assert _request_to(sink, "/answer").span_id == spans["front"].span_id
    assert calls["openai.chat"].span_id == spans["back"].span_id
    assert said(calls["openai.chat"])["content"] == [{"type": "text", "text": "Paris."}]
    # The client package's own request, which goes through httpx as well, lies below its call.
    assert _request_to(sink, "/chat/completions").parent_envelope_id == calls["openai.chat"].envelope_id


def _request_to(sink: MemorySink, path: str) -> Any:
    (found,) = (one for one in sink.envelopes if one.name.startswith("http ") and one.name.endswith(path))
    return found

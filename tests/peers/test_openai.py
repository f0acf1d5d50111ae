"""Claims about the real `openai` package under `wrap`: what it answers is its own, what is recorded is golden."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, AzureOpenAI, OpenAI, Stream
from pydantic import BaseModel

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.answers import TOOL
from tests.peers.conftest import given, only, said
from tests.peers.fake_provider import FakeProvider, Pieces, Whole

ASK: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "The capital of France?"}]}
PARIS = {
    "content": [{"type": "text", "text": "Paris."}],
    "finish_reason": "stop",
    "provider": "openai",
    "usage": {"input": 12, "cached_read": 8, "cache_write": 0, "output": 5, "reasoning": 4},
    "response_id": "chatcmpl-1",
    "model": "gpt-4o-mini-2024",
    "model_source": "served",
}
RESPONSE = {
    **PARIS,
    "usage": {"input": 20, "cached_read": 10, "cache_write": 0, "output": 5, "reasoning": 2},
    "response_id": "resp_1",
}
WEATHER = {"type": "tool_call", "id": "call_1", "name": "weather", "arguments": {"city": "Paris"}}


@pytest.fixture
def client(provider: FakeProvider, sink: MemorySink) -> OpenAI:
    return record.wrap(OpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0))


@pytest.fixture
def aclient(provider: FakeProvider, sink: MemorySink) -> AsyncOpenAI:
    return record.wrap(AsyncOpenAI(api_key="k", base_url=f"{provider.url}/v1", max_retries=0))


def test_a_chat_is_recorded_as_asked_and_answered(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    answer = client.chat.completions.create(
        **ASK,
        temperature=0.5,
        max_completion_tokens=9,
        stop="END",
        tools=[{"type": "function", "function": {"name": "weather", "description": "now", "parameters": TOOL}}],
        tool_choice={"type": "function", "function": {"name": "weather"}},
    )
    assert type(answer).__name__ == "ChatCompletion"
    entry = only(sink)
    assert (entry.name, entry.kind, entry.status) == ("openai.chat", "llm", "success")
    assert given(entry) == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "The capital of France?"}],
        "tools": [{"name": "weather", "description": "now", "parameters": TOOL}],
        "tool_choice": {"name": "weather"},
        "params": {"temperature": 0.5, "max_tokens": 9, "stop": ["END"]},
    }
    assert said(entry) == PARIS
    assert entry.output is not None and entry.output["raw"]["object"] == "chat.completion"
    assert entry.metadata["client.library"] == "openai"
    assert entry.metadata["client.version"] == openai.__version__
    assert entry.metadata["client.base_url"] == f"{provider.url}/v1"
    assert "k" not in entry.metadata.values()


def test_a_tool_call_is_recorded_with_its_arguments(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole(answers.CHAT_CALL, "tool_calls"))
    client.chat.completions.create(**ASK)
    assert said(only(sink)) == {**PARIS, "content": [WEATHER], "finish_reason": "tool_calls"}


def test_a_stream_gives_its_chunks_and_is_recorded_whole(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    stream = client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
    assert isinstance(stream, Stream)
    assert stream.response.status_code == 200
    heard = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert "".join(heard) == "Paris."
    entry = only(sink)
    assert said(entry) == PARIS
    assert entry.output is not None and len(entry.output["chunks"]) == 5
    assert entry.metadata["chrono.first_chunk_ms"] > 0
    assert "chrono.partial" not in entry.metadata


@pytest.mark.live_only
def test_the_first_chunk_arrives_before_the_last_is_made(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.go_on.clear()
    provider.plan("/chat/completions", answers.chat_pieces())
    stream = iter(client.chat.completions.create(**ASK, stream=True))
    assert next(stream).choices[0].delta.content == ""
    assert sink.envelopes == []
    provider.go_on.set()
    assert len(list(stream)) == 4
    assert said(only(sink)) == PARIS


def test_a_tool_call_in_pieces_is_put_together(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_call_pieces())
    for _ in client.chat.completions.create(**ASK, stream=True):
        pass
    expected = {**PARIS, "content": [WEATHER], "finish_reason": "tool_calls"}
    del expected["usage"]
    assert said(only(sink)) == expected


def close(stream: Any) -> None:
    next(iter(stream))
    stream.close()


def leave(stream: Any) -> None:
    with stream:
        next(stream)


def forget(stream: Any) -> None:
    next(stream)
    del stream
    gc.collect()


def never_begin(stream: Any) -> None:
    stream.close()


@pytest.mark.parametrize(("let_go", "content"), [(close, ""), (leave, ""), (forget, ""), (never_begin, None)])
def test_a_stream_that_is_let_go_of_is_recorded_as_partial(
    let_go: Callable[[Any], None], content: str | None, client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    let_go(client.chat.completions.create(**ASK, stream=True))
    gc.collect()
    entry = only(sink)
    assert entry.status == "success"
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == []
    assert entry.metadata["chrono.chunks"] == (0 if content is None else 1)


def test_a_stream_that_breaks_is_a_failure_with_what_had_come(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces()._replace(broken=True))
    with pytest.raises(Exception) as caught:
        for _ in client.chat.completions.create(**ASK, stream=True):
            pass
    entry = only(sink)
    assert entry.status == "failure"
    assert said(entry)["error"]["type"] == type(caught.value).__name__
    assert said(entry)["content"] == [{"type": "text", "text": "Paris."}]


def test_the_helper_for_streams_is_one_call_with_all_its_parts(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    with client.chat.completions.stream(**ASK) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Paris."
    assert said(only(sink)) == PARIS


class Capital(BaseModel):
    city: str


def test_a_parsed_answer_is_recorded(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole({"role": "assistant", "content": '{"city": "Paris"}'}))
    answer = client.chat.completions.parse(**ASK, response_format=Capital)
    assert answer.choices[0].message.parsed == Capital(city="Paris")
    assert said(only(sink))["content"] == [{"type": "text", "text": '{"city": "Paris"}'}]


def test_a_response_is_recorded(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/responses", answers.response_whole())
    answer = client.responses.create(model="gpt-4o-mini", instructions="Be brief.", input="The capital of France?")
    assert answer.output_text == "Paris."
    entry = only(sink)
    assert entry.name == "openai.responses"
    assert given(entry) == {
        "model": "gpt-4o-mini",
        "messages": [{"role": "user", "content": "The capital of France?"}],
        "system": "Be brief.",
        "params": {},
    }
    assert said(entry) == RESPONSE


@pytest.mark.parametrize("helper", [False, True])
def test_a_streamed_response_is_recorded_whole(
    helper: bool, client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/responses", answers.response_pieces())
    if helper:
        with client.responses.stream(model="gpt-4o-mini", input="The capital?") as stream:
            assert stream.get_final_response().output_text == "Paris."
    else:
        events = list(client.responses.create(model="gpt-4o-mini", input="The capital?", stream=True))
        assert events[-1].type == "response.completed"
    assert said(only(sink)) == RESPONSE


def test_a_streamed_response_that_is_left_has_what_was_said_by_then(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/responses", answers.response_pieces())
    with client.responses.create(model="gpt-4o-mini", input="The capital?", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                break
    entry = only(sink)
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Par"}]


def test_embeddings_are_recorded_with_what_they_cost(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/embeddings", answers.embedding_whole())
    client.embeddings.create(model="text-embedding-3-small", input=["one", "two"], encoding_format="float")
    entry = only(sink)
    assert entry.name == "openai.embeddings"
    assert given(entry)["messages"] == [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    assert said(entry)["usage"] == {"input": 5, "cached_read": 0, "cache_write": 0, "output": 0, "reasoning": 0}
    assert said(entry)["content"] == []


def test_an_error_is_the_caller_s_and_recorded(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", Whole({"error": {"message": "slow down", "type": "rate"}}, 429))
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client.chat.completions.create(**ASK)
    entry = only(sink)
    assert entry.status == "failure"
    assert said(entry)["error"]["type"] == "RateLimitError"
    assert "slow down" in said(entry)["error"]["message"]


def test_what_the_client_tries_again_by_itself_is_one_call(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", Whole({"error": {"message": "no"}}, 500), answers.chat_whole())
    again = client.with_options(max_retries=1)
    again.chat.completions.create(**ASK)
    assert len(provider.asked) == 2
    assert said(only(sink)) == PARIS


def test_a_copy_with_options_is_wrapped_too(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    client.with_options(timeout=500).with_options(timeout=600).chat.completions.create(**ASK)
    assert said(only(sink)) == PARIS


def test_wrapping_twice_is_wrapping_once(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    record.wrap(record.wrap(client)).chat.completions.create(**ASK)
    only(sink)


@pytest.mark.parametrize("view", ["with_raw_response", "with_streaming_response"])
def test_a_raw_response_is_recorded_when_it_is_parsed(
    view: str, client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    if view == "with_raw_response":
        raw = client.chat.completions.with_raw_response.create(**ASK)
        assert sink.envelopes or raw.headers["x-amzn-requestid"] == "req-1"  # in replay there are none
        answer = raw.parse()
    else:
        with client.chat.completions.with_streaming_response.create(**ASK) as response:
            answer = response.parse()
    assert answer.choices[0].message.content == "Paris."
    assert said(only(sink)) == PARIS


def test_a_raw_response_of_a_stream_is_recorded_as_it_is_read(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    raw = client.chat.completions.with_raw_response.create(**ASK, stream=True)
    assert len(list(raw.parse())) == 5
    assert said(only(sink)) == PARIS


def test_azure_is_a_provider_of_its_own(provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    client = record.wrap(AzureOpenAI(api_key="k", azure_endpoint=provider.url, api_version="2024-10-21"))
    client.chat.completions.create(**ASK)
    entry = only(sink)
    assert entry.name == "azure.chat"
    assert said(entry) == {**PARIS, "provider": "azure"}


def test_two_clients_have_counters_of_their_own_and_share_a_span(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    provider.plan("/embeddings", answers.embedding_whole())
    with record.record("both"):
        client.chat.completions.create(**ASK)
        client.embeddings.create(model="text-embedding-3-small", input="one", encoding_format="float")
    assert [one.metadata["chronicle.invocation_index"] for one in sink.envelopes] == [1, 1]
    assert len({one.span_id for one in sink.envelopes}) == 1


def test_a_hook_that_changes_the_call_changes_the_record(
    client: OpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    hook = record.FunctionHook(enter=lambda call: {"model": "gpt-4o"})
    record.default_hooks.register(hook)
    client.chat.completions.create(**ASK)
    assert provider.asked[0][1]["model"] == "gpt-4o"
    assert given(only(sink))["model"] == "gpt-4o"


@pytest.mark.live_only
def test_a_secret_is_in_no_chunk(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    """Cut in pieces it would not be seen: then the pieces are not kept at all."""
    secret = "sk-" + "a1B2" * 12
    plain = answers.chat_pieces().pieces
    leaking = tuple(one.replace(b'"Par"', f'"{secret[:9]}"'.encode()) for one in plain)
    leaking = tuple(one.replace(b'"is."', f'"{secret[9:]}"'.encode()) for one in leaking)
    provider.plan("/chat/completions", Pieces(leaking))
    for _ in client.chat.completions.create(**ASK, stream=True):
        pass
    entry = only(sink)
    assert said(entry)["content"] == [{"type": "text", "text": "[REDACTED]"}]
    assert entry.output is not None and "chunks" not in entry.output
    assert secret[9:20] not in repr(entry)


def test_async_calls_and_streams_are_recorded_alike(
    aclient: AsyncOpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_whole(), answers.chat_pieces(), answers.chat_pieces())

    async def talk() -> None:
        answer = await aclient.chat.completions.create(**ASK)
        assert answer.choices[0].message.content == "Paris."
        stream = await aclient.chat.completions.create(**ASK, stream=True)
        assert len([chunk async for chunk in stream]) == 5
        async with aclient.with_options(timeout=600).chat.completions.stream(**ASK) as helper:
            assert (await helper.get_final_completion()).choices[0].message.content == "Paris."

    asyncio.run(talk())
    assert [said(one) for one in sink.envelopes] == [PARIS, PARIS, PARIS]
    assert [one.metadata["chronicle.invocation_index"] for one in sink.envelopes] == [1, 2, 3]


def test_an_async_stream_that_is_left_is_partial(
    aclient: AsyncOpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/responses", answers.response_pieces())

    async def talk() -> None:
        stream = await aclient.responses.create(model="gpt-4o-mini", input="?", stream=True)
        async with stream:
            async for event in stream:
                if event.type == "response.output_text.delta":
                    break

    asyncio.run(talk())
    entry = only(sink)
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Par"}]


def test_an_async_raw_response_is_recorded_when_it_is_parsed(
    aclient: AsyncOpenAI, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/chat/completions", answers.chat_whole())

    async def talk() -> None:
        async with aclient.chat.completions.with_streaming_response.create(**ASK) as response:
            assert (await response.parse()).choices[0].message.content == "Paris."

    asyncio.run(talk())
    assert said(only(sink)) == PARIS


@pytest.mark.live_only
def test_with_recording_off_the_client_is_as_it_was(client: OpenAI, provider: FakeProvider, sink: MemorySink) -> None:
    record.configure(enabled=False)
    provider.plan("/chat/completions", answers.chat_whole(), answers.chat_pieces())
    client.chat.completions.create(**ASK)
    assert len(list(client.chat.completions.create(**ASK, stream=True))) == 5
    assert sink.envelopes == []


def test_an_object_that_calls_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="wrap_llm"):
        record.wrap(object())


def test_a_client_that_nobody_knows_is_wrapped_by_its_usual_method(sink: MemorySink) -> None:
    class Own:
        def create(self, model: str, prompt: str) -> str:
            return prompt.upper()

    assert record.wrap(Own()).create("mine", prompt="hi") == "HI"
    entry = only(sink)
    assert entry.input["raw"] == {"model": "mine", "prompt": "hi"}
    assert said(entry)["content"] == [{"type": "text", "text": "HI"}]

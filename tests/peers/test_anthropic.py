"""Claims about the real `anthropic` package under `wrap`."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.streaming import MessageStreamManager

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.answers import TOOL
from tests.peers.conftest import given, only, said
from tests.peers.fake_provider import FakeProvider, Whole

ASK: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "The capital of France?"}],
}
PARIS = {
    "content": [{"type": "text", "text": "Paris."}],
    "finish_reason": "stop",
    "provider": "anthropic",
    "usage": {"input": 11, "cached_read": 6, "cache_write": 3, "output": 5, "reasoning": 0},
    "response_id": "msg_1",
    "model": "claude-sonnet-4-6",
    "model_source": "served",
}
WEATHER = {"type": "tool_call", "id": "toolu_1", "name": "weather", "arguments": {"city": "Paris"}}


@pytest.fixture
def client(provider: FakeProvider, sink: MemorySink) -> Anthropic:
    return record.wrap(Anthropic(api_key="k", base_url=provider.url, max_retries=0))


def test_a_message_is_recorded_as_asked_and_answered(
    client: Anthropic, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/v1/messages", answers.message_whole())
    client.messages.create(
        model="claude-sonnet-4-6",
        max_tokens=64,
        stop_sequences=["END"],
        system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be right."}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "The weather?"}]},
            {"role": "assistant", "content": answers.MESSAGE_CALL},  # type: ignore[typeddict-item]
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"},
                    {"type": "text", "text": "And now?"},
                ],
            },
        ],
        tools=[{"name": "weather", "description": "now", "input_schema": TOOL}],
        tool_choice={"type": "any"},
    )
    entry = only(sink)
    assert entry.name == "anthropic.messages"
    assert given(entry) == {
        "model": "claude-sonnet-4-6",
        "messages": [
            {"role": "user", "content": "The weather?"},
            {"role": "assistant", "content": [WEATHER]},
            {"role": "tool", "content": "rain", "tool_call_id": "toolu_1"},
            {"role": "user", "content": "And now?"},
        ],
        "system": "Be brief.\nBe right.",
        "tools": [{"name": "weather", "description": "now", "parameters": TOOL}],
        "tool_choice": "required",
        "params": {"max_tokens": 64, "stop": ["END"]},
    }
    assert said(entry) == PARIS
    assert entry.metadata["client.version"] == anthropic.__version__


def test_a_tool_call_and_a_refusal_are_recorded_as_such(
    client: Anthropic, provider: FakeProvider, sink: MemorySink
) -> None:
    refused = answers.message_whole([{"type": "text", "text": "No."}], "refusal")
    provider.plan("/v1/messages", answers.message_whole(answers.MESSAGE_CALL, "tool_use"), refused)
    client.messages.create(**ASK)
    client.messages.create(**ASK)
    call, no = sink.envelopes
    assert said(call) == {**PARIS, "content": [WEATHER], "finish_reason": "tool_calls"}
    assert said(no) == {**PARIS, "content": [{"type": "refusal", "text": "No."}], "finish_reason": "content_filter"}


@pytest.mark.parametrize("way", ["create", "events", "text", "final"])
def test_a_stream_is_recorded_whole_whichever_way_it_is_read(
    way: str, client: Anthropic, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/v1/messages", answers.message_pieces())
    if way == "create":
        assert len(list(client.messages.create(**ASK, stream=True))) == 7
    else:
        manager = client.messages.stream(**ASK)
        assert isinstance(manager, MessageStreamManager)
        with manager as stream:
            if way == "events":
                assert [event.type for event in stream][-1] == "message_stop"
            elif way == "text":
                assert "".join(stream.text_stream) == "Paris."
            else:
                assert stream.get_final_message().content[0].text == "Paris."  # type: ignore[union-attr]
    entry = only(sink)
    assert said(entry) == PARIS
    assert entry.metadata["chrono.chunks"] == 7
    assert entry.metadata["chrono.first_chunk_ms"] > 0


def test_a_tool_call_in_pieces_is_put_together(client: Anthropic, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/v1/messages", answers.message_call_pieces())
    for _ in client.messages.create(**ASK, stream=True):
        pass
    assert said(only(sink)) == {**PARIS, "content": [WEATHER], "finish_reason": "tool_calls"}


def test_a_stream_that_is_left_is_partial_with_what_was_said(
    client: Anthropic, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan("/v1/messages", answers.message_pieces())
    with client.messages.stream(**ASK) as stream:
        for text in stream.text_stream:
            assert text == "Par"
            break
    entry = only(sink)
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Par"}]
    assert said(entry)["usage"]["input"] == 11


@pytest.mark.parametrize("streams", [False, True])
def test_an_error_is_the_caller_s_and_recorded(
    streams: bool, client: Anthropic, provider: FakeProvider, sink: MemorySink
) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    provider.plan("/v1/messages", Whole(overloaded, 529))
    with pytest.raises(anthropic.APIStatusError, match="busy"):
        if streams:
            with client.messages.stream(**ASK):
                pass
        else:
            client.messages.create(**ASK)
    entry = only(sink)
    assert entry.status == "failure"
    assert "busy" in said(entry)["error"]["message"]


def test_beta_messages_are_recorded_too(client: Anthropic, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/v1/messages", answers.message_whole())
    client.beta.messages.create(**ASK)
    assert said(only(sink)) == PARIS


def test_async_calls_and_streams_are_recorded_alike(provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/v1/messages", answers.message_whole(), answers.message_pieces(), answers.message_pieces())
    client = record.wrap(AsyncAnthropic(api_key="k", base_url=provider.url, max_retries=0))

    async def talk() -> None:
        await client.messages.create(**ASK)
        assert len([event async for event in await client.messages.create(**ASK, stream=True)]) == 7
        async with client.messages.stream(**ASK) as stream:
            assert "".join([text async for text in stream.text_stream]) == "Paris."

    asyncio.run(talk())
    assert [said(one) for one in sink.envelopes] == [PARIS, PARIS, PARIS]

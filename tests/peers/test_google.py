"""Claims about the real `google-genai` package under `wrap`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.conftest import given, only, said
from tests.peers.fake_provider import FakeProvider, Whole

PARIS: dict[str, Any] = {
    "content": [{"type": "text", "text": "Paris."}],
    "finish_reason": "stop",
    "provider": "google",
    "usage": {"input": 10, "cached_read": 4, "cache_write": 0, "output": 6, "reasoning": 3},
    "response_id": "gem-1",
    "model": "gemini-2.5-flash",
    "model_source": "served",
}


@pytest.fixture
def client(provider: FakeProvider, sink: MemorySink) -> genai.Client:
    return record.wrap(genai.Client(api_key="k", http_options=types.HttpOptions(base_url=provider.url)))


def test_a_call_is_recorded_as_asked_and_answered(
    client: genai.Client, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan(":generateContent", answers.gemini_whole())
    answer = client.models.generate_content(
        model="gemini-2.5-flash",
        contents=["The capital", types.Part(text="of France?")],
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.5,
            max_output_tokens=20,
            stop_sequences=["END"],
            tools=[
                types.Tool(function_declarations=[types.FunctionDeclaration(name="weather", description="now")]),
            ],
        ),
    )
    assert answer.text == "Paris."
    entry = only(sink)
    assert entry.name == "google.generate_content"
    assert given(entry) == {
        "model": "gemini-2.5-flash",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "The capital"}, {"type": "text", "text": "of France?"}],
            }
        ],
        "system": "Be brief.",
        "tools": [{"name": "weather", "description": "now"}],
        "params": {"temperature": 0.5, "max_tokens": 20, "stop": ["END"]},
    }
    assert said(entry) == PARIS
    assert entry.metadata["client.base_url"] == provider.url


def test_a_stream_is_recorded_whole(client: genai.Client, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan(":streamGenerateContent", answers.gemini_pieces())
    stream = client.models.generate_content_stream(model="gemini-2.5-flash", contents="The capital?")
    assert "".join(chunk.text or "" for chunk in stream) == "Paris."
    entry = only(sink)
    assert said(entry) == PARIS
    assert entry.metadata["chrono.chunks"] == 2


def test_a_stream_that_is_left_is_partial(client: genai.Client, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan(":streamGenerateContent", answers.gemini_pieces())
    stream: Any = client.models.generate_content_stream(model="gemini-2.5-flash", contents="The capital?")
    next(stream)
    stream.close()
    entry = only(sink)
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Par"}]


def test_an_error_is_the_caller_s_and_recorded(client: genai.Client, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan(":generateContent", Whole({"error": {"code": 400, "message": "bad", "status": "INVALID"}}, 400))
    with pytest.raises(errors.ClientError, match="bad"):
        client.models.generate_content(model="gemini-2.5-flash", contents="?")
    assert said(only(sink))["error"]["type"] == "ClientError"


def test_async_calls_and_streams_are_recorded_alike(
    client: genai.Client, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan(":generateContent", answers.gemini_whole())
    provider.plan(":streamGenerateContent", answers.gemini_pieces())

    async def talk() -> None:
        await client.aio.models.generate_content(model="gemini-2.5-flash", contents="?")
        stream = await client.aio.models.generate_content_stream(model="gemini-2.5-flash", contents="?")
        assert "".join([chunk.text or "" async for chunk in stream]) == "Paris."

    asyncio.run(talk())
    assert [said(one) for one in sink.envelopes] == [PARIS, PARIS]


def test_a_chat_session_goes_through_the_same_boundary(
    client: genai.Client, provider: FakeProvider, sink: MemorySink
) -> None:
    provider.plan(":generateContent", answers.gemini_whole())
    client.chats.create(model="gemini-2.5-flash").send_message("The capital?")
    assert said(only(sink)) == PARIS

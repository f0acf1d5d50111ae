"""Claims about LangChain's real `ChatOpenAI`, whose OpenAI clients are wrapped."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_openai import ChatOpenAI

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.conftest import only, said
from tests.peers.fake_provider import FakeProvider

PARIS = [{"type": "text", "text": "Paris."}]


def model(provider: FakeProvider) -> ChatOpenAI:
    made: Any = ChatOpenAI(model="gpt-4o-mini", api_key="k", base_url=f"{provider.url}/v1", max_retries=0)
    record.wrap(made.root_client)
    record.wrap(made.root_async_client)
    return made


def test_invoke_is_recorded(provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    assert model(provider).invoke("The capital of France?").content == "Paris."
    entry = only(sink)
    assert said(entry)["content"] == PARIS
    assert entry.input["messages"] == [{"role": "user", "content": "The capital of France?"}]


def test_streams_are_recorded_sync_and_async(provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    chat = model(provider)
    assert "".join(str(chunk.content) for chunk in chat.stream("The capital?")) == "Paris."

    async def talk() -> None:
        assert "".join([str(chunk.content) async for chunk in chat.astream("The capital?")]) == "Paris."

    asyncio.run(talk())
    assert [said(one)["content"] for one in sink.envelopes] == [PARIS, PARIS]

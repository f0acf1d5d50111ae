"""Claims about the real `litellm` package under `wrap`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would ask a server at import otherwise

import litellm

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.conftest import only, said
from tests.peers.fake_provider import FakeProvider

NAMES = ("completion", "acompletion", "responses", "aresponses", "embedding", "aembedding")


@pytest.fixture
def wrapped(sink: MemorySink) -> Iterator[Any]:
    before = {name: getattr(litellm, name) for name in NAMES}
    yield record.wrap(litellm)
    for name, function in before.items():
        setattr(litellm, name, function)


def ask(provider: FakeProvider) -> dict[str, Any]:
    question = [{"role": "user", "content": "The capital of France?"}]
    return {"model": "openai/gpt-4o-mini", "messages": question, "api_key": "k", "api_base": f"{provider.url}/v1"}


def text_of(chunk: Any) -> str:
    return str(chunk.choices[0].delta.content or "") if chunk.choices else ""


def test_a_completion_is_recorded_without_the_key(wrapped: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_whole())
    answer = wrapped.completion(**ask(provider))
    assert answer.choices[0].message.content == "Paris."
    entry = only(sink)
    assert entry.name == "litellm.chat"
    assert entry.input["raw"]["api_key"] == "[REDACTED]"
    assert entry.input["model"] == "openai/gpt-4o-mini"
    assert said(entry)["content"] == [{"type": "text", "text": "Paris."}]
    assert said(entry)["usage"] == {"input": 12, "cached_read": 8, "cache_write": 0, "output": 5, "reasoning": 4}
    assert said(entry)["provider"] == "litellm"


def test_a_stream_is_recorded_whole_sync_and_async(wrapped: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/chat/completions", answers.chat_pieces())
    more = {"stream": True, "stream_options": {"include_usage": True}}
    assert "".join(map(text_of, wrapped.completion(**ask(provider), **more))) == "Paris."

    async def talk() -> None:
        stream = await wrapped.acompletion(**ask(provider), **more)
        assert "".join([text_of(chunk) async for chunk in stream]) == "Paris."

    asyncio.run(talk())
    assert len(sink.envelopes) == 2
    for entry in sink.envelopes:
        assert said(entry)["content"] == [{"type": "text", "text": "Paris."}]
        assert said(entry)["usage"] == {"input": 12, "cached_read": 8, "cache_write": 0, "output": 5, "reasoning": 4}
        assert said(entry)["finish_reason"] == "stop"

"""Claims about boto3's real `bedrock-runtime` client under `wrap`."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from chrono import record
from chrono.record.sink import MemorySink
from tests.peers import answers
from tests.peers.answers import TOOL
from tests.peers.conftest import given, only, said
from tests.peers.fake_provider import FakeProvider, Whole

ASK: dict[str, Any] = {
    "modelId": "amazon.nova-lite-v1:0",
    "messages": [{"role": "user", "content": [{"text": "The capital of France?"}]}],
}
PARIS: dict[str, Any] = {
    "content": [{"type": "text", "text": "Paris."}],
    "finish_reason": "stop",
    "provider": "bedrock",
    "usage": {"input": 12, "cached_read": 2, "cache_write": 0, "output": 4, "reasoning": 0},
    "model": "amazon.nova-lite-v1:0",
    "model_source": "requested",
}


@pytest.fixture
def client(provider: FakeProvider, sink: MemorySink) -> Any:
    made = boto3.client(
        "bedrock-runtime",
        region_name="eu-west-1",
        endpoint_url=provider.url,
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(retries={"max_attempts": 1}),
    )
    return record.wrap(made)


def test_a_call_is_recorded_as_asked_and_answered(client: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/converse", answers.converse_whole())
    answer = client.converse(
        **ASK,
        system=[{"text": "Be brief."}],
        inferenceConfig={"maxTokens": 20, "temperature": 0.5, "topP": 0.75, "stopSequences": ["END"]},
        toolConfig={"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": TOOL}}}]},
    )
    assert answer["output"]["message"]["content"][0]["text"] == "Paris."
    entry = only(sink)
    assert entry.name == "bedrock.converse"
    assert given(entry) == {
        "model": "amazon.nova-lite-v1:0",
        "messages": [{"role": "user", "content": "The capital of France?"}],
        "system": "Be brief.",
        "tools": [{"name": "weather", "parameters": TOOL}],
        "params": {"temperature": 0.5, "top_p": 0.75, "max_tokens": 20, "stop": ["END"]},
    }
    assert said(entry) == {**PARIS, "response_id": "req-1"}


def test_a_stream_is_recorded_whole(client: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/converse-stream", answers.converse_pieces())
    answer = client.converse_stream(**ASK)
    assert sink.envelopes == [] or record.current_session() is not None  # in replay it is there
    heard = [event["contentBlockDelta"]["delta"]["text"] for event in answer["stream"] if "contentBlockDelta" in event]
    assert heard == ["Par", "is."]
    assert said(only(sink)) == PARIS


def test_a_stream_that_is_closed_is_partial(client: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/converse-stream", answers.converse_pieces())
    stream = client.converse_stream(**ASK)["stream"]
    for event in stream:
        if "contentBlockDelta" in event:
            break
    stream.close()
    entry = only(sink)
    assert entry.metadata["chrono.partial"] is True
    assert said(entry)["content"] == [{"type": "text", "text": "Par"}]


def test_an_error_is_the_caller_s_and_recorded(client: Any, provider: FakeProvider, sink: MemorySink) -> None:
    provider.plan("/converse", Whole({"message": "not yours"}, 403))
    with pytest.raises(ClientError):
        client.converse(**ASK)
    assert said(only(sink))["error"]["type"] in ("ClientError", "AccessDeniedException")

"""Claims about every adapter and assembler: no JSON whatsoever makes one raise, and its answer is always canonical."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chrono.record.serialise import to_json
from chrono.testing.providers import read_input, read_output
from chrono_providers import anthropic, bedrock, gemini, openai, openai_chat, openai_embeddings, openai_responses
from tests.plugins.providers import examples

_EXCHANGES = (
    examples.CHAT, examples.RESPONSE, examples.EMBEDDINGS, examples.MESSAGES, examples.GENERATE, examples.CONVERSE,
)  # fmt: skip
ADAPTERS = (
    openai_chat.ChatAdapter("openai"), openai_responses.ResponsesAdapter("openai"),
    openai_embeddings.EmbeddingsAdapter("openai"), anthropic.MessagesAdapter(), gemini.GeminiAdapter(),
    gemini.EmbedAdapter(), bedrock.ConverseAdapter(),
)  # fmt: skip
STREAMS = {
    "chat": (openai_chat.ChatAssembler, openai.OPENAI.adapter),
    "responses": (openai_responses.ResponsesAssembler, openai_responses.ResponsesAdapter("openai")),
    "messages": (anthropic.MessageAssembler, anthropic.MessagesAdapter()),
    "gemini": (gemini.GeminiAssembler, gemini.GeminiAdapter()),
    "converse": (bedrock.ConverseAssembler, bedrock.ConverseAdapter()),
}


def _words(value: Any) -> set[str]:
    """The names and short texts that the APIs use: without them a random object says nothing to anybody."""
    if isinstance(value, dict):
        return set(value) | {word for one in value.values() for word in _words(one)}
    if isinstance(value, list | tuple):
        return {word for one in value for word in _words(one)}
    return {value} if isinstance(value, str) else set()


WORDS = st.sampled_from(sorted(_words([(one.request, one.answer, one.chunks) for one in _EXCHANGES])))
TEXTS = (
    WORDS | st.text(st.characters(codec=None), max_size=5) | st.sampled_from(['{"a": "\\ud800"}', '{"a": NaN}', "{"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
).map(to_json)  # as the recorder hands it over


@settings(max_examples=80)
@given(st.dictionaries(WORDS, JSON, max_size=6).map(to_json), JSON)
def test_no_request_and_no_answer_makes_an_adapter_raise(request: Any, answer: Any) -> None:
    for adapter in ADAPTERS:
        read_input(adapter, request)
        read_output(adapter, answer)


@pytest.mark.parametrize("api", STREAMS)
@settings(max_examples=25)
@given(data=st.data())
def test_no_chunks_make_an_assembler_raise(api: str, data: Any) -> None:
    """Of the provider's own events some, in any order, among what no provider sends."""
    make, adapter = STREAMS[api]
    known = next(one.chunks for one in _EXCHANGES if one.chunks and one.method.startswith(_METHODS[api]))
    assembler = make()
    for chunk in data.draw(st.lists(st.sampled_from(known) | st.dictionaries(WORDS, JSON) | JSON, max_size=12)):
        assembler.add(to_json(chunk))
    read_output(adapter, to_json(assembler.result()))


_METHODS = {
    "chat": "chat",
    "responses": "responses",
    "messages": "messages",
    "gemini": "models",
    "converse": "converse",
}

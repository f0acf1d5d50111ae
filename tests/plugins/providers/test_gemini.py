"""Claims about Gemini's answers in canonical form, and about their streams."""

from __future__ import annotations

from typing import Any

import pytest

from chrono.testing.providers import read_input, read_output
from chrono_providers.gemini import EmbedAdapter, GeminiAdapter, GeminiAssembler
from tests.plugins.providers import examples

ADAPTER = GeminiAdapter()
WEATHER = {"type": "tool_call", "id": "c", "name": "weather", "arguments": {"city": "Paris"}}


def said(contents: Any) -> Any:
    return ADAPTER.to_canonical_input({"contents": contents})["messages"]


def test_a_request_keeps_who_said_what() -> None:
    assert ADAPTER.to_canonical_input(examples.GENERATE.request) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "user", "content": "Here."},
            {"role": "assistant", "content": [WEATHER]},
            {"role": "tool", "content": '{"result": "sunny"}', "tool_call_id": "weather"},
        ],
        "system": "Be brief.",
        "tools": [{"name": "weather", "description": "now", "parameters": examples.SCHEMA}],
        "tool_choice": {"name": "weather"},
        "response_format": {"schema": examples.SCHEMA},
        "params": {"temperature": 1, "max_tokens": 5, "stop": ["END"]},
    }


def test_an_answer_with_a_call_ended_for_it() -> None:
    assert ADAPTER.to_canonical_output(examples.GENERATE.answer, "asked") == {
        "content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Paris."}, WEATHER],
        "finish_reason": "tool_calls",
        "provider": "google",
        "usage": {"input": 10, "cached_read": 4, "cache_write": 0, "output": 6, "reasoning": 3},
        "response_id": "r",
        "model": "served",
        "model_source": "served",
    }


@pytest.mark.parametrize("contents", ["a", {"text": "a"}, ["a"], {"parts": [{"text": "a"}]}, [{"text": "a"}]])
def test_every_way_to_say_a_text_is_the_same_message(contents: Any) -> None:
    assert said(contents) == [{"role": "user", "content": "a"}]


def test_loose_parts_side_by_side_are_one_turn() -> None:
    assert said(["a", {"text": "b"}, {"role": "model", "parts": [{"text": "c"}]}, "d"]) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


@pytest.mark.parametrize(
    ("reason", "feedback", "meant"),
    [("STOP", None, "stop"), ("MAX_TOKENS", None, "length"), ("SAFETY", None, "content_filter"),
     ("MALFORMED_FUNCTION_CALL", None, "other"), (None, {"block_reason": "SAFETY"}, "content_filter"),
     (None, {"block_reason": 7}, None), (7, None, None)],
)  # fmt: skip
def test_why_it_ended(reason: Any, feedback: Any, meant: str | None) -> None:
    answer = {"candidates": [{"finish_reason": reason}], "prompt_feedback": feedback}
    assert read_output(ADAPTER, answer).finish_reason == meant


def test_cached_tokens_are_never_more_than_the_prompt() -> None:
    usage = read_output(ADAPTER, {"usage_metadata": {"prompt_token_count": 3, "cached_content_token_count": 9}}).usage
    assert usage is not None and (usage.input, usage.cached_read) == (0, 3)


def test_thoughts_and_answer_are_not_joined() -> None:
    assembler = GeminiAssembler()
    for thought, text in ((True, "H"), (True, "m"), (None, "a"), (None, "b")):
        part = {"text": text} if thought is None else {"text": text, "thought": thought}
        assembler.add({"candidates": [{"content": {"parts": [part]}}]})
    assert [one.model_dump() for one in read_output(ADAPTER, assembler.result()).content] == [
        {"type": "reasoning", "text": "Hm"}, {"type": "text", "text": "ab"},
    ]  # fmt: skip


def test_candidates_without_an_index_go_by_their_place() -> None:
    assembler = GeminiAssembler()
    for text in ("a", "b"):
        assembler.add({"candidates": [{"content": {"parts": [{"text": f"{place}{text}"}]}} for place in (0, 1)]})
    parts = [one["content"]["parts"] for one in assembler.result()["candidates"]]
    assert parts == [[{"text": "0a0b"}], [{"text": "1a1b"}]]


def test_what_is_embedded_is_a_message() -> None:
    assert [one.content for one in read_input(EmbedAdapter(), {"model": "m", "contents": "a"}).messages] == ["a"]
    assert read_output(EmbedAdapter(), {"embeddings": []}).model_source == "requested"

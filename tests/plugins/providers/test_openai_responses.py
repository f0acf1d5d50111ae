"""Claims about OpenAI's Responses in canonical form, and about their streams."""

from __future__ import annotations

from typing import Any

import pytest

from chrono.testing.providers import read_input, read_output
from chrono_providers.openai_responses import ResponsesAdapter, ResponsesAssembler
from tests.plugins.providers import examples

ADAPTER = ResponsesAdapter("openai")
WEATHER = {"type": "tool_call", "id": "c", "name": "weather", "arguments": {"city": "Paris"}}


def test_items_become_messages_in_their_order() -> None:
    assert ADAPTER.to_canonical_input(examples.RESPONSE.request) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [WEATHER]},
            {"role": "tool", "content": "sunny", "tool_call_id": "c"},
            {"role": "assistant", "content": [{"type": "reasoning", "text": "Hm."}]},
        ],
        "system": "Be brief.",
        "tools": [{"name": "weather", "parameters": examples.SCHEMA}, {"name": "web_search"}],
        "tool_choice": {"name": "weather"},
        "response_format": {"type": "json_object"},
        "params": {"max_tokens": 5},
    }


def test_an_answer_is_its_items() -> None:
    assert ADAPTER.to_canonical_output(examples.RESPONSE.answer, "asked") == {
        "content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Paris."}, WEATHER],
        "finish_reason": "tool_calls",
        "provider": "openai",
        "usage": {"input": 20, "cached_read": 10, "cache_write": 0, "output": 5, "reasoning": 2},
        "response_id": "r",
        "model": "served",
        "model_source": "served",
    }


@pytest.mark.parametrize(
    ("status", "reason", "meant"),
    [("completed", None, "stop"), ("incomplete", "max_output_tokens", "length"),
     ("incomplete", "content_filter", "content_filter"), ("incomplete", ["x"], "other"), ("failed", None, "other"),
     ("in_progress", None, None), ("queued", None, None), (None, None, None), (7, None, None)],
)  # fmt: skip
def test_why_it_ended(status: Any, reason: Any, meant: str | None) -> None:
    answer = {"status": status, "incomplete_details": {"reason": reason}, "output": []}
    assert read_output(ADAPTER, answer).finish_reason == meant


@pytest.mark.parametrize("given", [None, 7, {}, [None], [[]], [{"type": "item_reference"}], [{"role": ["user"]}]])
def test_input_that_says_nothing_has_no_messages(given: Any) -> None:
    assert read_input(ADAPTER, {"input": given}).messages == []


def test_cached_tokens_are_never_more_than_all() -> None:
    answer = {"usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 9}, "output_tokens": True}}
    usage = read_output(ADAPTER, answer).usage
    assert usage is not None
    assert (usage.input, usage.cached_read, usage.output) == (0, 3, 0)


def test_a_stream_that_is_cut_has_what_its_items_said() -> None:
    assembler = ResponsesAssembler()
    for chunk in examples.RESPONSE.chunks[:-1]:
        assembler.add(chunk)
    output = read_output(ADAPTER, assembler.result())
    assert [(one.type, getattr(one, "text", None)) for one in output.content] == [
        ("reasoning", "Hm."), ("text", "Par"), ("refusal", "No."), ("tool_call", None),
    ]  # fmt: skip
    assert output.finish_reason is None


def test_deltas_without_an_item_begin_one() -> None:
    assembler = ResponsesAssembler()
    for text in ("Par", "is."):
        assembler.add({"type": "response.output_text.delta", "output_index": 3, "content_index": 5, "delta": text})
    assert [getattr(one, "text", None) for one in read_output(ADAPTER, assembler.result()).content] == ["Par", "is."]


def test_a_call_in_pieces_has_its_name_when_the_item_comes_late() -> None:
    assembler = ResponsesAssembler()
    assembler.add({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{"})
    assembler.add(
        {"type": "response.output_item.done", "output_index": 0, "item": examples.RESPONSE.answer["output"][2]}
    )
    assert ADAPTER.to_canonical_output(assembler.result(), None)["content"] == [WEATHER]


def test_a_delta_that_is_no_text_is_left_out() -> None:
    assembler = ResponsesAssembler()
    for delta in (None, 7, {}, ["x"]):
        assembler.add({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": delta})
    assert read_output(ADAPTER, assembler.result()).content == []

"""Claims about Anthropic's Messages in canonical form, and about their streams."""

from __future__ import annotations

from typing import Any

import pytest

from chrono.testing.providers import read_input
from chrono_providers.anthropic import MessageAssembler, MessagesAdapter
from tests.plugins.providers import examples

ADAPTER = MessagesAdapter()


def assembled(*chunks: Any) -> Any:
    assembler = MessageAssembler()
    for chunk in chunks:
        assembler.add(chunk)
    return assembler.result()


def test_a_tool_s_result_is_a_message_of_its_own() -> None:
    assert ADAPTER.to_canonical_input(examples.MESSAGES.request) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "weather", "arguments": {}}]},
            {"role": "tool", "content": "sunny", "tool_call_id": "c"},
            {"role": "tool", "content": "rain", "tool_call_id": "d"},
            {"role": "user", "content": "And now?"},
        ],
        "system": "Be brief.",
        "tools": [{"name": "weather", "description": "now", "parameters": examples.SCHEMA}],
        "tool_choice": {"name": "weather"},
        "params": {"max_tokens": 9, "stop": ["END"]},
    }


def test_an_answer_has_its_thoughts_texts_and_calls() -> None:
    assert ADAPTER.to_canonical_output(examples.MESSAGES.answer, "asked") == {
        "content": [
            {"type": "reasoning", "text": "Hm."},
            {"type": "text", "text": "Paris."},
            {"type": "tool_call", "id": "c", "name": "weather", "arguments": {"city": "Paris"}},
        ],
        "finish_reason": "tool_calls",
        "provider": "anthropic",
        "usage": {"input": 11, "cached_read": 6, "cache_write": 3, "output": 5, "reasoning": 0},
        "response_id": "r",
        "model": "served",
        "model_source": "served",
    }


@pytest.mark.parametrize(
    "system", [None, 7, [], [None], [{"type": "text"}], [{"text": 7}], {"text": "x"}], ids=repr
)  # fmt: skip
def test_a_system_that_says_nothing_is_none(system: Any) -> None:
    assert read_input(ADAPTER, {"system": system, "messages": []}).system is None


def test_a_refusal_is_no_text() -> None:
    said = {"stop_reason": "refusal", "content": [{"type": "text", "text": "No."}]}
    assert ADAPTER.to_canonical_output(said, None)["content"] == [{"type": "refusal", "text": "No."}]
    silent = {"stop_reason": "refusal", "content": []}
    assert ADAPTER.to_canonical_output(silent, None)["content"] == [{"type": "refusal", "text": ""}]


@pytest.mark.parametrize(
    "block",
    [{}, {"type": "text"}, {"type": "text", "text": None}, {"type": "image", "source": {}}, {"type": "document"},
     {"type": "redacted_thinking", "data": "x"}, {"type": "server_tool_use"}, {"type": ["text"]}, None, 7],
)  # fmt: skip
def test_blocks_of_other_kinds_stay_in_raw(block: Any) -> None:
    assert ADAPTER.to_canonical_output({"content": [block]}, None)["content"] == []


@pytest.mark.parametrize(("kind", "meant"), [("any", "required"), ("auto", "auto"), ("none", "none"), ("x", None)])
def test_which_tool_may_be_chosen(kind: str, meant: str | None) -> None:
    assert read_input(ADAPTER, {"messages": [], "tool_choice": {"type": kind}}).tool_choice == meant


def test_deltas_without_a_start_are_a_text() -> None:
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"text": one}} for one in ("Par", "is.")]
    assert assembled(*deltas)["content"] == [{"type": "text", "text": "Paris."}]


def test_blocks_that_come_in_turns_are_kept_apart() -> None:
    def delta(index: int, text: str) -> Any:
        return {"type": "content_block_delta", "index": index, "delta": {"text": text}}

    made = assembled(delta(1, "c"), delta(0, "a"), delta(1, "d"), delta(0, "b"))
    assert [one["text"] for one in made["content"]] == ["ab", "cd"]


def test_the_last_usage_corrects_the_first_and_none_corrects_nothing() -> None:
    made = assembled(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 5}},
    )
    assert made["usage"] == {"input_tokens": 3, "output_tokens": 5}


def test_arguments_that_were_cut_stay_the_text_they_are() -> None:
    made = assembled(*examples.MESSAGES.chunks[:-3])
    assert made["content"][2]["input"] == '{"city'
    call = ADAPTER.to_canonical_output(made, None)["content"][2]
    assert call["arguments"] == {"$raw_arguments": '{"city'}


@pytest.mark.parametrize("odd", [None, [], "x", 7, {"delta": "x"}, {"delta": None, "usage": [1]}])
def test_an_event_of_another_shape_changes_nothing(odd: Any) -> None:
    event = {"type": "message_delta", **odd} if isinstance(odd, dict) else odd
    made = assembled(*examples.MESSAGES.chunks, event)
    assert ADAPTER.to_canonical_output(made, None) == ADAPTER.to_canonical_output(examples.MESSAGES.answer, None)

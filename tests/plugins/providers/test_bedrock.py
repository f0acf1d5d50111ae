"""Claims about Bedrock's Converse in canonical form, and about its streams."""

from __future__ import annotations

from typing import Any

import pytest

from chrono.testing.providers import read_input, read_output
from chrono_providers.bedrock import ConverseAdapter, ConverseAssembler
from tests.plugins.providers import examples

ADAPTER = ConverseAdapter()


def test_a_request_keeps_who_said_what() -> None:
    assert ADAPTER.to_canonical_input(examples.CONVERSE.request) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "weather", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "c",
             "content": [{"type": "text", "text": "sunny"}, {"type": "text", "text": '{"degrees": 20}'}]},
        ],
        "system": "Be brief.",
        "tools": [{"name": "weather", "description": "now", "parameters": examples.SCHEMA}],
        "tool_choice": {"name": "weather"},
        "params": {"temperature": 0.5, "top_p": 1, "max_tokens": 9, "stop": ["END"]},
    }  # fmt: skip


def test_an_answer_has_its_thoughts_texts_and_calls() -> None:
    assert ADAPTER.to_canonical_output(examples.CONVERSE.answer, "asked") == {
        "content": [
            {"type": "reasoning", "text": "Hm."},
            {"type": "text", "text": "Paris."},
            {"type": "tool_call", "id": "c", "name": "weather", "arguments": {"city": "Paris"}},
        ],
        "finish_reason": "tool_calls",
        "provider": "bedrock",
        "usage": {"input": 12, "cached_read": 2, "cache_write": 1, "output": 4, "reasoning": 0},
        "model": "served",
        "model_source": "served",
    }


@pytest.mark.parametrize(
    ("reason", "meant"), [("guardrail_intervened", "content_filter"), ("new", "other"), ("", None), (None, None)]
)
def test_a_reason_that_nobody_knows_is_another(reason: Any, meant: str | None) -> None:
    assert read_output(ADAPTER, {"stopReason": reason}).finish_reason == meant


@pytest.mark.parametrize(
    "block", [{"image": {}}, {"document": {}}, {"text": None}, {"toolUse": "x"}, {"reasoningContent": "x"}, {}, None]
)
def test_blocks_of_other_kinds_stay_in_raw(block: Any) -> None:
    assert ADAPTER.to_canonical_output({"output": {"message": {"content": [block]}}}, None)["content"] == []


@pytest.mark.parametrize(("choice", "meant"), [({"any": {}}, "required"), ({"auto": {}}, "auto"), ({}, None)])
def test_which_tool_may_be_chosen(choice: Any, meant: str | None) -> None:
    asked = {"messages": [], "toolConfig": {"toolChoice": choice}}
    assert read_input(ADAPTER, asked).tool_choice == meant


def test_blocks_that_come_in_turns_are_kept_apart() -> None:
    assembler = ConverseAssembler()
    for index, text in ((1, "c"), (0, "a"), (1, "d"), (0, "b")):
        assembler.add({"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": text}}})
    assert assembler.result()["output"]["message"]["content"] == [{"text": "ab"}, {"text": "cd"}]


def test_a_call_that_was_cut_keeps_the_text_of_its_arguments() -> None:
    assembler = ConverseAssembler()
    for chunk in examples.CONVERSE.chunks[:7]:
        assembler.add(chunk)
    call = ADAPTER.to_canonical_output(assembler.result(), None)["content"][2]
    assert call["arguments"] == {"$raw_arguments": '{"city'}


@pytest.mark.parametrize("start", [None, "x", 7, [], {"toolUse": "x"}])
def test_a_block_that_begins_oddly_is_no_error(start: Any) -> None:
    assembler = ConverseAssembler()
    assembler.add({"contentBlockStart": {"contentBlockIndex": 0, "start": start}})
    assembler.add({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}}})
    assert read_output(ADAPTER, assembler.result()).content == []

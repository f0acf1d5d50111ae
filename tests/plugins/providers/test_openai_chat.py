"""Claims about chat completions in canonical form, and about their streams."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from chrono.testing.providers import read_input, read_output
from chrono_providers.openai_chat import ChatAdapter, ChatAssembler
from tests.plugins.providers import examples

ADAPTER = ChatAdapter("openai")
WEATHER = {"type": "tool_call", "id": "c", "name": "weather", "arguments": {"city": "Paris"}}


def content(message: Any) -> Any:
    return ADAPTER.to_canonical_output({"choices": [{"message": message}]}, None)["content"]


def assembled(*deltas: Any) -> Any:
    assembler = ChatAssembler()
    for delta in deltas:
        assembler.add({"choices": [{"index": 0, "delta": delta}]})
    return assembler.result()["choices"][0]["message"]


def test_a_request_keeps_who_said_what() -> None:
    assert ADAPTER.to_canonical_input(examples.CHAT.request) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": [WEATHER]},
            {"role": "tool", "tool_call_id": "c", "content": "sunny"},
            {"role": "assistant", "content": [{"type": "refusal", "text": "No."}]},
            {"role": "assistant", "content": [
                {"type": "tool_call", "name": "old", "arguments": {"$raw_arguments": "{"}}
            ]},
            {"role": "tool", "content": "done"},
        ],
        "tools": [
            {"name": "weather", "description": "now", "parameters": examples.SCHEMA},
            {"name": "old", "parameters": examples.SCHEMA},
        ],
        "tool_choice": {"name": "weather"},
        "response_format": {"type": "json_object"},
        "params": {"temperature": 0.5, "top_p": 1, "max_tokens": 9, "seed": 7, "stop": ["END"]},
    }  # fmt: skip


def test_of_several_choices_the_first_is_the_answer() -> None:
    assert ADAPTER.to_canonical_output(examples.CHAT.answer, "asked") == {
        "content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Paris."}, WEATHER],
        "finish_reason": "tool_calls",
        "provider": "openai",
        "usage": {"input": 12, "cached_read": 8, "cache_write": 0, "output": 5, "reasoning": 4},
        "response_id": "r",
        "model": "served",
        "model_source": "served",
    }


@pytest.mark.parametrize("answer", [None, [], "text", 7, {}, {"choices": []}, {"choices": [None]}, {"choices": "x"}])
def test_an_answer_without_choices_is_an_empty_one(answer: Any) -> None:
    output = read_output(ADAPTER, answer)
    assert (output.content, output.finish_reason, output.usage) == ([], None, None)
    assert (output.model, output.model_source) == ("asked", "requested")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("stop", "stop"), ("function_call", "tool_calls"), ("content_filter", "content_filter"), ("new", "other"),
     ("", None), (None, None), (7, None)],
)  # fmt: skip
def test_a_reason_that_nobody_knows_is_another(said: Any, meant: str | None) -> None:
    assert read_output(ADAPTER, {"choices": [{"finish_reason": said}]}).finish_reason == meant


def test_pictures_and_sound_stay_in_raw() -> None:
    assert content({"content": None, "audio": {"data": ""}}) == []
    assert content({"content": [{"type": "image_url", "image_url": {}}, "x", {"type": "text", "text": "a"}]}) == [
        {"type": "text", "text": "a"}
    ]


def test_a_refusal_is_no_text() -> None:
    assert content({"content": None, "refusal": "No."}) == [{"type": "refusal", "text": "No."}]


def test_the_old_form_of_a_call_is_a_call() -> None:
    made = content({"function_call": {"name": "weather", "arguments": examples.PARIS}})
    assert made == [{name: value for name, value in WEATHER.items() if name != "id"}]


@pytest.mark.parametrize("function", [None, "x", [], {}, {"name": 7}])
def test_a_call_of_nothing_is_a_call_without_a_name(function: Any) -> None:
    assert content({"tool_calls": [{"id": "c", "function": function}]}) == [
        {"type": "tool_call", "id": "c", "name": "", "arguments": {}}
    ]


@pytest.mark.parametrize(
    ("prompt", "cached", "completion", "thought", "expected"),
    [(5, 9, 3, 8, (0, 5, 0, 3)), (True, 1, 2, None, (0, 0, 2, 0)), (5, -1, "9", 1, (5, 0, 0, 0)),
     (5, 2.0, 4, 1, (5, 0, 3, 1))],
)  # fmt: skip
def test_no_bucket_is_more_than_its_total(
    prompt: Any, cached: Any, completion: Any, thought: Any, expected: tuple[int, ...]
) -> None:
    usage = read_output(ADAPTER, {"usage": {
        "prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens": completion, "completion_tokens_details": {"reasoning_tokens": thought},
    }}).usage  # fmt: skip
    assert usage is not None
    assert (usage.input, usage.cached_read, usage.output, usage.reasoning) == expected


@pytest.mark.parametrize("role", [None, "robot", 7, [], {}, True])
def test_who_is_nobody_says_nothing(role: Any) -> None:
    assert read_input(ADAPTER, {"messages": [{"role": role, "content": "x"}]}).messages == []


def test_deltas_without_a_start_make_a_message() -> None:
    assert assembled({"content": "Par"}, {"content": "is."})["content"] == "Paris."
    call = assembled({"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]})["tool_calls"]
    assert call == [{"index": 1, "function": {"arguments": "{"}}]


def test_calls_that_come_in_turns_are_kept_apart() -> None:
    parts = [{"index": index, "function": {"arguments": more}} for more in ("{", "}") for index in (0, 1)]
    calls = assembled(*({"tool_calls": [part]} for part in parts))["tool_calls"]
    assert [one["function"]["arguments"] for one in calls] == ["{}", "{}"]


def test_what_chunks_repeat_is_not_joined() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "weather", "arguments": ""}}
    made = assembled(*({"role": "assistant", "tool_calls": [call]} for _ in range(3)))
    assert made["role"] == "assistant"
    assert (made["tool_calls"][0]["id"], made["tool_calls"][0]["function"]["name"]) == ("c", "weather")


def test_the_order_of_the_usage_does_not_matter() -> None:
    whole = ADAPTER.to_canonical_output(examples.CHAT.answer, None)["usage"]
    usage = examples.CHAT.chunks[-1]
    for chunks in itertools.permutations([usage, examples.CHAT.chunks[2], {"choices": [], "usage": None}]):
        assembler = ChatAssembler()
        for chunk in chunks:
            assembler.add(chunk)
        assert ADAPTER.to_canonical_output(assembler.result(), None)["usage"] == whole


def test_no_chunk_at_all_is_an_empty_answer() -> None:
    assert read_output(ADAPTER, ChatAssembler().result()).content == []

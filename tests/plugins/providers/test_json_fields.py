"""Claims about reading JSON that somebody else wrote."""

from __future__ import annotations

import pytest

from chrono_providers import json_fields as read


@pytest.mark.parametrize("value", [None, True, -1, 1.0, "3", [], {}, float("nan")])
def test_what_is_no_number_of_tokens_counts_as_none(value: object) -> None:
    assert read.count(value) == 0


def test_a_member_behind_something_else_is_missing() -> None:
    for value in (None, 1, "x", [], {"a": None}, {"a": "x"}, {"a": [1]}):
        assert read.field(value, "a", "b") is None
        assert read.member(value, "a", "b") == {}
    assert read.member({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (None, {}),
        ("", {}),
        ("{", {"$raw_arguments": "{"}),
        ("[1]", {"$raw_arguments": "[1]"}),
        ([1], {"$raw_arguments": "[1]"}),
        (False, {"$raw_arguments": "false"}),
        ("[" * 5000, {"$raw_arguments": "[" * 5000}),
    ],
)
def test_arguments_are_an_object_or_the_text_that_should_have_been_one(given: object, expected: object) -> None:
    assert read.arguments(given) == expected


def test_half_a_surrogate_pair_in_arguments_does_not_reach_the_store() -> None:
    made = read.arguments('{"a": "\\ud800"}')
    repr(made).encode()
    assert set(made) == {"a"} and "\ud800" not in made["a"]


def test_deep_arguments_are_cut_where_all_else_is() -> None:
    depth = 0
    at = read.arguments('{"a":' * 200 + "1" + "}" * 200)
    while isinstance(at, dict):
        at, depth = at["a"], depth + 1
    assert depth == 60 and "nested deeper" in at


def test_a_text_alone_is_the_content_itself() -> None:
    assert read.collapsed([]) == ""
    assert read.collapsed([read.text_block("a")]) == "a"
    assert read.collapsed([read.text_block("a"), read.text_block("b")]) == [read.text_block("a"), read.text_block("b")]


def test_the_model_is_what_answered_else_what_was_asked_for() -> None:
    assert read.served("a", "b") == {"model": "a", "model_source": "served"}
    for nothing in (None, "", 7, []):
        assert read.served(nothing, "b") == {"model": "b", "model_source": "requested"}
        assert read.served(nothing, None) == {}


def test_parameters_of_another_kind_are_left_out() -> None:
    odd = {"temperature": True, "top_p": "1", "limit": -1, "seed": 1.5, "stop": {"a": 1}}
    assert read.params(odd, max_tokens=("limit",), stop=("stop",)) == {}
    good = {"temperature": 0, "top_p": 0.5, "limit": 0, "seed": -3, "stop": ["a", 1, "b"]}
    assert read.params(good, max_tokens=("none", "limit"), stop=("stop",)) == {
        "temperature": 0, "top_p": 0.5, "max_tokens": 0, "seed": -3, "stop": ["a", "b"],
    }  # fmt: skip


def test_a_delta_to_what_is_no_text_begins_one() -> None:
    assert read.continued(None, "a") == "a"
    assert read.continued(["x"], "a") == "a"
    assert read.continued("a", None) == "a"
    assert read.continued("a", "b") == "ab"

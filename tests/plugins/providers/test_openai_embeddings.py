"""Claims about embeddings in canonical form."""

from __future__ import annotations

from typing import Any

import pytest

from chrono.testing.providers import read_input, read_output
from chrono_providers.openai_embeddings import EmbeddingsAdapter

ADAPTER = EmbeddingsAdapter("openai")


@pytest.mark.parametrize(
    ("given", "said"), [("one", ["one"]), (["one", "two"], ["one", "two"]), ([1, 2], []), ([[1], [2]], []), (None, [])]
)
def test_each_text_is_a_message_and_tokens_are_none(given: Any, said: list[str]) -> None:
    messages = read_input(ADAPTER, {"model": "m", "input": given}).messages
    assert [one.content for one in messages] == said


def test_an_answer_says_what_it_cost_and_has_no_content() -> None:
    output = read_output(ADAPTER, {"model": "m", "data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 5}})
    assert output.content == [] and output.usage is not None and output.usage.input == 5

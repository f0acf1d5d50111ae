"""Claims about streams of many chunks: putting them together costs each chunk about the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from chrono_providers import anthropic, bedrock, gemini, openai_chat, openai_responses

DELTA = {"type": "content_block_delta", "index": 0}
STREAMS: dict[str, tuple[Callable[[], Any], Any]] = {
    "chat": (openai_chat.ChatAssembler, {"choices": [{"index": 0, "delta": {"content": "word "}}]}),
    "response": (
        openai_responses.ResponsesAssembler,
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "word "},
    ),
    "message": (anthropic.MessageAssembler, {**DELTA, "delta": {"text": "word "}}),
    "arguments": (anthropic.MessageAssembler, {**DELTA, "delta": {"partial_json": "word "}}),
    "citations": (anthropic.MessageAssembler, {**DELTA, "delta": {"citation": {"start": 1}}}),
    "gemini": (gemini.GeminiAssembler, {"candidates": [{"content": {"parts": [{"text": "word "}]}}]}),
    "converse": (
        bedrock.ConverseAssembler, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "word "}}},
    ),
}  # fmt: skip


def cpu_s(make: Callable[[], Any], chunk: Any, chunks: int) -> float:
    goes = []
    for _ in range(3):
        assembler = make()
        began = time.thread_time()
        for _ in range(chunks):
            assembler.add(chunk)
        assembler.result()
        goes.append(time.thread_time() - began)
    return min(goes)


@pytest.mark.parametrize("stream", STREAMS)
def test_ten_thousand_chunks_cost_ten_times_a_thousand(stream: str) -> None:
    make, chunk = STREAMS[stream]
    # Linear is 10; where each chunk copied all before it, 100. Half of that leaves room for a busy machine.
    assert cpu_s(make, chunk, 10_000) < 50 * cpu_s(make, chunk, 1000)

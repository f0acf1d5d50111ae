"""Owns what the fake provider says: one short conversation, in the form of each provider, whole and in pieces.

It always says "Paris.", or calls the tool `weather` for Paris; what each costs differs, so that a mix-up shows.
"""

from __future__ import annotations

from typing import Any

from tests.peers.fake_provider import Pieces, Whole, events, frames

Json = dict[str, Any]

TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

CHAT_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 4},
}


def chat_whole(message: Json | None = None, finish: str = "stop") -> Whole:
    return Whole(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini-2024",
            "choices": [
                {
                    "index": 0,
                    "message": message or {"role": "assistant", "content": "Paris."},
                    "finish_reason": finish,
                    "logprobs": None,
                }
            ],
            "usage": CHAT_USAGE,
        }
    )


CHAT_CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    ],
}


def _chat_chunk(choices: list[Json], **more: Any) -> Json:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o-mini-2024"}
    return {**head, "choices": choices, **more}


def chat_pieces() -> Pieces:
    """The usage comes last, in a chunk without choices."""

    def delta(**given: Any) -> Json:
        return _chat_chunk([{"index": 0, "delta": given, "finish_reason": None}])

    return events(
        delta(role="assistant", content=""),
        delta(content="Par"),
        delta(content="is."),
        _chat_chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        _chat_chunk([], usage=CHAT_USAGE),
        end=True,
    )


def chat_call_pieces() -> Pieces:
    def call(**given: Any) -> Json:
        return _chat_chunk([{"index": 0, "delta": {"tool_calls": [{"index": 0, **given}]}, "finish_reason": None}])

    return events(
        call(id="call_1", type="function", function={"name": "weather", "arguments": ""}),
        call(function={"arguments": '{"city": '}),
        call(function={"arguments": '"Paris"}'}),
        _chat_chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]),
        end=True,
    )


_RESPONSE_MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Paris.", "annotations": []}],
}


def _response(**more: Any) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-4o-mini-2024",
        "output": [_RESPONSE_MESSAGE],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        "usage": {
            "input_tokens": 30,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 37,
        },
        **more,
    }


def response_whole() -> Whole:
    return Whole(_response())


def response_pieces() -> Pieces:
    item = {**_RESPONSE_MESSAGE, "status": "in_progress", "content": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    said = [
        {"type": "response.created", "response": _response(status="in_progress", output=[], usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **place, "part": part},
        {"type": "response.output_text.delta", **place, "delta": "Par", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": "is.", "logprobs": []},
        {"type": "response.output_text.done", **place, "text": "Paris.", "logprobs": []},
        {"type": "response.output_item.done", "output_index": 0, "item": _RESPONSE_MESSAGE},
        {"type": "response.completed", "response": _response()},
    ]
    return events(*({**one, "sequence_number": number} for number, one in enumerate(said)), named=True)


_RESPONSE_CALL = {
    "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "weather",
    "arguments": '{"city": "Paris"}',
}  # fmt: skip


def response_call_whole() -> Whole:
    return Whole(_response(output=[_RESPONSE_CALL]))


def response_call_pieces() -> Pieces:
    item = {**_RESPONSE_CALL, "status": "in_progress", "arguments": ""}
    place = {"item_id": "fc_1", "output_index": 0}
    said = [
        {"type": "response.created", "response": _response(status="in_progress", output=[], usage=None)},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", **place, "delta": '{"city": '},
        {"type": "response.function_call_arguments.delta", **place, "delta": '"Paris"}'},
        {"type": "response.function_call_arguments.done", **place, "arguments": _RESPONSE_CALL["arguments"]},
        {"type": "response.output_item.done", "output_index": 0, "item": _RESPONSE_CALL},
        {"type": "response.completed", "response": _response(output=[_RESPONSE_CALL])},
    ]
    return events(*({**one, "sequence_number": number} for number, one in enumerate(said)), named=True)


def embedding_whole() -> Whole:
    return Whole(
        {
            "object": "list",
            "model": "text-embedding-3-small",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
            "usage": {"prompt_tokens": 5, "total_tokens": 5},
        }
    )


MESSAGE_USAGE = {
    "input_tokens": 11,
    "cache_read_input_tokens": 6,
    "cache_creation_input_tokens": 3,
    "output_tokens": 5,
}


def message_whole(content: list[Json] | None = None, stop: str = "end_turn") -> Whole:
    return Whole(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": content or [{"type": "text", "text": "Paris."}],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": MESSAGE_USAGE,
        }
    )


MESSAGE_CALL = [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}}]


def message_pieces() -> Pieces:
    """Half of the usage is in the first event, half in the last but one."""
    start = message_whole().body | {
        "content": [], "stop_reason": None, "usage": {**MESSAGE_USAGE, "output_tokens": 1},
    }  # fmt: skip
    return events(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Par"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "is."}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
        named=True,
    )


def message_call_pieces() -> Pieces:
    start = message_whole().body | {"content": [], "stop_reason": None}
    block = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    return events(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"city":'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ' "Paris"}'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
        named=True,
    )


GEMINI_USAGE = {
    "promptTokenCount": 14,
    "cachedContentTokenCount": 4,
    "candidatesTokenCount": 6,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 23,
}


def _gemini(said: str, **more: Any) -> Json:
    candidate = {"index": 0, "content": {"role": "model", "parts": [{"text": said}]}, **more}
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": "gem-1"}


def gemini_whole() -> Whole:
    return Whole({**_gemini("Paris.", finishReason="STOP"), "usageMetadata": GEMINI_USAGE})


def gemini_pieces() -> Pieces:
    return events(_gemini("Par"), {**_gemini("is.", finishReason="STOP"), "usageMetadata": GEMINI_USAGE})


def gemini_call_whole() -> Whole:
    answer = {**_gemini("", finishReason="STOP"), "usageMetadata": GEMINI_USAGE}
    answer["candidates"][0]["content"]["parts"] = [{"functionCall": {"name": "weather", "args": {"city": "Paris"}}}]
    return Whole(answer)


def gemini_call_pieces() -> Pieces:
    return events(gemini_call_whole().body)


CONVERSE_USAGE = {"inputTokens": 12, "outputTokens": 4, "totalTokens": 16, "cacheReadInputTokens": 2}


def converse_whole() -> Whole:
    return Whole(
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "Paris."}]}},
            "stopReason": "end_turn",
            "usage": CONVERSE_USAGE,
            "metrics": {"latencyMs": 5},
        }
    )


def converse_pieces() -> Pieces:
    return frames(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Par"}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "is."}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": CONVERSE_USAGE, "metrics": {"latencyMs": 5}}),
    )

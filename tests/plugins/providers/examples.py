"""Owns one rich exchange for each API of the providers, whole and in pieces, in the JSON form that the recorder sees."""

from __future__ import annotations

from typing import Any

from chrono.testing.providers import Exchange

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PARIS = '{"city": "Paris"}'


def client_of(package: str, *paths: str, name: str = "Client", **members: Any) -> object:
    """An object with a method at each of `paths`, whose class says that it comes from `package`."""
    root: Any = type(name, (), {"__module__": package})()
    for path in paths:
        at = root
        *places, verb = path.split(".")
        for place in places:
            if not hasattr(at, place):
                setattr(at, place, type("Part", (), {})())
            at = getattr(at, place)
        setattr(at, verb, lambda **given: None)
    for member, value in members.items():
        setattr(root, member, value)
    return root


_CHAT_USAGE = {
    "prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29, "prompt_tokens_details": {"cached_tokens": 8},
    "completion_tokens_details": {"reasoning_tokens": 4},
}  # fmt: skip
_CHAT_REQUEST = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "Where?"}, {"type": "image_url", "image_url": {"url": "data:,"}},
            {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        ]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "weather", "arguments": PARIS}}
        ]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{"}},
        {"role": "function", "name": "old", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {"name": "weather", "description": "now", "parameters": SCHEMA}}],
    "functions": [{"name": "old", "parameters": SCHEMA}],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {"type": "json_object"},
    "temperature": 0.5, "top_p": 1, "max_completion_tokens": 9, "seed": 7, "stop": ["END"],
}  # fmt: skip
_CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": PARIS}}


def _chat_chunk(delta: Any, **more: Any) -> dict[str, Any]:
    return {"id": "r", "model": "served", "choices": [{"index": 0, "delta": delta, **more}]}


CHAT = Exchange(
    "chat.completions.create",
    _CHAT_REQUEST,
    {
        "id": "r", "model": "served", "usage": _CHAT_USAGE,
        "choices": [
            {"index": 0, "finish_reason": "tool_calls",
             "message": {"role": "assistant", "content": "Paris.", "reasoning_content": "Hm.", "refusal": None,
                         "tool_calls": [_CHAT_CALL]}},
            {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "Another."}},
        ],
    },
    (
        _chat_chunk({"role": "assistant", "content": "", "refusal": None}),
        _chat_chunk({"reasoning_content": "Hm."}),
        _chat_chunk({"content": "Par"}),
        _chat_chunk({"content": "is."}),
        _chat_chunk({"tool_calls": [{"index": 0, **_CHAT_CALL, "function": {"name": "weather", "arguments": ""}}]}),
        _chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": PARIS[:6]}}]}),
        _chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": PARIS[6:]}}]}),
        _chat_chunk({}, finish_reason="tool_calls", logprobs={"content": [{"token": "a"}]}),
        {"id": "r", "model": "served", "choices": [], "usage": _CHAT_USAGE},
    ),
    29,
)  # fmt: skip

_RESPONSE_ITEMS = [
    {"type": "reasoning", "id": "t", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Paris."}]},
    {"type": "function_call", "id": "f", "call_id": "c", "name": "weather", "arguments": PARIS},
    {"type": "web_search_call", "id": "w", "status": "completed"},
]
_RESPONSE = {
    "id": "r", "model": "served", "status": "completed", "output": _RESPONSE_ITEMS,
    "usage": {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 10}, "output_tokens": 7,
              "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 37},
}  # fmt: skip
RESPONSE = Exchange(
    "responses.create",
    {
        "model": "m", "instructions": "Be brief.", "max_output_tokens": 5,
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Where?"}, {"type": "input_image"}]},
            {"type": "function_call", "call_id": "c", "name": "weather", "arguments": PARIS},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "sunny"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "item_reference", "id": "x"},
        ],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "weather"}, "text": {"format": {"type": "json_object"}},
    },
    _RESPONSE,
    (
        {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "summary": []}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "Hm."},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "content": []}},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Par"},
        {"type": "response.refusal.delta", "output_index": 1, "content_index": 1, "delta": "No."},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": PARIS},
        {"type": "response.output_item.done", "output_index": 2, "item": _RESPONSE_ITEMS[2]},
        {"type": "response.completed", "response": _RESPONSE},
    ),
    37,
)  # fmt: skip

EMBEDDINGS = Exchange(
    "embeddings.create",
    {"model": "m", "input": ["one", "two"]},
    {"model": "served", "data": [{"index": 0, "embedding": [0.5]}], "usage": {"prompt_tokens": 5, "total_tokens": 5}},
    (),
    5,
)

_MESSAGE_USAGE = {
    "input_tokens": 11, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 3, "output_tokens": 5,
}  # fmt: skip
_MESSAGE = {
    "id": "r", "model": "served", "role": "assistant", "stop_reason": "tool_use", "usage": _MESSAGE_USAGE,
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Paris.", "citations": [{"type": "char_location"}]},
        {"type": "tool_use", "id": "c", "name": "weather", "input": {"city": "Paris"}},
    ],
}  # fmt: skip


def _block(kind: str, index: int, **more: Any) -> dict[str, Any]:
    return {"type": f"content_block_{kind}", "index": index, **more}


MESSAGES = Exchange(
    "messages.create",
    {
        "model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}], "stop_sequences": ["END"],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Where?"}, {"type": "image", "source": {}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "weather", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "sunny"}]},
                {"type": "tool_result", "tool_use_id": "d", "content": "rain", "is_error": True},
                {"type": "text", "text": "And now?"},
            ]},
        ],
        "tools": [{"name": "weather", "description": "now", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "weather"},
    },
    _MESSAGE,
    (
        {"type": "message_start", "message": {**_MESSAGE, "content": [], "stop_reason": None,
                                              "usage": {**_MESSAGE_USAGE, "output_tokens": 1}}},
        _block("start", 0, content_block={"type": "thinking", "thinking": ""}),
        _block("delta", 0, delta={"type": "thinking_delta", "thinking": "Hm."}),
        _block("delta", 0, delta={"type": "signature_delta", "signature": "s"}),
        _block("stop", 0),
        _block("start", 1, content_block={"type": "text", "text": ""}),
        _block("delta", 1, delta={"type": "text_delta", "text": "Par"}),
        _block("delta", 1, delta={"type": "text_delta", "text": "is."}),
        _block("delta", 1, delta={"type": "citations_delta", "citation": {"type": "char_location"}}),
        _block("start", 2, content_block={"type": "tool_use", "id": "c", "name": "weather", "input": {}}),
        _block("delta", 2, delta={"type": "input_json_delta", "partial_json": PARIS[:6]}),
        _block("delta", 2, delta={"type": "input_json_delta", "partial_json": PARIS[6:]}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ),
    25,
)  # fmt: skip

_GEMINI_USAGE = {
    "prompt_token_count": 14, "cached_content_token_count": 4, "candidates_token_count": 6, "thoughts_token_count": 3,
    "total_token_count": 23,
}  # fmt: skip
_GEMINI_CALL = {"function_call": {"id": "c", "name": "weather", "args": {"city": "Paris"}}}


def _gemini(*parts: Any, **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"index": 0, "content": content, **more}], "model_version": "served", "response_id": "r"}


GENERATE = Exchange(
    "models.generate_content",
    {
        "model": "m",
        "contents": [
            "Where?",
            {"role": "user", "parts": [{"text": "Here."}, {"inline_data": {"data": "", "mime_type": "image/png"}}]},
            {"role": "model", "parts": [_GEMINI_CALL]},
            {"role": "user", "parts": [{"function_response": {"name": "weather", "response": {"result": "sunny"}}}]},
        ],
        "config": {
            "system_instruction": {"parts": [{"text": "Be brief."}]}, "temperature": 1, "max_output_tokens": 5,
            "stop_sequences": ["END"], "response_schema": SCHEMA,
            "tools": [{"function_declarations": [{"name": "weather", "description": "now", "parameters": SCHEMA}]}],
            "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["weather"]}},
        },
    },
    {**_gemini({"text": "Hm.", "thought": True}, {"text": "Paris."}, _GEMINI_CALL, finish_reason="STOP"),
     "usage_metadata": _GEMINI_USAGE},
    (
        _gemini({"text": "Hm.", "thought": True}),
        _gemini({"text": "Par"}),
        _gemini({"text": "is."}),
        {**_gemini(_GEMINI_CALL, finish_reason="STOP"), "usage_metadata": _GEMINI_USAGE},
    ),
    23,
)  # fmt: skip
EMBED = Exchange(
    "models.embed_content", {"model": "m", "contents": ["one", "two"]}, {"embeddings": [{"values": [0.5]}]}
)

_CONVERSE_USAGE = {
    "inputTokens": 12, "outputTokens": 4, "totalTokens": 19, "cacheReadInputTokens": 2, "cacheWriteInputTokens": 1,
}  # fmt: skip


def _delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}


CONVERSE = Exchange(
    "converse",
    {
        "modelId": "m", "system": [{"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"text": "Where?"}, {"image": {"format": "png", "source": {}}}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "weather", "input": {}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "c", "content": [{"text": "sunny"}, {"json": {"degrees": 20}}]}}
            ]},
        ],
        "inferenceConfig": {"temperature": 0.5, "topP": 1, "maxTokens": 9, "stopSequences": ["END"]},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "weather", "description": "now", "inputSchema": {"json": SCHEMA}}}],
            "toolChoice": {"tool": {"name": "weather"}},
        },
    },
    {
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
            {"text": "Paris."},
            {"toolUse": {"toolUseId": "c", "name": "weather", "input": {"city": "Paris"}}},
        ]}},
        "stopReason": "tool_use", "usage": _CONVERSE_USAGE,
        "trace": {"promptRouter": {"invokedModelId": "served"}},
    },
    (
        {"messageStart": {"role": "assistant"}},
        _delta(0, reasoningContent={"text": "Hm."}),
        _delta(0, reasoningContent={"signature": "s"}),
        _delta(1, text="Par"),
        _delta(1, text="is."),
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "c", "name": "weather"}}}},
        _delta(2, toolUse={"input": PARIS[:6]}),
        _delta(2, toolUse={"input": PARIS[6:]}),
        {"contentBlockStop": {"contentBlockIndex": 2}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": _CONVERSE_USAGE, "trace": {"promptRouter": {"invokedModelId": "served"}}}},
    ),
    19,
)  # fmt: skip

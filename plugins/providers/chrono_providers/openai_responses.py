"""Owns OpenAI's Responses API: canonical form and streams.

Which clients speak it is left to `openai`.
"""

from __future__ import annotations

from chrono_providers.json_fields import (
    Json,
    JsonObject,
    arguments,
    collapsed,
    continued,
    count,
    field,
    objects,
    params,
    served,
    text,
    text_block,
    without_none,
)
from chrono_providers.openai_chat import tool_choice

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_CUT = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "content_filter"}


class ResponsesAdapter:
    """Responses -> canonical. `instructions` are the system text; items of `input` become messages in their order."""

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        given = raw.get("input")
        if isinstance(given, str):
            messages = [{"role": "user", "content": given}]
        else:
            messages = [message for item in objects(given) if (message := _message(item)) is not None]
        return without_none(
            {
                "model": text(raw.get("model")),
                "messages": messages,
                "system": text(raw.get("instructions")),
                "tools": _tools(raw.get("tools")),
                "tool_choice": tool_choice(raw.get("tool_choice")),
                "response_format": field(raw, "text", "format")
                if isinstance(field(raw, "text", "format"), dict)
                else None,
                "params": params(raw, max_tokens=("max_output_tokens",), stop=("stop",)),
            }
        )

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        items = objects(field(raw, "output"))
        return without_none(
            {
                "content": [block for item in items for block in _blocks(item)],
                "finish_reason": _finish(raw, items),
                "provider": self.provider,
                "usage": _usage(field(raw, "usage")),
                "response_id": text(field(raw, "id")),
                **served(field(raw, "model"), requested_model),
            }
        )


def _finish(raw: Json, items: list[JsonObject]) -> str | None:
    status = text(field(raw, "status"))
    if status == "completed":
        return "tool_calls" if any(_is_call(item) for item in items) else "stop"
    if status == "incomplete":
        return _CUT.get(str(field(raw, "incomplete_details", "reason")), "other")
    return None if status in (None, "in_progress", "queued") else "other"


def _usage(usage: Json) -> JsonObject | None:
    if not isinstance(usage, dict):
        return None
    given, made = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    cached = min(count(field(usage, "input_tokens_details", "cached_tokens")), given)
    reasoning = min(count(field(usage, "output_tokens_details", "reasoning_tokens")), made)
    return {
        "input": given - cached,
        "cached_read": cached,
        "cache_write": 0,
        "output": made - reasoning,
        "reasoning": reasoning,
    }


def _is_call(item: JsonObject) -> bool:
    return item.get("type") in ("function_call", "custom_tool_call")


def _blocks(item: JsonObject) -> list[JsonObject]:
    """What an item of an answer says; calls of the provider's own tools (search, code) stay in raw."""
    if _is_call(item):
        given = item.get("arguments", item.get("input"))
        id_ = text(item.get("call_id")) or text(item.get("id"))
        name = item["name"] if isinstance(item.get("name"), str) else ""
        return [without_none({"type": "tool_call", "id": id_, "name": name, "arguments": arguments(given)})]
    if item.get("type") == "reasoning":
        parts = objects(item.get("content")) or objects(item.get("summary"))
        said = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        return [{"type": "reasoning", "text": said}] if said else []
    content = item.get("content")
    if isinstance(content, str):
        return [text_block(content)] if content else []
    blocks: list[JsonObject] = []
    for part in objects(content):
        if isinstance(part.get("text"), str):
            blocks.append(text_block(part["text"]))
        elif isinstance(part.get("refusal"), str):
            blocks.append({"type": "refusal", "text": part["refusal"]})
    return blocks


def _message(item: JsonObject) -> JsonObject | None:
    role = text(item.get("role"))
    if role in _ROLES:
        return {"role": _ROLES[role], "content": collapsed(_blocks(item))}
    if _is_call(item) or item.get("type") == "reasoning":
        blocks = _blocks(item)
        return {"role": "assistant", "content": blocks} if blocks else None
    if item.get("type") in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        said = output if isinstance(output, str) else collapsed(_blocks({"content": output}))
        return without_none({"role": "tool", "content": said, "tool_call_id": text(item.get("call_id"))})
    return None


def _tools(tools: Json) -> list[JsonObject] | None:
    if not isinstance(tools, list):
        return None
    return [
        without_none(
            {
                "name": text(one.get("name")) or str(one.get("type") or "tool"),
                "description": text(one.get("description")),
                "parameters": one["parameters"] if isinstance(one.get("parameters"), dict) else None,
            }
        )
        for one in objects(tools)
    ]


class ResponsesAssembler:
    """Events of a response -> the response. The last event carries all of it; before that, what the items said."""

    def __init__(self) -> None:
        self._response: JsonObject = {}
        self._ended = False
        self._items: dict[int, JsonObject] = {}

    def add(self, chunk: Json) -> None:
        if not isinstance(chunk, dict):
            return
        response = chunk.get("response")
        kind = str(chunk.get("type") or "")
        if isinstance(response, dict):
            self._response = response
            self._ended = kind in ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
            return
        index = chunk.get("output_index")
        if not isinstance(index, int):
            return
        item = chunk.get("item")
        if isinstance(item, dict):
            if kind == "response.output_item.done" or index not in self._items:
                self._items[index] = dict(item)
            return
        whole = self._items.setdefault(index, {"type": "message", "role": "assistant"})
        delta = chunk.get("delta")
        if not isinstance(delta, str):
            return
        if kind in ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"):
            member = "arguments" if "function_call" in kind else "input"
            whole[member] = continued(whole.get(member), delta)
        elif kind in ("response.output_text.delta", "response.refusal.delta", "response.reasoning_text.delta"):
            member = "refusal" if "refusal" in kind else "text"
            _continue(whole, "content", chunk.get("content_index"), member, delta)
        elif kind == "response.reasoning_summary_text.delta":
            _continue(whole, "summary", chunk.get("summary_index"), "text", delta)

    def result(self) -> Json:
        if self._ended:
            return self._response
        return {**self._response, "output": [self._items[index] for index in sorted(self._items)]}


_PARTS = {"text": "output_text", "refusal": "refusal"}


def _continue(item: JsonObject, member: str, index: Json, kind: str, delta: str) -> None:
    """Add `delta` to part `index` of the list `member`; a part that nothing announced is begun."""
    parts = objects(item.get(member))
    item[member] = parts
    at = index if isinstance(index, int) and 0 <= index <= len(parts) else len(parts)
    if at == len(parts):
        parts.append({"type": _PARTS[kind]})
    parts[at][kind] = continued(parts[at].get(kind), delta)

"""Owns Anthropic's Messages API and its clients: canonical form, streams, methods (specs: record A11)."""

from __future__ import annotations

from inspect import signature
from typing import Any

from chrono.record.answers import Answer, managed
from chrono.record.provider import Assembler, Method
from chrono.record.streams import ASYNC_MANAGED, ASYNC_STREAM, MANAGED, STREAM
from chrono_providers.clients import comes_from, identity, present
from chrono_providers.json_fields import (
    Json,
    JsonObject,
    arguments,
    collapsed,
    continued,
    count,
    field,
    member,
    objects,
    params,
    served,
    text,
    text_block,
    without_none,
    written,
)
from chrono_providers.sdk_streams import recorded_stream

_FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


class MessagesAdapter:
    """Messages -> canonical. A tool's result inside a user turn becomes a message of its own."""

    provider = "anthropic"

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        system = raw.get("system")
        if not isinstance(system, str):
            system = "\n".join(one["text"] for one in objects(system) if isinstance(one.get("text"), str))
        return without_none(
            {
                "model": text(raw.get("model")),
                "messages": [message for one in objects(raw.get("messages")) for message in _messages(one)],
                "system": system or None,
                "tools": _tools(raw.get("tools")),
                "tool_choice": _tool_choice(raw.get("tool_choice")),
                "params": params(raw, max_tokens=("max_tokens",), stop=("stop_sequences",)),
            }
        )

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        reason = text(field(raw, "stop_reason"))
        blocks = _blocks(field(raw, "content"))
        if reason == "refusal":
            said = [{"type": "refusal", "text": one["text"]} if one["type"] == "text" else one for one in blocks]
            blocks = said or [{"type": "refusal", "text": ""}]
        return without_none(
            {
                "content": blocks,
                "finish_reason": None if reason is None else _FINISHED.get(reason, "other"),
                "provider": self.provider,
                "usage": _usage(field(raw, "usage")),
                "response_id": text(field(raw, "id")),
                **served(field(raw, "model"), requested_model),
            }
        )


def _manager(method: Method, *, is_async: bool) -> Any:
    """The class that `messages.stream` answers with; None where this version of the package has it elsewhere."""
    from anthropic.lib import streaming

    name = ("Beta" if method.path.startswith("beta") else "") + ("Async" if is_async else "") + "MessageStreamManager"
    return getattr(streaming, name, None)


def _usage(usage: Json) -> JsonObject | None:
    """The buckets exclude each other already; thinking is counted inside the output."""
    if not isinstance(usage, dict):
        return None
    return {
        "input": count(usage.get("input_tokens")),
        "cached_read": count(usage.get("cache_read_input_tokens")),
        "cache_write": count(usage.get("cache_creation_input_tokens")),
        "output": count(usage.get("output_tokens")),
        "reasoning": 0,
    }


def _blocks(content: Json) -> list[JsonObject]:
    if isinstance(content, str):
        return [text_block(content)] if content else []
    blocks: list[JsonObject] = []
    for one in objects(content):
        kind = one.get("type")
        if kind == "text" and isinstance(one.get("text"), str):
            blocks.append(text_block(one["text"]))
        elif kind == "tool_use":
            name = one["name"] if isinstance(one.get("name"), str) else ""
            call = {"type": "tool_call", "id": text(one.get("id")), "name": name}
            blocks.append(without_none(call) | {"arguments": arguments(one.get("input"))})
        elif kind == "thinking" and isinstance(one.get("thinking"), str):
            blocks.append({"type": "reasoning", "text": one["thinking"]})
    return blocks


def _messages(one: JsonObject) -> list[JsonObject]:
    role = one.get("role")
    if role not in ("user", "assistant", "system"):
        return []
    results = [
        without_none(
            {
                "role": "tool",
                "content": collapsed(_blocks(part.get("content"))),
                "tool_call_id": text(part.get("tool_use_id")),
            }
        )
        for part in objects(one.get("content"))
        if part.get("type") == "tool_result"
    ]
    blocks = _blocks(one.get("content"))
    if results and not blocks:
        return results
    return [*results, {"role": role, "content": collapsed(blocks)}]


def _tools(tools: Json) -> list[JsonObject] | None:
    if not isinstance(tools, list):
        return None
    return [
        without_none(
            {
                "name": one["name"],
                "description": text(one.get("description")),
                "parameters": one["input_schema"] if isinstance(one.get("input_schema"), dict) else None,
            }
        )
        for one in objects(tools)
        if text(one.get("name"))
    ]


def _tool_choice(choice: Json) -> Json:
    kind = field(choice, "type")
    if kind == "tool" and text(field(choice, "name")):
        return {"name": field(choice, "name")}
    return {"any": "required", "auto": "auto", "none": "none"}.get(kind) if isinstance(kind, str) else None


class MessageAssembler:
    """Events of a message stream -> the message. Usage comes in two parts: the input's at the start, the output's with
    the last delta (which may correct the input's)."""

    def __init__(self) -> None:
        self._message: JsonObject = {}
        self._blocks: dict[int, JsonObject] = {}
        self._json: dict[int, str] = {}
        self._cited: dict[int, list[JsonObject]] = {}

    def add(self, chunk: Json) -> None:
        if not isinstance(chunk, dict):
            return
        kind = chunk.get("type")
        if kind == "message_start" and isinstance(chunk.get("message"), dict):
            self._message = dict(chunk["message"])
        elif kind == "message_delta":
            self._message.update(without_none(member(chunk, "delta")))
            self._message["usage"] = {**member(self._message, "usage"), **without_none(member(chunk, "usage"))}
        elif isinstance(chunk.get("index"), int):
            self._block(kind, chunk["index"], chunk)

    def _block(self, kind: Json, index: int, chunk: JsonObject) -> None:
        if kind == "content_block_start" and isinstance(chunk.get("content_block"), dict):
            self._blocks[index] = dict(chunk["content_block"])
        delta: Any = chunk.get("delta")
        if kind != "content_block_delta" or not isinstance(delta, dict):
            return
        block = self._blocks.setdefault(index, {"type": "text"})
        if isinstance(delta.get("partial_json"), str):
            self._json[index] = self._json.get(index, "") + delta["partial_json"]
            return
        for name in ("text", "thinking", "signature"):
            if isinstance(delta.get(name), str):
                block[name] = continued(block.get(name), delta[name])
        if isinstance(delta.get("citation"), dict):
            self._cited.setdefault(index, []).append(delta["citation"])

    def result(self) -> Json:
        blocks = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if index in self._cited:
                block = {**block, "citations": [*objects(block.get("citations")), *self._cited[index]]}
            if self._json.get(index):
                whole = written(self._json[index])
                # The text itself where the stream ended within it.
                block = {**block, "input": self._json[index] if whole is None else whole}
            blocks.append(block)
        return {**self._message, "content": blocks}


_MESSAGES = MessagesAdapter()
_METHODS = tuple(
    Method(f"{place}{verb}", "anthropic.messages", _MESSAGES)
    for place in ("messages.", "beta.messages.", "")
    for verb in ("create", "parse", "stream")
)


class AnthropicProvider:
    """`Anthropic`, its async, Bedrock and Vertex clients, or one of their `messages`."""

    api_version = 1
    name = "anthropic"
    adapter = _MESSAGES

    def matches(self, client: object) -> bool:
        return comes_from(client, "anthropic")

    def methods(self, client: object) -> tuple[Method, ...]:
        return present(client, _METHODS)

    def assembler(self, method: Method) -> Assembler:
        return MessageAssembler()

    def replayed(self, client: object, method: Method, answer: Answer) -> Any:
        """A stream of the package itself, with the helper around it where `stream` gave one."""
        if answer.pieces is None or answer.form not in (STREAM, ASYNC_STREAM, MANAGED, ASYNC_MANAGED):
            return None
        stream = recorded_stream(client, "anthropic", answer.pieces, is_async=answer.is_async)
        if answer.form in (STREAM, ASYNC_STREAM):
            return stream
        manager = _manager(method, is_async=answer.is_async)
        if manager is None:
            return None
        import anthropic

        given = {"output_format": answer.kwargs.get("output_format", anthropic.NOT_GIVEN)}
        known = {name: value for name, value in given.items() if name in signature(manager).parameters}
        opened = managed(stream, answer.pieces)
        return manager(opened.__aenter__() if answer.is_async else opened.__enter__, **known)

    def identity(self, client: object) -> JsonObject:
        return identity(client, "anthropic", ("api.anthropic.com",))


PROVIDER = AnthropicProvider()

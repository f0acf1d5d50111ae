"""Owns Amazon Bedrock's Converse API through boto3: canonical form, streams, methods.

`invoke_model` carries each model family's own JSON and is not a boundary: Converse is the one form for all of them.
"""

from __future__ import annotations

import json
from typing import Any

from chrono.record.provider import Assembler, Method
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
)

_FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}


class ConverseAdapter:
    """Converse -> canonical. An answer does not name its model: the requested one is recorded as such."""

    provider = "bedrock"

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        config = raw["inferenceConfig"] if isinstance(raw.get("inferenceConfig"), dict) else {}
        shared = {"temperature": config.get("temperature"), "top_p": config.get("topP")}
        shared |= {"max_tokens": config.get("maxTokens"), "stop": config.get("stopSequences")}
        system = "\n".join(one["text"] for one in objects(raw.get("system")) if isinstance(one.get("text"), str))
        return without_none(
            {
                "model": text(raw.get("modelId")),
                "messages": [message for one in objects(raw.get("messages")) for message in _messages(one)],
                "system": system or None,
                "tools": _tools(field(raw, "toolConfig", "tools")),
                "tool_choice": _tool_choice(field(raw, "toolConfig", "toolChoice")),
                "params": params(shared, max_tokens=("max_tokens",), stop=("stop",)),
            }
        )

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        reason = text(field(raw, "stopReason"))
        return without_none(
            {
                "content": _blocks(field(raw, "output", "message", "content")),
                "finish_reason": None if reason is None else _FINISHED.get(reason, "other"),
                "provider": self.provider,
                "usage": _usage(field(raw, "usage")),
                "response_id": text(field(raw, "ResponseMetadata", "RequestId")),
                **served(field(raw, "trace", "promptRouter", "invokedModelId"), requested_model),
            }
        )


def _usage(usage: Json) -> JsonObject | None:
    if not isinstance(usage, dict):
        return None
    return {
        "input": count(usage.get("inputTokens")),
        "cached_read": count(usage.get("cacheReadInputTokens")),
        "cache_write": count(usage.get("cacheWriteInputTokens")),
        "output": count(usage.get("outputTokens")),
        "reasoning": 0,
    }


def _blocks(content: Json) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for one in objects(content):
        thought = field(one, "reasoningContent", "reasoningText", "text")
        call = one.get("toolUse")
        if isinstance(one.get("text"), str):
            blocks.append(text_block(one["text"]))
        elif isinstance(thought, str):
            blocks.append({"type": "reasoning", "text": thought})
        elif isinstance(call, dict):
            name = call["name"] if isinstance(call.get("name"), str) else ""
            known = without_none({"type": "tool_call", "id": text(call.get("toolUseId")), "name": name})
            blocks.append(known | {"arguments": arguments(call.get("input"))})
    return blocks


def _messages(one: JsonObject) -> list[JsonObject]:
    role = one.get("role")
    if role not in ("user", "assistant"):
        return []
    results = [
        without_none(
            {
                "role": "tool",
                "content": _answer(part["toolResult"].get("content")),
                "tool_call_id": text(part["toolResult"].get("toolUseId")),
            }
        )
        for part in objects(one.get("content"))
        if isinstance(part.get("toolResult"), dict)
    ]
    blocks = _blocks(one.get("content"))
    if results and not blocks:
        return results
    return [*results, {"role": role, "content": collapsed(blocks)}]


def _answer(content: Json) -> str | list[JsonObject]:
    """What a tool answered: its texts, an object as its JSON text."""
    parts = [
        one if isinstance(one.get("text"), str) else {"text": json.dumps(one["json"], ensure_ascii=False)}
        for one in objects(content)
        if isinstance(one.get("text"), str) or "json" in one
    ]
    return collapsed(_blocks(parts))


def _tools(tools: Json) -> list[JsonObject] | None:
    if not isinstance(tools, list):
        return None
    found: list[JsonObject] = []
    for one in objects(tools):
        spec = one.get("toolSpec")
        if isinstance(spec, dict) and text(spec.get("name")):
            schema = field(spec, "inputSchema", "json")
            known = {"name": spec["name"], "description": text(spec.get("description"))}
            found.append(without_none(known | {"parameters": schema if isinstance(schema, dict) else None}))
    return found


def _tool_choice(choice: Json) -> Json:
    name = text(field(choice, "tool", "name"))
    if name is not None:
        return {"name": name}
    if isinstance(choice, dict):
        return "required" if "any" in choice else "auto" if "auto" in choice else None
    return None


class ConverseAssembler:
    """Events of converse_stream -> the answer of converse."""

    def __init__(self) -> None:
        self._whole: JsonObject = {}
        self._role = "assistant"
        self._blocks: dict[int, JsonObject] = {}
        self._json: dict[int, str] = {}

    def add(self, chunk: Json) -> None:
        if not isinstance(chunk, dict):
            return
        for name, given in chunk.items():
            event: Any = given if isinstance(given, dict) else {}
            index = event.get("contentBlockIndex")
            if name == "messageStart":
                self._role = str(event.get("role") or self._role)
            elif name == "contentBlockStart" and isinstance(index, int):
                self._blocks[index] = dict(member(event, "start"))
            elif name == "contentBlockDelta" and isinstance(index, int):
                self._delta(self._blocks.setdefault(index, {}), index, event.get("delta"))
            elif name == "messageStop" and event.get("stopReason"):
                self._whole["stopReason"] = event["stopReason"]
            elif name == "metadata":
                self._whole.update(event)

    def _delta(self, block: JsonObject, index: int, delta: Json) -> None:
        more = field(delta, "toolUse", "input")
        thought = field(delta, "reasoningContent")
        if isinstance(field(delta, "text"), str):
            block["text"] = continued(block.get("text"), delta["text"])
        elif isinstance(more, str):
            self._json[index] = self._json.get(index, "") + more
        elif isinstance(thought, dict):
            known = member(block, "reasoningContent", "reasoningText")
            signed = {"signature": text(thought.get("signature"))}
            known = {**known, "text": continued(known.get("text"), thought.get("text")), **without_none(signed)}
            block["reasoningContent"] = {"reasoningText": known}

    def result(self) -> Json:
        content = []
        for index in sorted(self._blocks):
            block = self._blocks[index]
            if isinstance(block.get("toolUse"), dict):
                block = {"toolUse": {**block["toolUse"], "input": arguments(self._json.get(index))}}
            content.append(block)
        return {**self._whole, "output": {"message": {"role": self._role, "content": content}}}


class BedrockProvider:
    """boto3's `bedrock-runtime` client; its class is made when it is asked for and is known by its name."""

    api_version = 1
    name = "bedrock"
    adapter = ConverseAdapter()
    _methods = (
        Method("converse", "bedrock.converse", adapter),
        Method("converse_stream", "bedrock.converse", adapter, part="stream"),
    )

    def matches(self, client: object) -> bool:
        return type(client).__name__ == "BedrockRuntime" and comes_from(client, "botocore")

    def methods(self, client: object) -> tuple[Method, ...]:
        return present(client, self._methods)

    def assembler(self, method: Method) -> Assembler:
        return ConverseAssembler()

    def identity(self, client: object) -> JsonObject:
        return identity(getattr(client, "meta", None), "boto3", ("amazonaws.com",))


PROVIDER = BedrockProvider()

"""Owns Google's Gemini API and the client of `google-genai`: canonical form, streams, methods.

The client takes one object for everything but model and contents (`config`), and answers in snake case.
"""

from __future__ import annotations

from typing import Any

from chrono.record.provider import Assembler, Method
from chrono_providers.clients import comes_from, identity, present
from chrono_providers.json_fields import (
    Json,
    JsonObject,
    arguments,
    collapsed,
    count,
    field,
    objects,
    params,
    served,
    text,
    text_block,
    without_none,
)

_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length", "TOOL_CALLS": "tool_calls"}
_FILTERED = frozenset(
    ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT")
)


class GeminiAdapter:
    """generate_content -> canonical."""

    provider = "google"

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        config = raw["config"] if isinstance(raw.get("config"), dict) else {}
        schema = config.get("response_schema", config.get("response_json_schema"))
        return without_none(
            {
                "model": text(raw.get("model")),
                "messages": _messages(raw.get("contents")),
                "system": _said(config.get("system_instruction")),
                "tools": _tools(config.get("tools")),
                "tool_choice": _tool_choice(field(config, "tool_config", "function_calling_config")),
                "response_format": {"schema": schema} if isinstance(schema, dict) else None,
                "params": params(config, max_tokens=("max_output_tokens",), stop=("stop_sequences",)),
            }
        )

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        candidates = objects(field(raw, "candidates"))
        candidate = candidates[0] if candidates else {}
        blocks = [block for part in objects(field(candidate, "content", "parts")) for block in _blocks(part)]
        return without_none(
            {
                "content": blocks,
                "finish_reason": _finish(raw, candidate, blocks),
                "provider": self.provider,
                "usage": _usage(field(raw, "usage_metadata")),
                "response_id": text(field(raw, "response_id")),
                **served(field(raw, "model_version"), requested_model),
            }
        )


def _finish(raw: Json, candidate: JsonObject, blocks: list[JsonObject]) -> str | None:
    reason = text(candidate.get("finish_reason"))
    if reason is None:
        return "content_filter" if text(field(raw, "prompt_feedback", "block_reason")) else None
    if reason in _FILTERED:
        return "content_filter"
    if reason == "STOP" and any(block["type"] == "tool_call" for block in blocks):
        return "tool_calls"
    return _FINISHED.get(reason, "other")


def _usage(usage: Json) -> JsonObject | None:
    """The prompt's count holds the cached part; thoughts are counted beside the candidates, not in them."""
    if not isinstance(usage, dict):
        return None
    prompt = count(usage.get("prompt_token_count")) + count(usage.get("tool_use_prompt_token_count"))
    cached = min(count(usage.get("cached_content_token_count")), prompt)
    return {
        "input": prompt - cached,
        "cached_read": cached,
        "cache_write": 0,
        "output": count(usage.get("candidates_token_count")),
        "reasoning": count(usage.get("thoughts_token_count")),
    }


def _messages(contents: Json) -> list[JsonObject]:
    """`contents` is a text, a part, a turn, or a list of any of these; loose parts side by side are one user turn."""
    messages: list[JsonObject] = []
    loose: list[JsonObject] = []
    for one in contents if isinstance(contents, list) else [contents]:
        if isinstance(one, dict) and ("parts" in one or "role" in one):
            if loose:
                messages.append({"role": "user", "content": collapsed(loose)})
                loose = []
            messages += _turn(one)
        elif isinstance(one, str):
            loose.append(text_block(one))
        elif isinstance(one, dict):
            loose += _blocks(one)
    if loose:
        messages.append({"role": "user", "content": collapsed(loose)})
    return messages


def _turn(turn: JsonObject) -> list[JsonObject]:
    parts = objects(turn.get("parts"))
    answers = [
        without_none(
            {
                "role": "tool",
                "content": _answer(part["function_response"].get("response")),
                "tool_call_id": text(part["function_response"].get("id"))
                or text(part["function_response"].get("name")),
            }
        )
        for part in parts
        if isinstance(part.get("function_response"), dict)
    ]
    blocks = [block for part in parts for block in _blocks(part)]
    if answers and not blocks:
        return answers
    role = "assistant" if turn.get("role") == "model" else "user"
    return [*answers, {"role": role, "content": collapsed(blocks)}]


def _answer(response: Json) -> str:
    import json

    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def _blocks(part: JsonObject) -> list[JsonObject]:
    call = part.get("function_call")
    if isinstance(call, dict):
        name = call["name"] if isinstance(call.get("name"), str) else ""
        known = without_none({"type": "tool_call", "id": text(call.get("id")), "name": name})
        return [known | {"arguments": arguments(call.get("args"))}]
    said = part.get("text")
    if not isinstance(said, str) or not said:
        return []
    return [{"type": "reasoning", "text": said} if part.get("thought") is True else text_block(said)]


def _said(instruction: Json) -> str | None:
    """A system instruction: a text, a part, a turn or a list of them."""
    if isinstance(instruction, str):
        return instruction or None
    several = instruction if isinstance(instruction, list) else [instruction]
    found: list[str] = []
    for one in several:
        if isinstance(one, str):
            found.append(one)
        for part in [one, *objects(field(one, "parts"))]:
            if text(field(part, "text")):
                found.append(part["text"])
    return "\n".join(found) or None


def _tools(tools: Json) -> list[JsonObject] | None:
    """Declared functions; a Python function that was handed over has been recorded by its name alone."""
    if not isinstance(tools, list):
        return None
    found: list[JsonObject] = []
    for tool in objects(tools):
        for one in objects(tool.get("function_declarations")):
            schema = one.get("parameters") or one.get("parameters_json_schema")
            if text(one.get("name")):
                known = {"name": one["name"], "description": text(one.get("description"))}
                found.append(without_none(known | {"parameters": schema if isinstance(schema, dict) else None}))
    return found


def _tool_choice(config: Json) -> Json:
    names = field(config, "allowed_function_names")
    if isinstance(names, list) and len(names) == 1 and text(names[0]):
        return {"name": names[0]}
    mode = text(field(config, "mode"))
    return {"ANY": "required", "AUTO": "auto", "NONE": "none"}.get(mode) if mode else None


class GeminiAssembler:
    """Responses of a stream -> one response: texts side by side of the same kind are joined, the last counts hold."""

    def __init__(self) -> None:
        self._whole: JsonObject = {}
        self._candidates: dict[int, JsonObject] = {}

    def add(self, chunk: Json) -> None:
        if not isinstance(chunk, dict):
            return
        self._whole.update((name, one) for name, one in chunk.items() if name != "candidates" and one is not None)
        for place, given in enumerate(objects(chunk.get("candidates"))):
            index = given["index"] if isinstance(given.get("index"), int) else place
            whole = self._candidates.setdefault(index, {"content": {"parts": [], "role": "model"}})
            whole.update((name, one) for name, one in given.items() if name != "content" and one is not None)
            for part in objects(field(given, "content", "parts")):
                _join(whole["content"]["parts"], part)

    def result(self) -> Json:
        return {**self._whole, "candidates": [self._candidates[index] for index in sorted(self._candidates)]}


def _join(parts: list[JsonObject], part: JsonObject) -> None:
    known = {name: one for name, one in part.items() if one is not None}
    last: Any = parts[-1] if parts else None
    both = isinstance(field(last, "text"), str) and isinstance(known.get("text"), str)
    if both and last.get("thought") == known.get("thought"):
        parts[-1] = {**last, **known, "text": last["text"] + known["text"]}
    else:
        parts.append(known)


class EmbedAdapter:
    """embed_content -> canonical: each text a user message; the vectors stay in raw."""

    provider = "google"

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        return without_none({"model": text(raw.get("model")), "messages": _messages(raw.get("contents"))})

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        return {"provider": self.provider, **served(None, requested_model)}


_GENERATE = GeminiAdapter()
_EMBED = EmbedAdapter()
_METHODS = tuple(
    Method(f"{place}{verb}", name, adapter)
    for place in ("models.", "aio.models.")
    for verb, name, adapter in (
        ("generate_content", "google.generate_content", _GENERATE),
        ("generate_content_stream", "google.generate_content", _GENERATE),
        ("embed_content", "google.embed_content", _EMBED),
    )
)


class GeminiProvider:
    """`google.genai.Client`, sync and `aio`."""

    api_version = 1
    name = "google"
    adapter = _GENERATE

    def matches(self, client: object) -> bool:
        return comes_from(client, "google.genai")

    def methods(self, client: object) -> tuple[Method, ...]:
        return present(client, _METHODS)

    def assembler(self, method: Method) -> Assembler:
        return GeminiAssembler()

    def identity(self, client: object) -> JsonObject:
        inner = getattr(client, "_api_client", None)
        options = getattr(inner, "_http_options", None)
        return identity(options, "google.genai", ("googleapis.com",))


PROVIDER = GeminiProvider()

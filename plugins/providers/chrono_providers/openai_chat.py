"""Owns chat completions as OpenAI, Azure and LiteLLM speak them: canonical form and streams (specs: record A11).

Which clients speak them is left to `openai` and `litellm`.
"""

from __future__ import annotations

from typing import Any

from chrono_providers.json_fields import (
    Json,
    JsonObject,
    arguments,
    collapsed,
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

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_FINISHED = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_MAX_TOKENS = ("max_completion_tokens", "max_tokens", "max_output_tokens")


class ChatAdapter:
    """Chat completions -> canonical, under the name of the provider that was asked."""

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        canonical: JsonObject = {"messages": [_message(one) for one in objects(raw.get("messages")) if _role(one)]}
        model, form = raw.get("model"), raw.get("response_format")
        if text(model):
            canonical["model"] = model
        if ("tools" in raw or "functions" in raw) and (tools := _tools(raw)) is not None:
            canonical["tools"] = tools
        if "tool_choice" in raw and (choice := tool_choice(raw["tool_choice"])) is not None:
            canonical["tool_choice"] = choice
        if isinstance(form, dict):
            canonical["response_format"] = form
        canonical["params"] = params(raw, max_tokens=_MAX_TOKENS, stop=("stop",))
        return canonical

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        whole: JsonObject = raw if isinstance(raw, dict) else {}
        choices = objects(whole.get("choices"))
        choice = choices[0] if choices else {}
        finish = text(choice.get("finish_reason"))
        return without_none(
            {
                "content": _blocks(member(choice, "message")),
                "finish_reason": None if finish is None else _FINISHED.get(finish, "other"),
                "provider": self.provider,
                "usage": chat_usage(whole.get("usage")),
                "response_id": text(whole.get("id")),
                **served(whole.get("model"), requested_model),
            }
        )


def chat_usage(usage: Json) -> JsonObject | None:
    """Tokens in buckets that exclude each other; the provider's totals include the cached and the reasoning ones."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    read, made = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = min(count(field(read, "cached_tokens")), prompt) if read else 0
    reasoning = min(count(field(made, "reasoning_tokens")), completion) if made else 0
    return {
        "input": prompt - cached,
        "cached_read": cached,
        "cache_write": 0,
        "output": completion - reasoning,
        "reasoning": reasoning,
    }


def tool_choice(choice: Json) -> Json:
    """`auto`, `none`, `required`, or the one tool's name."""
    if isinstance(choice, str):
        return choice
    name = text(field(choice, "function", "name")) or text(field(choice, "name"))
    return None if name is None else {"name": name}


def _tools(raw: JsonObject) -> list[JsonObject] | None:
    if not isinstance(raw.get("tools"), list) and not isinstance(raw.get("functions"), list):
        return None
    functions = [member(one, "function") or one for one in objects(raw.get("tools"))] + objects(raw.get("functions"))
    return [
        without_none(
            {
                "name": one["name"],
                "description": text(one.get("description")),
                "parameters": one["parameters"] if isinstance(one.get("parameters"), dict) else None,
            }
        )
        for one in functions
        if text(one.get("name"))
    ]


def _role(message: JsonObject) -> str | None:
    role = message.get("role")
    return _ROLES.get(role) if isinstance(role, str) else None


def _message(one: JsonObject) -> JsonObject:
    content = one.get("content")
    if len(one) == 2 and isinstance(content, str):  # a role and a text: most are no more
        return {"role": _ROLES[one["role"]], "content": content}
    return without_none(
        {
            "role": _ROLES[one["role"]],
            "content": collapsed(_blocks(one)),
            "tool_call_id": text(one.get("tool_call_id")),
        }
    )


def _blocks(message: JsonObject) -> list[JsonObject]:
    """Texts, refusals and tool calls of a message; pictures and sound stay in raw."""
    blocks: list[JsonObject] = []
    thought, content, refusal = message.get("reasoning_content"), message.get("content"), message.get("refusal")
    if text(thought):
        blocks.append({"type": "reasoning", "text": thought})
    if isinstance(content, str):
        if content:
            blocks.append(text_block(content))
    else:
        for part in objects(content):
            if isinstance(part.get("text"), str):
                blocks.append(text_block(part["text"]))
            elif isinstance(part.get("refusal"), str):
                blocks.append({"type": "refusal", "text": part["refusal"]})
    if text(refusal):
        blocks.append({"type": "refusal", "text": refusal})
    calls = message.get("tool_calls")
    if calls:
        for call in objects(calls):
            function = member(call, "function") or member(call, "custom")
            given = function.get("arguments", function.get("input"))
            blocks.append(_call(text(call.get("id")), function.get("name"), given))
    old = message.get("function_call")
    if isinstance(old, dict):
        blocks.append(_call(None, old.get("name"), old.get("arguments")))
    return blocks


def _call(id_: str | None, name: Json, given: Json) -> JsonObject:
    return without_none(
        {"type": "tool_call", "id": id_, "name": name if isinstance(name, str) else "", "arguments": arguments(given)}
    )


class ChatAssembler:
    """Chunks of a chat completion -> the completion they make up.

    Usage comes in a chunk of its own, without choices, after the last one that has any (or never: only where the caller
    asked for it).
    """

    def __init__(self) -> None:
        self._whole: JsonObject = {}
        self._choices: dict[int, JsonObject] = {}

    def add(self, chunk: Json) -> None:
        if not isinstance(chunk, dict):
            return
        for name, value in chunk.items():
            if name not in ("choices", "object") and value is not None:
                self._whole[name] = value
        for delta in objects(chunk.get("choices")):
            index = delta.get("index")
            at = index if isinstance(index, int) else 0
            choice = self._choices.setdefault(at, {"index": at, "finish_reason": None, "message": {"content": None}})
            for name, value in delta.items():
                if name == "delta":
                    _merge(choice["message"], member(delta, "delta"))
                elif name == "logprobs" and isinstance(value, dict):
                    _merge(choice.setdefault("logprobs", {}), value)
                elif value is not None and name != "message":
                    choice[name] = value

    def result(self) -> Json:
        choices = [self._choices[index] for index in sorted(self._choices)]
        return {"object": "chat.completion", **self._whole, "choices": choices}


_ONCE = frozenset(("id", "index", "type", "role", "name"))
"""Members that chunks repeat rather than continue."""


def _merge(whole: JsonObject, delta: JsonObject) -> None:
    """Continue `whole` with `delta`: texts are joined, lists go by `index`, objects member by member."""
    for name, value in delta.items():
        before: Any = whole.get(name)
        if value is None:
            whole.setdefault(name, None)
        elif isinstance(value, str) and isinstance(before, str) and name not in _ONCE:
            whole[name] = before + value
        elif isinstance(value, dict) and isinstance(before, dict):
            _merge(before, value)
        elif isinstance(value, list):
            whole[name] = before if isinstance(before, list) else []
            for one in value:
                _continue(whole[name], one)
        elif not (name in _ONCE and before):
            whole[name] = dict(value) if isinstance(value, dict) else value


def _continue(items: list[Any], one: Json) -> None:
    index = one.get("index") if isinstance(one, dict) else None
    known = next((item for item in items if isinstance(item, dict) and item.get("index") == index), None)
    if index is None or known is None:
        items.append(dict(one) if isinstance(one, dict) else one)
    else:
        _merge(known, one)

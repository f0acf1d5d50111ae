"""Owns the careful reading of JSON that somebody else wrote: a field that is missing or of another kind is no error.

What the fields mean is left to each provider's adapter.
"""

from __future__ import annotations

import json
from typing import Any

from chrono.record.serialise import to_json

Json = Any
JsonObject = dict[str, Any]


def field(value: Json, *path: str) -> Json:
    """The member behind `path`, or None where one on the way is missing or no object."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def member(value: Json, *path: str) -> JsonObject:
    """The object behind `path`; an empty one where there is none."""
    found = field(value, *path)
    return found if isinstance(found, dict) else {}


def objects(value: Json) -> list[JsonObject]:
    """The objects in a list; nothing for what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Json) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def count(value: Json) -> int:
    """A number of tokens: an int of at least 0, everything else is 0 (`True` is no number)."""
    return value if type(value) is int and value > 0 else 0


def texts(value: Json) -> list[str] | None:
    """One text or a list of them as a list."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str)]
    return None


def without_none(value: JsonObject) -> JsonObject:
    return {key: one for key, one in value.items() if one is not None}


def arguments(value: Json) -> JsonObject:
    """A tool call's arguments: the object, or the text that should have held one under `$raw_arguments`."""
    if isinstance(value, dict):
        return value
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        read = written(value)
        if isinstance(read, dict):
            return read
    return {"$raw_arguments": value if isinstance(value, str) else json.dumps(value)}


def written(value: str) -> Json:
    """What a model wrote as JSON; None where it is none.

    Within the recorder's bounds, as all else is: half a surrogate pair, NaN or a thousand brackets are JSON to a model.
    """
    try:
        return to_json(json.loads(value))
    except (ValueError, RecursionError):
        return None


def continued(before: Json, more: Json) -> str:
    """The text `before` with what a delta adds; what is no text adds none."""
    return (before if isinstance(before, str) else "") + (more if isinstance(more, str) else "")


def text_block(value: str) -> JsonObject:
    return {"type": "text", "text": value}


def collapsed(blocks: list[JsonObject]) -> str | list[JsonObject]:
    """A message's content: the text itself where there is nothing but one text."""
    if not blocks:
        return ""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return str(blocks[0]["text"])
    return blocks


def served(model: Json, requested: str | None) -> JsonObject:
    """Which model answered: what the answer says, else what was asked for (specs: record A11)."""
    if text(model):
        return {"model": model, "model_source": "served"}
    if requested:
        return {"model": requested, "model_source": "requested"}
    return {}


def params(raw: JsonObject, *, max_tokens: tuple[str, ...], stop: tuple[str, ...]) -> JsonObject:
    """The parameters that all providers share; `max_tokens` and `stop` are the names this one has for them."""
    found: JsonObject = {}
    for name in ("temperature", "top_p"):
        if name in raw and type(raw[name]) in (int, float):
            found[name] = raw[name]
    for name in max_tokens:
        if name in raw and type(raw[name]) is int and raw[name] >= 0:
            found["max_tokens"] = raw[name]
            break
    if "seed" in raw and type(raw["seed"]) is int:
        found["seed"] = raw["seed"]
    for name in stop:
        ends = texts(raw[name]) if name in raw else None
        if ends is not None:
            found["stop"] = ends
            break
    return found

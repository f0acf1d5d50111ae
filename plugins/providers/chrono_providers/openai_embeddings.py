"""Owns embeddings as OpenAI and LiteLLM speak them: what was embedded, and what it cost. The vectors stay in raw."""

from __future__ import annotations

from chrono_providers.json_fields import Json, JsonObject, count, field, served, text, texts, without_none


class EmbeddingsAdapter:
    """Embeddings -> canonical: each text a user message; an answer has usage and model, no content."""

    def __init__(self, provider: str) -> None:
        self.provider = provider

    def to_canonical_input(self, raw: JsonObject) -> JsonObject:
        said = texts(raw.get("input")) or []
        return without_none(
            {"model": text(raw.get("model")), "messages": [{"role": "user", "content": one} for one in said]}
        )

    def to_canonical_output(self, raw: Json, requested_model: str | None) -> JsonObject:
        usage = field(raw, "usage")
        counted = None
        if isinstance(usage, dict):
            counted = {
                "input": count(usage.get("prompt_tokens")), "cached_read": 0, "cache_write": 0, "output": 0,
                "reasoning": 0,
            }  # fmt: skip
        return without_none(
            {"provider": self.provider, "usage": counted, **served(field(raw, "model"), requested_model)}
        )

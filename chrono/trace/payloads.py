"""Owns what crosses a boundary: the input and output of a tool and of a model, with messages, blocks and usage.

How a provider's own form becomes this one is left to its adapter (`record.provider`).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from chrono.trace.enums import FinishReason, MessageRole, ModelSource
from chrono.trace.fields import Entity, NonEmpty

UNKNOWN_PROVIDER = "unknown"

Count = Annotated[int, Field(ge=0)]


class OutputError(Entity):
    """A call that raised: the exception's class name and its (redacted) text."""

    type: NonEmpty
    message: str


class TextBlock(Entity):
    type: Literal["text"] = "text"
    text: str


class ToolCallBlock(Entity):
    """A model's wish that a tool be called."""

    type: Literal["tool_call"] = "tool_call"
    id: str | None = None
    name: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class ReasoningBlock(Entity):
    type: Literal["reasoning"] = "reasoning"
    text: str


class RefusalBlock(Entity):
    type: Literal["refusal"] = "refusal"
    text: str


ContentBlock = Annotated[TextBlock | ToolCallBlock | ReasoningBlock | RefusalBlock, Field(discriminator="type")]


class Message(Entity):
    role: MessageRole
    content: str | list[ContentBlock]
    tool_call_id: str | None = None


class Usage(Entity):
    """Tokens of one call in buckets that exclude each other: their sum is the total, each is priced once."""

    input: Count = 0
    cached_read: Count = 0
    cache_write: Count = 0
    output: Count = 0
    reasoning: Count = 0


class LlmParams(Entity):
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: Count | None = None
    seed: int | None = None
    stop: list[str] | None = None


class ToolInput(Entity):
    """`raw`: the arguments by name."""

    raw: dict[str, JsonValue]


class ToolOutput(Entity):
    raw: JsonValue = None
    error: OutputError | None = None


class LlmInput(Entity):
    """A request to a model in the one form of all providers; `raw` is what was passed.

    By convention a tool is {name, description?, parameters?} and `tool_choice` auto, none, required or {name}.
    """

    model: NonEmpty
    messages: list[Message]
    system: str | None = None
    tools: list[dict[str, JsonValue]] | None = None
    tool_choice: JsonValue = None
    response_format: dict[str, JsonValue] | None = None
    params: LlmParams = Field(default_factory=LlmParams)
    raw: dict[str, JsonValue]


class LlmOutput(Entity):
    """A model's answer in the one form of all providers; `usage` is None where the provider said nothing."""

    content: list[ContentBlock] = Field(default_factory=list)
    finish_reason: FinishReason | None = None
    provider: NonEmpty = UNKNOWN_PROVIDER
    model: NonEmpty | None = None
    model_source: ModelSource | None = None
    usage: Usage | None = None
    response_id: str | None = None
    deployment_id: str | None = None
    raw: JsonValue = None
    error: OutputError | None = None

    @model_validator(mode="after")
    def _model_has_a_source(self) -> Self:
        if (self.model is None) != (self.model_source is None):
            raise ValueError("model and model_source: both or neither")
        return self

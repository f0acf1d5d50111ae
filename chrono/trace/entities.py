"""Owns Trace, Span and Envelope: one request, one service's handling of it, one boundary crossing (specs: record A1).

These models are the door for readers; what records writes tuples of the same shape (`record.entry`).
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, Field, JsonValue, ValidationInfo, field_validator, model_validator

from chrono.trace.enums import Kind, LinkType, State
from chrono.trace.fields import (
    SCHEMA_VERSION,
    Entity,
    EnvelopeIdField,
    Lifecycle,
    MetadataKey,
    NonEmpty,
    SchemaVersion,
    SpanIdField,
    TraceIdField,
    check_lifecycle,
)
from chrono.trace.payloads import LlmInput, LlmOutput, ToolInput, ToolOutput


class Trace(Entity):
    """One request across services. `metadata` are labels, written once; `attributes` belong to who governs it."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    trace_id: TraceIdField
    name: NonEmpty | None = None
    metadata: dict[MetadataKey, str] = Field(default_factory=dict)
    attributes: dict[MetadataKey, JsonValue] = Field(default_factory=dict)
    state: State
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None


class Span(Lifecycle):
    """One service's handling of a request, and the unit of replay; the caller's envelope is its parent."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    trace_id: TraceIdField
    span_id: SpanIdField
    parent_envelope_id: EnvelopeIdField | None = None
    service: NonEmpty
    metadata: dict[MetadataKey, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _times_agree(self) -> Self:
        check_lifecycle(self)
        return self


class EnvelopeStatus(Lifecycle):
    """State, status and times of one crossing."""

    @model_validator(mode="after")
    def _times_agree(self) -> Self:
        check_lifecycle(self)
        return self


class Link(Entity):
    """A tie to another envelope of the same trace."""

    type: LinkType
    envelope_id: EnvelopeIdField


class Envelope(Entity):
    """One boundary crossing. `kind` chooses the shape of `input` and `output`; another kind's shape is rejected."""

    schema_version: SchemaVersion = SCHEMA_VERSION
    envelope_id: EnvelopeIdField
    span_id: SpanIdField
    trace_id: TraceIdField
    parent_envelope_id: EnvelopeIdField | None = None
    name: NonEmpty
    kind: Kind
    attempt: Annotated[int, Field(ge=1)] = 1
    links: list[Link] = Field(default_factory=list)
    envelope_status: EnvelopeStatus
    input: ToolInput | LlmInput
    output: ToolOutput | LlmOutput | None = None
    metadata: dict[MetadataKey, JsonValue] = Field(default_factory=dict)

    @field_validator("input", mode="before")
    @classmethod
    def _input_of_its_kind(cls, given: Any, info: ValidationInfo) -> Any:
        return _of_kind(given, info, tool=ToolInput, llm=LlmInput, foreign="messages")

    @field_validator("output", mode="before")
    @classmethod
    def _output_of_its_kind(cls, given: Any, info: ValidationInfo) -> Any:
        return None if given is None else _of_kind(given, info, tool=ToolOutput, llm=LlmOutput, foreign="content")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        wanted_input, wanted_output = (LlmInput, LlmOutput) if self.kind == Kind.LLM else (ToolInput, ToolOutput)
        if not isinstance(self.input, wanted_input):
            raise ValueError(f"the input of kind {self.kind} is a {wanted_input.__name__}")
        if self.output is not None and not isinstance(self.output, wanted_output):
            raise ValueError(f"the output of kind {self.kind} is a {wanted_output.__name__}")
        if self.envelope_status.state == State.CLOSED and self.output is None:
            raise ValueError("closed: an output is required")
        return self


def _of_kind(given: Any, info: ValidationInfo, *, tool: type[BaseModel], llm: type[BaseModel], foreign: str) -> Any:
    """`given` under the model of the envelope's kind. Since unknown fields are kept, a tool's shape takes everything:
    what only a model's shape has (`foreign`) is therefore refused by name."""
    kind = info.data.get("kind")
    if not isinstance(given, dict) or kind is None:
        return given
    if kind == Kind.LLM:
        return llm.model_validate(given)
    if foreign in given:
        raise ValueError(f"'{foreign}' belongs to kind llm, not to kind tool")
    return tool.model_validate(given)


PUBLIC_MODELS: tuple[type[Entity], ...] = (Trace, Span, Envelope)

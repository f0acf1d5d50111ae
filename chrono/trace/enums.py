"""Owns the closed vocabularies of traces; a member is text, and its `str()` is that text."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a boundary is; it chooses the shape of input and output."""

    LLM = "llm"
    TOOL = "tool"


class State(StrEnum):
    """Whether something is still going on."""

    OPEN = "open"
    CLOSED = "closed"


class Status(StrEnum):
    """How something that is closed ended."""

    SUCCESS = "success"
    FAILURE = "failure"


class LinkType(StrEnum):
    """How one envelope refers to another of its trace."""

    RETRY_OF = "retry_of"


class MessageRole(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class FinishReason(StrEnum):
    """Why a model stopped, in one vocabulary for all providers; their own word stays in `raw`."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


class ModelSource(StrEnum):
    """Where the model's name in an output comes from: the answer, or only the request."""

    SERVED = "served"
    REQUESTED = "requested"

"""Owns what the fields of the entities are made of: ids, keys, times, versions, and the base of every model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from chrono.trace.enums import State, Status
from chrono.trace.ids import SHORT_ID_PATTERN, TRACE_ID_PATTERN

SCHEMA_VERSION = "0.2"
"""Version of the entities: additive only within a major; 0.x readers take every 0.x (specs: record A2)."""


def _not_all_zero(text: str) -> str:
    if not text.strip("0"):
        raise ValueError("an id is never all zeros")
    return text


TraceIdField = Annotated[
    str, StringConstraints(strict=True, pattern=TRACE_ID_PATTERN), AfterValidator(_not_all_zero),
    Field(description="32 lower-case hex characters, not all zeros."),
]  # fmt: skip
SpanIdField = Annotated[
    str, StringConstraints(strict=True, pattern=SHORT_ID_PATTERN), AfterValidator(_not_all_zero),
    Field(description="16 lower-case hex characters, not all zeros."),
]  # fmt: skip
EnvelopeIdField = SpanIdField
MetadataKey = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$")]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
SchemaVersion = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$")]


class Entity(BaseModel):
    """Base of all models: unknown fields are kept, assignment is checked, times have a zone.

    A reader that drops what a newer writer said is no store of record, so `extra` is "allow" (the suite ignores).
    """

    model_config = ConfigDict(extra="allow", validate_assignment=True, protected_namespaces=())

    def to_wire(self) -> str:
        """The JSON form: null members of models left out, null inside free JSON kept, times in UTC with `Z`."""
        return self.model_dump_json(exclude_none=True)


class Lifecycle(Entity):
    """State, status and times of what opens and closes: open has neither status nor end, closed has both."""

    state: State
    status: Status | None = None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None


def check_lifecycle(of: Lifecycle) -> None:
    """Raises ValueError unless state, status and times agree (specs: record A1)."""
    if of.state == State.OPEN:
        if of.status is not None or of.ended_at is not None:
            raise ValueError("open: neither status nor ended_at")
    elif of.status is None or of.ended_at is None:
        raise ValueError("closed: both status and ended_at")
    elif of.ended_at < of.started_at:
        raise ValueError("ended_at is before started_at")

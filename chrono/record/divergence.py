"""Owns how a replay differed from its recording: as data, as JSON, as text for a person.

Finding the differences is left to `record.replaying`; those between two traces are `record.compare`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from chrono.record.compare import MISSING, Change
from chrono.tuples import NamedTuple

CHANGED: Final = "changed"
LEFTOVER: Final = "leftover"
MISSING_CALL: Final = "missing"
ORDER: Final = "order"
PLAN: Final = "plan"
MASKED: Final = "masked"

_WORDS: Final = {
    CHANGED: "called with other arguments than in the recording",
    LEFTOVER: "recorded, and not called",
    MISSING_CALL: "called, and not in the recording",
    ORDER: "called later than in the recording",
    PLAN: "named by the plan, and never ran",
    MASKED: "would have run with a masked secret as an argument",
}
_SHOWN_CHANGES: Final = 12
_COLUMNS: Final = 160


class Divergence(NamedTuple):
    """One difference. `kind`: changed, leftover, missing, order, plan or masked; `path`: the names of the calls around;
    `invocation`: which call of its name, from 1 (None: of the plan, any); `envelope_id`: of the recording."""

    kind: str
    name: str
    path: tuple[str, ...] = ()
    invocation: int | None = None
    envelope_id: str | None = None
    changes: tuple[Change, ...] = ()


def as_json(divergences: Iterable[Divergence]) -> list[dict[str, Any]]:
    """The same as JSON objects; a side that was not there is left out of a change."""
    return [
        {
            **one._asdict(),
            "path": list(one.path),
            "changes": [
                {name: value for name, value in change._asdict().items() if value is not MISSING}
                for change in one.changes
            ],
        }
        for one in divergences
    ]


def of_json(value: Any) -> list[Divergence]:
    """What `as_json` wrote."""
    return [
        Divergence(
            one["kind"],
            one["name"],
            tuple(one["path"]),
            one["invocation"],
            one["envelope_id"],
            tuple(
                Change(change["path"], change.get("left", MISSING), change.get("right", MISSING))
                for change in one["changes"]
            ),
        )
        for one in value
    ]


def as_text(divergences: Iterable[Divergence]) -> str:
    """A paragraph each, `-` what was recorded and `+` what came now; empty where there is none."""
    return "\n".join(line for one in divergences for line in _lines(one))


def _lines(one: Divergence) -> list[str]:
    number = f" #{one.invocation}" if one.invocation is not None else ""
    where = " / ".join((*one.path, one.name))
    lines = [f"{one.kind}: {where}{number} was {_WORDS.get(one.kind, one.kind)}"]
    for change in one.changes[:_SHOWN_CHANGES]:
        lines.append(f"    {change.path or '(all)'}")
        lines.append(_cut(f"      - {_shown(change.left)}"))
        lines.append(_cut(f"      + {_shown(change.right)}"))
    if len(one.changes) > _SHOWN_CHANGES:
        lines.append(f"    and {len(one.changes) - _SHOWN_CHANGES} more")
    return lines


def _shown(value: Any) -> str:
    return "(not there)" if value is MISSING else json.dumps(value, ensure_ascii=False, default=repr)


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"

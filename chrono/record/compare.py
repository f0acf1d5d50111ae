"""Owns what differs between two traces: which crossings one has and the other has not, and what changed in the others.
Pure; times, ids and counts of one run are no difference.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final

from chrono.record.reading import StoredTrace, in_order
from chrono.tuples import NamedTuple


class Missing(enum.Enum):
    """In place of a value that one side does not have: no JSON value can be taken for it."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
MAX_CHANGES = 50
"""Of one crossing; a table of a million cells that all moved is said by its first."""


class Change(NamedTuple):
    """One value: `path` is a JSON pointer into the envelope; a side without it has `MISSING`."""

    path: str
    left: Any
    right: Any


class Difference(NamedTuple):
    """One crossing that is not the same. `left_id` or `right_id` is None where only the other trace has it."""

    name: str
    kind: str
    left_id: str | None
    right_id: str | None
    changes: tuple[Change, ...]


def differences(left: StoredTrace, right: StoredTrace) -> list[Difference]:
    """In the order of the calls; empty where the two did the same and got the same."""
    ours, theirs = sorted(left.envelopes, key=in_order), sorted(right.envelopes, key=in_order)
    matcher = SequenceMatcher(None, [_call(one) for one in ours], [_call(one) for one in theirs], autojunk=False)
    found: list[Difference] = []
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        both = min(i2 - i1, j2 - j1) if [*map(_call, ours[i1:i2])] == [*map(_call, theirs[j1:j2])] else 0
        for one, other in zip(ours[i1 : i1 + both], theirs[j1 : j1 + both], strict=True):
            changes = tuple(_few(changes_between(_told(one), _told(other), "")))
            if changes:
                found.append(Difference(one["name"], one["kind"], one["envelope_id"], other["envelope_id"], changes))
        found += [Difference(one["name"], one["kind"], one["envelope_id"], None, ()) for one in ours[i1 + both : i2]]
        found += [Difference(one["name"], one["kind"], None, one["envelope_id"], ()) for one in theirs[j1 + both : j2]]
    return found


def _call(envelope: Any) -> tuple[str, str]:
    return envelope["kind"], envelope["name"]


def _told(envelope: Any) -> dict[str, Any]:
    """What a call was given and what it gave."""
    return {
        "status": envelope["envelope_status"].get("status"),
        "input": envelope.get("input"),
        "output": envelope.get("output"),
    }


def _few(changes: Iterator[Change]) -> Iterator[Change]:
    for count, change in enumerate(changes):
        if count == MAX_CHANGES:
            return
        yield change


def changes_between(left: Any, right: Any, path: str = "") -> Iterator[Change]:
    """What differs between two JSON values, in the order of `left`."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            step = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            yield from changes_between(left.get(key, MISSING), right.get(key, MISSING), step)
    elif isinstance(left, list) and isinstance(right, list):
        for at in range(max(len(left), len(right))):
            here = left[at] if at < len(left) else MISSING
            there = right[at] if at < len(right) else MISSING
            yield from changes_between(here, there, f"{path}/{at}")
    elif left != right or type(left) is not type(right):
        yield Change(path, left, right)

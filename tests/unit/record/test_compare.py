"""Two traces: what was called, given and returned differently."""

from __future__ import annotations

from typing import Any

from chrono.record.compare import MISSING, Change, differences
from chrono.record.entry import wire
from chrono.record.reading import StoredTrace
from tests.unit.record.test_delivery import AT, TRACE, envelope


def trace(*envelopes: Any) -> StoredTrace:
    return StoredTrace(TRACE, None, (), tuple(wire(one) for one in envelopes))


def test_another_run_that_did_the_same_is_no_difference() -> None:
    later = [envelope(n, started_at_ns=AT * 2 + n, ended_at_ns=AT * 3, envelope_id=f"{n + 50:016x}") for n in range(4)]
    assert differences(trace(*map(envelope, range(4))), trace(*later)) == []


def test_changed_arguments_and_results_are_named_by_their_place() -> None:
    left = trace(envelope(0, input={"raw": {"a/b": [1, 2], "gone": None}}))
    right = trace(envelope(0, input={"raw": {"a/b": [1, True]}}, status="failure", output={"raw": None}))
    (found,) = differences(left, right)
    assert found.changes == (
        Change("/status", "success", "failure"),
        Change("/input/raw/a~1b/1", 2, True),
        Change("/input/raw/gone", None, MISSING),
        Change("/output/raw", 0, None),
    )


def test_a_call_that_only_one_side_made_does_not_shift_the_others() -> None:
    left, right = trace(*map(envelope, (0, 1, 2, 3))), trace(*map(envelope, (0, 2, 3, 4)))
    assert [(one.name, one.left_id is None, one.right_id is None) for one in differences(left, right)] == [
        ("tool-1", False, True),
        ("tool-4", True, False),
    ]


def test_a_value_that_is_the_same_number_of_another_type_is_a_difference() -> None:
    (found,) = differences(trace(envelope(0, output={"raw": 1})), trace(envelope(0, output={"raw": 1.0})))
    assert found.changes == (Change("/output/raw", 1, 1.0),)

"""Claims about the one text form of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.clock import from_rfc3339, rfc3339


@given(st.integers(min_value=0, max_value=4_102_444_800_000_000))
def test_text_and_number_are_the_same_moment(at_us: int) -> None:
    assert from_rfc3339(rfc3339(at_us * 1000)) == at_us * 1000


def test_the_form_is_utc_with_microseconds() -> None:
    assert rfc3339(1_764_469_522_123_456_789) == "2025-11-30T02:25:22.123456Z"


@pytest.mark.parametrize(
    "text", ["", "2025-11-30T02:25:22Z", "2025-11-30T02:25:22.12345xZ", "2025-11-30 02:25:22.123456Z"]
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_rfc3339(text)

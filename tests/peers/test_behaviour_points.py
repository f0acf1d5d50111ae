"""Claims about what the Chronicle SDK gets wrong and we get right: every point fails there and holds here.

Where a point holds in both, it is marked `shared`; a fault that a later release mends shows up here.
"""

from __future__ import annotations

import pytest

from tests.peers.behaviour import Point, load, table, under_both

pytestmark = pytest.mark.slow  # most of the time is theirs: timeouts, stalls, a cycle without an end

SECTIONS = {*range(1, 16), 18}


@pytest.fixture(scope="module")
def both() -> tuple[dict[str, str | None], dict[str, str | None]]:
    ours, theirs = found = under_both()
    print(f"\n{table(ours, theirs)}")
    return found


@pytest.mark.parametrize("one", load(), ids=lambda one: f"{one.number} {one.claim}")
def test_a_point_holds_here_and_fails_there(
    one: Point, both: tuple[dict[str, str | None], dict[str, str | None]]
) -> None:
    ours, theirs = both
    assert ours[one.claim] is None
    assert (theirs[one.claim] is None) == one.shared


def test_every_section_has_its_points() -> None:
    assert {one.number for one in load()} == SECTIONS
    assert len({one.claim for one in load()}) == len(load())

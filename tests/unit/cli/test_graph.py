"""Claims about the graph of savepoints: children above parents, columns that join, and nothing wider than needed."""

from __future__ import annotations

import random

from chrono.cli.graph import draw, ordered
from chrono.ids import CommitId, TreeId
from chrono.store.savepoint import Savepoint

ASIDE = frozenset({"auto", "rescue"})


def point(name: str, *parents: str, kind: str = "manual", at: int = 0) -> Savepoint:
    ids = tuple(CommitId(parent) for parent in parents)
    return Savepoint(CommitId(name), kind, None, at, name, "me", TreeId("t"), None, ids, ())


def drawn(*points: Savepoint) -> list[str]:
    return [
        f"{row.drawing} {row.savepoint.id if row.savepoint else ''}".rstrip() for row in draw(ordered(points), ASIDE)
    ]


def test_one_line_is_one_column() -> None:
    assert drawn(point("c", "b", at=3), point("b", "a", at=2), point("a", at=1)) == ["* c", "* b", "* a"]


def test_what_hangs_aside_takes_no_column() -> None:
    points = [point("b", "a", at=9), point("x", "a", kind="auto", at=5), point("y", "a", kind="rescue", at=4)]
    assert drawn(*points, point("a", at=1)) == ["* b", "| o x", "| o y", "* a"]


def test_a_merge_parts_and_joins() -> None:
    points = [point("m", "b", "c", at=9), point("c", "a", at=5), point("b", "a", at=4), point("a", at=1)]
    assert drawn(*points) == ["* m", "|\\", "| * c", "* | b", "|/", "* a"]


def test_a_line_across_others_is_drawn_across_them() -> None:
    points = [
        point("x", "a", at=9), point("y", "b", at=8), point("z", "a", at=7), point("b", at=2), point("a", at=1),
    ]  # fmt: skip
    assert drawn(*points) == ["* x", "| * y", "| | * z", "|_|/", "| * b", "* a"]


def test_a_clock_that_went_back_does_not_turn_the_order_round() -> None:
    assert drawn(point("c", "b", at=1), point("b", "a", at=5), point("a", at=9)) == ["* c", "* b", "* a"]


def test_a_savepoint_whose_parent_is_not_shown_ends_its_column() -> None:
    assert drawn(point("c", "gone", at=3), point("b", "gone", at=2)) == ["* c", "* b"]


def test_any_history_is_drawn_with_each_savepoint_once() -> None:
    dice = random.Random(5)
    for _ in range(300):
        points: list[Savepoint] = []
        for number in range(dice.randrange(1, 25)):
            earlier = [one.id for one in points if one.kind == "manual"]
            parents = dice.sample(earlier, min(len(earlier), dice.choice((0, 1, 1, 1, 2, 3))))
            points.append(point(f"n{number}", *parents, kind=dice.choice(("manual", "manual", "auto")), at=number))
        order = ordered(points)
        rows = list(draw(order, ASIDE))
        assert [row.savepoint for row in rows if row.savepoint is not None] == order
        seen: set[str] = set()
        for row in rows:
            assert set(row.drawing) <= set("*o|\\/_ ")
            if row.savepoint is not None:
                assert not seen & {child.id for child in points if row.savepoint.id in child.parents} - seen
                seen.add(row.savepoint.id)
        place = {one.id: number for number, one in enumerate(order)}
        assert all(place[one.id] < place[parent] for one in points for parent in one.parents)

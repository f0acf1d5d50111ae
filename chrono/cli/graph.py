"""Owns the graph beside `chrono log --graph`: which savepoint hangs on which, in plain characters. Pure.

What stands behind the graph in each row is left to `cli.commands.log`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.store.savepoint import Savepoint


class Row(NamedTuple):
    """One line: the drawing, and the savepoint that it is about (None: only lines that join or part)."""

    drawing: str
    savepoint: Savepoint | None


def ordered(savepoints: Sequence[Savepoint]) -> list[Savepoint]:
    """Newest first, but never a savepoint before one that hangs on it, whatever the clock said."""
    known = {one.id: one for one in savepoints}
    children = dict.fromkeys(known, 0)
    for one in savepoints:
        for parent in one.parents:
            if parent in children:
                children[parent] += 1
    place = {one.id: number for number, one in enumerate(savepoints)}
    heap = [(-one.at_ns, place[one.id], one.id) for one in savepoints if not children[one.id]]
    heapq.heapify(heap)
    found = []
    while heap:
        one = known[heapq.heappop(heap)[2]]
        found.append(one)
        for parent in one.parents:
            if parent in children:
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(heap, (-known[parent].at_ns, place[parent], parent))
    return found


def draw(savepoints: Sequence[Savepoint], aside: frozenset[str]) -> Iterator[Row]:
    """Rows for `savepoints`, which are `ordered`. `*` is on a branch; `o` hangs on the savepoint that its column leads
    to, for the kinds in `aside` (automatic ones, rescues) on which nothing else hangs. Of those only the first parent
    counts."""
    shown = {one.id for one in savepoints}
    wanted = {parent for one in savepoints for parent in one.parents}
    lanes: list[str] = []  # the savepoint that each column leads to
    for one in savepoints:
        parents = [parent for parent in one.parents if parent in shown]
        if one.kind in aside and one.id not in wanted:
            if parents and parents[0] not in lanes:
                lanes.append(parents[0])
            yield Row("| " * len(lanes) + "o", one)
            continue
        if one.id not in lanes:
            lanes.append(one.id)
        column = lanes.index(one.id)
        yield Row(_cells(lanes, {2 * column: "*"}), one)
        if not parents:
            yield from _close(lanes, column)
            continue
        for parent in reversed(parents[1:]):
            yield _open(lanes, column, parent)
        for parent in parents[1:]:
            yield from _join(lanes, parent)
        lanes[column] = parents[0]
        yield from _join(lanes, parents[0])


def _open(lanes: list[str], column: int, parent: str) -> Row:
    """A new column right of `column`: the others make room."""
    before = len(lanes)
    lanes.insert(column + 1, parent)
    cells = {2 * index: "|" for index in range(column + 1)}
    cells.update({2 * index + 1: "\\" for index in range(column, before)})
    return Row(_text(cells), None)


def _join(lanes: list[str], parent: str) -> Iterator[Row]:
    """Two columns that lead to one savepoint become one, the left one."""
    columns = [index for index, waits in enumerate(lanes) if waits == parent]
    while len(columns) > 1:
        left, right = columns[0], columns.pop()
        cells = {2 * index: "|" for index in range(right)}
        cells.update({2 * index - 1: "_" for index in range(left + 1, right)})
        cells.update({2 * index - 1: "/" for index in range(right, len(lanes))})
        del lanes[right]
        yield Row(_text(cells), None)


def _close(lanes: list[str], column: int) -> Iterator[Row]:
    """A column ends: those to its right move up."""
    cells = {2 * index: "|" for index in range(column)}
    cells.update({2 * index - 1: "/" for index in range(column + 1, len(lanes))})
    del lanes[column]
    if column < len(lanes):
        yield Row(_text(cells), None)


def _cells(lanes: Sequence[str], other: dict[int, str]) -> str:
    return _text({**{2 * index: "|" for index in range(len(lanes))}, **other})


def _text(cells: dict[int, str]) -> str:
    return "".join(cells.get(index, " ") for index in range(max(cells, default=-1) + 1))

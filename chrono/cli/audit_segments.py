"""Owns how the files of the audit log are shown: as a table, as JSON, and what pruning would take.

What is done to them is left to `workspace.segments`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli import shapes
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count, size

if TYPE_CHECKING:
    from chrono.audit.segment import PrunePlan, Segment
    from chrono.workspace.project import Workspace

_FORMS = {"plain": "", "packed": "packed", "pruned": "pruned: hashes only"}


def show(screen: Screen, found: tuple[Segment, ...]) -> None:
    """A row a file, oldest first."""
    screen.table([_row(one) for one in found])
    if len(found) == 1:
        screen.note("the log lies in one file; at 64 MiB the next one is begun")


def _row(one: Segment) -> tuple[str, ...]:
    form = _FORMS[one.form] if one.closed else "records are appended here"
    until = f"to {one.last_at[:10]}" if one.last_at else ""
    return (f"{one.first:>7}", count(one.records, "record"), size(one.bytes), until, form)


def as_json(one: Segment) -> shapes.Json:
    return {
        "first": one.first,
        "records": one.records,
        "form": one.form,
        "bytes": one.bytes,
        "last_at": one.last_at or None,
        "closed": one.closed,
    }


def prune(screen: Screen, ws: Workspace, plan: PrunePlan, *, dry_run: bool, yes: bool, json: bool) -> int:
    """Shows `plan`, asks a person, and does it."""
    from chrono.workspace import segments
    from chrono.workspace.actors import actor

    held = sum(one.bytes for one in plan.segments)
    going: list[shapes.Json] = [as_json(one) for one in plan.segments]
    if not json:
        _show_plan(screen, plan, held)
    if dry_run or not plan.segments:
        if json:
            screen.value({"segments": going, "records": plan.records, "applied": False})
        elif plan.segments:
            screen.line("nothing was pruned (--dry-run)")
        return 0
    if screen.person and not yes and not json and not screen.confirm("Prune them? It cannot be undone."):
        screen.note("nothing was pruned")
        return 1
    with screen.working("verifying, then pruning"):
        done = segments.prune(ws, plan, actor(screen.environ))
    if json:
        screen.value({"segments": going, "records": plan.records, "applied": True})
    else:
        records = count(sum(one.records for one in done), "record")
        screen.line(Styled("pruned", "green"), f" {records}; what is left verifies as before")
    return 0


def _show_plan(screen: Screen, plan: PrunePlan, held: int) -> None:
    if not plan.segments:
        screen.line(f"nothing to prune: no closed segment ends before {plan.before[:10]}")
        return
    last = plan.segments[-1]
    screen.text(f"to prune: records {plan.segments[0].first} to {last.first + last.records - 1}, {size(held)}")
    screen.text("their text goes; hashes, savepoints, keys and sessions stay, so that the log still verifies")

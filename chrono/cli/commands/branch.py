"""Owns `chrono branch`. Making and deleting branches is left to `workspace.branches`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, age
from chrono.errors import UsageError


def run(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The branch to make.", show_default="list them")
    ] = None,
    start: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Where it begins.", show_default="the current branch")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Delete a merged branch.")] = False,
    json: Json = False,
) -> None:
    """List, make or delete branches.

    A new branch is not switched to: chrono checkout NAME does that. A branch is deleted only when another one holds
    all of its savepoints.
    """
    from chrono.workspace import branches
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    if name is None:
        if delete:
            raise UsageError("which branch?", "chrono branch -d NAME")
        _list(screen, json)
        return
    ws = workspace(screen)
    by = actor(screen.environ)
    if delete:
        if start is not None:
            raise UsageError("one branch at a time", "chrono branch -d NAME")
        tip = branches.delete(ws, name, by)
        if json:
            screen.value({"deleted": name, "tip": tip})
            return
        screen.line("deleted ", Styled(name, "bold"), f", it was at {shapes.short(tip)}")
        screen.line("undo: ", Styled("chrono undo", "bold"))
        return
    made = branches.create(ws, name, by, start)
    if json:
        screen.value({"created": shapes.branch(made)})
        return
    at = f" at {shapes.short(made.tip.id)}" if made.tip is not None else ""
    screen.line("branch ", Styled(name, "bold"), at)
    screen.line("switch to it: ", Styled(f"chrono checkout {name}", "bold"))


def _list(screen: Screen, json: bool) -> None:
    from chrono.workspace import branches

    ws = workspace(screen)
    found = branches.branches(ws)
    if json:
        screen.value({"branches": [shapes.branch(one) for one in found]})
        return
    now_ns = ws.clock.now_ns()
    screen.table(
        [
            (
                Styled("*", "green") if one.current else " ",
                Styled(one.name, "green") if one.current else one.name,
                shapes.short(one.tip.id) if one.tip is not None else "-",
                age((now_ns - one.tip.at_ns) / 1e9) if one.tip is not None else "-",
                one.tip.message.partition("\n")[0] if one.tip is not None else "no savepoint yet",
            )
            for one in found
        ]
    )

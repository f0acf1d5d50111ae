"""Owns `chrono diff`. Comparing is left to `workspace.history`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_paths
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import count


def run(
    ctx: typer.Context,
    old: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="From this savepoint.", show_default="the newest")
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="To this one.", show_default="the files as they are")
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Only which paths changed, and how.")] = False,
    json: Json = False,
) -> None:
    """Show differences.

    Without an id: what changed since the newest savepoint.
    """
    from chrono.workspace.history import diff

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("comparing"):
        found = diff(ws, old, new)
    if json:
        screen.value(
            {"old": found.old, "new": found.new, "changes": shapes.changes(found.changes), "patch": found.patch}
        )
    elif names:
        print_paths(screen, [change_row(change) for change in found.changes], most=len(found.changes))
    elif not found.changes:
        screen.note(f"nothing differs from savepoint {shapes.short(found.old)}")
    else:
        screen.patch(found.patch)
        if not found.patch:  # modes and kinds have no lines to show
            screen.line(f"{count(len(found.changes), 'path')} changed:")
            print_paths(screen, [change_row(change) for change in found.changes], most=len(found.changes))

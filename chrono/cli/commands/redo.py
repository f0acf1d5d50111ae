"""Owns `chrono redo`. Planning and restoring are left to `workspace.undoing`."""

from __future__ import annotations

import typer

from chrono.cli.commands.undo import DryRun, Yes, carry_out
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace


def run(ctx: typer.Context, dry_run: DryRun = False, yes: Yes = False, json: Json = False) -> int:
    """Take back the last undo.

    As often as there were undos, until another operation comes in between; chrono undo OPERATION reaches further.
    """
    from chrono.workspace import undoing

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("comparing"):
        plan = undoing.plan_redo(ws)
    return carry_out(screen, ws, plan, dry_run=dry_run, yes=yes, json=json)

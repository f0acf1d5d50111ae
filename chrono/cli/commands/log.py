"""Owns `chrono log`. Reading history is left to `workspace.history`."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import savepoint_row
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.errors import UsageError

PAGE = 30


def run(
    ctx: typer.Context,
    auto: Annotated[
        bool, typer.Option("--auto/--no-auto", help="With or without savepoints taken before commands.")
    ] = True,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", help=f"At most so many; 0 for all. [{PAGE}; with --json all]"),
    ] = None,
    json: Json = False,
) -> None:
    """List savepoints.

    Each with its kind, id, age, the agent it was taken for, and the command it was taken before.
    """
    from chrono.workspace.history import log

    screen = screen_of(ctx)
    ws = workspace(screen)
    if limit is not None and limit < 0:
        raise UsageError(f"--limit {limit} is not a number of savepoints")
    most = limit if limit is not None else (0 if json else PAGE)
    found = log(ws, auto=auto)
    listed = list(islice(found, most)) if most else list(found)
    if json:
        screen.value({"savepoints": [shapes.savepoint(one) for one in listed]})
        return
    now_ns = ws.clock.now_ns()
    screen.table([savepoint_row(one, now_ns) for one in listed])
    if not listed:
        screen.note("there is no savepoint yet; take one: chrono snapshot")
    elif most and next(found, None) is not None:
        screen.note(f"the newest {most} are shown; all of them: chrono log -n 0")

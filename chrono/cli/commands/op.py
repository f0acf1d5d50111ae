"""Owns `chrono op`. The operation log is read by `workspace.oplog`."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, age, one_line
from chrono.errors import UsageError

PAGE = 30


def run_log(
    ctx: typer.Context,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", help=f"At most so many; 0 for all. [{PAGE}; with --json all]"),
    ] = None,
    json: Json = False,
) -> None:
    """List operations.

    Every verb that moved a branch, the current branch or files, newest first. `>` marks what chrono undo would take
    back next, `<` what chrono redo would.
    """
    from chrono.workspace import oplog, undoing

    screen = screen_of(ctx)
    ws = workspace(screen)
    if limit is not None and limit < 0:
        raise UsageError(f"--limit {limit} is not a number of operations")
    most = limit if limit is not None else (0 if json else PAGE)
    found = oplog.operations(ws)
    listed = list(islice(found, most)) if most else list(found)
    piles = undoing.stacks(ws)
    next_undo = piles.done[-1].id if piles.done else None
    next_redo = piles.undone[-1].id if piles.undone else None
    if json:
        screen.value(
            {"operations": [shapes.operation(one) for one in listed], "next_undo": next_undo, "next_redo": next_redo}
        )
        return
    now_ns = ws.clock.now_ns()
    marks = {next_undo: Styled(">", "green"), next_redo: Styled("<", "cyan")}
    screen.table(
        [
            (
                marks.get(one.id, " "),
                Styled(shapes.short(one.id), "bold"),
                age((now_ns - one.at_ns) / 1e9),
                one.author,
                one_line(one.message),
            )
            for one in listed
        ]
    )
    if not listed:
        screen.note("no operation yet: rollback, checkout, merge and branch are listed here")
    elif most and next(found, None) is not None:
        screen.note(f"the newest {most} are shown; all of them: chrono op log -n 0")

"""Owns `chrono snapshot`. Taking the savepoint is left to `workspace.savepoints`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import print_skips
from chrono.cli.options import Json, screen_of
from chrono.cli.place import readable_policy, workspace
from chrono.cli.text import Styled, count


def run(
    ctx: typer.Context,
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="TEXT", help="What this state is, for the log.")
    ] = "",
    json: Json = False,
) -> None:
    """Take a savepoint.

    Everything in the project is saved except .git, .chrono, control files, what .chronoignore names and folders that
    a build makes anew. An unchanged project makes no new savepoint.

    \b
    Examples:
      chrono snapshot -m 'before the upgrade'
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.project import CLI_WAIT_S
    from chrono.workspace.savepoints import save

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("saving"):
        saved = save(ws, "manual", message or "snapshot", actor(screen.environ), timeout_s=CLI_WAIT_S)
    if json:
        screen.value(
            {
                "id": saved.commit,
                "created": saved.created,
                "files": saved.file_count,
                "changed": saved.changed_count,
                "covers": shapes.covers(saved.skips, readable_policy(ws)),
            }
        )
        return
    name = Styled(shapes.short(saved.commit), "bold")
    if saved.created:
        changed = f", {saved.changed_count:,} of them changed" if saved.changed_count != saved.file_count else ""
        screen.line("savepoint ", name, f"  {count(saved.file_count, 'file')}{changed}")
    else:
        screen.line("nothing changed: savepoint ", name, " holds this state already")
    for path in saved.live:
        screen.warning(f"{path} is a live database; it was saved as its files were at that moment")
    print_skips(screen, saved.skips)

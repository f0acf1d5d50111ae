"""Owns `chrono fetch`. Fetching and verifying is left to `workspace.fetch`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, count


def run(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The remote.", show_default="origin, or the only one")
    ] = None,
    json: Json = False,
) -> None:
    """Fetch savepoints.

    What other machines pushed, kept beside your own: look at it with `chrono show origin/main`, bring it in with
    `chrono merge origin/main`. Each machine's audit log is verified first; where one does not hold, nothing is kept.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.fetch import fetch

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("fetching"):
        done = fetch(ws, name, actor(screen.environ), person=screen.person)
    if json:
        screen.value(
            {
                "remote": done.remote.name,
                "url": done.remote.address.shown,
                "branches": [{"name": one.name, "commit": one.commit, "state": one.state} for one in done.branches],
                "logs": [
                    {
                        "log": one.log,
                        "records": one.records,
                        "savepoints": one.savepoints,
                        "verdict": one.verdict,
                        "key": one.key,
                    }
                    for one in done.logs
                ],
            }
        )
        return
    screen.line(Styled("fetched", "green"), f" from {done.remote.name}  {done.remote.address.shown}")
    for branch in done.branches:
        screen.line(f"  {done.remote.name}/{branch.name}  {shapes.short(branch.commit)}  {branch.state}")
    for log in done.logs:
        screen.text(
            f"  log {log.log[:12]}: {count(log.savepoints, 'new savepoint')}, {count(log.records, 'record')} verified, "
            + (f"signed by key {log.key}" if log.key else "unsigned"),
            indent=4,
        )
    if not done.logs:
        screen.note("no other machine has pushed anything; your own log over there agrees with this one")
    moved = [branch.name for branch in done.branches if branch.state != "same"]
    if moved and done.logs:
        screen.note(f"bring it in: chrono merge {done.remote.name}/{moved[0]}")

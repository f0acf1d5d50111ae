"""Owns `chrono show`. Reading is left to `workspace.history`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_paths
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, age, count
from chrono.clock import rfc3339


def run(
    ctx: typer.Context,
    savepoint: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="Id, unique prefix, branch, or HEAD~2.", show_default="the newest"),
    ] = None,
    patch: Annotated[bool, typer.Option("--patch", "-p", help="Also the differences, line by line.")] = False,
    json: Json = False,
) -> None:
    """Show one savepoint.

    When and why it was taken, for which agent, and what changed against the one before it.
    """
    from chrono.workspace.history import newest, show

    screen = screen_of(ctx)
    ws = workspace(screen)
    shown = show(ws, savepoint or newest(ws) or "HEAD")
    value = shown.savepoint
    parent = value.parents[0] if value.parents else None
    text = ws.store.patch(parent, value.id) if patch and parent is not None else None
    if json:
        screen.value(
            {
                **shapes.savepoint(value),
                "author": value.author,
                "trailers": [[key, text] for key, text in value.trailers],
                "changes": shapes.changes(shown.changes),
                "patch": text,
            }
        )
        return
    screen.line("savepoint ", Styled(value.id, "bold"))
    rows = [
        ("kind", value.kind),
        ("taken", f"{rfc3339(value.at_ns)}  ({age((ws.clock.now_ns() - value.at_ns) / 1e9)})"),
        ("by", value.author),
        ("agent", value.trailer("Chrono-Agent")),
        ("session", value.trailer("Chrono-Session")),
        ("before", value.trailer("Chrono-Command")),
        ("after", parent),
    ]
    screen.table([(key, text) for key, text in rows if text], indent=2)
    screen.line("")
    screen.block("".join(f"    {row}\n" for row in value.message.splitlines()))
    screen.line("")
    if text is not None:
        screen.patch(text)
    elif parent is None:
        screen.line("the first savepoint of its branch")
    else:
        screen.line(f"{count(len(shown.changes), 'path')} changed against {shapes.short(parent)}")
        print_paths(screen, [change_row(change) for change in shown.changes], most=200)

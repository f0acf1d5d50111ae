"""Owns `chrono show`. Reading is left to `workspace.history`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_line_counts, print_patch, print_paths
from chrono.cli.options import Json, screen_of
from chrono.cli.place import savepoints_and_paths, workspace
from chrono.cli.text import Styled, age, count
from chrono.clock import rfc3339
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.store.savepoint import Savepoint


def run(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID] [PATH]...", help="Id, unique prefix, branch, or HEAD~2; paths.", show_default="the newest"
        ),
    ] = None,
    patch: Annotated[bool, typer.Option("--patch", "-p", help="Also the differences, line by line.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Also how many lines changed in each file.")] = False,
    word_diff: Annotated[bool, typer.Option("--word-diff", help="Also the differences, word by word.")] = False,
    json: Json = False,
) -> None:
    """Show one savepoint.

    When and why it was taken, for which agent, and what changed against the one before it.

    \b
    Examples:
      chrono show
      chrono show HEAD~2 --patch
    """
    from chrono.workspace.history import newest, show

    screen = screen_of(ctx)
    ws = workspace(screen)
    if stat + word_diff + patch > 1:
        raise UsageError("--patch, --stat and --word-diff exclude each other")
    ids, paths = savepoints_and_paths(ws, words or [], most=1)
    shown = show(ws, ids[0] if ids else newest(ws) or "HEAD", paths)
    value = shown.savepoint
    parent = value.parents[0] if value.parents else None
    text = ws.store.patch(parent, value.id, paths) if (patch or word_diff) and parent is not None else None
    counts = ws.store.line_counts(parent, value.id, paths) if stat and parent is not None else None
    if json:
        screen.value(
            {
                **shapes.savepoint(value),
                "author": value.author,
                "trailers": [[key, text] for key, text in value.trailers],
                "changes": shapes.changes(shown.changes),
                "patch": text,
                "lines": shapes.line_counts(counts) if counts is not None else None,
            }
        )
        return
    with screen.paged():
        _head(screen, value, parent, ws.clock.now_ns())
        if text is not None:
            print_patch(screen, text, words=word_diff)
        elif parent is None:
            screen.line("the first savepoint of its branch")
        else:
            screen.line(f"{count(len(shown.changes), 'path')} changed against {shapes.short(parent)}")
            if counts:
                print_line_counts(screen, counts)
            else:
                print_paths(screen, [change_row(change) for change in shown.changes], most=200)


def _head(screen: Screen, value: Savepoint, parent: str | None, now_ns: int) -> None:
    screen.line("savepoint ", Styled(value.id, "bold"))
    rows = [
        ("kind", value.kind),
        ("taken", f"{rfc3339(value.at_ns)}  ({age((now_ns - value.at_ns) / 1e9)})"),
        ("by", value.author),
        ("agent", value.trailer("Chrono-Agent")),
        ("session", value.trailer("Chrono-Session")),
        ("before", value.trailer("Chrono-Command")),
        ("after", parent),
        ("merged", ", ".join(shapes.short(one) for one in value.parents[1:]) or None),
    ]
    screen.table([(key, text) for key, text in rows if text], indent=2)
    screen.line("")
    screen.block("".join(f"    {row}\n" for row in value.message.splitlines()))
    screen.line("")

"""Owns `chrono diff`. Comparing is left to `workspace.history`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_line_counts, print_patch, print_paths
from chrono.cli.options import Json, screen_of
from chrono.cli.place import savepoints_and_paths, workspace
from chrono.cli.text import count
from chrono.errors import UsageError


def run(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID] [ID] [PATH]...",
            help="From this savepoint to that one, in these paths.",
            show_default="from the newest to the files as they are",
        ),
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Only how many lines changed in each file.")] = False,
    word_diff: Annotated[bool, typer.Option("--word-diff", help="Mark changed words rather than lines.")] = False,
    names: Annotated[bool, typer.Option("--names", help="Only which paths changed, and how.")] = False,
    json: Json = False,
) -> None:
    """Show differences.

    Without an id: what changed since the newest savepoint. Long output goes through a pager on a terminal.

    \b
    Examples:
      chrono diff
      chrono diff HEAD~3 --stat
      chrono diff main idea src/
    """
    from chrono.workspace.history import diff

    screen = screen_of(ctx)
    if stat + word_diff + names > 1:
        raise UsageError("--stat, --word-diff and --names exclude each other")
    ws = workspace(screen)
    ids, paths = savepoints_and_paths(ws, words or [], most=2)
    old, new = (*ids, None, None)[:2]
    with screen.working("comparing"):
        found = diff(ws, old, new, paths)
        counts = ws.store.line_counts(found.old, found.new, paths) if stat else ()
    if json:
        value: dict[str, shapes.Json] = {
            "old": found.old,
            "new": found.new,
            "changes": shapes.changes(found.changes),
            "patch": found.patch,
        }
        if stat:
            value["lines"] = shapes.line_counts(counts)
        screen.value(value)
    elif not found.changes:
        screen.note(f"nothing differs from savepoint {shapes.short(found.old)}")
    else:
        with screen.paged():
            if names:
                print_paths(screen, [change_row(change) for change in found.changes], most=len(found.changes))
            elif stat:
                print_line_counts(screen, counts)
            else:
                print_patch(screen, found.patch, words=word_diff)
                if not found.patch:  # modes and kinds have no lines to show
                    screen.line(f"{count(len(found.changes), 'path')} changed:")
                    print_paths(screen, [change_row(change) for change in found.changes], most=len(found.changes))

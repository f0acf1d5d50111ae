"""Owns `chrono worktree`. Making and deleting worktrees is left to `workspace.worktrees`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import print_skips, savepoint_words
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, age, count
from chrono.clock import rfc3339

if TYPE_CHECKING:
    from chrono.workspace.worktrees import Worktree

Folder = Annotated[str, typer.Argument(metavar="DIR", help="A folder outside the project.", show_default=False)]

_STATES = {
    "unfinished": "its making was cut short: chrono worktree remove",
    "gone": "somebody deleted the folder: chrono worktree remove forgets it",
    "replaced": "another folder has this name now: chrono worktree remove forgets it",
}


def run_add(
    ctx: typer.Context,
    folder: Folder,
    savepoint: Annotated[
        str, typer.Argument(metavar="ID", help="Id, unique prefix, branch, or HEAD~2.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Check a savepoint out.

    The folder must be new or empty, and outside the project, which is not touched. Whatever happens there is not
    saved: it is a scratch folder to look, test or compare in.

    \b
    Examples:
      chrono worktree add ../before HEAD~5
    """
    from chrono.workspace import worktrees
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("checking out"):
        done = worktrees.add(ws, folder, savepoint, actor(screen.environ))
    if json:
        screen.value(
            {
                "path": done.path,
                "savepoint": shapes.savepoint(done.savepoint),
                "files": done.written.files,
                "cloned": done.written.cloned,
                "size_bytes": done.written.size_bytes,
                "skipped": shapes.skips(done.skips),
            }
        )
        return
    screen.line(Styled("checked out", "green"), f" {count(done.written.files, 'file')} into ", done.path)
    screen.text("  as of ", savepoint_words(done.savepoint, ws.clock.now_ns()), indent=2)
    print_skips(screen, done.skips)
    screen.note("delete it again: chrono worktree remove ", folder)


def run_list(ctx: typer.Context, json: Json = False) -> None:
    """List worktrees."""
    from chrono.workspace import worktrees

    screen = screen_of(ctx)
    ws = workspace(screen)
    found = worktrees.listed(ws)
    if json:
        screen.value({"worktrees": [_json(one) for one in found]})
        return
    now_ns = ws.clock.now_ns()
    screen.table(
        [
            (Styled(shapes.short(one.commit), "bold"), age((now_ns - one.at_ns) / 1e9), one.state, one.path)
            for one in found
        ]
    )
    for one in found:
        if one.state in _STATES and one.pid is None:
            screen.note(f"{one.path}: {_STATES[one.state]}")
    if not found:
        screen.note("there is none; make one: chrono worktree add DIR ID")


def run_remove(
    ctx: typer.Context,
    folder: Folder,
    force: Annotated[bool, typer.Option("--force", "-f", help="Also where files in it were changed.")] = False,
    json: Json = False,
) -> None:
    """Delete a worktree.

    Only a folder that `chrono worktree add` made. Where files in it were changed it is kept, unless you say --force.
    """
    from chrono.workspace import worktrees
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    found = worktrees.find(ws, folder)
    with screen.working("deleting"):
        worktrees.remove(ws, found, actor(screen.environ), force=force)
    if json:
        screen.value({"removed": _json(found)})
    elif found.state in ("gone", "replaced"):
        screen.line(f"forgot {found.path}: the folder that was made is not there any more")
    else:
        screen.line("deleted ", found.path)


def _json(value: Worktree) -> dict[str, shapes.Json]:
    return {
        "path": value.path,
        "savepoint": value.commit,
        "at": rfc3339(value.at_ns),
        "state": value.state,
        "pid": value.pid,
    }

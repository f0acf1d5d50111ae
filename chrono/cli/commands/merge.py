"""Owns `chrono merge`. Merging is left to `workspace.merging`, taking one back to `workspace.undoing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.commands.undo import carry_out
from chrono.cli.listing import changed_words, print_conflicts, print_left
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, count
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.workspace.merging import MergeDone
    from chrono.workspace.project import Workspace

CONFLICTS = 13


def run(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The branch or savepoint to merge in.", show_default=False),
    ] = None,
    go_on: Annotated[bool, typer.Option("--continue", help="Commit a merge whose conflicts are resolved.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Take a merge with conflicts back.")] = False,
    json: Json = False,
) -> int:
    """Bring another branch's work into this one.

    The files as they are are saved first. Where both branches changed the same lines, the file gets both versions
    between markers; of files without lines (binary, link, deleted on one side) both versions are kept beside each
    other as name~branch. chrono status lists the conflicts. Leaves with 13 where there are any.
    """
    from chrono.workspace import mergestate, merging, undoing
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    if (name is not None) + go_on + abort != 1:
        raise UsageError("merge what?", "chrono merge NAME, chrono merge --continue or chrono merge --abort")
    ws = workspace(screen)
    by = actor(screen.environ)
    if abort:
        return carry_out(screen, ws, undoing.plan_undo(ws, mergestate.begun_by(ws).id), json=json)
    if go_on:
        with screen.working("saving"):
            commit = merging.end(ws, by)
        if json:
            screen.value({"merged": True, "commit": commit, "saved": None, "conflicts": [], "notes": [], "left": []})
        else:
            screen.line(Styled("merged", "green"), f": savepoint {shapes.short(commit)}")
            screen.line("undo: ", Styled("chrono undo", "bold"))
        return 0
    assert name is not None
    with screen.working("merging"):
        done = merging.merge(ws, name, by)
    return _tell(screen, ws, name, done, json)


def _tell(screen: Screen, ws: Workspace, name: str, done: MergeDone | None, json: bool) -> int:
    from chrono.workspace.history import branch_name

    current = branch_name(ws.store.head_ref())
    if json:
        screen.value(
            {
                "merged": done is None or done.commit is not None,
                "commit": done.commit if done is not None else None,
                "saved": done.saved if done is not None else None,
                "conflicts": [shapes.conflict(one) for one in done.conflicts] if done is not None else [],
                "notes": list(done.notes) if done is not None else [],
                "left": shapes.left(done.left) if done is not None else [],
            }
        )
        return CONFLICTS if done is not None and done.commit is None else 0
    if done is None:
        screen.line(f"{current} holds all of {name} already")
        return 0
    changed = changed_words(done.written, done.deleted)
    if done.commit is not None:
        screen.line(
            Styled("merged", "green"), f" {name} into {current}: {changed}, savepoint {shapes.short(done.commit)}"
        )
    else:
        screen.line(Styled(count(len(done.conflicts), "conflict"), "red"), f" between {current} and {name}; {changed}")
        print_conflicts(screen, [(one, True) for one in done.conflicts])
    for note in done.notes:
        screen.warning(note)
    print_left(screen, done.left)
    if done.commit is not None:
        screen.line("undo: ", Styled("chrono undo", "bold"))
        return 0
    screen.line("when they are resolved: ", Styled("chrono merge --continue", "bold"))
    screen.line("take it back:           ", Styled("chrono merge --abort", "bold"))
    return CONFLICTS

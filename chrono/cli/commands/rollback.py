"""Owns `chrono rollback`: shows the plan, asks where somebody is there, applies, and says how to undo it.

Planning and restoring are left to `workspace.rollback`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import print_left, print_plan, savepoint_words
from chrono.cli.options import Json, screen_of
from chrono.cli.place import readable_policy, savepoints_and_paths, workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count

if TYPE_CHECKING:
    from chrono.policy.model import Policy
    from chrono.workspace.project import Workspace
    from chrono.workspace.rollback import RollbackPlan, RolledBack


def run(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID] [PATH]...", help="A savepoint, and the paths to bring back.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Bring files back.

    Without an id: to the newest savepoint of the current branch, automatic ones included. The state before is saved
    first, so that a rollback can be undone. Files created since are removed and kept in that savepoint. Files
    outside the project, ignored folders and control files are not touched.

    \b
    Examples:
      chrono rollback --dry-run
      chrono rollback 3f2a1b9c
      chrono rollback HEAD~2 src/app.py
    """
    from chrono.workspace import rollback
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    targets, paths = savepoints_and_paths(ws, words or [], most=1)
    target = targets[0] if targets else None
    with screen.working("comparing"):
        plan = rollback.plan(ws, target, paths)
    if not json:
        _show(screen, ws, plan)
    if dry_run or not plan.changes:
        if json:
            screen.value(_json(plan, None, readable_policy(ws)))
        elif plan.changes:
            screen.line("nothing was changed (--dry-run)")
        return 0
    if screen.person and not yes and not json and not screen.confirm("Go back?"):
        screen.note("nothing was changed")
        return 1
    with screen.working("going back"):
        done = rollback.apply(ws, plan, actor(screen.environ))
    if json:
        screen.value(_json(plan, done, readable_policy(ws)))
    else:
        _tell(screen, done)
    return 0


def _show(screen: Screen, ws: Workspace, plan: RollbackPlan) -> None:
    target = savepoint_words(plan.target, ws.clock.now_ns())
    if not plan.changes:
        screen.text("nothing to roll back: the files are as in ", target)
        if plan.before is not None:
            screen.text(f"the one before is {shapes.short(plan.before)}: chrono rollback {shapes.short(plan.before)}")
        return
    screen.text("roll back to ", Styled(target, "bold"))
    print_plan(screen, plan.changes)


def _tell(screen: Screen, done: RolledBack) -> None:
    restored = f"restored {count(done.written, 'file')}" if done.written else ""
    removed = f"removed {count(done.deleted, 'file')} (kept in the rescue)" if done.deleted else ""
    what = ", ".join(filter(None, (restored, removed))) or "folders and modes, no file's content"
    screen.line(Styled("rolled back", "green"), f": {what}")
    print_left(screen, done.left)
    screen.line("undo this rollback: ", Styled(f"chrono rollback {shapes.short(done.rescue)}", "bold"))


def _json(plan: RollbackPlan, done: RolledBack | None, policy: Policy | None) -> dict[str, shapes.Json]:
    return {
        "target": shapes.savepoint(plan.target),
        "paths": list(plan.paths),
        "restore": list(plan.written),
        "remove": list(plan.removed),
        "before": plan.before,
        "applied": done is not None,
        "commit": done.commit if done is not None else None,
        "rescue": done.rescue if done is not None else None,
        "left": shapes.left(done.left) if done is not None else [],
        "undo": f"chrono rollback {done.rescue}" if done is not None else None,
        "covers": shapes.covers((), policy),
    }

"""Owns `chrono undo` and how an undo, redo or abandoned merge is shown, asked for and told.

Planning and restoring are left to `workspace.undoing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import changed_words, print_left, print_plan
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, age

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.workspace.project import Workspace
    from chrono.workspace.undoing import Undone, UndoPlan

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def run(
    ctx: typer.Context,
    operation: Annotated[
        str | None,
        typer.Argument(metavar="[OPERATION]", help="From chrono op log.", show_default="the newest not undone"),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> int:
    """Take back the last operation.

    Rollbacks, checkouts, merges and the making and deleting of branches can be undone; a savepoint changes no file,
    so there is nothing to undo about it. The files, branches and current branch are as before the operation then; the
    state of now is saved first, so that an undo can be undone: chrono redo. With an OPERATION: as before that one.
    """
    from chrono.workspace import undoing

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("comparing"):
        plan = undoing.plan_undo(ws, operation)
    return carry_out(screen, ws, plan, dry_run=dry_run, yes=yes, json=json)


def carry_out(
    screen: Screen, ws: Workspace, plan: UndoPlan, *, dry_run: bool = False, yes: bool = False, json: bool = False
) -> int:
    """Shows the plan, asks where somebody is there, applies it and tells what became of it."""
    from chrono.workspace import undoing
    from chrono.workspace.actors import actor
    from chrono.workspace.history import branch_name

    current = ws.store.head_ref()
    if not json:
        before = age((ws.clock.now_ns() - plan.operation.at_ns) / 1e9)
        what = plan.operation.message
        what = what.removeprefix("undo of ") if plan.verb == "redo" else what
        screen.text(f"{plan.verb}: ", Styled(what, "bold"), f" ({before})")
        if plan.head != current:
            screen.line(f"  back to branch {branch_name(plan.head)}")
        for move in plan.moves:
            if move.ref.startswith("refs/heads/"):
                screen.line(f"  branch {branch_name(move.ref)} {'goes' if move.new is None else 'comes back'}")
        for name in plan.kept:
            screen.line(f"  branch {name} stays: it has savepoints of its own")
        print_plan(screen, plan.changes)
    if dry_run:
        if json:
            screen.value(_json(plan, None))
        else:
            screen.line("nothing was changed (--dry-run)")
        return 0
    if screen.person and not yes and not json and plan.changes and not screen.confirm("Go back?"):
        screen.note("nothing was changed")
        return 1
    with screen.working("going back"):
        done = undoing.apply(ws, plan, actor(screen.environ))
    if json:
        screen.value(_json(plan, done))
        return 0
    kept = " (kept in the rescue)" if done.deleted else ""
    screen.line(Styled("done", "green"), f": {changed_words(done.written, done.deleted)}{kept}")
    print_left(screen, done.left)
    back = "chrono redo" if plan.verb == "undo" else "chrono undo"
    screen.line("take this back: ", Styled(back, "bold"))
    return 0


def _json(plan: UndoPlan, done: Undone | None) -> dict[str, shapes.Json]:
    return {
        "verb": plan.verb,
        "operation": shapes.operation(plan.operation),
        "target": plan.target,
        "paths": list(plan.paths),
        "restore": list(plan.written),
        "remove": list(plan.removed),
        "head": plan.head,
        "moves": [shapes.move(one) for one in plan.moves],
        "kept": list(plan.kept),
        "applied": done is not None,
        "by_operation": done.operation if done is not None else None,
        "commit": done.commit if done is not None else None,
        "rescue": done.rescue if done is not None else None,
        "left": shapes.left(done.left) if done is not None else [],
    }

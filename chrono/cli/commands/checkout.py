"""Owns `chrono checkout`. Switching is left to `workspace.branches`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import changed_words, print_left, print_plan, savepoint_words
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled

if TYPE_CHECKING:
    from chrono.workspace.branches import CheckedOut, CheckoutPlan


def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The branch to switch to.", show_default=False)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    json: Json = False,
) -> None:
    """Switch to another branch.

    The files as they are are saved on the current branch first, so that coming back brings them back. Control files,
    ignored folders and what no savepoint holds are left alone.
    """
    from chrono.workspace import branches
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("comparing"):
        plan = branches.plan_checkout(ws, name)
    if plan.name == plan.current or dry_run:
        if json:
            screen.value(_json(plan, None))
        elif plan.name == plan.current:
            screen.line("already on ", Styled(name, "bold"))
        else:
            screen.text("switch to ", Styled(name, "bold"), f" at {savepoint_words(plan.target, ws.clock.now_ns())}")
            print_plan(screen, plan.changes)
            screen.line("nothing was changed (--dry-run)")
        return
    with screen.working("switching"):
        done = branches.checkout(ws, name, actor(screen.environ))
    if json:
        screen.value(_json(plan, done))
        return
    screen.line("switched to ", Styled(name, "bold"), f": {changed_words(done.written, done.deleted)}")
    print_left(screen, done.left)
    if plan.unsaved:
        screen.line(f"the files as they were are on {plan.current} as {shapes.short(done.saved)}")
    screen.line("back: ", Styled(f"chrono checkout {plan.current}", "bold"))


def _json(plan: CheckoutPlan, done: CheckedOut | None) -> dict[str, shapes.Json]:
    return {
        "branch": plan.name,
        "from": plan.current,
        "target": shapes.savepoint(plan.target),
        "restore": [change.path for change in plan.changes if change.new is not None],
        "remove": [change.path for change in plan.changes if change.new is None],
        "applied": done is not None,
        "saved": done.saved if done is not None else None,
        "operation": done.operation if done is not None else None,
        "left": shapes.left(done.left) if done is not None else [],
    }

"""Owns `chrono prune`: shows what would go, asks where somebody is there, removes it.

Which savepoints may go is left to `workspace.retention`, removing them to `workspace.prune`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, age, count, size
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.workspace.prune import Pruned, PrunePlan

MOST = 1_000_000


def run(
    ctx: typer.Context,
    keep_auto: Annotated[
        int | None,
        typer.Option("--keep-auto", metavar="N", help="Keep the last N automatic savepoints (at least 200 stay)."),
    ] = None,
    older_than: Annotated[
        int | None, typer.Option("--older-than", metavar="DAYS", help="Remove only what is older than so many days.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Remove old automatic savepoints.

    Without options: as the policy's `retention` says, else all of the last day stay, one an hour of the last week,
    one a day of the last thirty days. Manual savepoints, merges, rollbacks and branches always stay; so do the last
    200 automatic savepoints and, for thirty days, what `undo` needs. With both options a savepoint goes only if both
    allow it. Agents are refused.

    \b
    Examples:
      chrono prune --dry-run
      chrono prune --older-than 14
    """
    from chrono.workspace import prune
    from chrono.workspace.actors import actor
    from chrono.workspace.retention import Rules

    screen = screen_of(ctx)
    for name, value in (("--keep-auto", keep_auto), ("--older-than", older_than)):
        if value is not None and not 0 <= value <= MOST:
            raise UsageError(f"{name} {value} is not a number from 0 to {MOST:,}")
    rules = Rules(keep_auto, older_than)
    ws = workspace(screen)
    with screen.working("looking"):
        plan = prune.plan(ws, None if rules.ladder else rules)
    if not json:
        _show(screen, plan, ws.clock.now_ns())
    if dry_run or plan.nothing:
        if json:
            screen.value(_json(plan, None))
        elif not plan.nothing:
            screen.line("nothing was removed (--dry-run)")
        return 0
    if screen.person and not yes and not json and not screen.confirm("Remove them?"):
        screen.note("nothing was removed")
        return 1
    confirmed = yes or (screen.person and not json)
    with screen.working("removing"):
        done = prune.apply(ws, plan, actor(screen.environ), confirmed=confirmed)
    if json:
        screen.value(_json(plan, done))
    else:
        screen.line(
            Styled("removed", "green"), f" {count(done.savepoints, 'savepoint')}, {size(done.freed.size_bytes)} freed"
        )
    return 0


def _show(screen: Screen, plan: PrunePlan, now_ns: int) -> None:
    if plan.nothing:
        kept = count(plan.kept_auto, "automatic savepoint")
        screen.line(f"nothing to remove: {kept} and {count(plan.kept_rescues, 'rescue')} stay")
        return
    if plan.refs:
        times = sorted(one.at_ns for one in plan.refs)
        oldest, newest = (age((now_ns - at_ns) / 1e9) for at_ns in (times[0], times[-1]))
        autos = sum(one.ref.startswith("refs/chrono/auto/") for one in plan.refs)
        rescues = len(plan.refs) - autos
        parts = [count(autos, "automatic savepoint")] if autos else []
        parts += [count(rescues, "rescue")] if rescues else []
        screen.text(f"to remove: {' and '.join(parts)}, taken {oldest} to {newest}")
    later = f"; {size(plan.later.size_bytes)} more with a later prune" if plan.later.objects else ""
    screen.text(f"frees about {size(plan.freed.size_bytes)}{later}")
    if plan.later.objects and not plan.freed.objects:
        screen.text("what is younger than an hour, or shares a pack with what stays, leaves the disk later")
    screen.text(
        f"stay: {count(plan.kept_auto, 'automatic savepoint')}, {count(plan.kept_rescues, 'rescue')}, and all that is "
        "on a branch"
    )
    if plan.jump is not None:
        ends = (shapes.short(one.commit) for one in (plan.jump.before, plan.jump.after))
        screen.warning(
            f"between {' and '.join(ends)} the clock moved by {plan.jump.days:+.0f} days; if it was set wrongly then, "
            "ages are wrong"
        )


def _json(plan: PrunePlan, done: Pruned | None) -> dict[str, shapes.Json]:
    return {
        "savepoints": [{"ref": one.ref, "id": one.commit} for one in plan.refs],
        "commits": len(plan.commits),
        "frees_bytes": plan.freed.size_bytes,
        "frees_later_bytes": plan.later.size_bytes,
        "kept_auto": plan.kept_auto,
        "kept_rescues": plan.kept_rescues,
        "clock_jump_days": round(plan.jump.days, 1) if plan.jump is not None else None,
        "applied": done is not None,
        "freed_bytes": done.freed.size_bytes if done is not None else None,
    }

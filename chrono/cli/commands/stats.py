"""Owns `chrono stats`. Counting is left to `workspace.prune`."""

from __future__ import annotations

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Part, Styled, age, count, size
from chrono.clock import rfc3339


def run(ctx: typer.Context, json: Json = False) -> None:
    """Say what the savepoints take.

    How many there are of each kind, what they take on the disk, how much they may take, and what `chrono prune` would
    free. Nothing is changed.
    """
    from chrono.workspace.prune import stats

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("counting"):
        found = stats(ws)
    held = found.holdings
    if json:
        value: dict[str, shapes.Json] = {
            "savepoints": dict(found.kinds),
            "oldest": rfc3339(found.oldest_ns) if found.oldest_ns is not None else None,
            "newest": rfc3339(found.newest_ns) if found.newest_ns is not None else None,
            "disk_bytes": held.total_bytes,
            "loose": {"objects": held.loose_count, "bytes": held.loose_bytes},
            "packed": {"objects": held.packed_count, "bytes": held.pack_bytes, "packs": held.pack_count},
            "budget_bytes": found.budget_bytes,
            "over_budget": found.over_budget,
            "free_bytes": found.free_bytes,
            "prune": {"savepoints": len(found.plan.refs), "frees_bytes": found.plan.freed.size_bytes},
        }
        screen.value(value)
        return
    now_ns = ws.clock.now_ns()
    rows: list[tuple[Part, ...]] = [("savepoints", ", ".join(f"{number:,} {kind}" for kind, number in found.kinds))]
    if found.oldest_ns is not None and found.newest_ns is not None:
        oldest, newest = (age((now_ns - at_ns) / 1e9) for at_ns in (found.oldest_ns, found.newest_ns))
        rows.append(("taken", f"the oldest {oldest}, the newest {newest}"))
    over = Styled(size(held.total_bytes), "red") if found.over_budget else size(held.total_bytes)
    rows.append(("disk", over))
    rows.append(("budget", f"{size(found.budget_bytes)}; {size(found.free_bytes)} are free on this disk"))
    rows.append(("loose", f"{count(held.loose_count, 'object')}, {size(held.loose_bytes)}"))
    packs = count(held.pack_count, "pack")
    rows.append(("packed", f"{count(held.packed_count, 'object')} in {packs}, {size(held.pack_bytes)}"))
    plan = found.plan
    if plan.nothing:
        rows.append(("prune", "would remove nothing"))
    else:
        rows.append(
            ("prune", f"would remove {count(len(plan.refs), 'savepoint')}, about {size(plan.freed.size_bytes)}")
        )
    screen.table(rows)
    if found.over_budget:
        screen.warning("the savepoints take more than their budget; look at: chrono prune --dry-run")

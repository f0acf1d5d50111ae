"""Owns `chrono log`. Reading history is left to `workspace.history`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import savepoint_row
from chrono.cli.options import Json, screen_of
from chrono.cli.place import in_project, workspace
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.cli.text import Part
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

PAGE = 30


def run(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Only what changed these.", show_default=False)
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto/--no-auto", help="With or without savepoints taken before commands.")
    ] = True,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", help=f"At most so many; 0 for all. [{PAGE}; with --json all]"),
    ] = None,
    graph: Annotated[bool, typer.Option("--graph", help="Draw which savepoint hangs on which.")] = False,
    json: Json = False,
) -> None:
    """List savepoints.

    Each with its kind, id, age, the agent it was taken for, and the command it was taken before. In the graph `*` is a
    savepoint on a branch and `o` one beside it: automatic, a rescue.

    \b
    Examples:
      chrono log
      chrono log --no-auto -n 5
      chrono log --graph src/
    """
    from chrono.workspace.history import log

    screen = screen_of(ctx)
    ws = workspace(screen)
    if limit is not None and limit < 0:
        raise UsageError(f"--limit {limit} is not a number of savepoints")
    most = limit if limit is not None else (0 if json else PAGE)
    chosen = tuple(in_project(ws.root, path) for path in paths or [])
    found = log(ws, auto=auto, paths=() if "" in chosen else chosen)
    listed = islice(found, most) if most else found
    if json:
        screen.value({"savepoints": [shapes.savepoint(one) for one in listed]})
        return
    now_ns = ws.clock.now_ns()
    rows = _drawn(ws, list(listed), now_ns) if graph else [savepoint_row(one, now_ns) for one in listed]
    with screen.paged():
        screen.table(rows)
    if not rows and chosen:
        screen.note("no savepoint changed that")
    elif not rows:
        screen.note("there is no savepoint yet; take one: chrono snapshot")
    elif most and next(found, None) is not None:
        screen.note(f"the newest {most} are shown; all of them: chrono log -n 0")


def _drawn(ws: Workspace, listed: list[Savepoint], now_ns: int) -> list[tuple[Part, ...]]:
    """The rows of the graph."""
    from chrono.cli.graph import draw, ordered
    from chrono.store.refs import BRANCHES
    from chrono.workspace.history import RESCUES, branch_name

    tips: dict[str, list[str]] = {}
    for ref, tip in ws.store.refs(BRANCHES):
        tips.setdefault(tip, []).append(branch_name(ref))
    rows: list[tuple[Part, ...]] = []
    for row in draw(ordered(listed), RESCUES | {"auto"}):
        if row.savepoint is None:
            rows.append((row.drawing,))
            continue
        kind, short, age, _, subject = savepoint_row(row.savepoint, now_ns)
        names = tips.get(row.savepoint.id)
        label = f"[{', '.join(names)}] " if names else ""
        rows.append((row.drawing, short, kind, age, f"{label}{subject}"))
    return rows

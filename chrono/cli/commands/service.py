"""Owns `chrono service`. Finding and ending the process is left to `guard.resident`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.text import Styled, count


def run_status(ctx: typer.Context, json: Json = False) -> None:
    """Look at the service.

    The service only makes the hook faster. Without it each hook call judges by itself, with the same answer.
    """
    from chrono.guard.resident import running

    screen = screen_of(ctx)
    found = running(screen.environ)
    if json:
        screen.value({"running": [{"pid": one.pid, "build": one.build, "own": one.own} for one in found]})
        return
    if not found:
        screen.line("not running: the next hook call judges by itself and starts it")
    for one in found:
        whose = "" if one.own else "   (of another version or installation)"
        screen.line(Styled("running", "green"), f"  pid {one.pid}{whose}")


def run_stop(ctx: typer.Context, json: Json = False) -> None:
    """Stop the service.

    The next hook call judges by itself and starts it anew.
    """
    from chrono.guard.resident import stop

    screen = screen_of(ctx)
    stopped = stop(screen.environ)
    if json:
        screen.value({"stopped": [one.pid for one in stopped]})
    elif stopped:
        screen.line(f"stopped {count(len(stopped), 'process', 'processes')}")
    else:
        screen.line("it was not running")


def run_logs(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="At most so many lines; 0 for all.")
    ] = 50,
    json: Json = False,
) -> None:
    """Show the service's log.

    When it came, why it left and whom it sent away. What was decided about calls is in the audit log: chrono audit.
    """
    from chrono.guard.resident import log_lines

    screen = screen_of(ctx)
    found = log_lines(screen.environ, limit)
    if json:
        screen.value({"lines": list(found)})
        return
    for line in found:
        screen.line(line)
    if not found:
        screen.note("the service has not run yet")

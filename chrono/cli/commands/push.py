"""Owns `chrono push`. Sending is left to `workspace.push`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, count
from chrono.errors import Conflict, RemoteError


def run(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The remote.", show_default="origin, or the only one")
    ] = None,
    include_secrets: Annotated[
        bool, typer.Option("--include-secrets", help="Also credential-class files: .env, keys and the like.")
    ] = False,
    json: Json = False,
) -> None:
    """Send savepoints.

    All savepoints, rescues and the audit log, as far as the remote lacks them. Branches only move forward there. Where
    the savepoints hold files that usually keep secrets, these are listed and nothing is sent before you agree.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.push import push

    screen = screen_of(ctx)
    ws = workspace(screen)
    with screen.working("pushing"):
        done = push(ws, name, actor(screen.environ), include_secrets=include_secrets, person=screen.person)
    behind = [branch for branch, state, _ in done.branches if state == "refused"]
    others = [(ref, why) for ref, why in done.refused if not ref.startswith("refs/heads/")]
    if json and not done.refused:
        screen.value(
            {
                "remote": done.remote.name,
                "url": done.remote.address.shown,
                "branches": [{"name": branch, "state": state} for branch, state, _ in done.branches],
                "savepoints": done.savepoints,
                "records": done.records,
                "secrets": list(done.secrets),
            }
        )
    elif not json:
        screen.line(Styled("pushed", "green"), f" to {done.remote.name}  {done.remote.address.shown}")
        rows = [(f"{count(done.savepoints, 'automatic savepoint or rescue', 'automatic savepoints and rescues')}",)]
        rows += [(f"branch {branch}: {state}",) for branch, state, _ in done.branches]
        rows.append((f"audit log up to record {done.records - 1}",))
        screen.table(rows, indent=2)
        if done.secrets:
            named = ", ".join(done.secrets[:3]) + (", …" if len(done.secrets) > 3 else "")
            screen.warning(f"{count(len(done.secrets), 'credential-class file')} went along: {named}")
    if others:
        ref, why = others[0]
        raise RemoteError(f"{done.remote.address.shown} refused {ref}: {why}", "look at what the host allows")
    if behind:
        remote = done.remote.name
        raise Conflict(
            f"branch {', '.join(behind)} moved on the remote; everything else was sent",
            f"chrono fetch {remote}, then chrono merge {remote}/{behind[0]}, then push again",
        )

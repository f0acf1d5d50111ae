"""Owns `chrono remote`. The list is kept by `workspace.remotes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, workspace
from chrono.cli.text import Styled, count

if TYPE_CHECKING:
    from chrono.cli.shapes import Json as JsonValue
    from chrono.workspace.remotes import Remote

Name = Annotated[str, typer.Argument(metavar="NAME", help="What to call it, for example origin.", show_default=False)]


def run_add(
    ctx: typer.Context,
    name: Name,
    url: Annotated[
        str,
        typer.Argument(metavar="URL", help="https://…, ssh://…, user@host:path, or a path.", show_default=False),
    ],
    json: Json = False,
) -> None:
    """Add a remote.

    Any git repository that is empty, or already holds this project's savepoints; not that of the code itself. Nothing
    is sent yet. The list is kept in CHRONO_HOME, not in the project.

    \b
    Examples:
      chrono remote add origin git@host:shop-savepoints.git
    """
    from chrono.workspace import remotes
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    made = remotes.add(ws, name, url, actor(screen.environ), start=here())
    if json:
        screen.value({"added": _json(made)})
        return
    screen.line("added ", Styled(made.name, "bold"), f"  {made.address.shown}")
    screen.note(f"send the savepoints there: chrono push {made.name}")


def run_list(ctx: typer.Context, json: Json = False) -> None:
    """List remotes."""
    from chrono.workspace import remotes

    screen = screen_of(ctx)
    ws = workspace(screen)
    found = remotes.listed(ws)
    if json:
        screen.value({"remotes": [_json(one) for one in found]})
        return
    screen.table(
        [
            (
                Styled(one.name, "bold"),
                one.address.shown,
                f"with {count(len(one.secrets), 'credential file')}" if one.secrets else "",
            )
            for one in found
        ]
    )
    if not found:
        screen.note("there is none; add one: chrono remote add origin URL")


def run_remove(ctx: typer.Context, name: Name, json: Json = False) -> None:
    """Forget a remote.

    Over there nothing changes.
    """
    from chrono.workspace import remotes
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    ws = workspace(screen)
    gone = remotes.remove(ws, name, actor(screen.environ))
    if json:
        screen.value({"removed": _json(gone)})
    else:
        screen.line(f"forgot {gone.name}; {gone.address.shown} still holds what was sent there")


def _json(value: Remote) -> dict[str, JsonValue]:
    return {
        "name": value.name,
        "url": value.address.shown,
        "protocol": value.address.protocol,
        "secrets": list(value.secrets),
        "keys": dict(value.keys),
    }

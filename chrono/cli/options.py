"""Owns the options and arguments that several verbs share, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli.render import Screen


def screen_of(ctx: typer.Context) -> Screen:
    """The screen that `cli.main` handed in."""
    screen = ctx.obj
    assert isinstance(screen, Screen)
    return screen


def _json(ctx: typer.Context, value: bool) -> bool:
    if value:
        screen_of(ctx).json = True
    return value


Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", callback=_json, is_eager=True, show_default=False)
]

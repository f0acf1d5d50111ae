"""Owns the options and arguments that several verbs share, with their help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

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


def gathered(run: Callable[..., int | None]) -> Callable[..., int | None]:
    """`run`, where each parameter that is a dataclass comes from the command line as one option for each of its fields.

    For verbs of so many options that they are values of their own. Fields are annotated as parameters are, and have
    defaults; the command line knows no difference.
    """
    groups: dict[str, Any] = {}
    flat: list[inspect.Parameter] = []
    hints = get_type_hints(run, include_extras=True)
    for parameter in inspect.signature(run).parameters.values():
        kind = hints[parameter.name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[parameter.name] = kind
            members = get_type_hints(kind, include_extras=True)
            flat += [
                parameter.replace(name=field.name, annotation=members[field.name], default=field.default)
                for field in fields(kind)
            ]
        else:
            flat.append(parameter.replace(annotation=kind))

    def taken(**given: Any) -> int | None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        return run(**given)

    ordered = sorted(flat, key=lambda one: one.default is not one.empty)
    taken.__doc__, taken.__name__ = run.__doc__, run.__name__
    taken.__annotations__ = {one.name: one.annotation for one in flat}
    taken.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=one.KEYWORD_ONLY) for one in ordered]
    )
    return taken

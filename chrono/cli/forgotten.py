"""Owns the value that was forgotten: an option that stands where the value of another one should is no value.

What a command does with its values is left to `cli.commands`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from typer import Context


class VerbCommand(TyperCommand):
    """A command that takes no option for the value of another, as click does (`--push --json` pushed to "--json")."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _refuse_forgotten(self, ctx, args)
        return super().parse_args(ctx, args)


def _refuse_forgotten(command: TyperCommand, ctx: Context, args: Iterable[str]) -> None:
    """Raises BadOptionUsage. `--option=VALUE` says that any VALUE is meant."""
    from typer._click.exceptions import BadOptionUsage

    options = [param for param in command.get_params(ctx) if isinstance(param, TyperOption)]
    names = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    take_values = {name for option in options if not (option.is_flag or option.count) for name in option.opts}
    words = iter(args)
    for word in words:
        if word == "--" or not (word.startswith("-") or ctx.allow_interspersed_args):
            return
        value = next(words, "") if word in take_values else ""
        if value in names or (value.startswith("--") and " " not in value):
            raise BadOptionUsage(
                word, f"Option {word!r} requires an argument, and {value!r} is an option; {word}={value} if it is meant"
            )

"""Owns `chrono completion`. The scripts are made by `cli.completion`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.errors import UsageError


def run(
    ctx: typer.Context,
    shell: Annotated[
        str | None, typer.Argument(metavar="[bash|zsh|fish]", help="Whose script; that of $SHELL if none is named.")
    ] = None,
    json: Json = False,
) -> None:
    """Complete words in your shell.

    Prints a script; a new shell then knows chrono's words.

    \b
    Examples:
      eval "$(chrono completion bash)"      in ~/.bashrc
      eval "$(chrono completion zsh)"       in ~/.zshrc
      chrono completion fish > ~/.config/fish/completions/chrono.fish
    """
    from chrono.cli.app import build
    from chrono.cli.completion import SHELLS, script, tree_of

    screen = screen_of(ctx)
    name = shell or os.path.basename(screen.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise UsageError(f"there is no completion for '{name}'", f"name one of: {', '.join(SHELLS)}")
    text = script(name, tree_of(build()))
    if json:
        screen.value({"shell": name, "script": text})
    else:
        screen.block(text)

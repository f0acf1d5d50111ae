"""Owns `chrono uninstall`: every recorded hook goes first, then, if that is wanted, what chrono keeps.

Taking out hooks is left to `guard.install`. The program itself is removed by whoever installed it (pip, uv, pipx).
"""

from __future__ import annotations

import os
import shutil
from typing import Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.render import Screen
from chrono.cli.text import Styled


def run(
    ctx: typer.Context,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also delete this project's .chrono: all its savepoints and its audit log.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Remove the hooks.

    Takes chrono's hook out of every settings file it was written into, and stops the service. Savepoints, log, keys
    and witness stay unless --purge says otherwise; keys and witness always do.
    """
    from chrono.audit.pin import pin_of_path, remove_pin
    from chrono.guard.install import uninstall_everywhere
    from chrono.guard.resident import stop
    from chrono.layout import find_project
    from chrono.workspace.actors import actor
    from chrono.workspace.config import home_layout
    from chrono.workspace.remotes import forget_all

    screen = screen_of(ctx)
    layout = find_project(os.path.realpath(here())) if purge else None
    if layout is not None and not screen.agrees(
        f"Delete {layout.dir} with all savepoints and the audit log?",
        yes=yes,
        why=f"--purge deletes {layout.dir}, and nobody is there to be asked",
    ):
        return 1
    done = uninstall_everywhere(screen.environ, actor(screen.environ))
    repositories = _git_hooks(screen)
    stopped = stop(screen.environ)
    if layout is not None:
        home = home_layout(screen.environ)
        if not forget_all(layout, home):
            screen.warning(
                f"this project's log cannot be read, so its addresses of remotes may still lie in {home.root}/remotes"
            )
        shutil.rmtree(layout.dir)
        pin = pin_of_path(home, layout.dir)
        if pin is not None:  # else the next init here would take the missing log for a deed of somebody else
            remove_pin(home, pin.log)
    if json:
        screen.value(
            {
                "hooks": [{"path": one.path, "changed": one.changed} for one in done],
                "repositories": list(repositories),
                "stopped": [one.pid for one in stopped],
                "purged": layout.dir if layout is not None else None,
            }
        )
        return 0
    for one in done:
        screen.line(Styled("removed", "green"), f"  the hook in {one.path}")
    for top in repositories:
        screen.line(Styled("removed", "green"), f"  the git hooks of {top}")
    if not done and not repositories:
        screen.line("no hook was installed")
    if layout is not None:
        screen.line(Styled("deleted", "yellow"), f"  {layout.dir}")
    screen.line("the program itself: pip uninstall chrono-toolkit")
    return 0


def _git_hooks(screen: Screen) -> tuple[str, ...]:
    """Takes the hooks out of every git repository that this home put them into; the work trees of those."""
    from chrono.errors import ChronoError
    from chrono.workspace import githooks
    from chrono.workspace.config import home_layout
    from chrono.workspace.usergit import find

    home = home_layout(screen.environ)
    done = []
    for top in githooks.remembered(home):
        try:
            repo = find(top, screen.environ)
            githooks.apply(githooks.plan_uninstall(repo))
            githooks.forget(home, repo)
        except (ChronoError, OSError) as error:
            if os.path.isdir(top):
                screen.warning(f"the git hooks of {top} stay: {error}")
            continue
        done.append(top)
    return tuple(done)

"""Owns `chrono init`. Making the project is left to `workspace.init`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import print_skips
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, readable_policy
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count
from chrono.cli.trusting import offer_trust
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.workspace.init import Initialised


def run(
    ctx: typer.Context,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take over a .chrono that this machine's chrono did not make, or a copy.")
    ] = False,
    max_files: Annotated[
        int | None, typer.Option("--max-files", metavar="N", help="Accept a project of up to so many files.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a project.

    Creates .chrono with a hidden git repository and the audit log, keeps keys and witness outside the project, and
    takes the first savepoint. Your own git index, HEAD and files are not touched. Running it again completes what is
    missing.
    """
    from chrono.rulepack.ruleset import warm
    from chrono.workspace.actors import actor
    from chrono.workspace.ground import MAX_FILES
    from chrono.workspace.init import initialise

    screen = screen_of(ctx)
    with screen.working("taking the first savepoint"):
        done = initialise(here(), screen.environ, actor(screen.environ), adopt=adopt, max_files=max_files or MAX_FILES)
        warm(done.ws.home)
    if json:
        screen.value(_json(done))
        return
    _tell(screen, done)
    offer_trust(screen, done.ws)
    screen.line("")
    if _hooked(screen):
        screen.line("next: ", Styled("chrono guard status", "bold"), "   says whether your agent's hook still holds")
    else:
        screen.line("next: ", Styled("chrono guard install", "bold"), "   puts the guard into your agent's settings")


def _hooked(screen: Screen) -> bool:
    from chrono.guard.install import hooked_clients

    try:
        return bool(hooked_clients(here(), screen.environ))
    except (ChronoError, OSError):
        return False


def _tell(screen: Screen, done: Initialised) -> None:
    state = "new project" if done.created else "adopted" if done.adopted else "was a project already"
    saved = done.saved
    screen.line(Styled(state, "green"), f"  {done.ws.root}")
    rows = [
        ("savepoint", f"{shapes.short(saved.commit)}  {count(saved.file_count, 'file')}"),
        ("log", done.ws.layout.audit_log),
        ("keys, witness", done.ws.home.root),
    ]
    if done.exclude is not None:
        rows.append(("git", f"ignores .chrono (a line in {done.exclude})"))
    if done.adopted:
        rows.append(("old log", "moved aside in .chrono; the new one names it"))
    screen.table(rows, indent=2)
    print_skips(screen, saved.skips)
    if done.proposals:
        screen.text("these look like folders that a build makes anew; to leave them out, put into .chronoignore:")
        for line in done.proposals:
            screen.line(f"  {line}")


def _json(done: Initialised) -> dict[str, shapes.Json]:
    return {
        "root": done.ws.root,
        "created": done.created,
        "adopted": done.adopted,
        "exclude": done.exclude,
        "proposals": list(done.proposals),
        "savepoint": done.saved.commit,
        "files": done.saved.file_count,
        "chrono_home": done.ws.home.root,
        "covers": shapes.covers(done.saved.skips, readable_policy(done.ws)),
    }

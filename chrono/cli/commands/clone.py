"""Owns `chrono clone`. Bringing a project back is left to `workspace.clone`."""

from __future__ import annotations

from typing import Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.text import Styled, count


def run(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the savepoints were pushed to.", show_default=False)],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A new or empty folder.", show_default=False)],
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="ID", help="Go on from this machine's log.", show_default="pushed last"),
    ] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="ID", help="The log must be signed by this key.")] = None,
    json: Json = False,
) -> None:
    """Bring a project back.

    The files as of the newest savepoint, all savepoints, and the records of the old audit log, which is verified
    before anything is used. The key that signed it is shown: compare it with `chrono audit --keys` of the machine that
    pushed, or name it with --key. The new project has a log of its own, which names the old one.

    \b
    Examples:
      chrono clone git@host:shop-savepoints.git shop
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.clone import clone

    screen = screen_of(ctx)
    by = actor(screen.environ)
    with screen.working("cloning"):
        done = clone(url, folder, screen.environ, by, start=here(), log=log, key=key, person=screen.person)
    chosen = next(one for one in done.logs if one.log == done.log)
    kid = chosen.key.kid if chosen.key is not None else None
    if json:
        screen.value(
            {
                "root": done.root,
                "commit": done.commit,
                "branch": done.branch,
                "files": done.written.files,
                "savepoints": done.savepoints,
                "log": done.log,
                "key": kid,
                "records": chosen.report.size,
                "verdict": chosen.report.integrity,
                "lost_records": done.lost,
                "logs": [one.log for one in done.logs],
            }
        )
        return
    screen.line(Styled("cloned", "green"), f" {count(done.written.files, 'file')} into {done.root}")
    screen.text(f"  as of savepoint {shapes.short(done.commit)}, on branch {done.branch}")
    signed = f"signed by key {kid}" if kid else "unsigned"
    screen.text(f"  audit log verified: {count(chosen.report.size, 'record')}, {signed}", indent=4)
    if done.lost:
        screen.warning(
            f"this machine remembers {count(done.lost, 'more record that was', 'more records that were')} never pushed"
        )
    if len(done.logs) > 1:
        others = ", ".join(one.log[:12] for one in done.logs if one.log != done.log)
        screen.note(f"other machines' logs are there, too: {others}")
    screen.note(f"next: cd {folder} && chrono guard install")

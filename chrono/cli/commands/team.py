"""Owns `chrono team`: who may approve, in which role. The team itself is kept by `workspace.team`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.text import Styled

if TYPE_CHECKING:
    from chrono.policy.approvals import Member


def run_list(ctx: typer.Context, json: Json = False) -> None:
    """List the team of this home: roles, and the ids of their keys."""
    from chrono.workspace.config import home_layout
    from chrono.workspace.team import members

    screen = screen_of(ctx)
    team = members(home_layout(screen.environ))
    if json:
        screen.value({"team": [_json(one) for one in team]})
    elif not team:
        screen.line("nobody is in the team: chrono approvals enroll")
    else:
        screen.table(
            [(Styled(one.name, "bold"), one.role, f"key {one.key.kid}" if one.key else "no key") for one in team]
        )


def run_add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    role: Annotated[
        str, typer.Option("--role", metavar="viewer|developer|maintainer", help="What they may do.")
    ] = "developer",
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="FILE", help="Their public key: id_ed25519.pub, or base64 of 32 bytes."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change the role or key of one who is there.")] = False,
    json: Json = False,
) -> None:
    """Enrol somebody who may approve.

    A viewer only looks; a developer approves what agents ask for; a maintainer may also pin policies, prune and
    overrule the scanner. A name is enough to be listed; approvals count once a key is enrolled, unless the policy says
    `approvers: listed`. Agents are refused.

    \b
    Examples:
      chrono team add sara --role developer --key sara.pub
    """
    from chrono.cli.place import records
    from chrono.policy.approvals import Member
    from chrono.workspace.actors import actor
    from chrono.workspace.config import home_layout
    from chrono.workspace.team import add, public_key_in

    screen = screen_of(ctx)
    new = Member(name, role, public_key_in(key) if key is not None else None)
    home = home_layout(screen.environ)
    with records(screen) as log:
        add(home, log, actor(screen.environ), new, replace=replace)
    if json:
        screen.value(_json(new))
        return
    screen.line(Styled("enrolled", "green"), f"  {name}, {role}" + (f", key {new.key.kid}" if new.key else ""))
    if new.key is None:
        screen.text(f"no key yet: chrono approvals enroll {name}")


def run_remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    json: Json = False,
) -> None:
    """Take somebody out of the team. What they approved and was not used yet ends with it. Agents are refused."""
    from chrono.cli.place import records
    from chrono.workspace.actors import actor
    from chrono.workspace.config import home_layout
    from chrono.workspace.team import remove

    screen = screen_of(ctx)
    with records(screen) as log:
        remove(home_layout(screen.environ), log, actor(screen.environ), name)
    if json:
        screen.value({"removed": name})
    else:
        screen.line(f"{name} is no longer in the team")


def _json(one: Member) -> dict[str, shapes.Json]:
    return {
        "name": one.name,
        "role": one.role,
        "kid": one.key.kid if one.key is not None else None,
        "key": one.key.text if one.key is not None else None,
    }

"""Owns `chrono approvals`: what waits for a person, and the answers. What each needs is in `cli.approving`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import approving
from chrono.cli.options import Json, screen_of
from chrono.cli.text import Styled
from chrono.errors import Denied, UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.layout import HomeLayout
    from chrono.policy.approvals import Grant

As = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who answers.", show_default="this account")]
KeyFile = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Your private key, or the .pub of one that the ssh-agent holds.",
        show_default="the enrolled one",
    ),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="From the agent's message, or the list.", show_default=False)]


def run_list(
    ctx: typer.Context,
    request_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Show one in full.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List what waits for a person.

    An agent's command that needs a person is refused where nobody can be asked, and waits here for an hour.
    """
    from chrono.workspace.approvals import answer_of, find, pending

    screen = screen_of(ctx)
    home, now_ns = _home(screen), time.time_ns()
    requests = (find(home, request_id, now_ns),) if request_id is not None else pending(home, now_ns)
    if json:
        found = [approving.as_json(one, answer_of(home, one), now_ns) for one in requests]
        screen.value({"requests": [*found]})
        return
    if request_id is not None:
        approving.show(screen, requests[0], now_ns)
        return
    if not requests:
        screen.line("nothing waits")
        return
    screen.table([approving.row(one, approving.state_of(answer_of(home, one), now_ns), now_ns) for one in requests])
    screen.text("chrono approvals list ID shows one in full; approve ID or deny ID answers it")


def run_approve(
    ctx: typer.Context,
    request_id: Id,
    name: As = None,
    key: KeyFile = None,
    minutes: Annotated[
        int, typer.Option("--minutes", metavar="N", min=1, max=60, help="How long the agent has to use it.")
    ] = 15,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Allow one call, once.

    The approval is for exactly this command in this folder with these script contents. It is signed with your key,
    and used up by the first call that fits. Agents, and whatever they start, are refused.
    """
    from chrono.workspace.approvals import find

    screen = screen_of(ctx)
    home = _home(screen)
    request = find(home, request_id, time.time_ns())
    approving.refuse_agents(home)
    if not json:
        approving.show(screen, request, time.time_ns())
    approving.require_person(screen, yes=yes)
    if not yes and not screen.confirm("Allow exactly this, once?"):
        screen.note("nothing was approved")
        return 1
    approver = approving.approver(screen, home, name, key, signs=True)
    grant = approving.answer(screen, approver, request, "approve", minutes=minutes)
    _tell(screen, grant, minutes, json=json)
    return 0


def run_deny(ctx: typer.Context, request_id: Id, name: As = None, json: Json = False) -> None:
    """Say no; the agent is told so. No key is needed."""
    from chrono.workspace.approvals import find

    screen = screen_of(ctx)
    home = _home(screen)
    request = find(home, request_id, time.time_ns())
    approving.refuse_agents(home)
    approver = approving.approver(screen, home, name, None, signs=False)
    _tell(screen, approving.answer(screen, approver, request, "deny", minutes=60), 60, json=json)


def run_enroll(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default="this account")] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="FILE", help="Your public key (id_ed25519.pub) instead of a new one.")
    ] = None,
    json: Json = False,
) -> None:
    """Enrol your key.

    Makes a key, locked with a passphrase that you choose: whatever runs as you could read a key that is not. Or takes
    the public key of one that you have; `ssh-add -c` asks for each use. The first to enrol is the maintainer; others
    are first added by chrono team add. Agents are refused.

    \b
    Examples:
      chrono approvals enroll
      chrono approvals enroll --key ~/.ssh/id_ed25519.pub
    """
    import os

    from chrono.cli.place import records
    from chrono.policy.approvals import Member
    from chrono.workspace import team
    from chrono.workspace.actors import account, actor

    screen = screen_of(ctx)
    home = _home(screen)
    approving.refuse_agents(home)
    who = name or account(os.getuid() if hasattr(os, "getuid") else None, screen.environ)
    known = team.member(home, who)
    if known is None and team.members(home):
        raise Denied(f"{who} is not in the team", f"somebody who is runs: chrono team add {who} --role developer")
    if known is not None and known.key is not None:
        raise UsageError(f"{who} has a key already ({known.key.kid})", "to change it: chrono team add --replace --key")
    with records(screen) as log:
        public = team.public_key_in(key) if key is not None else team.new_key(home, who, _new_passphrase(screen))
        new = Member(who, known.role if known is not None else "maintainer", public)
        team.add(home, log, actor(screen.environ), new, replace=known is not None)
    if json:
        screen.value({"name": who, "role": new.role, "kid": public.kid})
    else:
        screen.line(Styled("enrolled", "green"), f"  {who}, {new.role}, key {public.kid}")


def run_watch(
    ctx: typer.Context,
    name: As = None,
    key: KeyFile = None,
    page: Annotated[
        bool, typer.Option("--page", help="Also serve a page on this machine to answer in a browser.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Of the page.", show_default="any free")
    ] = 0,
    notify: Annotated[bool, typer.Option("--notify/--no-notify", help="Tell the desktop, too.")] = True,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", metavar="N", min=0.0, help="Stop after this time.", show_default="Ctrl-C"),
    ] = None,
    json: Json = False,
) -> int:
    """Follow what agents ask for, and answer it.

    On a terminal each request is shown and asked about. Your key is unlocked once, at the start, if you answer here or
    on the page. With --json or without a terminal: one line for each event.
    """
    from chrono.cli.watching import Watch

    screen = screen_of(ctx)
    home = _home(screen)
    approving.refuse_agents(home)
    answers = page or (screen.person and not json)
    approver = approving.approver(screen, home, name, key, signs=True) if answers else None
    watch = Watch(screen, home, approver, notify=notify)
    return watch.follow(page_port=port if page else None, seconds=seconds)


def _home(screen: Screen) -> HomeLayout:
    from chrono.workspace.config import home_layout

    return home_layout(screen.environ)


def _new_passphrase(screen: Screen) -> str:
    if not screen.person:
        raise Denied("nobody is there to choose a passphrase", "on a terminal, or with --key id_ed25519.pub")
    one = screen.secret("Passphrase for the new key: ")
    if one != screen.secret("The same again: "):
        raise UsageError("the two passphrases differ; nothing was enrolled")
    return one or ""


def _tell(screen: Screen, grant: Grant, minutes: int, *, json: bool) -> None:
    if json:
        screen.value(approving.answer_json(grant))
    elif grant.decision == "approve":
        key = f" with key {grant.kid}" if grant.kid else ", unsigned"
        screen.line(Styled("approved", "green"), f"  {grant.id} by {grant.name}{key}")
        screen.text(f"it holds for one call within {minutes} min; tell the agent to make the same call again")
    else:
        screen.line(Styled("denied", "red"), f"  {grant.id} by {grant.name}")

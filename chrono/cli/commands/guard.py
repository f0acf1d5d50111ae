"""Owns `chrono guard`: install, status, uninstall for people, and `hook` as clients may call it by hand.

All work is done by `guard.install` and `guard.local`; the installed hook never comes this way but through `boot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.render import Screen
from chrono.cli.text import Styled, one_line

if TYPE_CHECKING:
    from chrono.guard.install import HookReport, Installed
    from chrono.guard.selftest import Fired

HOOK_DEADLINE_S = 20.0

Scope = Annotated[
    str, typer.Option("--scope", metavar="project|user", help="This project's settings, or yours for every folder.")
]
Client = Annotated[str, typer.Option("--client", metavar="NAME", help="The agent client.")]

_DOES = {"runs": "the client runs it", "asks": "the client asks", "stops": "the client refuses it"}


def run_install(
    ctx: typer.Context, scope: Scope = "project", client: Client = "claude-code", json: Json = False
) -> int:
    """Install the guard.

    Writes the hook into the client's settings, then fires it once with a harmless and once with a dangerous command
    (which is never run). If the answer is wrong, the settings are put back.
    """
    from chrono.guard.install import SelfTestFailed, install
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    try:
        with screen.working("installing and testing"):
            done = install(here(), screen.environ, actor(screen.environ), scope=scope, client=client)
    except SelfTestFailed as error:
        if not json:
            _print_fired(screen, error.fired)
        raise
    if json:
        screen.value(_installed_json(done))
        return 0
    screen.line(Styled("installed" if done.changed else "installed already", "green"), f"  {done.path}")
    _print_fired(screen, done.fired)
    if done.misses:
        screen.text("project scope does not protect everything:")
        for miss in done.misses:
            screen.line(f"  - {miss}")
        screen.line("every folder at once: ", Styled("chrono guard install --scope user", "bold"))
    screen.line("")
    screen.text("restart the client, then look: chrono guard status (also after each upgrade of Python or chrono)")
    return 0


def run_status(ctx: typer.Context, client: Client = "claude-code", json: Json = False) -> int:
    """Test the guard.

    Reads each settings file as strictly as the client does, fires the hook found there with a harmless and a
    dangerous command (which is never run), and says what the client would do. Leaves with 1 where nothing guards.
    """
    from chrono.guard.install import status

    screen = screen_of(ctx)
    with screen.working("firing the hook"):
        found = status(here(), screen.environ, client=client)
    if json:
        screen.value({"guarded": found.guarded, "scopes": [_report_json(report) for report in found.reports]})
    else:
        for report in found.reports:
            _print_report(screen, report)
        if found.guarded:
            screen.line(Styled("guarded", "green"))
        else:
            screen.line(Styled("not guarded", "red"), "   put the guard in: chrono guard install")
    return 0 if found.guarded else 1


def run_uninstall(
    ctx: typer.Context, scope: Scope = "project", client: Client = "claude-code", json: Json = False
) -> None:
    """Take the guard out.

    Removes the hook and nothing else; settings that nobody edited since are byte for byte what they were before.
    """
    from chrono.guard.install import uninstall
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    done = uninstall(here(), screen.environ, actor(screen.environ), scope=scope, client=client)
    if json:
        screen.value({"client": done.client, "scope": done.scope, "path": done.path, "changed": done.changed})
    elif done.changed:
        screen.line(Styled("removed", "green"), f"  {done.path}")
    else:
        screen.line(f"nothing of chrono's is in {done.path}")


def run_hook(
    ctx: typer.Context,
    client: Annotated[str, typer.Argument(metavar="[CLIENT]", help="Whose protocol is spoken.")] = "claude-code",
) -> int:
    """Answer one hook call.

    Reads the client's payload on standard input, answers in its own protocol and with its own exit codes. The
    installed hook starts faster than this command; use this one to look at an answer by hand.
    """
    import os
    import time

    from chrono.guard.local import answer_here

    screen = screen_of(ctx)
    payload = screen.payload()
    if payload is None:
        from chrono.errors import UsageError

        raise UsageError("a hook call comes on standard input", "clients run this; people use: chrono scan")
    environ = {os.fsencode(key): os.fsencode(value) for key, value in screen.environ.items()}
    reply = answer_here(client, payload, environ, time.monotonic() + HOOK_DEADLINE_S)
    screen.raw(reply.stdout, reply.stderr)
    return reply.exit_code


def _print_fired(screen: Screen, fired: tuple[Fired, ...]) -> None:
    screen.table(
        [
            (
                Styled("ok", "green") if one.holds else Styled("WRONG", "red"),
                one.command,
                _DOES.get(one.does, "the hook fails: " + one_line(one.said)),
                f"{one.duration_s * 1000:.0f} ms",
            )
            for one in fired
        ],
        indent=2,
    )


def _print_report(screen: Screen, report: HookReport) -> None:
    state = (
        Styled("holds", "green")
        if report.holds
        else Styled("broken", "red")
        if report.hooks
        else Styled("no hook", "dim")
    )
    screen.line(f"{report.scope:8}", state, f"  {report.path}")
    _print_fired(screen, report.fired)
    for problem in report.problems:
        screen.warning(problem)
    if report.hooks:
        screen.line(f"  last session seen: {report.seen or 'none yet; restart the client'}")


def _fired_json(fired: tuple[Fired, ...]) -> list[shapes.Json]:
    return [
        {
            "command": one.command,
            "does": one.does,
            "expected": one.expected,
            "holds": one.holds,
            "said": one.said,
            "duration_s": round(one.duration_s, 4),
        }
        for one in fired
    ]


def _installed_json(done: Installed) -> dict[str, shapes.Json]:
    return {
        "client": done.client,
        "scope": done.scope,
        "path": done.path,
        "changed": done.changed,
        "command": done.command,
        "fired": _fired_json(done.fired),
        "misses": list(done.misses),
    }


def _report_json(report: HookReport) -> dict[str, shapes.Json]:
    return {
        "client": report.client,
        "scope": report.scope,
        "path": report.path,
        "holds": report.holds,
        "hooks": [{"event": hook.event, "at": hook.pointer, "command": hook.command} for hook in report.hooks],
        "problems": list(report.problems),
        "fired": _fired_json(report.fired),
        "seen": report.seen,
    }

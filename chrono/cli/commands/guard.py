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
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.guard.install import HookReport, Installed
    from chrono.guard.selftest import Fired

HOOK_DEADLINE_S = 20.0

Scope = Annotated[
    str, typer.Option("--scope", metavar="project|user", help="This project's settings, or yours for every folder.")
]
Clients = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[CLIENT]...",
        help="Agent clients, by name: codex, gemini, cursor … (a wrong name lists all); claude-code if none is named.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every client that is installed on this machine.")]

_DOES = {"runs": "the client runs it", "asks": "the client asks", "stops": "the client refuses it"}


def run_install(
    ctx: typer.Context,
    clients: Clients = None,
    every: All = False,
    scope: Scope = "project",
    deny_raw_shell: Annotated[
        bool,
        typer.Option(
            "--deny-raw-shell", help="Take the client's own shell away: only chrono_run (chrono mcp) is left."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Install the guard.

    Writes the hook into the client's settings, then fires it once with a harmless and once with a dangerous command
    (which is never run). If the answer is wrong, the settings are put back. With more than one client the others
    are installed even if one fails.

    \b
    Examples:
      chrono guard install
      chrono guard install codex gemini
      chrono guard install --scope user      every folder
    """
    from chrono.guard.install import install
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    by = actor(screen.environ)
    names = _chosen(screen, clients, every)
    done: list[Installed] = []
    failed: list[ChronoError] = []
    for name in names:
        try:
            with screen.working(f"installing and testing {name}"):
                done.append(
                    install(here(), screen.environ, by, scope=scope, client=name, deny_raw_shell=deny_raw_shell)
                )
        except ChronoError as error:
            if not json:
                _print_fired(screen, getattr(error, "fired", ()))
            if len(names) == 1:
                raise
            failed.append(error)
            screen.warning(f"{name}: {error.message}")
            continue
        if not json:
            _print_installed(screen, done[-1])
    if json:
        screen.value(
            _installed_json(done[0]) if len(names) == 1 else {"clients": [_installed_json(one) for one in done]}
        )
    elif done:
        screen.line("")
        screen.text("restart the client, then look: chrono guard status (also after each upgrade of Python or chrono)")
    return 1 if failed else 0


def run_status(ctx: typer.Context, clients: Clients = None, every: All = False, json: Json = False) -> int:
    """Test the guard.

    Reads each settings file as strictly as the client does, fires the hook found there with a harmless and a
    dangerous command (which is never run), and says what the client would do. Leaves with 1 where a client that was
    asked about is not guarded. Without a name: every client that has a hook of chrono's, claude-code if none has.
    What the hooks of a client cannot guard is told by chrono doctor.
    """
    from chrono.guard.install import hooked_clients, status
    from chrono.guard.wording import user_scope

    screen = screen_of(ctx)
    if clients or every:
        names = _chosen(screen, clients, every)
    else:
        names = hooked_clients(here(), screen.environ) or ("claude-code",)
    found = []
    for name in names:
        with screen.working(f"firing the hook of {name}"):
            found.append((name, status(here(), screen.environ, client=name)))
    guarded = all(one.guarded for _, one in found)
    if json:
        reports = [_report_json(report) for _, one in found for report in one.reports]
        screen.value({"guarded": guarded, "scopes": reports})
        return 0 if guarded else 1
    for name, one in found:
        if len(found) > 1:
            screen.line(Styled(name, "bold"))
        for report in one.reports:
            _print_report(screen, report)
        below = next((report.only_in for report in one.reports if report.only_in is not None), None)
        if one.guarded:
            screen.line(Styled("guarded", "green"))
        elif below is not None:
            screen.line(Styled("not guarded here", "red"), f"   start it in {below}, or: {user_scope(name)}")
        elif any(report.closed for report in one.reports):
            screen.line(
                Styled("every call is refused", "red"), "   mend what is named above, then: chrono guard status"
            )
        else:
            named = "" if name == "claude-code" else f" {name}"
            screen.line(Styled("not guarded", "red"), f"   put the guard in: chrono guard install{named}")
    return 0 if guarded else 1


def run_uninstall(
    ctx: typer.Context, clients: Clients = None, every: All = False, scope: Scope = "project", json: Json = False
) -> None:
    """Take the guard out.

    Removes the hook and nothing else; settings that nobody edited since are byte for byte what they were before.
    """
    from chrono.guard.install import uninstall
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    by = actor(screen.environ)
    done = [uninstall(here(), screen.environ, by, scope=scope, client=name) for name in _chosen(screen, clients, every)]
    if json:
        values: list[shapes.Json] = [
            {"client": one.client, "scope": one.scope, "path": one.path, "changed": one.changed} for one in done
        ]
        screen.value(values[0] if len(values) == 1 else {"clients": values})
        return
    for one in done:
        if one.changed:
            screen.line(Styled("removed", "green"), f"  {one.path}")
        else:
            screen.line(f"nothing of chrono's is in {one.path}")
    if scope == "project" and not any(one.changed for one in done):
        screen.note("hooks for every folder: chrono guard uninstall --scope user")


def _chosen(screen: Screen, clients: list[str] | None, every: bool) -> tuple[str, ...]:
    """The clients that a command is about. Raises UsageError."""
    from chrono.agents.registry import names
    from chrono.errors import UsageError
    from chrono.guard.install import clients_here

    if every and clients:
        raise UsageError("--all and a client's name exclude each other", "leave one of them out")
    if every:
        found = clients_here(screen.environ)
        if not found:
            raise UsageError("no agent client that chrono knows is on PATH", f"name one: {', '.join(names())}")
        return found
    for name in clients or ():
        if name not in names():
            known = f"known: {', '.join(names())}"
            if names() == ("claude-code",):
                known += "; others come with chrono-agents: pip install ./plugins/agents in the checkout"
            raise UsageError(f"there is no adapter for a client '{name}'", known)
    return tuple(dict.fromkeys(clients or ("claude-code",)))


def _print_installed(screen: Screen, done: Installed) -> None:
    from chrono.guard.wording import user_scope

    screen.line(Styled("installed" if done.changed else "installed already", "green"), f"  {done.path}")
    _print_fired(screen, done.fired)
    if done.misses:
        screen.text(f"what this does not protect ({done.client}):")
        for miss in done.misses:
            screen.text(f"  - {miss}", indent=4)
    if done.scope == "project":
        screen.line("every folder at once: ", Styled(user_scope(done.client), "bold"))


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
        else Styled("is not read here", "yellow")
        if report.only_in is not None and not report.problems
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
        "gaps": list(report.gaps),
        "only_in": report.only_in,
    }

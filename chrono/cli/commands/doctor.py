"""Owns `chrono doctor`: the facts of `workspace.health` and `guard.install` as one table.

What is looked at is said there; here nothing is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.guard.install import HookReport
    from chrono.workspace.health import Check

_RESTART = "restart the client, then run chrono guard status"
_MARKS = {"ok": Styled("ok  ", "green"), "warn": Styled("look", "yellow"), "fail": Styled("FAIL", "red")}


def run(ctx: typer.Context, json: Json = False) -> int:
    """Say what protects you.

    Looks at the installation, the home, keys, policy, project, savepoints, the audit log and its witnesses, and at
    the hooks of your agent client. Rolls forward what a crash left. Leaves with 1 where something fails.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.health import checks

    screen = screen_of(ctx)
    start = here()
    with screen.working("looking"):
        found = (*checks(start, screen.environ, actor(screen.environ)), *_guard(screen, start), *_service(screen))
    failed = sum(check.level == "fail" for check in found)
    if json:
        screen.value({"ok": not failed, "checks": [_json(check) for check in found]})
        return 1 if failed else 0
    for check in found:
        screen.text(_MARKS[check.level], f"  {check.what}: {check.state}", indent=6)
        if check.todo:
            screen.text("      do: ", check.todo, indent=10)
    looks = sum(check.level == "warn" for check in found)
    screen.line("")
    if failed:
        screen.line(Styled(f"{count(failed, 'thing')} failed", "red"), f", {looks} to look at")
    else:
        screen.line(Styled("nothing failed", "green"), f", {looks} to look at" if looks else "")
    return 1 if failed else 0


def _guard(screen: Screen, start: str) -> list[Check]:
    from chrono.guard.install import hooked_clients, status
    from chrono.workspace.health import Check

    try:
        clients = hooked_clients(start, screen.environ) or ("claude-code",)
        found = [status(start, screen.environ, client=client) for client in clients]
    except (ChronoError, OSError) as error:
        return [Check("fail", "guard", str(error), "run chrono guard status")]
    reports = [report for one in found for report in one.reports if report.hooks or report.problems]
    checks = [check for report in reports for check in (_hook(report), *_limits(report))]
    if not any(one.guarded or any(report.closed for report in one.reports) for one in found):
        install = "run chrono guard install" if not checks else "run chrono guard status"
        checks.append(Check("warn", "guard", "no agent client is guarded in this folder", install))
    return checks + _lost(screen, start) + _unheard(screen, start)


def _unheard(screen: Screen, start: str) -> list[Check]:
    """The clients that run here and did not report: their hooks are off, or they are older than the hook."""
    import time

    from chrono.audit.place import machine_place, project_place
    from chrono.guard.install import programs
    from chrono.guard.sessions import seen
    from chrono.guard.unheard import unheard, words
    from chrono.layout import find_project
    from chrono.workspace.config import home_layout
    from chrono.workspace.health import Check

    layout = find_project(start)
    places = [machine_place(home_layout(screen.environ))] + ([project_place(layout)] if layout is not None else [])
    root = layout.root if layout is not None else start
    found = unheard(root, programs(), seen(places), time.time())
    return [Check("warn", "guard", words(one), _RESTART) for one in found]


def _lost(screen: Screen, start: str) -> list[Check]:
    from chrono.guard.install import lost_hooks
    from chrono.workspace.health import Check

    return [
        Check(
            "fail",
            "guard",
            f"{one.client} is NOT guarded any more: {one.path} lost chrono's hook (a git switch, or another program)",
            f"run chrono guard install {one.client}",
        )
        for one in lost_hooks(start, screen.environ)
    ]


def _hook(report: HookReport) -> Check:
    from chrono.guard.wording import user_scope
    from chrono.workspace.health import Check

    what = f"guard {report.scope}"
    if report.closed:
        return Check("fail", what, "; ".join(report.problems), "mend that, then run chrono guard status")
    if report.problems:
        level = "fail" if report.hooks else "warn"
        return Check(level, what, "; ".join(report.problems), f"look at {report.path}, then run chrono guard status")
    if report.only_in is not None:
        state = f"{report.client} reads {report.path} only where it is started in {report.only_in}, not here"
        return Check("warn", what, state, f"start it there, or run {user_scope(report.client)}")
    seen = f"last session {report.seen}" if report.seen else "no session seen yet"
    return Check("ok", what, f"{report.client} obeys the hook in {report.path} ({seen})")


def _limits(report: HookReport) -> tuple[Check, ...]:
    """What no hook of this client can do, so that nobody relies on it."""
    from chrono.workspace.health import Check

    if not report.hooks or not report.gaps:
        return ()
    return (Check("ok", f"limits {report.scope}", f"{report.client}: {'; '.join(report.gaps)}"),)


def _service(screen: Screen) -> list[Check]:
    from chrono.guard.resident import running
    from chrono.workspace.health import Check

    try:
        own = [one for one in running(screen.environ) if one.own]
    except (ChronoError, OSError) as error:
        return [Check("warn", "service", str(error), "hook calls judge by themselves meanwhile")]
    state = f"running, pid {own[0].pid}" if own else "not running; hook calls judge by themselves until it is"
    return [Check("ok", "service", state)]


def _json(check: Check) -> dict[str, shapes.Json]:
    return {"level": check.level, "what": check.what, "state": check.state, "todo": check.todo or None}

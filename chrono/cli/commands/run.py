"""Owns `chrono run`: judges, saves, runs, and asks what to do where a command failed and somebody is there.

All of it is done by `run.supervisor` and `run.process`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.listing import print_left, print_plan
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, workspace
from chrono.cli.render import Screen
from chrono.cli.text import count
from chrono.errors import Denied

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.run.process import Ended
    from chrono.run.supervisor import Begun, Judged, Request
    from chrono.workspace.project import Workspace
    from chrono.workspace.rollback import RolledBack

_CHOICES = "[r]oll back, [d]iff, [t]ry again, [k]eep"


def run(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="CMD...", help="The command; each word is one argument.", show_default=False),
    ] = None,
    shell: Annotated[str | None, typer.Option("--shell", metavar="TEXT", help="Run this text by /bin/sh.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Run it although the policy blocks it. For people.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="End it after this time.")
    ] = None,
    json: Json = False,
) -> int:
    """Run a command with a way back.

    The command is judged as the guard would judge it, and a savepoint is taken. If it succeeds, its result is saved
    (COMMIT). If it fails, you are asked: roll back, look at the difference, try again, or keep; without a terminal
    the policy decides (run.on_failure, by default it rolls back). The exit code is the command's own.

    \b
    Examples:
      chrono run npm test
      chrono run --timeout 60 -- pytest -x
      chrono run --shell 'make && ./check'
    """
    from chrono.run import supervisor
    from chrono.workspace.actors import actor

    screen = screen_of(ctx)
    asked = supervisor.request(tuple(words or ()), shell=shell)
    ws = workspace(screen)
    by = actor(screen.environ, source="run")
    with screen.working("judging"):
        judged = supervisor.judge(asked, here(), screen.environ)
    forced = force and judged.decision != "allow"
    if not forced and judged.decision == "ask":
        _ask(screen, ws, judged, by)
    return _rounds(screen, ws, judged, by, forced=forced, timeout_s=timeout, json=json)


run.settings = {"allow_interspersed_args": False}  # type: ignore[attr-defined]


def _ask(screen: Screen, ws: Workspace, judged: Judged, by: Actor) -> None:
    """Raises Denied where nobody says yes, here or by an approval."""
    from chrono.run import supervisor

    if screen.person:
        screen.note("\n".join(judged.assessed.verdict.reasons))
        if screen.confirm("Run it?"):
            return
        supervisor.refuse(ws, judged, by)
        raise Denied("you said no; nothing was run")
    supervisor.approved(ws, judged, by)


def _rounds(
    screen: Screen, ws: Workspace, judged: Judged, by: Actor, *, forced: bool, timeout_s: float | None, json: bool
) -> int:
    """Runs the command until it succeeds or somebody decides what becomes of its failure."""
    from chrono.run import supervisor

    while True:
        with screen.working("saving"):
            begun = supervisor.begin(ws, judged, by, forced=forced)
        # Standard output belongs to the command; with --json it is ours, and the command's goes to standard error.
        screen.flush()
        end = _execute(judged.request, screen.environ, begun, timeout_s, output=2 if json else None)
        supervisor.ended(ws, by, end)
        if end.exit_code == 0:
            commit = supervisor.commit(ws, begun, by)
            if json:
                screen.value(_json(begun, end, commit, None))
            else:
                _tell_left(screen, end)
                screen.note(f"COMMIT {shapes.short(commit)}")
            return 0
        choice = _choice(screen, ws, begun, end, judged, json=json)
        if choice == "retry":
            continue
        back = None
        if choice == "rollback":
            back = supervisor.go_back(ws, supervisor.way_back(ws, begun), by)
        if json:
            screen.value(_json(begun, end, None, back))
        else:
            _tell_left(screen, end)
            _tell_back(screen, back, begun, kept=choice == "keep")
        return end.exit_code


def _execute(
    asked: Request, environ: dict[str, str], begun: Begun, timeout_s: float | None, *, output: int | None
) -> Ended:
    from chrono.run.process import execute

    run_id = f"{begun.before.commit[:16]}-{os.getpid()}"
    return execute(asked.argv, environ, run_id, timeout_s=timeout_s, output=output)


def _choice(screen: Screen, ws: Workspace, begun: Begun, end: Ended, judged: Judged, *, json: bool) -> str:
    """ "rollback", "keep" or "retry". The end of input rolls back."""
    from chrono.run import supervisor
    from chrono.run.process import NOT_FOUND

    if not json:
        program = judged.request.argv[0]
        screen.note(f"{program} failed: {end.how}")
        if end.exit_code == NOT_FOUND and len(judged.request.argv) == 1 and " " in program:
            screen.note("hint: the words of a command are given one by one; a whole line: chrono run --shell TEXT")
    if not screen.person or json:
        return judged.policy.run_on_failure
    while True:
        answer = screen.ask(f"{_CHOICES}? ")
        if answer is None or answer[:1].lower() == "r":
            return "rollback"
        if answer[:1].lower() == "k":
            return "keep"
        if answer[:1].lower() == "t":
            return "retry"
        if answer[:1].lower() == "d":
            plan = supervisor.way_back(ws, begun)
            if not plan.changes:
                screen.note("no file differs from before the command")
            print_plan(screen, plan.changes)


def _tell_left(screen: Screen, end: Ended) -> None:
    if end.left:
        screen.warning(f"{count(len(end.left), 'process', 'processes')} still running, started by this command:")
        for one in end.left[:10]:
            screen.note(f"  {one.pid}  {one.name}")


def _tell_back(screen: Screen, back: RolledBack | None, begun: Begun, *, kept: bool) -> None:
    if kept:
        screen.note(f"the files were kept; the state before is {shapes.short(begun.before.commit)}")
    elif back is None:
        screen.note("no file differs from before the command")
    else:
        screen.note(f"rolled back: {count(back.written, 'file')} restored, {count(back.deleted, 'file')} removed")
        print_left(screen, back.left)
        screen.note(f"undo this rollback: chrono rollback {shapes.short(back.rescue)}")


def _json(begun: Begun, end: Ended, commit: str | None, back: RolledBack | None) -> dict[str, shapes.Json]:
    return {
        "command": begun.judged.request.text,
        "decision": begun.judged.decision,
        "forced": begun.forced,
        "before": begun.before.commit,
        "exit_code": end.exit_code,
        "how": end.how,
        "duration_s": round(end.duration_s, 3),
        "still_running": [{"pid": one.pid, "name": one.name} for one in end.left],
        "commit": commit,
        "rollback": None
        if back is None
        else {"commit": back.commit, "rescue": back.rescue, "restored": back.written, "removed": back.deleted},
        "covers": shapes.covers(begun.before.skips, begun.judged.policy),
    }

"""Owns `chrono status`. Comparing is left to `workspace.history`, what is known of agent clients to `guard`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_conflicts, print_paths, print_skips, savepoint_words
from chrono.cli.options import Json, screen_of
from chrono.cli.place import readable_policy, workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, age, count
from chrono.errors import ChronoError
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.guard.sessions import Seen
    from chrono.guard.unheard import Unheard
    from chrono.workspace.project import Workspace

_MOST_TOOLS = 4


class _Agent(NamedTuple):
    """One client: whether its settings hold chrono's hook, lost it, what the logs tell of it, and whether it runs
    without having reported."""

    client: str
    installed: bool
    lost: bool
    seen: Seen | None
    unheard: Unheard | None

    def json(self) -> dict[str, shapes.Json]:
        seen = self.seen
        return {
            "client": self.client,
            "installed": self.installed,
            "lost": self.lost,
            "last_seen": seen.last if seen is not None else None,
            "session": seen.session if seen is not None else None,
            "tools": dict(seen.tools) if seen is not None else {},
            "unseen_calls": seen.unseen if seen is not None else 0,
            "denied_but_ran": seen.denied_but_ran if seen is not None else 0,
            "unheard_since": self.unheard.since if self.unheard is not None else None,
        }


def run(ctx: typer.Context, json: Json = False) -> None:
    """Say what changed.

    Compares the files as they are with the newest savepoint of the current branch. Nothing is written.
    """
    from chrono.workspace import approvals
    from chrono.workspace.history import branch_name, newest
    from chrono.workspace.mergestate import waiting

    screen = screen_of(ctx)
    ws = workspace(screen)
    store = ws.store
    standing = ws.standing()
    branch = branch_name(store.head_ref())
    commit = newest(ws)
    with screen.working("comparing"):
        changes = store.changes(commit, None) if commit is not None else ()
        survey = store.survey()
    merge = waiting(ws)
    pending = store.pending() if standing.own else None
    last = store.savepoint(commit) if commit is not None else None
    agents = _agents(screen, ws)
    asked = approvals.waiting(ws.home, ws.root, ws.clock.now_ns())
    if json:
        screen.value(
            {
                "root": ws.root,
                "agents": [one.json() for one in agents],
                "branch": branch,
                "own": standing.own,
                "newest": shapes.savepoint(last) if last is not None else None,
                "changes": shapes.changes(changes),
                "interrupted_restore": pending is not None,
                "approvals_waiting": asked,
                "merge": shapes.waiting(merge) if merge is not None else None,
                "covers": shapes.covers(survey.skips, readable_policy(ws)),
            }
        )
        return
    screen.text("project  ", Styled(ws.root, "bold"), f" (branch {branch})", indent=9)
    if not standing.own:
        screen.warning(standing.why, standing.hint)
    if pending is not None:
        screen.warning("a change of files was cut short; the next command that writes finishes it (or: chrono doctor)")
    if merge is not None:
        left = len(merge.unresolved)
        state = f"{count(left, 'conflict')} to resolve" if left else "all conflicts are resolved"
        screen.text("merge    ", Styled(f"of {merge.name}", "bold"), f" is waiting: {state}", indent=9)
        print_conflicts(screen, merge.conflicts)
        screen.line(Styled("end it: chrono merge --continue    take it back: chrono merge --abort", "dim"))
    for one in agents:
        _print_agent(screen, one, ws.clock.now_ns())
    if asked:
        requests = count(asked, "request of an agent waits", "requests of agents wait")
        screen.line(Styled(f"{requests} for you: chrono approvals", "yellow"))
    if last is None:
        screen.line("there is no savepoint yet; take one: chrono snapshot")
        return
    screen.text("newest   ", savepoint_words(last, ws.clock.now_ns()), indent=9)
    if not changes:
        screen.line(Styled("nothing changed since", "green"))
    else:
        screen.line(f"{count(len(changes), 'path')} changed since:")
        print_paths(screen, [change_row(change) for change in changes])
        screen.line(Styled("see it: chrono diff    undo it: chrono rollback", "dim"))
    print_skips(screen, survey.skips)


def _agents(screen: Screen, ws: Workspace) -> tuple[_Agent, ...]:
    """The clients that have a hook here, had one, were seen, or run here."""
    from chrono.audit.place import machine_place, project_place
    from chrono.guard.install import hooked_clients, lost_hooks, programs
    from chrono.guard.sessions import seen
    from chrono.guard.unheard import unheard

    try:
        hooked = set(hooked_clients(ws.root, screen.environ))
        lost = {one.client for one in lost_hooks(ws.root, screen.environ)} - hooked
        told = {one.client: one for one in seen((project_place(ws.layout), machine_place(ws.home)))}
        silent = {one.client: one for one in unheard(ws.root, programs(), told.values(), ws.clock.now_ns() / 1e9)}
    except (ChronoError, OSError) as error:
        screen.warning(f"what agent clients do is not known: {error}")
        return ()
    names = sorted(hooked | lost | set(told) | set(silent))
    return tuple(_Agent(name, name in hooked, name in lost, told.get(name), silent.get(name)) for name in names)


def _print_agent(screen: Screen, one: _Agent, now_ns: int) -> None:
    from datetime import datetime

    from chrono.guard.unheard import words

    state = Styled("guarded", "green") if one.installed else Styled("NOT guarded", "red")
    seen = ""
    if one.seen is not None:
        ago = now_ns / 1e9 - datetime.fromisoformat(one.seen.last).timestamp()
        tools = ", ".join(f"{name} {calls}" for name, calls in one.seen.tools[:_MOST_TOOLS])
        seen = f", last seen {age(ago)}" + (f" (calls: {tools})" if tools else "")
    elif one.installed:
        seen = ", no call seen yet (restart the client)"
    screen.text("agent    ", Styled(one.client, "bold"), " ", state, seen, indent=9)
    if one.lost:
        screen.warning(f"the settings of {one.client} lost chrono's hook: chrono guard install {one.client}")
    if one.unheard is not None:
        screen.warning(f"{words(one.unheard)}: restart it")
    if one.seen is not None and one.seen.denied_but_ran:
        screen.warning(f"{one.client} ran {count(one.seen.denied_but_ran, 'call')} that had been denied")
    if one.seen is not None and one.seen.unseen:
        screen.warning(f"{one.client} ran {count(one.seen.unseen, 'call')} that no hook saw beforehand")

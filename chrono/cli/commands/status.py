"""Owns `chrono status`. Comparing is left to `workspace.history`."""

from __future__ import annotations

import typer

from chrono.cli import shapes
from chrono.cli.listing import change_row, print_conflicts, print_paths, print_skips, savepoint_words
from chrono.cli.options import Json, screen_of
from chrono.cli.place import readable_policy, workspace
from chrono.cli.text import Styled, count


def run(ctx: typer.Context, json: Json = False) -> None:
    """Say what changed.

    Compares the files as they are with the newest savepoint of the current branch. Nothing is written.
    """
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
    if json:
        screen.value(
            {
                "root": ws.root,
                "branch": branch,
                "own": standing.own,
                "newest": shapes.savepoint(last) if last is not None else None,
                "changes": shapes.changes(changes),
                "interrupted_restore": pending is not None,
                "merge": shapes.waiting(merge) if merge is not None else None,
                "covers": shapes.covers(survey.skips, readable_policy(ws)),
            }
        )
        return
    screen.text("project  ", Styled(ws.root, "bold"), f" (branch {branch})", indent=9)
    if not standing.own:
        screen.warning(standing.why)
        screen.note(f"hint: {standing.hint}")
    if pending is not None:
        screen.warning("a change of files was cut short; the next command that writes finishes it (or: chrono doctor)")
    if merge is not None:
        left = len(merge.unresolved)
        state = f"{count(left, 'conflict')} to resolve" if left else "all conflicts are resolved"
        screen.text("merge    ", Styled(f"of {merge.name}", "bold"), f" is waiting: {state}", indent=9)
        print_conflicts(screen, merge.conflicts)
        screen.line(Styled("end it: chrono merge --continue    take it back: chrono merge --abort", "dim"))
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

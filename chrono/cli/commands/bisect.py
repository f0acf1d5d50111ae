"""Owns `chrono bisect`. Searching is left to `workspace.bisect`, running the test to `workspace.trial`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.causes import cause_json, cause_rows
from chrono.cli.listing import change_row, print_paths, savepoint_words, what
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, in_project, workspace
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count, one_line
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.workspace.bisect import Broken, Progress, Trial
    from chrono.workspace.project import Workspace
    from chrono.workspace.timeline import State
    from chrono.workspace.trial import Outcome

_WORDS = {"good": "green", "bad": "red", "skip": "yellow"}
_TAIL_ROWS = 10
_PATCH_ROWS = 60


def run_run(
    ctx: typer.Context,
    command: Annotated[
        list[str], typer.Argument(metavar="-- CMD...", help="The test, as it is run: no shell.", show_default=False)
    ],
    start: Annotated[
        str | None, typer.Option("--from", metavar="ID", help="A savepoint where it works.", show_default="the oldest")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="ID", help="One where it fails.", show_default="the newest")
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option("--link", metavar="PATH", help="Link this path of the project in, for example node_modules."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="A run that takes longer failed.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the first savepoint where a command fails.

    Tries about log2 of the savepoints between --from and --to, automatic ones included, each in a scratch folder of
    its own; the project is not touched. Exit code 0 means good, 125 that it cannot tell, 1 to 127 bad; from 128 on the
    search is given up. Says which tool call of which agent made the difference.

    \b
    Examples:
      chrono bisect run -- pytest -x tests/test_api.py
      chrono bisect run --from 3f2a1b9c -- sh -c 'make && ./check'
    """
    screen = screen_of(ctx)
    ws = workspace(screen)
    with _ending_cleanly():
        broken, last = _search(screen, ws, command, (start, end), tuple(link or ()), timeout)
    if json:
        screen.value(_json(broken))
    else:
        _tell(screen, ws, broken, last)


run_run.settings = {"allow_interspersed_args": False}  # type: ignore[attr-defined]


def _search(
    screen: Screen,
    ws: Workspace,
    command: list[str],
    between: tuple[str | None, str | None],
    links: tuple[str, ...],
    timeout_s: float | None,
) -> tuple[Broken, Outcome | None]:
    """The answer, and how the run at the first bad savepoint ended."""
    from chrono.workspace import bisect, trial
    from chrono.workspace.actors import actor

    trial.check(command, screen.environ)
    linked = tuple(in_project(ws.root, path) for path in links)
    for path in linked:
        if not path or not os.path.lexists(os.path.join(ws.root, path)):
            raise UsageError(f"--link {path or '.'} is nothing in the project", "for example: --link node_modules")
    with screen.working("looking at the history"):
        found = bisect.lineage(ws, *between)
    by, op = actor(screen.environ), os.urandom(16).hex()
    bisect.note(ws, by, "begin", command, op=op)
    outcomes: dict[str, Outcome] = {}
    inside = in_project(ws.root, here())

    def run(folder: str, state: State) -> int:
        for path in linked:
            _link(ws, folder, path)
        below = os.path.join(folder, inside)
        with screen.working(f"running {one_line(' '.join(command))[:40]}"):
            done = trial.run(
                command, below if os.path.isdir(below) else folder, _environ(ws, screen, state), timeout_s=timeout_s
            )
        outcomes[state.commit] = done
        if not screen.json:
            _say_run(screen, len(outcomes), done, state)
        return done.exit_code

    def say(progress: Progress) -> None:
        if progress.number == 1 and not screen.json:
            screen.note(f"{len(found.states)} savepoints to search, about {progress.left + 1} runs")

    broken = None
    try:
        broken = bisect.find(ws, found, run, say=say)
    finally:
        bisect.note(ws, by, "end", command, op=op, broken=broken)
    return broken, outcomes.get(broken.bad.commit)


def _environ(ws: Workspace, screen: Screen, state: State) -> dict[str, str]:
    return {**screen.environ, "CHRONO_BISECT_PROJECT": ws.root, "CHRONO_BISECT_SAVEPOINT": state.commit}


def _link(ws: Workspace, folder: str, path: str) -> None:
    """Links what no savepoint holds, such as installed packages, into the scratch folder."""
    from pathlib import Path

    target = Path(folder, path)
    if not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.path.join(ws.root, path))


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """A polite end (SIGTERM, a closed terminal) is an interrupt, so that scratch folders go."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])
    try:
        before = [(number, signal.signal(number, interrupt)) for number in numbers]
    except ValueError:  # not the main thread
        before = []
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _say_run(screen: Screen, number: int, done: Outcome, state: State) -> None:
    from chrono.workspace.bisect import SKIP

    word = "good" if done.exit_code == 0 else "skip" if done.exit_code == SKIP else "bad"
    text = f"  {shapes.short(state.commit)} before: " if state.savepoint.kind == "auto" else f"  {state.commit[:12]}  "
    room = (screen.width or 10_000) - len(text) - 16
    subject = what(state.savepoint)
    screen.note(
        f"{number:3} ",
        Styled(f"{word:<4}", _WORDS[word]),
        text + (subject if len(subject) <= room else subject[: room - 1] + "…"),
    )
    if done.why:
        screen.note(f"     {done.why}")


def _tell(screen: Screen, ws: Workspace, broken: Broken, last: Outcome | None) -> None:
    now_ns = ws.clock.now_ns()
    screen.line(Styled("broken by", "bold"))
    screen.table(cause_rows(broken.cause), indent=2)
    if broken.suspects:
        screen.warning(
            f"{count(len(broken.suspects), 'savepoint')} in between could not be tested: one of them may be the first"
        )
    screen.text("last good  ", savepoint_words(broken.good.savepoint, now_ns), indent=11)
    screen.text("first bad  ", savepoint_words(broken.bad.savepoint, now_ns), indent=11)
    screen.line(f"{count(len(broken.trials), 'run')} over {count(broken.candidates, 'savepoint')}")
    screen.line("")
    screen.line(f"{count(len(broken.changes), 'path')} changed:")
    print_paths(screen, [change_row(change) for change in broken.changes])
    screen.line("")
    good, bad = shapes.short(broken.good.commit), shapes.short(broken.bad.commit)
    rows = broken.patch.splitlines()
    screen.patch("\n".join(rows[:_PATCH_ROWS]))
    if len(rows) > _PATCH_ROWS:
        screen.note(f"… and {len(rows) - _PATCH_ROWS:,} lines more: chrono diff {good} {bad}")
    if last is not None and last.tail.strip():
        screen.note("what the command printed at the first bad savepoint, its end:")
        for row in last.tail.rstrip().splitlines()[-_TAIL_ROWS:]:
            screen.note(f"  {row}")
    screen.note(f"look at it: chrono worktree add DIR {good}; go back to it: chrono rollback {good}")


def _json(broken: Broken) -> dict[str, shapes.Json]:
    return {
        "good": shapes.savepoint(broken.good.savepoint),
        "bad": shapes.savepoint(broken.bad.savepoint),
        "suspects": [state.commit for state in broken.suspects],
        "cause": cause_json(broken.cause),
        "changes": [
            {"path": change.path, "kind": change.kind, "cause": cause_json(cause)}
            for change, (_, cause) in zip(broken.changes, broken.causes, strict=True)
        ],
        "patch": broken.patch,
        "runs": [_trial(trial) for trial in broken.trials],
        "candidates": broken.candidates,
    }


def _trial(value: Trial) -> dict[str, shapes.Json]:
    return {"savepoint": value.state.commit, "exit_code": value.exit_code, "word": value.word}

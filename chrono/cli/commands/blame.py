"""Owns `chrono blame`. Whose a line is is said by `workspace.blame`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.causes import call_text, cause_json, cause_rows, cause_word
from chrono.cli.options import Json, screen_of
from chrono.cli.place import in_project, workspace
from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled, age, cut
from chrono.clock import from_rfc3339
from chrono.errors import UsageError

if TYPE_CHECKING:
    from chrono.workspace.blame import Blame, Line
    from chrono.workspace.project import Workspace
    from chrono.workspace.timeline import Cause

_LINES = re.compile(r"(.+):(\d+)(?:-(\d+))?", re.DOTALL)
_WHAT = {
    "binary": "it is a binary file",
    "large": "it is larger than 8 MiB",
    "link": "it is a link",
}
_WHO_COLUMNS = 12


def run(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE[:LINE]", help="A file, a line or lines 3-7 of it.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Say who last wrote each line.

    Which agent, in which session, by which tool call; or a person, between savepoints. Lines that came through a
    rename or a rollback keep the name that they had.

    \b
    Examples:
      chrono blame src/app.py
      chrono blame src/app.py:40-60
    """
    from chrono.workspace.blame import blame

    screen = screen_of(ctx)
    ws = workspace(screen)
    path, first, last = _parse(ws, file)
    with screen.working("looking through the savepoints"):
        found = blame(ws, path)
    if found.lines is not None and first is not None:
        if not 1 <= first <= (last or first) <= len(found.lines):
            raise UsageError(f"{path} has {len(found.lines)} lines, no line {file.rpartition(':')[2]}")
        found = found._replace(lines=found.lines[first - 1 : last or first])
    if json:
        screen.value(_json(found))
    elif found.lines is None:
        _tell_whole(screen, found)
    elif first is not None and last is None:
        _tell_one(screen, found, found.lines[0])
    else:
        _tell_lines(screen, ws, found, found.lines)


def _parse(ws: Workspace, typed: str) -> tuple[str, int | None, int | None]:
    """The path, and the lines that are meant. A file whose own name ends in `:7` is meant as it is."""
    match = _LINES.fullmatch(typed)
    if match is None or os.path.lexists(typed):
        return _path(ws, typed), None, None
    return _path(ws, match[1]), int(match[2]), int(match[3]) if match[3] else None


def _path(ws: Workspace, typed: str) -> str:
    path = in_project(ws.root, typed)
    if not path:
        raise UsageError(f"{typed} is the project itself", "name a file in it")
    return path


def _causes(found: Blame) -> list[Cause]:
    """Each cause once, in the order of its first line. All lines of one change have the same value, by identity."""
    return list({id(line.cause): line.cause for line in found.lines or ()}.values())


def _tell_lines(screen: Screen, ws: Workspace, found: Blame, lines: tuple[Line, ...]) -> None:
    causes = _causes(found)
    numbers = {id(cause): number for number, cause in enumerate(causes, 1)}
    rows: list[tuple[Part, ...]] = []
    before: Cause | None = None
    for line in lines:
        who = cut(cause_word(line.cause), _WHO_COLUMNS) if line.cause is not before else ""
        key = f"[{numbers[id(line.cause)]}]" if line.cause is not before else ""
        text = line.text.decode("utf-8", "surrogateescape").replace("\t", "    ").removesuffix("\r")
        rows.append((Styled(str(line.number), "dim"), Styled(who, _style(line.cause)), key, text))
        before = line.cause
    screen.table(rows, gap=1)
    if not rows:
        screen.note(f"{found.path} is empty")
    screen.line("")
    now_ns = ws.clock.now_ns()
    for number, cause in enumerate(causes, 1):
        screen.text(f"[{number}] ", *_legend(cause, now_ns), indent=4)
    _tell_rest(screen, found)


def _style(cause: Cause) -> str:
    return {"call": "yellow", "person": "green", "verb": "cyan"}.get(cause.kind, "dim")


def _legend(cause: Cause, now_ns: int) -> tuple[Part, ...]:
    """One cause in a sentence."""
    when = _when(cause, now_ns)
    call = cause.call
    if call is None:
        after = cause.step.after
        place = f" before savepoint {shapes.short(after.commit)}" if after is not None else ", not saved yet"
        doubt = f"; in part perhaps before that: {call_text(cause.others[0])}" if cause.others else ""
        return Styled(cause_word(cause), _style(cause)), f"{place}{when}{doubt}"
    session = f", session {call.session}" if call.session else ""
    use = f" ({call.tool_use})" if call.tool_use else ""
    doubt = f"; or {call_text(cause.others[0])}" if cause.others else ""
    return Styled(cause_word(cause), _style(cause)), f"{session}{when}: ", f"{call_text(call)}{use}{doubt}"


def _when(cause: Cause, now_ns: int) -> str:
    if cause.call is not None and cause.call.at:
        return f", {age((now_ns - from_rfc3339(cause.call.at)) / 1e9)}"
    after = cause.step.after
    return f", {age((now_ns - after.savepoint.at_ns) / 1e9)}" if after is not None else ""


def _tell_one(screen: Screen, found: Blame, line: Line) -> None:
    text = line.text.decode("utf-8", "surrogateescape").replace("\t", "    ")
    screen.line(Styled(f"{found.path}:{line.number}", "bold"), f"  {text}")
    screen.table(cause_rows(line.cause), indent=2)
    after = line.cause.step.after
    if after is not None:
        before = line.cause.step.before
        names = " ".join(shapes.short(one.commit) for one in (before, after) if one is not None)
        verb = "chrono diff" if before is not None else "chrono show"
        screen.note(f"the whole change: {verb} {names}")
    _tell_rest(screen, found)


def _tell_whole(screen: Screen, found: Blame) -> None:
    screen.line(f"{found.path}: {_WHAT[found.what]}, so there are no lines to tell apart; last written by")
    screen.table(cause_rows(found.last), indent=2)
    _tell_rest(screen, found)


def _tell_rest(screen: Screen, found: Blame) -> None:
    for rename in found.renames:
        screen.note(f"{rename.old} was renamed to {rename.new} by {cause_word(rename.cause)}")
    if found.deleted is not None:
        screen.warning(f"{found.path} does not exist any more; it was deleted by {cause_word(found.deleted)}")
        screen.table(cause_rows(found.deleted), indent=2)


def _json(found: Blame) -> dict[str, shapes.Json]:
    causes = _causes(found)
    numbers = {id(cause): number for number, cause in enumerate(causes)}
    lines: list[shapes.Json] = [
        {"line": line.number, "text": line.text.decode("utf-8", "surrogateescape"), "cause": numbers[id(line.cause)]}
        for line in found.lines or ()
    ]
    return {
        "path": found.path,
        "what": found.what,
        "lines": lines if found.lines is not None else None,
        "causes": [cause_json(cause) for cause in causes],
        "last": cause_json(found.last),
        "deleted": cause_json(found.deleted) if found.deleted is not None else None,
        "renames": [{"old": one.old, "new": one.new, "cause": cause_json(one.cause)} for one in found.renames],
    }

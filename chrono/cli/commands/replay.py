"""Owns `chrono replay`: a program answered from a recording. The program does that itself, by `record.program`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.text import Styled, count
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.record.program import Report

_SPAN_CHARACTERS = 16


def run(
    ctx: typer.Context,
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="The trace's id, its beginning, or an exported file.")],
    rest: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SPAN] -- CMD...", help="One span of it; the program, no shell.", show_default=False),
    ] = None,
    let_run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="NAME[#N]", help="Let the calls of this name run (or the N-th only)."),
    ] = None,
    matching: Annotated[
        str, typer.Option("--matching", metavar="HOW", help="count, input (equal arguments only) or strict.")
    ] = "count",
    store: Annotated[
        str | None, typer.Option("--store", metavar="DIR", help="The store. [the project's, else your own]")
    ] = None,
    json: Json = False,
) -> int:
    """Run a program under replay.

    Its recorded calls are answered from the trace, and no other is made, but for those of --run. Then says how it
    differed: changed arguments, calls left over, missing or in another order. Leaves with the program's own code, or
    with 1 where that is 0 and something differed.
    """
    screen = screen_of(ctx)
    span, command = _split(rest or [])
    if matching not in ("count", "input", "strict"):
        raise UsageError(f"--matching {matching} is none of count, input, strict")
    with tempfile.TemporaryDirectory(prefix="chrono-replay-") as scratch:
        environ = {
            **screen.environ,
            "CHRONO_RECORD_REPLAY": _file(trace, store, scratch, span),
            "CHRONO_RECORD_REPLAY_REPORT": os.path.join(scratch, "reports"),
            "CHRONO_RECORD_REPLAY_MATCHING": matching,
            "CHRONO_RECORD_REPLAY_RUN": ",".join(let_run or ()),
            "CHRONO_RECORD_REPLAY_SPAN": span or "",
        }
        os.mkdir(environ["CHRONO_RECORD_REPLAY_REPORT"])
        code = _run(command, environ)
        report = _report(environ["CHRONO_RECORD_REPLAY_REPORT"])
    if json:
        from chrono.record.divergence import as_json

        screen.value(
            {
                "exit_code": code,
                "processes": report.processes,
                "calls": report.calls,
                "divergences": as_json(report.divergences),
            }
        )
    else:
        _tell(screen, report)
    if not report.processes:
        screen.warning("the program made no recorded call: nothing was replayed")
    return code or (1 if report.divergences or not report.processes else 0)


run.settings = {"allow_interspersed_args": False}  # type: ignore[attr-defined]


def _split(rest: list[str]) -> tuple[str | None, list[str]]:
    """The span and the command of `[SPAN] -- CMD...`; the dashes may have been taken already."""
    if "--" in rest:
        at = rest.index("--")
        before, command = rest[:at], rest[at + 1 :]
    else:
        is_span = bool(rest) and len(rest[0]) == _SPAN_CHARACTERS and not set(rest[0]) - set("0123456789abcdef")
        before, command = (rest[:1], rest[1:]) if is_span else ([], rest)
    if len(before) > 1 or not command:
        raise UsageError("what should run?", "chrono replay TRACE [SPAN] -- CMD...")
    return (before[0] if before else None), command


def _file(trace: str, store: str | None, scratch: str, span: str | None) -> str:
    """The trace as a file for the program. Raises what reading it raises, before anything runs."""
    from chrono.record.exchange import exported
    from chrono.record.reading import read_trace, trace_id_of
    from chrono.record.settings import get_settings, store_folder
    from chrono.record.sources import read_file, recording_from

    if os.path.isfile(trace):
        found = read_file(trace)
    else:
        folder = os.path.abspath(store) if store is not None else store_folder(get_settings())
        found = read_trace(folder, trace_id_of(folder, trace))
    recording_from(found, span)
    path = os.path.join(scratch, "trace.json")
    with open(path, "wb") as file:
        file.write(exported(found))
    return path


def _run(command: list[str], environ: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environ)
    except OSError as error:
        raise ChronoError(f"{command[0]} cannot be run: {error.strerror}") from None
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue  # the terminal has told the program, too
        return code if code >= 0 else 128 - code


def _report(folder: str) -> Report:
    from chrono.record.program import read_report

    return read_report(folder)


def _tell(screen: Screen, report: Report) -> None:
    from chrono.record.divergence import as_text

    calls = count(report.calls, "call")
    if not report.divergences:
        if report.processes:
            screen.note(Styled("as recorded", "green"), f": {calls}, no difference")
        return
    screen.note(Styled(count(len(report.divergences), "difference"), "red"), f" in {calls}")
    for line in as_text(report.divergences).splitlines():
        screen.note(f"  {line}")

"""Owns `chrono replay`: a program answered from a recording, on the files as they were where that is asked for.

Answering is done by the program itself (`record.program`), a folder with the files of then by `workspace.worktrees`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli.options import Json, screen_of
from chrono.cli.place import workspace
from chrono.cli.text import Styled, count, one_line
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.record.files import Files
    from chrono.record.program import Report
    from chrono.record.reading import StoredTrace
    from chrono.store.diff import Change
    from chrono.workspace.project import Workspace

_SPAN_CHARACTERS = 16
SHOWN_FILES = 20


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
    files: Annotated[
        bool, typer.Option("--files", help="Run in a scratch folder with the files as they were when it was recorded.")
    ] = False,
    store: Annotated[
        str | None, typer.Option("--store", metavar="DIR", help="The store. [the project's, else your own]")
    ] = None,
    json: Json = False,
) -> int:
    """Run a program under replay.

    Its recorded calls are answered from the trace, and no other is made, but for those of --run. Then says how it
    differed: changed arguments, calls left over, missing or in another order. Leaves with the program's own code, or
    with 1 where that is 0 and something differed.

    \b
    Examples:
      chrono replay 4bf92f35 -- python agent.py
      chrono replay incident.json --run edit -- python agent.py
    """
    screen = screen_of(ctx)
    span, command = _split(rest or [])
    if matching not in ("count", "input", "strict"):
        raise UsageError(f"--matching {matching} is none of count, input, strict")
    found = _found(trace, store)
    with tempfile.TemporaryDirectory(prefix="chrono-replay-") as scratch, _folder(screen, found, span, files) as place:
        environ = {
            **screen.environ,
            "CHRONO_RECORD_REPLAY": _file(found, scratch, span),
            "CHRONO_RECORD_REPLAY_REPORT": os.path.join(scratch, "reports"),
            "CHRONO_RECORD_REPLAY_MATCHING": matching,
            "CHRONO_RECORD_REPLAY_RUN": ",".join(let_run or ()),
            "CHRONO_RECORD_REPLAY_SPAN": span or "",
        }
        os.mkdir(environ["CHRONO_RECORD_REPLAY_REPORT"])
        code = _run(command, environ, place.folder)
        report = _report(environ["CHRONO_RECORD_REPLAY_REPORT"])
        left = place.left()
    if json:
        from chrono.record.divergence import as_json

        screen.value(
            {
                "exit_code": code,
                "processes": report.processes,
                "calls": report.calls,
                "divergences": as_json(report.divergences),
                "savepoint": place.savepoint,
                "files": None if left is None else [{"path": one.path, "kind": one.kind} for one in left],
            }
        )
    else:
        _tell(screen, report)
        _tell_files(screen, left)
    if not report.processes:
        screen.warning("the program made no recorded call: nothing was replayed")
    return code or (1 if report.divergences or not report.processes else 0)


run.settings = {"allow_interspersed_args": False}  # type: ignore[attr-defined]


def _split(rest: list[str]) -> tuple[str | None, list[str]]:
    """The span and the command of `[SPAN] -- CMD...`; the dashes may have been taken already."""
    if "--" in rest:
        at = rest.index("--")
        before, command = rest[:at], rest[at + 1 :]
        late = next((word for word in before if word.startswith("-")), None)
        if late is not None:
            options = " ".join(before[before.index(late) :])
            raise UsageError(
                f"{late} comes too late", f"options stand before the trace: chrono replay {options} TRACE -- CMD..."
            )
    else:
        is_span = bool(rest) and len(rest[0]) == _SPAN_CHARACTERS and not set(rest[0]) - set("0123456789abcdef")
        before, command = (rest[:1], rest[1:]) if is_span else ([], rest)
    if len(before) > 1 or not command:
        raise UsageError("what should run?", "chrono replay TRACE [SPAN] -- CMD...")
    return (before[0] if before else None), command


def _found(trace: str, store: str | None) -> StoredTrace:
    """Raises what reading it raises, before anything runs."""
    from chrono.record.reading import read_trace, trace_id_of, with_files
    from chrono.record.settings import get_settings, store_folder
    from chrono.record.sources import read_file

    if os.path.isfile(trace):
        return read_file(trace)
    folder = os.path.abspath(store) if store is not None else store_folder(get_settings())
    return with_files(folder, read_trace(folder, trace_id_of(folder, trace)))


def _file(found: StoredTrace, scratch: str, span: str | None) -> str:
    """The trace as a file for the program. Raises BadRecording."""
    from chrono.record.exchange import exported
    from chrono.record.sources import recording_from

    recording_from(found, span)
    path = os.path.join(scratch, "trace.json")
    with open(path, "wb") as file:
        file.write(exported(found))
    return path


class _Place:
    """Where the program runs, and how the files there can be compared. `folder` None: here."""

    def __init__(self, folder: str | None = None, savepoint: str | None = None) -> None:
        self.folder = folder
        self.savepoint = savepoint

    def left(self) -> tuple[Change, ...] | None:
        """How the files differ from what the recorded run had left; None where that is not known."""
        return None


class _Scratch(_Place):
    """A scratch worktree of the project here."""

    def __init__(self, ws: Workspace, worktree: str, savepoint: str, files: Files) -> None:
        super().__init__(_below(worktree, files), savepoint)
        self._ws, self._worktree, self._after = ws, worktree, files.savepoint_after

    def left(self) -> tuple[Change, ...] | None:
        if self._after is None:
            return None
        return self._ws.store.changed_in(self._worktree, self._ws.store.resolve(self._after))


@contextmanager
def _folder(screen: Screen, found: StoredTrace, span: str | None, wanted: bool) -> Iterator[_Place]:
    """The files that came with the trace, else those of the project here.

    Raises NoFiles, BadParcel, NoSuchSavepoint.
    """
    if not wanted:
        yield _Place()
        return
    from chrono.record.files import first_files

    savepoint, files = first_files(one for one in found.spans if span in (None, one["span_id"]))
    if found.files is not None and found.files.get("savepoint") == savepoint:
        from chrono.workspace import parcels

        parcel = parcels.unpacked(found.files)
        for path in parcel.left_out:
            screen.warning(f"{one_line(path)} leads out of the folder: it is left out")
        with parcels.scratch(parcel) as folder:
            yield _Place(_below(folder, files), savepoint)
        return
    from chrono.workspace import worktrees

    ws = workspace(screen)
    try:
        with worktrees.scratch(ws, "replay", ws.store.resolve(savepoint)) as worktree:
            yield _Scratch(ws, worktree, savepoint, files)
    finally:
        ws.close()


def _below(root: str, files: Files) -> str:
    """The folder below `root` that the recorded program ran in. Raises ChronoError where there is none: a recording
    from elsewhere may name any."""
    inside = os.path.realpath(root)
    folder = os.path.realpath(os.path.join(inside, files.folder or "."))
    if os.path.commonpath((inside, folder)) != inside or not os.path.isdir(folder):
        raise ChronoError(f"the recorded program ran in {files.folder!r}, which is no folder of its savepoint")
    return folder


def _run(command: list[str], environ: dict[str, str], folder: str | None) -> int:
    try:
        process = subprocess.Popen(command, env=environ, cwd=folder)
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


def _tell_files(screen: Screen, left: tuple[Change, ...] | None) -> None:
    if left is None:
        return
    if not left:
        screen.note("files: as the recorded run left them")
        return
    screen.note(f"files: {count(len(left), 'path')} not as the recorded run left them")
    for one in left[:SHOWN_FILES]:
        screen.note(f"  {one.kind} {one_line(one.path)}")
    if len(left) > SHOWN_FILES:
        screen.note(f"  and {len(left) - SHOWN_FILES} more; all of them: --json")


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

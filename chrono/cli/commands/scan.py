"""Owns `chrono scan`: the guard's answer about a command, for people, as JSON, and line by line for many.

Judging is left to `workspace.assess`; nothing is run and no savepoint is taken.
"""

from __future__ import annotations

import json as jsonlib
import os
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.explained import STYLES, explained
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.workspace.assess import Assessed, Assessor
    from chrono.workspace.sweep import Runnable

EXIT_CODES = {"allow": 0, "block": 4, "ask": 5}


def run(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="CMD", help="The command, best in quotes.", show_default=False)
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also what would run, through what, and on what.")] = False,
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="FILE.jsonl", help="Judge each line {cmd, cwd?, shell?}; - is standard input."),
    ] = None,
    shell: Annotated[
        str | None,
        typer.Option("--shell", metavar="NAME", help="Which shell would run it: bash, sh, zsh, powershell, cmd."),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="PATH", help="Judge every script, package script and make target below PATH."),
    ] = None,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print the findings as SARIF 2.1.0, for CI.")] = False,
    json: Json = False,
) -> int:
    """Judge a command, or the scripts of a folder.

    Says what the guard would decide, as if a savepoint were taken now; nothing is run and none is taken. Leaves with
    0 for allow, 4 for block, 5 for ask; with --path, for the strongest of all. With --batch: one JSON verdict a line,
    in order, and always 0.

    \b
    Examples:
      chrono scan 'rm -rf ~'
      chrono scan --explain 'cd /tmp && rm -rf *'
      chrono scan --path scripts/ --sarif > chrono.sarif
    """
    screen = screen_of(ctx)
    if batch is not None and (words or path is not None):
        raise UsageError("--batch and a command exclude each other", "--batch reads the commands from its file")
    if path is not None and words:
        raise UsageError("--path and a command exclude each other", "--path judges the scripts of a folder")
    if sarif and (json or batch is not None):
        raise UsageError(
            "--sarif goes with neither --json nor --batch", "it is a form of its own: chrono scan --path . --sarif"
        )
    if batch is not None:
        _batch(screen, batch)
        return 0
    if path is not None:
        return _sweep(screen, path, explain=explain, json=json, sarif=sarif)
    if not words:
        raise UsageError("there is no command to judge", "for example: chrono scan 'rm -rf build'")
    _check_shell(shell)
    text = words[0] if len(words) == 1 else shlex.join(words)
    assessed = _assessor(screen, here()).assess(text, shell=shell)
    if json:
        screen.value(verdict_json(assessed))
    elif sarif:
        _print_sarif(screen, [(None, here(), assessed)])
    else:
        _tell(screen, assessed, explain=explain)
    return EXIT_CODES[assessed.verdict.decision]


run.settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]


def _check_shell(shell: str | None) -> None:
    from chrono.scan.scanner import SHELLS

    if shell is not None and shell not in SHELLS:
        raise UsageError(f"no shell called {shell!r} is known", f"known: {', '.join(SHELLS)}")


def _assessor(screen: Screen, folder: str) -> Assessor:
    from chrono.workspace.assess import Assessor

    return Assessor.open(folder, screen.environ)


# --- for people


def _tell(screen: Screen, assessed: Assessed, *, explain: bool) -> None:
    verdict = assessed.verdict
    score = f"  score {verdict.score}" if verdict.score else ""
    screen.line(Styled(verdict.decision, STYLES[verdict.decision]), score)
    if explain:
        explained(screen, assessed)
        return
    for reason in verdict.reasons:
        screen.text("  ", reason, indent=2)
    if verdict.decision == "allow":
        for judged in verdict.findings:
            if judged.finding.score:
                screen.text("  ", f"{judged.finding.title}: {judged.because}", indent=2)


# --- the scripts of a folder


def _sweep(screen: Screen, path: str, *, explain: bool, json: bool, sarif: bool) -> int:
    from chrono.workspace.sweep import runnables

    if not os.path.exists(path):
        raise UsageError(f"there is no {path}", "give a folder, or one script")
    assessor = _assessor(screen, here())
    found: list[tuple[Runnable, Assessed]] = []
    with screen.working("judging scripts"):
        found.extend((one, assessor.assess(one.command, cwd=one.folder)) for one in runnables(path))
    worst = max((assessed.verdict.decision for _, assessed in found), key=_ORDER.index, default="allow")
    if json:
        screen.value([{"path": one.path, "command": one.command, **verdict_json(assessed)} for one, assessed in found])
    elif sarif:
        _print_sarif(screen, [(_known_as(one.file), one.folder, assessed) for one, assessed in found])
    else:
        _tell_sweep(screen, found, explain=explain)
    return EXIT_CODES[worst]


_ORDER = ("allow", "ask", "block")


def _known_as(path: str) -> str:
    """The path from where the command was given, as CI knows it."""
    return os.path.relpath(path, here()).replace(os.sep, "/")


def _locating(folder: str) -> Callable[[str], str]:
    """Chains name files from the folder where they run, or from the project."""

    def locate(name: str) -> str:
        near = os.path.join(folder, name)
        return _known_as(near if os.path.exists(near) else os.path.join(here(), name))

    return locate


def _tell_sweep(screen: Screen, found: list[tuple[Runnable, Assessed]], *, explain: bool) -> None:
    stopped = [(one, assessed) for one, assessed in found if assessed.verdict.decision != "allow"]
    for one, assessed in sorted(stopped, key=lambda pair: -_ORDER.index(pair[1].verdict.decision)):
        decision = assessed.verdict.decision
        screen.line(Styled(f"{decision:<5}", STYLES[decision]), f"  {one.path}", Styled(f"  ({one.command})", "dim"))
        if explain:
            explained(screen, assessed)
            screen.line("")
            continue
        for reason in assessed.verdict.reasons[:3]:
            screen.text("       ", reason, indent=7)
    files = len({one.path for one, _ in found})
    screen.line(f"{count(len(found), 'way')} to run {count(files, 'file')} judged, {len(stopped)} stopped.")


def _print_sarif(screen: Screen, found: list[tuple[str | None, str, Assessed]]) -> None:
    from chrono import __version__
    from chrono.cli.sarif import Judgement
    from chrono.cli.sarif import sarif as document

    judgements = [Judgement(assessed, path, _locating(folder)) for path, folder, assessed in found]
    screen.value(document(judgements, __version__))


# --- for programs


def verdict_json(assessed: Assessed) -> dict[str, shapes.Json]:
    """One verdict. `commands` are the program starts that the text can cause."""
    verdict, scan = assessed.verdict, assessed.scan
    return {
        "decision": verdict.decision,
        "score": verdict.score,
        "findings": [
            {
                **shapes.finding(judged.finding),
                "decision": judged.decision,
                "covered": judged.covered,
                "because": judged.because,
            }
            for judged in verdict.findings
        ],
        "commands": [shapes.command(command) for command in scan.commands if not command.builtin],
        "refusals": [shapes.refusal(refusal) for refusal in verdict.refusals],
        "reasons": list(verdict.reasons),
        "read_only": scan.read_only,
        "followed": [{"path": path, "sha256": sha256} for path, sha256 in scan.followed],
    }


def _batch(screen: Screen, name: str) -> None:
    opened: list[Assessor] = []

    def assessor() -> Assessor:
        if not opened:
            opened.append(_assessor(screen, here()))
        return opened[0]

    for line in _lines(screen, name):
        screen.value(_batch_line(line, assessor))
        screen.flush()


def _lines(screen: Screen, name: str) -> Iterator[bytes]:
    if name == "-":
        data = screen.payload()
        if data is None:
            raise UsageError("there is nothing on standard input", "chrono scan --batch FILE.jsonl")
        yield from data.splitlines()
        return
    with open(name, "rb") as file:
        for line in file:
            yield line.rstrip(b"\r\n")


def _batch_line(line: bytes, assessor: Callable[[], Assessor]) -> dict[str, shapes.Json]:
    """The verdict on one line, whatever happens: what cannot be judged is blocked."""
    try:
        value = jsonlib.loads(line)
        text, cwd, shell = value["cmd"], value.get("cwd"), value.get("shell")
        if not isinstance(text, str) or not isinstance(cwd, str | None) or not isinstance(shell, str | None):
            raise TypeError("cmd, cwd and shell are text")
        return verdict_json(assessor().assess(text, cwd=cwd, shell=shell))
    except ChronoError as error:
        return _unjudged(error.message)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return _unjudged(f"this line is not {{cmd, cwd?, shell?}}: {type(error).__name__}: {error}")
    except Exception as error:
        return _unjudged(f"chrono failed on this line: {type(error).__name__}: {error}")


def _unjudged(why: str) -> dict[str, shapes.Json]:
    return {
        "decision": "block",
        "score": 100,
        "findings": [],
        "commands": [],
        "refusals": [{"kind": "error", "why": why, "span": [0, 0]}],
        "reasons": [f"refused rather than half-checked: {why}"],
        "read_only": False,
        "followed": [],
    }

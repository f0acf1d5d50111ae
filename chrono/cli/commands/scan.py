"""Owns `chrono scan`: the guard's answer about a command, for people, as JSON, and line by line for many.

Judging is left to `workspace.assess`; nothing is run and no savepoint is taken.
"""

from __future__ import annotations

import json as jsonlib
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here
from chrono.cli.render import Screen
from chrono.cli.text import Part, Styled, count, one_line
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.policy.model import Judged
    from chrono.workspace.assess import Assessed, Assessor

EXIT_CODES = {"allow": 0, "block": 4, "ask": 5}

_STYLES = {"allow": "green", "ask": "yellow", "block": "red"}


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
    json: Json = False,
) -> int:
    """Judge a command.

    Says what the guard would decide, as if a savepoint were taken now; nothing is run and none is taken. Leaves with
    0 for allow, 4 for block, 5 for ask. With --batch: one JSON verdict a line, in order, and always 0.
    """
    screen = screen_of(ctx)
    if batch is not None:
        if words:
            raise UsageError("--batch reads the commands from its file; give either that or a command")
        _batch(screen, batch)
        return 0
    if not words:
        raise UsageError("there is no command to judge", "for example: chrono scan 'rm -rf build'")
    text = words[0] if len(words) == 1 else shlex.join(words)
    assessed = _assessor(screen, here()).assess(text, shell=shell)
    if json:
        screen.value(verdict_json(assessed))
    else:
        _tell(screen, assessed, explain=explain)
    return EXIT_CODES[assessed.verdict.decision]


run.settings = {"ignore_unknown_options": True}  # type: ignore[attr-defined]


def _assessor(screen: Screen, folder: str) -> Assessor:
    from chrono.workspace.assess import Assessor

    return Assessor.open(folder, screen.environ)


# --- for people


def _tell(screen: Screen, assessed: Assessed, *, explain: bool) -> None:
    verdict = assessed.verdict
    score = f"  score {verdict.score}" if verdict.score else ""
    screen.line(Styled(verdict.decision, _STYLES[verdict.decision]), score)
    for reason in verdict.reasons:
        screen.text("  ", reason, indent=2)
    if verdict.decision == "allow":
        for judged in verdict.findings:
            if judged.finding.score:
                screen.text("  ", f"{judged.finding.title}: {judged.because}", indent=2)
    if explain:
        _explain(screen, assessed)


def _explain(screen: Screen, assessed: Assessed) -> None:
    scan = assessed.scan
    started = [command for command in scan.commands if not command.builtin]
    screen.line("")
    screen.line(f"{count(len(started), 'program start')}:")
    for command in started:
        argv = " ".join(_shown(word) for word in command.argv)
        via = f"   through {' -> '.join(command.via)}" if command.via else ""
        screen.line("  ", Styled(one_line(argv), "bold"), Styled(via, "dim"))
    screen.line("changes no file" if scan.read_only else "may change files: a savepoint is taken first")
    for path, sha256 in scan.followed:
        screen.line(f"read because it would run: {path}  (sha256 {sha256[:12]}…)")
    for judged in assessed.verdict.findings:
        screen.line("")
        for row in _finding_rows(judged):
            screen.text(*row, indent=12)


def _finding_rows(judged: Judged) -> Iterator[tuple[Part, ...]]:
    finding = judged.finding
    yield (
        Styled(finding.rule, "bold"),
        f"  score {finding.score}, ",
        Styled(judged.decision, _STYLES[judged.decision]),
    )
    yield (f"  what      {finding.title}",)
    for target in finding.targets:
        yield (f"  touches   {target.shown}  ({target.place}{', all below' if target.whole else ''})",)
    if finding.via:
        yield (f"  through   {' -> '.join(finding.via)}",)
    if finding.why:
        yield (f"  why       {finding.why}",)
    yield (f"  decided   {judged.because}",)
    if finding.safer:
        yield (f"  safer     {finding.safer}",)


def _shown(word: object) -> str:
    from chrono.scan.command import Many, Pattern

    if isinstance(word, str):
        return shlex.quote(word)
    if isinstance(word, Many):
        return "…"
    assert isinstance(word, Pattern)
    return "".join("<?>" if piece is None else piece for piece in word.pieces)


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

"""Owns how a verdict is explained to people: the command with the place underlined, the chain, the target, the reasons.

Judging is left to `workspace.assess`, printing to `cli.render`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chrono.cli.text import Part, Styled, columns, count, cut, one_line, safe

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.policy.model import Judged
    from chrono.scan.command import Word
    from chrono.workspace.assess import Assessed

STYLES = {"allow": "green", "ask": "yellow", "block": "red"}
_LABEL = 11
_SNIPPET = 74
_MOST_STARTS = 12

Row = tuple[Part, ...]
Span = tuple[int, int]


def explained(screen: Screen, assessed: Assessed) -> None:
    """Findings first, the strongest on top; then what was refused, and what else the text starts."""
    text = assessed.scan.text
    order = {"block": 0, "ask": 1, "allow": 2}
    for judged in sorted(assessed.verdict.findings, key=lambda j: (order[j.decision], -j.finding.score)):
        screen.line("")
        for row in snippet(text, judged.finding.span, STYLES[judged.decision]):
            screen.line(*row)
        for row in _finding(text, judged):
            screen.text(*row, indent=_LABEL + 2)
    for refusal in assessed.verdict.refusals:
        screen.line("")
        for row in snippet(text, refusal.span, "yellow"):
            screen.line(*row)
        screen.text(_label("refused"), refusal.why, indent=_LABEL + 2)
    screen.line("")
    for row in _starts(assessed):
        screen.text(*row, indent=4)


def _label(word: str) -> Part:
    return Styled(f"  {word:<{_LABEL}}", "dim")


def _finding(text: str, judged: Judged) -> Iterator[Row]:
    finding = judged.finding
    yield (_label("rule"), Styled(finding.rule, "bold"), f" (score {finding.score}): {finding.title}")
    if finding.via:
        yield (_label("through"), chain(text, judged))
    else:
        runs = argv_text(finding.argv)
        if runs and runs != text[finding.span[0] : finding.span[1]].strip():
            yield (_label("runs"), cut(one_line(runs), 300))
    for target in finding.targets[:6]:
        yield (_label("touches"), f"{target.path or target.shown} ({_place(target.place, target.whole)})")
    if len(finding.targets) > 6:
        yield (_label(""), f"and {len(finding.targets) - 6} more")
    if finding.why:
        yield (_label("why"), finding.why)
    yield (
        _label("decision"),
        Styled(judged.decision, STYLES[judged.decision]),
        f": {judged.because}",
    )
    if finding.safer and judged.decision != "allow":
        yield (_label("safer"), finding.safer)


def _place(place: str, whole: bool) -> str:
    words = {"temp": "a temporary folder", "outside": "outside the project", "unknown": "not known before it runs"}
    return words.get(place, place) + (", and all below it" if whole else "")


def chain(text: str, judged: Judged) -> str:
    """`npm test -> package.json:scripts.test -> scripts/x.sh:4 -> rm -rf /home/dev`."""
    finding = judged.finding
    first = cut(one_line(text[finding.span[0] : finding.span[1]]), 48)
    links = (first, *finding.via, cut(one_line(argv_text(finding.argv)), 160))
    return " -> ".join(link for link in links if link)


def argv_text(argv: tuple[Word, ...]) -> str:
    """A command line as a shell would take it; `<?>` for what is not known before it runs."""
    return " ".join(_word(word) for word in argv)


def _word(word: Word) -> str:
    from chrono.scan.command import Many, Pattern

    if isinstance(word, str):
        return shlex.quote(word)
    if isinstance(word, Many):
        return "…"
    assert isinstance(word, Pattern)
    return "".join("<?>" if piece is None else piece for piece in word.pieces)


def snippet(text: str, span: Span, style: str) -> Iterator[Row]:
    """The lines that a span lies on (two at most), each with what belongs to it underlined."""
    start, end = span
    if start >= end:
        end = start + 1
    offset = 0
    shown = 0
    for line in text.split("\n"):
        first, last = max(start - offset, 0), min(end - offset, len(line))
        if first < last and offset <= end:
            if shown == 2:
                yield ("  …",)
                return
            yield from _underlined(line, first, last, style)
            shown += 1
        offset += len(line) + 1


def _underlined(line: str, first: int, last: int, style: str) -> Iterator[Row]:
    lead = len(line) - len(line.lstrip())
    first = max(first, min(lead, last - 1))
    before, inside, after = (
        safe(line[lead:first]),
        safe(line[first:last].rstrip() or line[first:last]),
        safe(line[last:]),
    )
    if columns(inside) > _SNIPPET - 8:
        inside = cut(inside, _SNIPPET - 8)
    room = _SNIPPET - columns(inside)
    if columns(before) > room // 2 and columns(before) + columns(after) > room:
        keep = max(room // 2, room - columns(after)) - 1
        before = "…" + before[len(before) - keep :] if keep > 0 else "…"
    after = cut(after, max(_SNIPPET - columns(before) - columns(inside), 1)) if after else ""
    yield ("  ", before, Styled(inside, "bold"), after)
    yield ("  " + " " * columns(before), Styled("^" * max(columns(inside), 1), style))


def _starts(assessed: Assessed) -> Iterator[Row]:
    scan = assessed.scan
    started = [command for command in scan.commands if not command.builtin]
    yield (
        f"{count(len(started), 'program starts', 'programs start')} in all:" if started else "It starts no program.",
    )
    for command in started[:_MOST_STARTS]:
        via = f"  through {' -> '.join(command.via)}" if command.via else ""
        yield ("  ", cut(one_line(argv_text(command.argv)), 160), Styled(via, "dim"))
    if len(started) > _MOST_STARTS:
        yield (f"  and {len(started) - _MOST_STARTS} more (--json lists them all)",)
    yield ("It changes no file." if scan.read_only else "It may change files: a savepoint is taken first.",)
    for path, sha256 in scan.followed:
        yield (f"Read because it would run: {path} (sha256 {sha256[:12]}…)",)

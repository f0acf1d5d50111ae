"""Owns taking rules apart: without one of its conditions or alternatives, a case of the rule must fail.

What a case is, and the proof of the rule as it stands, is left to `check`.
"""

from __future__ import annotations

from collections.abc import Iterator

from chrono.rulepack.check import Case, read_pack
from chrono.scan.dictworld import DictWorld
from chrono.scan.rule import Condition, Matcher, Rule, ruleset_of
from chrono.scan.scanner import scan
from chrono.tuples import NamedTuple

_NESTED = ("any", "all", "unless")
_GIVEN = ("program", "acts")
"""A rule is chosen by its programs, and `harmless` belongs to the pack: neither is taken away."""


Lost = tuple[str, str]


class Survivor(NamedTuple):
    """A rule that was changed and still passes all its cases.

    `lost` is the "condition" or the "alternative" that it did without, `what` the same for people. Without a condition
    a rule finds more (a miss is missing), without an alternative less (a hit is missing); under `unless` the other way
    round.
    """

    rule: str
    lost: str
    what: str


class Weakened(NamedTuple):
    """The answer about one pack: how many changed rules were judged, and which of them no case noticed."""

    pack: str
    judged: int
    survivors: tuple[Survivor, ...]


def weaken(folder: str, *, pack: str | None = None) -> Weakened:
    """Judges every rule of the pack in `folder` without each of its parts.

    Raises what `read_pack` raises.
    """
    read = read_pack(folder, pack=pack)
    judged = 0
    survivors: list[Survivor] = []
    for rule in read.rules:
        hits, misses = read.cases.get(rule.id, ((), ()))
        changed = tuple(_changed(rule))
        judged += len(changed)
        survivors.extend(_survivors(rule, changed, hits, misses, read.world))
    return Weakened(read.name, judged, tuple(survivors))


def _survivors(
    rule: Rule,
    changed: tuple[tuple[Lost, Rule], ...],
    hits: tuple[Case, ...],
    misses: tuple[Case, ...],
    world: DictWorld,
) -> list[Survivor]:
    together = ruleset_of(tuple(one for _, one in changed))
    alive = {one.id for _, one in changed}
    for cases, wanted in ((hits, True), (misses, False)):
        for case in cases:
            found = {finding.rule for finding in scan(case.command, together, world, shell=case.shell).findings}
            alive = alive & found if wanted else alive - found
    return [Survivor(rule.id, lost, what) for (lost, what), one in changed if one.id in alive]


def _changed(rule: Rule) -> Iterator[tuple[Lost, Rule]]:
    """The rule without each of its parts, each under an id of its own."""
    for number, (lost, matcher) in enumerate(_without(rule.matcher)):
        yield lost, rule._replace(id=f"{rule.id}#{number}", matcher=matcher)


def _without(matcher: Matcher) -> Iterator[tuple[Lost, Matcher]]:
    """Every matcher with one part less, and what the part was."""
    for at, condition in enumerate(matcher):
        kind = str(condition[0])
        before, after = matcher[:at], matcher[at + 1 :]
        if kind not in _GIVEN and any(other[0] != "acts" for other in (*before, *after)):
            yield ("condition", told(condition)), (*before, *after)
        if kind not in _NESTED:
            continue
        parts: tuple[Matcher, ...] = condition[1:]  # type: ignore[assignment]
        for place, part in enumerate(parts):
            others = (*parts[:place], *parts[place + 1 :])
            if others:
                yield ("alternative", f"{kind}: {_told_matcher(part)}"), (*before, (kind, *others), *after)
            for (lost, what), less in _without(part):
                put = (kind, *parts[:place], less, *parts[place + 1 :])
                yield (lost, f"{kind}: {what}"), (*before, put, *after)


def told(condition: Condition) -> str:
    """A compiled condition, for people: close to what the author wrote."""
    kind, *rest = condition
    if kind in _NESTED:
        return f"{kind} ({'; '.join(_told_matcher(part) for part in rest)})"  # type: ignore[arg-type]
    words = [word for word in (_told_value(value) for value in rest) if word]
    return " ".join([str(kind), *words])


def _told_matcher(matcher: Matcher) -> str:
    return " and ".join(told(condition) for condition in matcher if condition[0] != "acts")


def _told_value(value: object) -> str:
    if value is None or value == ():
        return ""
    if not isinstance(value, tuple):
        return str(value)
    if all(isinstance(item, tuple) for item in value):
        found = ["*".join(item) if "" in item or len(item) == 1 else " ".join(map(str, item)) for item in value]
    else:
        found = [str(item) for item in value if item is not None]
    return ", ".join(found[:3]) + (", …" if len(found) > 3 else "")

"""Owns making rules ready for one program: what cannot hold for it is left out, the rest is bound, once and for all.

What each condition asks is left to `scan.conditions`, going through the commands to `scan.match`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chrono.scan.conditions import KINDS, Case, Texts, names_fit
from chrono.scan.rule import Matcher, Options, Rule, Ruleset

Step = tuple[Callable[..., bool], tuple[Any, ...]]
Steps = tuple[Step, ...]
"""Bound conditions that must all hold."""

MAX_KEPT = 4096


class Ready(NamedTuple):
    """A rule as it is asked of one program; `options` None: as programs of that name usually read theirs."""

    rule: Rule
    steps: Steps
    options: Options | None


class Program:
    """All rules for the names of one program, by position in the ruleset.

    `named` are those that a name selects. Of them `always` may hold whatever the command is like, `by_first` need a
    certain word among the arguments, the first of a subcommand, and `by_need` something else that most lack.
    """

    def __init__(self, ruleset: Ruleset, names: tuple[str, ...]) -> None:
        self.rules = ruleset.rules
        self.names = names
        self._ready: dict[int, Ready | None] = {}
        chosen: set[int] = set(ruleset.everywhere)
        for name in names:
            chosen.update(ruleset.by_program.get(name, ()))
            for prefix, positions in ruleset.by_prefix:
                if name.startswith(prefix):
                    chosen.update(positions)
        self.named = tuple(position for position in sorted(chosen) if self.ready(position) is not None)
        always: list[int] = []
        self.by_first: dict[str, list[int]] = {}
        self.by_need: dict[str, list[int]] = {}
        for position in self.named:
            ready = self.ready(position)
            steps = ready.steps if ready is not None else ()
            firsts, need = _firsts(steps), _need(steps)
            for first in firsts or ():
                self.by_first.setdefault(first, []).append(position)
            if firsts is None and need is not None:
                self.by_need.setdefault(need, []).append(position)
            elif firsts is None:
                always.append(position)
        self.always = tuple(always)

    def chosen(self, case: Case, ruleset: Ruleset) -> list[int]:
        """Positions of the rules that can match a command, without repeats, in order."""
        if case.fold:
            chosen = set(self.named)
        else:
            chosen = set(self.always)
            for word in case.words:
                if isinstance(word, str) and word in self.by_first:
                    chosen.update(self.by_first[word])
            for need, positions in self.by_need.items():
                if _HAS[need](case):
                    chosen.update(positions)
        if case.touches:
            for how in {touch.how for touch in case.touches}:
                chosen.update(ruleset.by_touch.get(how, ()))
        return sorted(chosen)

    def ready(self, position: int) -> Ready | None:
        """The rule at a position; None where it cannot hold for this program."""
        if position in self._ready:
            return self._ready[position]
        rule = self.rules[position]
        steps = _bound(rule.matcher, self.names)
        options = next((options for name, options in rule.options if names_fit(self.names, (name,), ())), None)
        if options is None:
            options = next((options for name, options in rule.options if _begins(self.names, name)), None)
        made = self._ready[position] = None if steps is None else Ready(rule, steps, options)
        return made


_KEPT: dict[tuple[int, tuple[str, ...]], Program] = {}


def program(ruleset: Ruleset, names: tuple[str, ...]) -> Program:
    """The rules for a program; kept for the next command of that name."""
    key = (id(ruleset.rules), names)
    known = _KEPT.get(key)
    if known is None or known.rules is not ruleset.rules:
        if len(_KEPT) >= MAX_KEPT:
            _KEPT.clear()
        known = _KEPT[key] = Program(ruleset, names)
    return known


def all_hold(steps: Steps, case: Case) -> bool:
    """Whether every bound condition holds."""
    for ask, arguments in steps:  # noqa: SIM110 - a generator costs more than most of the questions
        if not ask(case, *arguments):
            return False
    return True


def _begins(names: tuple[str, ...], written: str) -> bool:
    return written.endswith("*") and any(name.startswith(written[:-1]) for name in names)


# --- binding


def _bound(matcher: Matcher, names: tuple[str, ...]) -> Steps | None:
    """The conditions of a matcher for a program of these names; None where one of them can never hold."""
    steps: list[Step] = []
    for kind, *rest in matcher:
        if kind == "program":
            if not names_fit(names, rest[0], rest[1]):  # type: ignore[arg-type]
                return None
        elif kind == "unknown" and rest[0] == "program":
            if names:
                return None
        elif kind in ("any", "all", "unless"):
            parts = [_bound(part, names) for part in rest]  # type: ignore[arg-type]
            able = tuple(part for part in parts if part is not None)
            if kind == "unless":
                if able:
                    steps.append((_unless, able))
            elif kind == "any":
                if not able:
                    return None
                steps.append((_any, able))
            else:
                if len(able) < len(parts):
                    return None
                steps.append((_all, able))
        elif kind == "subcommand":
            steps.append((KINDS["subcommand"], (rest[0], frozenset(verb[0] for verb in rest[0]))))  # type: ignore[attr-defined]
        else:
            steps.append((KINDS[str(kind)], tuple(_texts(value) for value in rest)))
    return tuple(steps)


def _firsts(steps: Steps) -> frozenset[str] | None:
    """Words of which one must be among the arguments; None where none need be."""
    for ask, arguments in steps:
        if ask is KINDS["subcommand"]:
            firsts: frozenset[str] = arguments[1]
            return firsts
        if ask is _any:
            parts = [_firsts(part) for part in arguments]
            if all(part is not None for part in parts):
                return frozenset().union(*(part for part in parts if part is not None))
    return None


_HAS: dict[str, Callable[[Case], object]] = {
    "touches": lambda case: case.touches,
    "redirect": lambda case: case.command.redirects,
    "upstream": lambda case: case.command.upstream,
    "assigns": lambda case: case.command.assigns,
    "fetched": lambda case: case.fetched is not None,
    "via": lambda case: case.command.via,
}
"""Conditions that cannot hold where a command has nothing of the kind, and whether it has."""

_NEEDS = {KINDS[kind]: kind for kind in _HAS}


def _need(steps: Steps) -> str | None:
    """Something that a command must have; None where it need have nothing."""
    for ask, arguments in steps:
        if ask in _NEEDS:
            return _NEEDS[ask]
        if ask is _any:
            needs = {_need(part) for part in arguments}
            if len(needs) == 1 and None not in needs:
                return needs.pop()
    return None


def _texts(value: object) -> object:
    """Text patterns with those that have no `*` ready to be looked up."""
    if not isinstance(value, tuple) or not value or not all(isinstance(one, tuple) and one for one in value):
        return value
    return Texts(value) if all(isinstance(piece, str) for one in value for piece in one) else value


def _any(case: Case, *parts: Steps) -> bool:
    hits, skip = len(case.hits), case.skip
    for part in parts:
        if all_hold(part, case):
            return True
        # What an alternative that fails has matched is none of the next one's business.
        del case.hits[hits:]
        case.skip = skip
    return False


def _all(case: Case, *parts: Steps) -> bool:
    return all(all_hold(part, case) for part in parts)


def _unless(case: Case, *parts: Steps) -> bool:
    hits, skip = len(case.hits), case.skip
    matched = any(all_hold(part, case) for part in parts)
    del case.hits[hits:]
    case.skip = skip
    return not matched

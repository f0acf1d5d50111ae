"""Owns making rules ready for one program: what cannot hold for it is left out, the rest is bound, once and for all.

What each condition asks is left to `scan.conditions`, going through the commands to `scan.match`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chrono.scan.command import Word
from chrono.scan.conditions import KINDS, Case, Texts, habits_of, names_fit
from chrono.scan.rule import Matcher, Options, Rule, Ruleset, Text
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Step = tuple[Callable[..., bool], tuple[Any, ...]]
    Steps = tuple[Step, ...]
    """Bound conditions that must all hold."""
    Key = tuple[Any, ...]
    """Something that a command has: ("word", an argument as it stands), ("text", patterns of an argument),
    ("touch", how, place or "" for any, patterns of the path or None for any), or ("has", what)."""

MAX_KEPT = 512
"""Programs of one ruleset."""

MAX_RULESETS = 4


class Ready(NamedTuple):
    """A rule as it is asked of one program; `options` None: as programs of that name usually read theirs."""

    rule: Rule
    steps: Steps
    options: Options | None


class Part(NamedTuple):
    """One of several ways in which a rule may hold: `keys` as in `_keys`, `words` those of them that are all words, so
    that a command without any of these is ruled out at one look."""

    steps: Steps
    keys: frozenset[Key] | None
    words: frozenset[Word] | None


class About(NamedTuple):
    """The rules that a touch of one kind at one kind of place selects: `plain` by that alone, `named` only where its
    path fits one of `paths`."""

    plain: tuple[int, ...]
    named: tuple[int, ...]
    paths: Texts


class Program:
    """All rules for the names of one program, by position in the ruleset, and what each needs of a command.

    `named` are those that a name selects, `always` those of them that may hold whatever the command is like; the
    others stand under the keys (see `_keys`) of which a command must have one. Patterns of many rules are held against
    a word or a path at once: hardly any fits one of them. `made` are those bound so far that can hold at all.
    """

    def __init__(self, ruleset: Ruleset, names: tuple[str, ...]) -> None:
        self.rules = ruleset.rules
        self.names = names
        self.made: dict[int, Ready] = {}
        self._never: set[int] = set()
        self._options: dict[Options, Options | None] = {habits_of(names)[0]: None}
        chosen: set[int] = set(ruleset.everywhere)
        for name in names:
            chosen.update(ruleset.by_program.get(name, ()))
            for prefix, positions in ruleset.by_prefix:
                if name.startswith(prefix):
                    chosen.update(positions)
        self.named = tuple(position for position in sorted(chosen) if self.ready(position) is not None)
        always: list[int] = []
        self.by_word: dict[object, list[int]] = {}
        by_need: dict[str, list[int]] = {}
        by_text: list[int] = []
        texts: list[Text] = []
        self._by_touch: dict[tuple[str, str], list[int]] = {}
        self._touched: dict[tuple[str, str], About] = {}
        for position in self.named:
            ready = self.ready(position)
            keys = _keys(ready.steps) if ready is not None else None
            if keys is None:
                always.append(position)
            for key in keys or ():
                if key[0] == "word":
                    self.by_word.setdefault(key[1], []).append(position)
                elif key[0] == "touch":
                    self._by_touch.setdefault((key[1], key[2]), []).append(position)
                elif key[0] == "text":
                    by_text.append(position)
                    texts.extend(key[1])
                else:
                    by_need.setdefault(key[1], []).append(position)
        self.by_need = tuple((_HAS[need], positions) for need, positions in by_need.items())
        self.always = tuple(always)
        self.by_text = tuple(by_text)
        self._texts = Texts(dict.fromkeys(texts))

    def chosen(self, case: Case, ruleset: Ruleset) -> Sequence[int]:
        """Positions of the rules that can match a command, without repeats, in order."""
        chosen: set[int] = set()
        if case.fold:
            chosen.update(self.named)
        else:
            if self.by_word and not self.by_word.keys().isdisjoint(case.words):
                for word in self.by_word.keys() & case.words:
                    chosen.update(self.by_word[word])
            if self.by_text and self._fits(case.command.argv):
                chosen.update(self.by_text)
            for has, positions in self.by_need:
                if has(case):
                    chosen.update(positions)
        for how, spot in case.touches:
            target = spot.target
            about = self._touched.get((how, target.place))
            if about is None:
                about = self._touched[how, target.place] = self._about(how, target.place, ruleset)
            chosen.update(about.plain)
            if about.named and about.paths.fit(target.path or ""):
                chosen.update(about.named)
        return sorted(chosen.union(self.always)) if chosen else self.always

    def _fits(self, argv: tuple[Word, ...]) -> bool:
        """Whether an argument fits a pattern that a rule asks for, or may."""
        fit = self._texts.fit
        for word in argv[1:]:  # noqa: SIM110 - a generator costs more than the look
            if not isinstance(word, str) or fit(word):
                return True
        return False

    def _about(self, how: str, place: str, ruleset: Ruleset) -> About:
        """What a touch of this kind at such a place selects."""
        standing = {*self._by_touch.get((how, place), ()), *self._by_touch.get((how, ""), ())}
        plain, named = set(), set()
        texts: list[Text] = []
        for position in sorted(standing.union(ruleset.by_touch.get(how, ()))):
            ready = self.ready(position)
            if ready is None:
                continue
            keys = _keys(ready.steps)
            fitting = [key for key in keys or () if key[:2] == ("touch", how) and key[2] in (place, "")]
            paths = [key[3] for key in fitting if key[3] is not None]
            # It may hold by something else: what does not dispatch it cannot rule it out.
            other = keys is None or any(key[0] != "touch" or key[1] not in ready.rule.touches for key in keys)
            if (other and position not in standing) or len(paths) < len(fitting):
                plain.add(position)
            elif fitting:
                named.add(position)
                texts.extend(text for one in paths for text in one)
        return About(tuple(plain), tuple(named), Texts(dict.fromkeys(texts)))

    def ready(self, position: int) -> Ready | None:
        """The rule at a position; None where it cannot hold for this program."""
        if position in self.made or position in self._never:
            return self.made.get(position)
        rule = self.rules[position]
        steps = _bound(rule.matcher, self.names)
        if steps is None:
            self._never.add(position)
            return None
        options = next((options for name, options in rule.options if names_fit(self.names, (name,), ())), None)
        if options is None:
            options = next((options for name, options in rule.options if _begins(self.names, name)), None)
        if options is not None:
            # One object for all that are alike: a command is taken apart once for each.
            options = self._options.setdefault(options, options)
        made = self.made[position] = Ready(rule, steps, options)
        return made


_KEPT: dict[int, tuple[tuple[Rule, ...], dict[tuple[str, ...], Program]]] = {}
"""By the identity of a ruleset's rules, which the entry itself keeps alive; the oldest ruleset goes first."""


def program(ruleset: Ruleset, names: tuple[str, ...]) -> Program:
    """The rules for a program; kept for the next command of that name."""
    kept = _KEPT.get(id(ruleset.rules))
    if kept is None:
        for old in list(_KEPT)[: 1 - MAX_RULESETS]:
            _KEPT.pop(old, None)
        kept = _KEPT[id(ruleset.rules)] = (ruleset.rules, {})
    programs = kept[1]
    known = programs.get(names)
    if known is None:
        if len(programs) >= MAX_KEPT:
            programs.clear()
        known = programs[names] = Program(ruleset, names)
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
                    steps.append((_unless, tuple(map(_part, able))))
            elif kind == "any":
                if not able:
                    return None
                steps.append((_any, tuple(map(_part, able))))
            else:
                if len(able) < len(parts):
                    return None
                steps.append((_all, able))
        elif kind == "subcommand":
            steps.append((KINDS["subcommand"], (rest[0], frozenset(verb[0] for verb in rest[0]))))  # type: ignore[attr-defined]
        elif kind == "acts":
            told = tuple(by_verb for name, by_verb in rest[0] if name in names)  # type: ignore[attr-defined]
            if told:
                split = (tuple((tuple(verb.split()), words) for verb, words in by_verb) for by_verb in told)
                steps.append((KINDS["acts"], tuple(split)))
        else:
            steps.append((KINDS[str(kind)], tuple(_texts(value) for value in rest)))
    return tuple(steps)


def _part(steps: Steps) -> Part:
    keys = _keys(steps)
    words = None if keys is None or any(key[0] != "word" for key in keys) else frozenset(key[1] for key in keys)
    return Part(steps, keys, words)


def _keys(steps: Steps) -> frozenset[Key] | None:
    """Keys of which a command must have one for all the steps to hold, the rarest that can be told; None: none."""
    best: frozenset[Key] | None = None
    for ask, arguments in steps:
        keys = _keys_of(ask, arguments)
        if keys is not None and (best is None or _rank(keys) < _rank(best)):
            best = keys
    return best


def _keys_of(ask: Callable[..., bool], arguments: tuple[Any, ...]) -> frozenset[Key] | None:
    if ask is _any:
        parts = [part.keys for part in arguments]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    if ask is _all:
        found = [keys for keys in map(_keys, arguments) if keys is not None]
        return min(found, key=_rank, default=None)
    kind = _KIND_OF.get(ask)
    if kind == "subcommand":
        return frozenset(("word", first) for first in arguments[1])
    if kind == "touches":
        hows, places = arguments[:2]
        paths = arguments[5] if len(arguments) > 5 else None
        return frozenset(
            ("touch", how, place, paths) for how in hows for place in (places if places is not None else ("",))
        )
    if kind in ("word", "last_word", "argument"):
        texts = arguments[1 if kind == "argument" else 0]
        if not isinstance(texts, Texts):
            return _ANY_WORD
        if len(texts.exact) == len(texts):
            return frozenset(("word", text) for text in texts.exact)
        return frozenset((("text", texts),))
    if kind == "flag":
        return _ANY_OPTION
    return frozenset((("has", kind),)) if kind in _HAS else None


_RANKS = {"word": 0, "touch": 1, "text": 2, "has": 2}
_ANY_WORD = frozenset((("has", "words"),))
_ANY_OPTION = frozenset((("has", "options"),))


def _rank(keys: frozenset[Key]) -> int:
    """How common what is needed is: 0 is rarest."""
    worst = max((_RANKS[key[0]] for key in keys), default=0)
    return worst + (1 if keys & _ANY_OPTION else 2 if keys & _ANY_WORD else 0)


def _has_options(case: Case) -> bool:
    for word in case.command.argv[1:]:  # noqa: SIM110 - a generator costs more than the look
        if not isinstance(word, str) or word[:1] in _OPTION_SIGNS:
            return True
    return False


_OPTION_SIGNS = ("-", "/")

_HAS: dict[str, Callable[[Case], object]] = {
    "words": lambda case: len(case.command.argv) > 1,
    "options": _has_options,
    "redirect": lambda case: case.command.redirects,
    "upstream": lambda case: case.command.upstream,
    "assigns": lambda case: case.command.assigns or case.command.env,
    "fetched": lambda case: case.fetched is not None,
    "via": lambda case: case.command.via,
}
"""What a command can have for a condition to hold at all."""

_KIND_OF = {ask: kind for kind, ask in KINDS.items()}


def _texts(value: object) -> object:
    """Text patterns with those that have no `*` ready to be looked up."""
    if not isinstance(value, tuple) or not value or not all(isinstance(one, tuple) and one for one in value):
        return value
    return Texts(value) if all(isinstance(piece, str) for one in value for piece in one) else value


def _any(case: Case, *parts: Part) -> bool:
    hits, skip = len(case.hits), case.skip
    given = None if case.fold else case.words
    for steps, _, words in parts:
        if words is not None and given is not None and words.isdisjoint(given):
            continue
        for ask, arguments in steps:  # as `all_hold`, of which this is most of the calls
            if not ask(case, *arguments):
                break
        else:
            return True
        # What an alternative that fails has matched is none of the next one's business.
        del case.hits[hits:]
        case.skip = skip
    return False


def _all(case: Case, *parts: Steps) -> bool:
    return all(all_hold(part, case) for part in parts)


def _unless(case: Case, *parts: Part) -> bool:
    hits, skip = len(case.hits), case.skip
    given = None if case.fold else case.words
    matched = False
    for steps, _, words in parts:
        if (words is None or given is None or not words.isdisjoint(given)) and all_hold(steps, case):
            matched = True
            break
    del case.hits[hits:]
    case.skip = skip
    return not matched

"""Owns the values of compiled rules: Rule, Matcher and the Ruleset that dispatches by program name.

Reading YAML and compiling it is left to `rulepack`, asking a command to `scan.match`.
"""

from __future__ import annotations

from chrono.tuples import NamedTuple

Text = tuple[str, ...]
"""A text pattern split at its `*`: ("prod",) is exactly "prod", ("prod-", "") starts with "prod-"."""

Options = tuple[str, tuple[tuple[str, frozenset[str]], ...]]
"""How a program's options are read: a style ("gnu", "powershell", "slash") and, for each subcommand ("" for what
stands in front of it), the options that take the next word as their value."""

GNU: Options = ("gnu", ())

Condition = tuple[object, ...]
"""One thing that must hold: (kind, argument, …); the kinds and their arguments are those of `scan.conditions`."""

Matcher = tuple[Condition, ...]
"""Conditions that must all hold."""


class Rule(NamedTuple):
    """One compiled rule; every field is made of what `marshal` writes.

    - `score` 0-100; `reversible` "files", "ask" or "no", as in Finding.
    - `programs`: names it is dispatched by; a trailing `*` stands for any rest.
    - `touches`: kinds of `scan.touch.Touch` it is dispatched by as well. Where both are empty: for every command.
    - `targets`: what a finding says it touches: "matched" (the touches and arguments that matched), "worktree" (the
      files of the git work tree around), "none".
    - `options`: how the rule's pack says the options of each of its programs are read.
    """

    id: str
    title: str
    score: int
    why: str
    safer: str
    reversible: str
    references: tuple[str, ...]
    pack: str
    programs: tuple[str, ...]
    touches: tuple[str, ...]
    matcher: Matcher
    targets: str
    options: tuple[tuple[str, Options], ...]


class PackStamp(NamedTuple):
    """One pack that took part: `sha256` of its `pack.yaml`, and the distribution that brought it."""

    name: str
    sha256: str
    distribution: str


class Ruleset(NamedTuple):
    """All rules, ready to be asked.

    `by_program` and `by_touch` map a name to positions in `rules`; `by_prefix` are (prefix, positions); `everywhere`
    are positions of rules that no name selects. `digest` is the SHA-256 hex over the sources of all packs.
    """

    rules: tuple[Rule, ...]
    by_program: dict[str, tuple[int, ...]]
    by_prefix: tuple[tuple[str, tuple[int, ...]], ...]
    by_touch: dict[str, tuple[int, ...]]
    everywhere: tuple[int, ...]
    packs: tuple[PackStamp, ...] = ()
    digest: str = ""


EMPTY = Ruleset((), {}, (), {}, ())


def ruleset_of(rules: tuple[Rule, ...], packs: tuple[PackStamp, ...] = (), digest: str = "") -> Ruleset:
    """The rules with their dispatch tables."""
    by_program: dict[str, list[int]] = {}
    by_prefix: dict[str, list[int]] = {}
    by_touch: dict[str, list[int]] = {}
    everywhere: list[int] = []
    for position, rule in enumerate(rules):
        for name in rule.programs:
            table = by_prefix if name.endswith("*") else by_program
            table.setdefault(name.rstrip("*"), []).append(position)
        for how in rule.touches:
            by_touch.setdefault(how, []).append(position)
        if not rule.programs and not rule.touches:
            everywhere.append(position)
    return Ruleset(
        rules,
        {name: tuple(positions) for name, positions in by_program.items()},
        tuple((prefix, tuple(positions)) for prefix, positions in by_prefix.items()),
        {how: tuple(positions) for how, positions in by_touch.items()},
        tuple(everywhere),
        packs,
        digest,
    )


def extended(base: Ruleset, rules: tuple[Rule, ...]) -> Ruleset:
    """`base` with more rules (those of a policy); none of its own is changed."""
    return ruleset_of(base.rules + rules, base.packs, base.digest) if rules else base

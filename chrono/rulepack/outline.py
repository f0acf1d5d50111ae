"""Owns what people compare of the installed rules: one line a rule, and what changed between two sets of them.

It reads the packs' own words, so that a new way of compiling them is no change.
"""

from __future__ import annotations

import hashlib
import json

from chrono.canonical import Json
from chrono.rulepack.discover import PackSource, discover
from chrono.tuples import NamedTuple
from chrono.yamlfile import load


class RuleOutline(NamedTuple):
    """One rule of a pack. `sha256` covers all that the pack says of it, in 16 hex digits."""

    id: str
    pack: str
    score: int
    reversible: str
    title: str
    sha256: str


class RuleChanges(NamedTuple):
    """What is new, what is gone, and (before, after) of what says something else now; each by id."""

    added: tuple[RuleOutline, ...]
    removed: tuple[RuleOutline, ...]
    changed: tuple[tuple[RuleOutline, RuleOutline], ...]

    @property
    def nothing(self) -> bool:
        return not (self.added or self.removed or self.changed)


def outline(sources: tuple[PackSource, ...] | None = None) -> tuple[RuleOutline, ...]:
    """The rules of the installed packs (or of `sources`), by id. Raises PluginError, YamlError."""
    found = [one for source in (discover() if sources is None else sources) for one in _rules(source)]
    return tuple(sorted(found))


def outlined(value: Json | None) -> tuple[RuleOutline, ...] | None:
    """The outline that `value`, a list of lists, holds; None where it is none."""
    if not isinstance(value, list):
        return None
    found = []
    for one in value:
        match one:
            case [str(rule), str(pack), int(score), str(reversible), str(title), str(digest)]:
                found.append(RuleOutline(rule, pack, score, reversible, title, digest))
            case _:
                return None
    return tuple(found)


def compare(before: tuple[RuleOutline, ...], after: tuple[RuleOutline, ...]) -> RuleChanges:
    """What `after` says otherwise than `before`."""
    old, new = {one.id: one for one in before}, {one.id: one for one in after}
    return RuleChanges(
        tuple(one for one in after if one.id not in old),
        tuple(one for one in before if one.id not in new),
        tuple((old[one.id], one) for one in after if one.id in old and old[one.id] != one),
    )


def _rules(source: PackSource) -> list[RuleOutline]:
    value = load(source.data.decode("utf-8"), name=source.path).value
    rules = value.get("rules") if isinstance(value, dict) else None
    found = []
    for rule in rules if isinstance(rules, list) else ():
        if isinstance(rule, dict) and isinstance(rule.get("id"), str) and isinstance(rule.get("score"), int):
            words = json.dumps(rule, sort_keys=True, default=str).encode("ascii")
            digest = hashlib.sha256(words).hexdigest()[:16]
            reversible = _word(rule.get("reversible", "files"))
            found.append(
                RuleOutline(rule["id"], source.name, rule["score"], reversible, str(rule.get("title")), digest)
            )
    return found


def _word(value: object) -> str:
    """YAML reads `no` as false in some hands."""
    return "no" if value is False else str(value)

"""Owns the proof of a rule pack: every hit hits, every miss misses, and what a rule advises is itself allowed.

Printing the problems is left to `chrono rules test`. docs/formats/rule-pack.md describes `cases.yaml`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from chrono.rulepack.compile import RulePackError, compile_pack
from chrono.scan.dictworld import DictWorld, Link, Node
from chrono.scan.rule import Rule, Ruleset, extended, ruleset_of
from chrono.scan.scanner import scan
from chrono.yamlfile import YamlError, load

LEAST_CASES = 2
ALLOWED_BELOW = 40
"""What a rule advises must stay below the score from which a person is asked."""


class Problem(NamedTuple):
    """One thing that is wrong with a pack: the rule it is about ("" for the pack) and what, for people."""

    rule: str
    message: str


class Checked(NamedTuple):
    """The answer about one pack: how much was judged, and what is wrong with it."""

    pack: str
    rules: int
    hits: int
    misses: int
    problems: tuple[Problem, ...]


class _Case(NamedTuple):
    command: str
    shell: str


def check(folder: str, *, pack: str | None = None, others: Ruleset | None = None) -> Checked:
    """Proves the pack in `folder` (its `pack.yaml` and `cases.yaml`).

    `pack` is its name, the folder's where None. `others` are the rules of the other installed packs: what a rule
    advises must be allowed by them too. Nothing is run: the commands are scanned in the little machine that
    `cases.yaml` declares. Never raises for what stands in the files.
    """
    name = pack or os.path.basename(os.path.abspath(folder))
    try:
        compiled = compile_pack(_read(folder, "pack.yaml"), f"{name}/pack.yaml", pack=name)
        body = load(_read(folder, "cases.yaml"), name=f"{name}/cases.yaml").value
        world = _world(body)
        cases = _cases(body)
    except (RulePackError, YamlError, _BadCases) as error:
        return Checked(name, 0, 0, 0, (Problem("", str(error)),))
    except (OSError, UnicodeDecodeError) as error:
        return Checked(name, 0, 0, 0, (Problem("", f"the pack cannot be read: {error}"),))
    own = ruleset_of(compiled.rules)
    known = {rule.id for rule in compiled.rules}
    problems = [Problem(rule, "has cases but no such rule stands in the pack") for rule in cases if rule not in known]
    hits = misses = 0
    for rule in compiled.rules:
        wanted, unwanted = cases.get(rule.id, ((), ()))
        hits += len(wanted)
        misses += len(unwanted)
        problems.extend(_of_rule(rule, wanted, unwanted, own, world))
        problems.extend(_of_advice(rule, _together(own, others), world))
    return Checked(name, len(compiled.rules), hits, misses, tuple(problems))


def _together(own: Ruleset, others: Ruleset | None) -> Ruleset:
    if others is None:
        return own
    known = {rule.id for rule in own.rules}
    return extended(own, tuple(rule for rule in others.rules if rule.id not in known))


def _of_rule(
    rule: Rule, wanted: tuple[_Case, ...], unwanted: tuple[_Case, ...], own: Ruleset, world: DictWorld
) -> list[Problem]:
    problems = []
    if len(wanted) < LEAST_CASES or len(unwanted) < LEAST_CASES:
        message = f"needs at least {LEAST_CASES} hits and {LEAST_CASES} misses, has {len(wanted)} and {len(unwanted)}"
        problems.append(Problem(rule.id, message))
    for case in wanted:
        if rule.id not in _rules_hit(case, own, world):
            problems.append(Problem(rule.id, f"does not hit: {case.command}"))
    for case in unwanted:
        if rule.id in _rules_hit(case, own, world):
            problems.append(Problem(rule.id, f"hits what it should leave alone: {case.command}"))
    return problems


def _rules_hit(case: _Case, own: Ruleset, world: DictWorld) -> set[str]:
    return {finding.rule for finding in scan(case.command, own, world, shell=case.shell).findings}


def _of_advice(rule: Rule, together: Ruleset, world: DictWorld) -> list[Problem]:
    """Commands in backticks that `safer` advises must be allowed."""
    problems = []
    for command in rule.safer.split("`")[1::2]:
        found = scan(command, together, world)
        stopped = [finding.rule for finding in found.findings if finding.score >= ALLOWED_BELOW]
        stopped += [refusal.why for refusal in found.refusals]
        if stopped:
            problems.append(Problem(rule.id, f"advises `{command}`, which is stopped itself ({', '.join(stopped)})"))
    return problems


# --- cases.yaml


class _BadCases(Exception):
    """`cases.yaml` is not in its form."""


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def _world(body: object) -> DictWorld:
    if not isinstance(body, dict) or set(body) - {"world", "cases"}:
        raise _BadCases("cases.yaml has the keys `world` and `cases`")
    told = body.get("world") or {}
    known = {"cwd", "home", "project", "files", "links", "folders", "environ", "chrono_home"}
    if not isinstance(told, dict) or set(told) - known:
        raise _BadCases(f"`world` has the keys {', '.join(sorted(known))}")
    files: dict[str, Node] = {}
    for path, text in _mapping(told.get("files")).items():
        files[path] = text
    for path, target in _mapping(told.get("links")).items():
        files[path] = Link(target)
    for path in told.get("folders") or []:
        files[str(path)] = None
    cwd, home = str(told.get("cwd", "/home/dev/proj")), str(told.get("home", "/home/dev"))
    environ = {"HOME": home, "USER": "dev", "PWD": cwd, **_mapping(told.get("environ"))}
    project = told.get("project")
    return DictWorld(
        files,
        cwd=cwd,
        home=home,
        project=str(project) if project is not None else None,
        chrono_home=str(told.get("chrono_home", f"{home}/.local/state/chrono")),
        environ=environ,
    )


def _mapping(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise _BadCases("a mapping from path to text is expected in `world`")
    return value


def _cases(body: object) -> dict[str, tuple[tuple[_Case, ...], tuple[_Case, ...]]]:
    assert isinstance(body, dict)
    told = body.get("cases")
    if not isinstance(told, dict):
        raise _BadCases("`cases` is a mapping from rule to `hits` and `misses`")
    found = {}
    for rule, item in told.items():
        if not isinstance(item, dict) or set(item) - {"hits", "misses"}:
            raise _BadCases(f"{rule}: cases have the keys `hits` and `misses`")
        found[rule] = (_commands(rule, item.get("hits")), _commands(rule, item.get("misses")))
    return found


def _commands(rule: str, value: object) -> tuple[_Case, ...]:
    cases = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            cases.append(_Case(item, "bash"))
        elif isinstance(item, dict) and set(item) <= {"command", "shell"} and isinstance(item.get("command"), str):
            cases.append(_Case(item["command"], str(item.get("shell", "bash"))))
        else:
            raise _BadCases(f"{rule}: a case is a command, or `command` and `shell`")
    return tuple(cases)

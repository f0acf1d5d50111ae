"""Owns the proof of a rule pack: every hit hits, every miss misses, and what a rule advises is itself allowed.

Printing the problems is left to `chrono rules test`. docs/formats/rule-pack.md describes `cases.yaml`.
"""

from __future__ import annotations

import os

from chrono.errors import ChronoError
from chrono.rulepack.compile import compile_pack
from chrono.scan.command import Many, Word
from chrono.scan.dictworld import DictWorld, Link, Node
from chrono.scan.rule import Rule, Ruleset, extended, ruleset_of
from chrono.scan.scanner import scan
from chrono.tuples import NamedTuple
from chrono.yamlfile import load

LEAST_CASES = 2
ALLOWED_BELOW = 40
"""What a rule advises must stay below the score from which a person is asked."""


class Problem(NamedTuple):
    """One thing that is wrong with a pack: the rule it is about ("" for the pack), what, and what helps, for people."""

    rule: str
    message: str
    hint: str = ""


class Checked(NamedTuple):
    """The answer about one pack: how much was judged, and what is wrong with it."""

    pack: str
    rules: int
    hits: int
    misses: int
    problems: tuple[Problem, ...]


class Case(NamedTuple):
    """A command of `cases.yaml`, and the shell that would read it."""

    command: str
    shell: str


Cases = dict[str, tuple[tuple[Case, ...], tuple[Case, ...]]]
"""For each rule its hits and its misses."""


class PackRead(NamedTuple):
    """A pack with its cases and the little machine that they are judged in."""

    name: str
    rules: tuple[Rule, ...]
    cases: Cases
    world: DictWorld


class BadCases(ChronoError):
    """`cases.yaml` is not in its form."""


def check(folder: str, *, pack: str | None = None, others: Ruleset | None = None) -> Checked:
    """Proves the pack in `folder` (its `pack.yaml` and `cases.yaml`).

    `pack` is its name, the folder's where None. `others` are the rules of the other installed packs: what a rule
    advises must be allowed by them too. Nothing is run: the commands are scanned in the little machine that
    `cases.yaml` declares. Never raises for what stands in the files.
    """
    name = pack or os.path.basename(os.path.abspath(folder))
    try:
        read = read_pack(folder, pack=name)
    except ChronoError as error:
        return Checked(name, 0, 0, 0, (Problem("", error.message),))
    except (OSError, UnicodeDecodeError) as error:
        return Checked(name, 0, 0, 0, (Problem("", f"the pack cannot be read: {error}"),))
    cases, world = read.cases, read.world
    own = ruleset_of(read.rules)
    known = {rule.id for rule in read.rules}
    problems = [Problem(rule, "has cases but no such rule stands in the pack") for rule in cases if rule not in known]
    hits = misses = 0
    for rule in read.rules:
        wanted, unwanted = cases.get(rule.id, ((), ()))
        hits += len(wanted)
        misses += len(unwanted)
        problems.extend(_of_rule(rule, wanted, unwanted, own, world))
        problems.extend(_of_advice(rule, _together(own, others), world))
    return Checked(name, len(read.rules), hits, misses, tuple(problems))


def read_pack(folder: str, *, pack: str | None = None) -> PackRead:
    """The pack in `folder`; `pack` is its name, the folder's where None.

    Raises RulePackError, YamlError, BadCases, OSError, UnicodeDecodeError.
    """
    name = pack or os.path.basename(os.path.abspath(folder))
    compiled = compile_pack(_read(folder, "pack.yaml"), f"{name}/pack.yaml", pack=name)
    body = load(_read(folder, "cases.yaml"), name=f"{name}/cases.yaml").value
    world = _world(body)
    return PackRead(name, compiled.rules, _cases(body), world)


def _together(own: Ruleset, others: Ruleset | None) -> Ruleset:
    if others is None:
        return own
    known = {rule.id for rule in own.rules}
    return extended(own, tuple(rule for rule in others.rules if rule.id not in known))


def _of_rule(
    rule: Rule, wanted: tuple[Case, ...], unwanted: tuple[Case, ...], own: Ruleset, world: DictWorld
) -> list[Problem]:
    problems = []
    if len(wanted) < LEAST_CASES or len(unwanted) < LEAST_CASES:
        message = f"needs at least {LEAST_CASES} hits and {LEAST_CASES} misses, has {len(wanted)} and {len(unwanted)}"
        problems.append(Problem(rule.id, message))
    for case in wanted:
        found, read = _judged(case, own, world)
        if rule.id not in found:
            problems.append(Problem(rule.id, f"does not hit: {case.command}", _instead(found, read)))
    for case in unwanted:
        found, read = _judged(case, own, world)
        if rule.id in found:
            problems.append(Problem(rule.id, f"hits what it should leave alone: {case.command}", f"read as: {read}"))
    return problems


def _judged(case: Case, own: Ruleset, world: DictWorld) -> tuple[set[str], str]:
    """The rules that a command hits, and the commands it was read as."""
    told = scan(case.command, own, world, shell=case.shell)
    read = "; ".join(" ".join(_shown(word) for word in command.argv) for command in told.commands[:4])
    refused = "; ".join(refusal.why for refusal in told.refusals)
    return {finding.rule for finding in told.findings}, refused or read or "no command at all"


def _instead(found: set[str], read: str) -> str:
    others = ", ".join(sorted(found))
    return f"read as: {read}" + (f"; hit by {others}" if others else "; no rule of the pack hits it")


def _shown(word: Word) -> str:
    """A word of a command, with `?` for what is not known."""
    if isinstance(word, str):
        return word if word and not any(char in word for char in " \n\t'\"") else repr(word)
    return "?" if isinstance(word, Many) else "".join("?" if piece is None else piece for piece in word.pieces)


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


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def _world(body: object) -> DictWorld:
    if not isinstance(body, dict) or set(body) - {"world", "cases"}:
        raise BadCases("cases.yaml has the keys `world` and `cases`")
    told = body.get("world") or {}
    known = {"cwd", "home", "project", "files", "links", "folders", "environ", "chrono_home"}
    if not isinstance(told, dict) or set(told) - known:
        raise BadCases(f"`world` has the keys {', '.join(sorted(known))}")
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
        raise BadCases("a mapping from path to text is expected in `world`")
    return value


def _cases(body: object) -> Cases:
    assert isinstance(body, dict)
    told = body.get("cases")
    if not isinstance(told, dict):
        raise BadCases("`cases` is a mapping from rule to `hits` and `misses`")
    found = {}
    for rule, item in told.items():
        if not isinstance(item, dict) or set(item) - {"hits", "misses"}:
            raise BadCases(f"{rule}: cases have the keys `hits` and `misses`")
        found[rule] = (_commands(rule, item.get("hits")), _commands(rule, item.get("misses")))
    return found


def _commands(rule: str, value: object) -> tuple[Case, ...]:
    cases = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            cases.append(Case(item, "bash"))
        elif isinstance(item, dict) and set(item) <= {"command", "shell"} and isinstance(item.get("command"), str):
            cases.append(Case(item["command"], str(item.get("shell", "bash"))))
        else:
            raise BadCases(f"{rule}: a case is a command, or `command` and `shell`")
    return tuple(cases)

"""Owns `chrono rules`. Finding and compiling packs, and proving them, is left to `rulepack`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.text import Part, Styled, count
from chrono.errors import ChronoError, UsageError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.rulepack.check import Checked, Problem
    from chrono.rulepack.weaken import Weakened
    from chrono.scan.rule import Rule, Ruleset

_REVERSIBLE = {"files": "a savepoint undoes it", "ask": "asks even with a savepoint", "no": "nothing undoes it"}


def run_list(
    ctx: typer.Context,
    pack: Annotated[
        str | None, typer.Argument(metavar="[PACK]", help="Only the rules of this pack.", show_default="all packs")
    ] = None,
    json: Json = False,
) -> None:
    """List the rules.

    All installed packs: chrono's own and those of other distributions. A pack can only add rules.
    """
    screen = screen_of(ctx)
    ruleset = _ruleset(screen)
    if pack is not None and pack not in {stamp.name for stamp in ruleset.packs}:
        names = ", ".join(stamp.name for stamp in ruleset.packs)
        raise ChronoError(f"no rule pack is called '{pack}'", f"installed: {names}")
    rules = [rule for rule in ruleset.rules if pack is None or rule.pack == pack]
    if json:
        screen.value(
            {
                "rules": [_json(rule) for rule in rules],
                "packs": [
                    {"name": stamp.name, "sha256": stamp.sha256, "distribution": stamp.distribution}
                    for stamp in ruleset.packs
                    if pack is None or stamp.name == pack
                ],
                "digest": ruleset.digest,
            }
        )
        return
    screen.table([_row(rule) for rule in sorted(rules, key=lambda rule: (rule.pack, -rule.score, rule.id))])
    packs = {rule.pack for rule in rules}
    screen.note(f"{count(len(rules), 'rule')} in {count(len(packs), 'pack')}; one of them: chrono rules show RULE")


def run_show(
    ctx: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Its name, as `chrono rules list` shows it.")],
    json: Json = False,
) -> None:
    """Show one rule.

    What it is about, why, what is safer, and whether a savepoint undoes what it finds.
    """
    from difflib import get_close_matches

    screen = screen_of(ctx)
    ruleset = _ruleset(screen)
    found = next((one for one in ruleset.rules if one.id == rule), None)
    if found is None:
        near = get_close_matches(rule, [one.id for one in ruleset.rules], n=1)
        raise ChronoError(f"there is no rule '{rule}'", f"did you mean {near[0]}?" if near else "chrono rules list")
    origin = next((stamp for stamp in ruleset.packs if stamp.name == found.pack), None)
    if json:
        screen.value(_json(found))
        return
    screen.line(Styled(found.id, "bold"), f"  {found.title}")
    rows: list[tuple[str, str]] = [
        ("score", str(found.score)),
        ("undo", _REVERSIBLE.get(found.reversible, found.reversible)),
        ("why", found.why),
        ("safer", found.safer),
        ("programs", " ".join(found.programs)),
        ("pack", f"{found.pack} of {origin.distribution}" if origin else found.pack),
        *(("see", reference) for reference in found.references),
    ]
    for name, text in rows:
        if text:
            screen.text(f"  {name:9}", text, indent=11)


def run_test(
    ctx: typer.Context,
    pack: Annotated[
        str | None,
        typer.Argument(metavar="[PACK]", help="One pack by name, or the folder of one.", show_default="all packs"),
    ] = None,
    weaken: Annotated[
        bool, typer.Option("--weaken", help="Also find conditions of the rules that no case needs.")
    ] = False,
    json: Json = False,
) -> int:
    """Test the rules.

    Each rule comes with commands it must hit and commands it must miss; all are judged, none is run. Leaves with 1
    where one fails.
    """
    from chrono.rulepack.check import check
    from chrono.rulepack.weaken import weaken as take_apart

    screen = screen_of(ctx)
    ruleset = _ruleset(screen)
    with screen.working("judging"):
        folders = _folders(pack)
        results = [check(folder, pack=name, others=ruleset) for name, folder in folders]
        sound = [folder for folder, result in zip(folders, results, strict=True) if result.rules]
        apart = [take_apart(folder, pack=name) for name, folder in sound] if weaken else []
    ok = not any(result.problems for result in results) and not any(one.survivors for one in apart)
    if json:
        weakened = {one.pack: one for one in apart}
        screen.value({"ok": ok, "packs": [_checked_json(result, weakened.get(result.pack)) for result in results]})
        return 0 if ok else 1
    for result in results:
        _print_checked(screen, result)
    for one in apart:
        _print_weakened(screen, one)
    failed = sum(bool(result.problems) for result in results)
    if failed:
        screen.line("")
        screen.line(Styled(f"{count(failed, 'pack')} of {len(results)} failed", "red"))
    return 0 if ok else 1


def _print_checked(screen: Screen, result: Checked) -> None:
    mark = Styled("FAIL", "red") if result.problems else Styled("ok  ", "green")
    judged = f"{count(result.hits, 'hit')}, {count(result.misses, 'miss', 'misses')}"
    screen.line(mark, f"  {result.pack}: {count(result.rules, 'rule')}, {judged}")
    by_rule: dict[str, list[Problem]] = {}
    for problem in result.problems:
        by_rule.setdefault(problem.rule, []).append(problem)
    for rule, problems in by_rule.items():
        if rule:
            screen.line("      ", Styled(rule, "bold"))
        for problem in problems:
            screen.text("        - " if rule else "      - ", problem.message, indent=10)
            if problem.hint:
                screen.text("          ", problem.hint, indent=10)


def _print_weakened(screen: Screen, result: Weakened) -> None:
    if not result.survivors:
        screen.line(Styled("ok  ", "green"), f"  {result.pack}: a case needs each of {count(result.judged, 'part')}")
        return
    screen.line(
        Styled("FAIL", "red"), f"  {result.pack}: {len(result.survivors)} of {count(result.judged, 'part')} not needed"
    )
    for rule in dict.fromkeys(one.rule for one in result.survivors):
        screen.line("      ", Styled(rule, "bold"), "  passes all its cases without")
        for one in result.survivors:
            if one.rule == rule:
                screen.text("        - ", one.what, indent=10)
    screen.text(
        "      add a case for each: a miss that only this condition keeps out, a hit that only this finds", indent=6
    )


def run_new(
    ctx: typer.Context,
    pack: Annotated[str, typer.Argument(metavar="PACK", help="Its name: small letters, digits, dashes.")],
    into: Annotated[str, typer.Option("--into", metavar="FOLDER", help="Where its folder is made.")] = ".",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would be written.")] = False,
    json: Json = False,
) -> None:
    """Begin a rule pack of your own.

    Makes a folder with a distribution that builds: one rule, its cases, a test. Replace the rule by your own.
    """
    from chrono.rulepack.scaffold import plan_pack, write_pack

    screen = screen_of(ctx)
    plan = plan_pack(pack, into)
    if not dry_run:
        try:
            write_pack(plan)
        except OSError as error:
            raise ChronoError(f"{plan.folder} cannot be written: {error.strerror}") from None
    if json:
        screen.value({"pack": plan.pack, "folder": plan.folder, "files": [path for path, _ in plan.files]})
        return
    screen.line(Styled("would write" if dry_run else "written", "green"), f"  {plan.folder}")
    for path, _ in plan.files:
        screen.line(f"  {path}")
    if dry_run:
        return
    screen.line("")
    for what, command in (
        ("edit", f"{plan.distribution}/{plan.package}/pack.yaml and cases.yaml"),
        ("test", f"chrono rules test {os.path.join(into, plan.distribution, plan.package)} --weaken"),
        ("install", f"pip install {os.path.join(into, plan.distribution)}"),
    ):
        screen.line(f"  {what:8}", Styled(command, "bold"))


def run_schema(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="pack|cases", help="Which file's.")] = "pack",
    json: Json = False,
) -> None:
    """Print the JSON schema of a pack's files.

    For editors that check YAML: docs/formats of chrono holds the same text. --json makes no difference here.
    """
    from json import dumps

    from chrono.rulepack.schema import cases_schema, pack_schema

    if file not in ("pack", "cases"):
        raise UsageError(f"there is no schema '{file}'", "chrono rules schema pack, or chrono rules schema cases")
    schema = pack_schema() if file == "pack" else cases_schema()
    screen = screen_of(ctx)
    for line in dumps(schema, indent=2, ensure_ascii=False).split("\n"):
        screen.line(line)


def _folders(pack: str | None) -> list[tuple[str | None, str]]:
    """(name, folder) of the packs to test; a name that is a folder is one that is not installed."""
    from chrono.rulepack.discover import discover

    if pack is not None and os.path.isfile(os.path.join(pack, "pack.yaml")):
        return [(_own_name(pack), os.path.abspath(pack))]
    found: list[tuple[str | None, str]] = [
        (source.name, os.path.dirname(source.path)) for source in discover() if pack is None or source.name == pack
    ]
    if not found:
        raise ChronoError(f"no rule pack is called '{pack}', and no folder with a pack.yaml", "chrono rules list")
    return found


def _own_name(folder: str) -> str | None:
    """What the pack in a folder calls itself: before it is installed, no entry point says so."""
    from chrono.yamlfile import YamlError, load

    try:
        with open(os.path.join(folder, "pack.yaml"), encoding="utf-8") as file:
            value = load(file.read(), name="pack.yaml").value
    except (OSError, UnicodeDecodeError, YamlError):
        return None
    name = value.get("pack") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _checked_json(result: Checked, weakened: Weakened | None) -> dict[str, shapes.Json]:
    value: dict[str, shapes.Json] = {
        "name": result.pack,
        "rules": result.rules,
        "hits": result.hits,
        "misses": result.misses,
        "problems": [{"rule": one.rule, "message": one.message, "hint": one.hint} for one in result.problems],
    }
    if weakened is not None:
        value["survivors"] = [{"rule": one.rule, "lost": one.lost, "what": one.what} for one in weakened.survivors]
    return value


def _ruleset(screen: Screen) -> Ruleset:
    from chrono.rulepack.ruleset import ruleset
    from chrono.workspace.config import home_layout

    return ruleset(home_layout(screen.environ))


def _row(rule: Rule) -> tuple[Part, ...]:
    style = "red" if rule.score >= 70 else "yellow" if rule.score >= 40 else "dim"
    return Styled(rule.id, "bold"), Styled(f"{rule.score:>3}", style), rule.reversible, rule.title


def _json(rule: Rule) -> dict[str, shapes.Json]:
    return {
        "id": rule.id,
        "title": rule.title,
        "score": rule.score,
        "why": rule.why,
        "safer": rule.safer,
        "reversible": rule.reversible,
        "references": list(rule.references),
        "pack": rule.pack,
        "programs": list(rule.programs),
    }

"""Owns `chrono rules`. Finding and compiling packs, and proving them, is left to `rulepack`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.text import Part, Styled, count
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.rulepack.check import Checked
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
    json: Json = False,
) -> int:
    """Test the rules.

    Each rule comes with commands it must hit and commands it must miss; all are judged, none is run. Leaves with 1
    where one fails.
    """
    from chrono.rulepack.check import check

    screen = screen_of(ctx)
    ruleset = _ruleset(screen)
    with screen.working("judging"):
        results = [check(folder, pack=name, others=ruleset) for name, folder in _folders(pack)]
    ok = not any(result.problems for result in results)
    if json:
        screen.value({"ok": ok, "packs": [_checked_json(result) for result in results]})
        return 0 if ok else 1
    for result in results:
        mark = Styled("FAIL", "red") if result.problems else Styled("ok  ", "green")
        judged = f"{count(result.hits, 'hit')}, {count(result.misses, 'miss', 'misses')}"
        screen.line(mark, f"  {result.pack}: {count(result.rules, 'rule')}, {judged}")
        for problem in result.problems:
            screen.text("      ", f"{problem.rule or result.pack}: {problem.message}", indent=8)
    return 0 if ok else 1


def _folders(pack: str | None) -> list[tuple[str | None, str]]:
    """(name, folder) of the packs to test; a name that is a folder is one that is not installed."""
    from chrono.rulepack.discover import discover

    if pack is not None and os.path.isfile(os.path.join(pack, "pack.yaml")):
        return [(None, os.path.abspath(pack))]
    found: list[tuple[str | None, str]] = [
        (source.name, os.path.dirname(source.path)) for source in discover() if pack is None or source.name == pack
    ]
    if not found:
        raise ChronoError(f"no rule pack is called '{pack}', and no folder with a pack.yaml", "chrono rules list")
    return found


def _checked_json(result: Checked) -> dict[str, shapes.Json]:
    return {
        "name": result.pack,
        "rules": result.rules,
        "hits": result.hits,
        "misses": result.misses,
        "problems": [{"rule": problem.rule, "message": problem.message} for problem in result.problems],
    }


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

"""Owns how a policy looks to people and as JSON: what holds, why a command is judged so, what changed since a pin.

Judging is left to `workspace.assess`, the command line to `commands.policy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli import shapes
from chrono.cli.text import Part, Styled, count

if TYPE_CHECKING:
    from chrono.cli.render import Screen
    from chrono.policy.model import Judged, Policy
    from chrono.rulepack.outline import RuleChanges
    from chrono.workspace.assess import Assessed
    from chrono.workspace.trust import SincePin

STYLES = {"allow": "green", "ask": "yellow", "block": "red"}
MOST_RULES = 40


def rows(policy: Policy) -> list[tuple[str, str]]:
    """What holds, one key a row."""
    found = [
        ("block from", str(policy.thresholds.block)),
        ("ask from", str(policy.thresholds.ask)),
        ("undone by a savepoint", policy.reversible),
        ("failed run", policy.run_on_failure),
        ("approvals", ", ".join((policy.approvers.proof, *policy.approvers.names))),
    ]
    found += [("allow", f"{entry.text}   ({entry.layer}, line {entry.line})") for entry in policy.allow]
    found += [
        ("rule", f"{entry.rule}: {entry.decision}   ({entry.layer}, line {entry.line})")
        for entry in policy.rule_decisions
    ]
    found += [("own rules", f"{custom.name}") for custom in policy.rules]
    found += [("protected", path) for path in policy.protected]
    found += [("read-only", path) for path in policy.read_only]
    found += [("may send to", f"{entry.text}   ({entry.layer}, line {entry.line})") for entry in policy.network]
    found += [("role", f"{role.name}: {', '.join(role.permissions)}") for role in policy.roles]
    found += [("gate", f"{gate.action}: {gate.decision}") for gate in policy.gates]
    kept = [f"{key} {value}" for key, value in policy.retention._asdict().items() if value is not None]
    found += [("retention", ", ".join(kept))] if kept else []
    found += [("database", entry.name) for entry in policy.databases]
    return found + layer_rows(policy)


def layer_rows(policy: Policy) -> list[tuple[str, str]]:
    """The files that took part."""
    found = []
    for layer in policy.layers:
        how = "trusted" if layer.trusted else "tightens only"
        found.append(("from", f"{layer.name}   ({layer.layer}, {how}, sha256 {layer.sha256[:12]}…)"))
    return found or [("from", "the defaults: there is no policy file")]


def as_json(policy: Policy) -> dict[str, shapes.Json]:
    """All that holds."""
    return {
        "thresholds": {"block": policy.thresholds.block, "ask": policy.thresholds.ask},
        "reversible": policy.reversible,
        "run": {"on_failure": policy.run_on_failure},
        "allow": [{"text": entry.text, "layer": entry.layer, "line": entry.line} for entry in policy.allow],
        "rules": [
            {"rule": entry.rule, "decision": entry.decision, "layer": entry.layer, "line": entry.line}
            for entry in policy.rule_decisions
        ],
        "own_rules": [custom.name for custom in policy.rules],
        "protected": list(policy.protected),
        "read_only": list(policy.read_only),
        "network": [{"host": entry.text, "layer": entry.layer, "line": entry.line} for entry in policy.network],
        "approvers": {"proof": policy.approvers.proof, "names": list(policy.approvers.names)},
        "roles": {role.name: list(role.permissions) for role in policy.roles},
        "gates": [{"action": gate.action, "decision": gate.decision} for gate in policy.gates],
        "databases": [entry.name for entry in policy.databases],
        "retention": {
            "keep_auto": policy.retention.keep_auto,
            "older_than_days": policy.retention.older_than_days,
            "budget_mib": policy.retention.budget_mib,
        },
        "layers": [
            {"name": layer.name, "layer": layer.layer, "sha256": layer.sha256, "trusted": layer.trusted}
            for layer in policy.layers
        ],
        "ignored": [ignored(entry) for entry in policy.ignored],
        "sha256": policy.sha256,
    }


def ignored(entry: tuple[str, str, int]) -> dict[str, shapes.Json]:
    """One loosening key that does not count."""
    key, value, line = entry
    return {"key": key, "value": value, "line": line}


# --- why a command is judged as it is


def explain(screen: Screen, assessed: Assessed, policy: Policy) -> None:
    """The decision, then each finding with what led to it, then the thresholds and files it was judged under."""
    verdict = assessed.verdict
    score = f"  score {verdict.score}" if verdict.score else ""
    screen.line(Styled(verdict.decision, STYLES[verdict.decision]), score)
    if not verdict.findings and not verdict.refusals:
        screen.text("  no rule speaks of it")
    for judged in sorted(verdict.findings, key=lambda one: -one.finding.score):
        screen.text(
            "  ", Styled(judged.decision, STYLES[judged.decision]), f"  {judged.finding.rule}: {_why(judged)}", indent=9
        )
    for refusal in verdict.refusals:
        screen.text("  ", Styled("refused", "yellow"), f"  {refusal.why}", indent=11)
    limits = policy.thresholds
    facts: list[tuple[Part, Part]] = [
        ("thresholds", f"block from {limits.block}, ask from {limits.ask}"),
        ("undone by a savepoint", policy.reversible),
        ("savepoint now", _cover(assessed)),
        *layer_rows(policy),
    ]
    screen.line("")
    screen.facts(facts, indent=2)
    for entry in policy.ignored:
        screen.text(f"  does not count (line {entry.line}, not trusted): {entry.key}: {entry.value}", indent=4)


def explain_json(assessed: Assessed, policy: Policy) -> dict[str, shapes.Json]:
    """The same for programs."""
    return {
        "decision": assessed.verdict.decision,
        "score": assessed.verdict.score,
        "findings": [
            {
                "rule": judged.finding.rule,
                "score": judged.finding.score,
                "reversible": judged.finding.reversible,
                "decision": judged.decision,
                "covered": judged.covered,
                "because": judged.because,
            }
            for judged in assessed.verdict.findings
        ],
        "refusals": [f"{refusal.kind}: {refusal.why}" for refusal in assessed.verdict.refusals],
        "thresholds": {"block": policy.thresholds.block, "ask": policy.thresholds.ask},
        "reversible": policy.reversible,
        "layers": [
            {"name": layer.name, "layer": layer.layer, "sha256": layer.sha256, "trusted": layer.trusted}
            for layer in policy.layers
        ],
        "ignored": [ignored(entry) for entry in policy.ignored],
    }


def _why(judged: Judged) -> str:
    return f"{judged.finding.title}. {judged.because[:1].upper()}{judged.because[1:]}"


def _cover(assessed: Assessed) -> str:
    if assessed.cover is None:
        return "changes nothing about it, or none can be taken here"
    return f"would hold {assessed.cover.root}" + (
        f" except {count(len(assessed.cover.excluded), 'path')}" if assessed.cover.excluded else ""
    )


# --- what changed since a pin


def show_since_pin(screen: Screen, since: SincePin) -> None:
    """What a person looks at before pinning again."""
    if since.nothing:
        screen.line("nothing has changed since the pin")
        return
    names = {"user": "CHRONO_HOME/policy.yaml", "project": "chrono-policy.yaml"}
    screen.line("since the pin:")
    screen.table([(state, names.get(layer, layer)) for layer, state in since.files], indent=2)
    screen.table([(state, f"rule pack {name}") for name, state in since.packs], indent=2)
    screen.table([(state, f"adapter {name}") for name, state in since.adapters], indent=2)
    if since.packs and since.rules is None:
        screen.text("this pin is older than the notes about rules: look at chrono rules list")
    elif since.rules is not None:
        _show_rules(screen, since.rules)


def _show_rules(screen: Screen, changes: RuleChanges) -> None:
    table: list[tuple[Part, ...]] = [
        (Styled("+", "green"), one.id, f"{one.score}, reversible {one.reversible}: {one.title}")
        for one in changes.added
    ]
    table += [(Styled("-", "red"), one.id, f"{one.score}: {one.title}") for one in changes.removed]
    table += [(Styled("~", "yellow"), new.id, _difference(old, new)) for old, new in changes.changed]
    screen.table(table[:MOST_RULES], indent=2)
    if len(table) > MOST_RULES:
        screen.line(f"  and {len(table) - MOST_RULES} more (--json lists all)")


def _difference(old: tuple[object, ...], new: tuple[object, ...]) -> str:
    names = ("id", "pack", "score", "reversible", "title")
    told = [f"{name} {a} -> {b}" for name, a, b in zip(names, old, new, strict=False) if a != b]
    return ", ".join(told) or "its words or conditions"


def since_json(since: SincePin | None) -> shapes.Json:
    """The same for programs; null where there is no pin."""
    if since is None:
        return None
    rules: shapes.Json = None
    if since.rules is not None:
        rules = {
            "added": [dict(one._asdict()) for one in since.rules.added],
            "removed": [dict(one._asdict()) for one in since.rules.removed],
            "changed": [
                {"before": dict(old._asdict()), "after": dict(new._asdict())} for old, new in since.rules.changed
            ],
        }
    return {"files": dict(since.files), "packs": dict(since.packs), "adapters": dict(since.adapters), "rules": rules}

"""Owns the decision: findings under a policy, before and after the savepoint has said what it holds. Pure.

Taking the savepoint is left to `guard.effects` and `workspace.savepoints`; telling the agent to the adapter.
"""

from __future__ import annotations

from chrono.policy.allow import allowed_text, allowing
from chrono.policy.cover import uncovered_because
from chrono.policy.model import (
    DECISIONS,
    Cover,
    Judged,
    Policy,
    Provisional,
    RuleDecision,
    Verdict,
)
from chrono.policy.protect import READ_ONLY, protected_findings
from chrono.policy.protect import RULE as PROTECTED
from chrono.scan.command import Refusal
from chrono.scan.finding import Finding, Scan

REFUSED_SCORE = 100
UNPARSED_SCORE = 50

_NEVER_UNDONE = "no savepoint undoes it"


def stronger(one: str, other: str) -> str:
    """The stronger of two decisions."""
    return max(one, other, key=DECISIONS.index)


def weaker(one: str, other: str) -> str:
    """The weaker of two decisions."""
    return min(one, other, key=DECISIONS.index)


def decide(scan: Scan, policy: Policy, *, project: str | None = None, writes: tuple[str, ...] = ()) -> Provisional:
    """Both answers for `scan`: where a savepoint covers everything it would touch, and where none does.

    `project` is the root that relative `protected` paths are meant from, `writes` the absolute paths that an editing
    tool would change. A text needs a savepoint only where `if_covered` does not already block (design section 4).
    """
    findings = scan.findings + protected_findings(scan, policy.protected, project, writes)
    findings += protected_findings(scan, policy.read_only, project, writes, rule_id=READ_ONLY)
    covered = tuple(_judge(finding, scan, policy, None) for finding in findings)
    bare = tuple(_judge(finding, scan, policy, "no savepoint covers it") for finding in findings)
    refusals = () if allowed_text(scan, policy.allow) and not _hard(scan.refusals) else scan.refusals
    return Provisional(verdict_of(covered, refusals), verdict_of(bare, refusals))


def settle(provisional: Provisional, cover: Cover | None) -> Verdict:
    """The final verdict. Each finding is judged by itself: one that is covered does not wait for one that is not.

    `cover` None means that no savepoint was or can be taken; none is where something else blocks the call anyway.
    """
    untaken = cover is None and provisional.if_covered.decision == "block"
    judged = []
    for with_cover, without in zip(provisional.if_covered.findings, provisional.if_not.findings, strict=True):
        if with_cover.decision == without.decision and with_cover.because == without.because:
            judged.append(with_cover)
            continue
        missing = _UNTAKEN if untaken else uncovered_because(with_cover.finding, cover)
        judged.append(with_cover if missing is None else without._replace(because=_not_here(without, missing)))
    return verdict_of(tuple(judged), provisional.if_covered.refusals)


_UNTAKEN = "none is taken for a call that is blocked for another reason"


def verdict_of(judged: tuple[Judged, ...], refusals: tuple[Refusal, ...]) -> Verdict:
    """The verdict that findings and refusals add up to; the strongest decision wins."""
    decision = "allow"
    score = 0
    for item in judged:
        decision = stronger(decision, item.decision)
        score = max(score, item.finding.score)
    for refusal in refusals:
        hard = refusal.kind != "unparsed"
        decision = stronger(decision, "block" if hard else "ask")
        score = max(score, REFUSED_SCORE if hard else UNPARSED_SCORE)
    return Verdict(decision, score, judged, refusals, _reasons(judged, refusals))


def _hard(refusals: tuple[Refusal, ...]) -> bool:
    return any(refusal.kind != "unparsed" for refusal in refusals)


def _judge(finding: Finding, scan: Scan, policy: Policy, uncovered: str | None) -> Judged:
    if finding.rule == PROTECTED:
        return Judged(finding, "block", False, "the policy protects this path, savepoint or not")
    fixed = _fixed_decision(finding.rule, policy.rule_decisions)
    if fixed is not None and fixed.decision == "block":
        return Judged(finding, "block", False, f"the {fixed.layer} policy blocks this rule (line {fixed.line})")
    entry = allowing(finding, scan, policy.allow)
    if entry is not None:
        return Judged(finding, "allow", False, f"on the allow list of the {entry.layer} policy (line {entry.line})")
    if finding.rule == READ_ONLY:
        return Judged(finding, "ask", False, "the policy lets only a person's word change this path")
    hosts = _listed_hosts(finding, scan, policy) if fixed is None and policy.network else ()
    if hosts:
        return Judged(finding, "allow", False, f"the policy's network list names {', '.join(dict.fromkeys(hosts))}")
    if fixed is not None and fixed.floor:
        judged = _judge_score(finding, policy, uncovered)
        if judged.decision == stronger(judged.decision, fixed.decision):
            return judged
    if fixed is not None:
        verb = {"ask": "asks for", "allow": "allows"}[fixed.decision]
        return Judged(finding, fixed.decision, False, f"the {fixed.layer} policy {verb} this rule (line {fixed.line})")
    return _judge_score(finding, policy, uncovered)


def _listed_hosts(finding: Finding, scan: Scan, policy: Policy) -> tuple[str, ...]:
    from chrono.policy.network import allowed_hosts

    return allowed_hosts(finding, scan, policy.network)


def _fixed_decision(rule: str, fixed: tuple[RuleDecision, ...]) -> RuleDecision | None:
    mine = [entry for entry in fixed if entry.rule == rule]
    return max(mine, key=lambda entry: DECISIONS.index(entry.decision)) if mine else None


def _judge_score(finding: Finding, policy: Policy, uncovered: str | None) -> Judged:
    limits = policy.thresholds
    base = "block" if finding.score >= limits.block else "ask" if finding.score >= limits.ask else "allow"
    how = f"score {finding.score}, the policy blocks from {limits.block} and asks from {limits.ask}"
    if base == "allow":
        return Judged(finding, base, False, how)
    if finding.reversible == "no":
        return Judged(finding, base, False, f"{how}; {_NEVER_UNDONE}")
    if policy.reversible == "block":
        return Judged(finding, base, False, f"{how}; the policy says `reversible: block`")
    if uncovered is not None:
        return Judged(finding, base, False, f"{how}; {uncovered}")
    undone = "ask" if finding.reversible == "ask" else policy.reversible
    return Judged(finding, weaker(base, undone), True, "a savepoint taken before it undoes it")


def _not_here(judged: Judged, missing: str) -> str:
    return judged.because.replace("no savepoint covers it", f"no savepoint covers it: {missing}")


def _reasons(judged: tuple[Judged, ...], refusals: tuple[Refusal, ...]) -> tuple[str, ...]:
    """Sentences for people, strongest first, without repeats."""
    stopped = [item for item in judged if item.decision != "allow"]
    stopped.sort(key=lambda item: (-DECISIONS.index(item.decision), -item.finding.score))
    lines = [_refusal_reason(refusal) for refusal in refusals] + [_finding_reason(item) for item in stopped]
    return tuple(dict.fromkeys(lines))


def _refusal_reason(refusal: Refusal) -> str:
    if refusal.kind == "unparsed":
        return f"not understood: {refusal.why}. Safer: write it as simpler commands, one a line"
    return f"refused rather than half-checked: {refusal.why}"


def _finding_reason(item: Judged) -> str:
    finding = item.finding
    parts = [f"{finding.title} [{finding.rule}]"]
    targets = ", ".join(dict.fromkeys(target.shown for target in finding.targets))
    if targets:
        parts[0] += f": {targets}"
    if finding.via:
        parts.append(f"It runs through {' -> '.join(finding.via)}")
    if finding.why:
        parts.append(_sentence(finding.why))
    parts.append(_sentence(item.because))
    if finding.safer:
        parts.append(f"Safer: {finding.safer}")
    return ". ".join(part.rstrip(".") for part in parts)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

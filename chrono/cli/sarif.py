"""Owns verdicts as SARIF 2.1.0, the form in which scanners hand results to CI: one run, its rules, its results.

Judging is left to `workspace.assess`; which files of a tree are judged to `workspace.sweep`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from chrono.cli.explained import argv_text, chain
from chrono.cli.shapes import Json
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.policy.model import Judged
    from chrono.scan.command import Refusal
    from chrono.workspace.assess import Assessed

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"block": "error", "ask": "warning", "allow": "note"}
_LINE = re.compile(r"^(?:(?:source|\.) )?(.+?):(\d+)(?: .*)?$")


class Judgement(NamedTuple):
    """One judged text. `path` is the file of the tree that it runs, None for a command that was given; `locate` gives
    for a file that a chain names the path that CI knows it by."""

    assessed: Assessed
    path: str | None
    locate: Callable[[str], str]


def sarif(judgements: Iterable[Judgement], version: str) -> dict[str, Json]:
    """The document. Allowed findings are notes, refusals results of the rule `scan.refused`."""
    rules: dict[str, dict[str, Json]] = {}
    results: list[Json] = []
    artifacts: list[Json] = []
    for judgement in judgements:
        index = None
        if judgement.path is None:
            index = len(artifacts)
            artifacts.append({"contents": {"text": judgement.assessed.scan.text}, "roles": ["analysisTarget"]})
        for judged in judgement.assessed.verdict.findings:
            rules.setdefault(judged.finding.rule, _rule(judged))
            results.append(_result(judgement, judged, index))
        for refusal in judgement.assessed.verdict.refusals:
            rules.setdefault(
                "scan.refused", {"id": "scan.refused", "shortDescription": {"text": "cannot be judged as it is"}}
            )
            results.append(_refused(judgement, refusal, index))
    listed: list[Json] = list(rules.values())
    driver: dict[str, Json] = {"name": "chrono", "version": version, "rules": listed}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "artifacts": artifacts,
                "results": results,
            }
        ],
    }


def _rule(judged: Judged) -> dict[str, Json]:
    finding = judged.finding
    return {
        "id": finding.rule,
        "shortDescription": {"text": finding.title},
        "fullDescription": {"text": finding.why or finding.title},
        "help": {"text": f"Safer: {finding.safer}" if finding.safer else finding.title},
        "properties": {"security-severity": f"{finding.score / 10:.1f}", "tags": list(finding.references)},
    }


def _result(judgement: Judgement, judged: Judged, index: int | None) -> dict[str, Json]:
    finding = judged.finding
    targets = ", ".join(dict.fromkeys(target.shown for target in finding.targets))
    message = f"{finding.title}{f': {targets}' if targets else ''}. {judged.decision}: {judged.because}."
    found: dict[str, Json] = {
        "ruleId": finding.rule,
        "level": _LEVELS[judged.decision],
        "message": {"text": f"{message} Safer: {finding.safer}" if finding.safer else message},
        "locations": [_location(judgement, finding.via, finding.span, index)],
        "properties": {"decision": judged.decision, "score": finding.score, "runs": argv_text(finding.argv)},
    }
    if finding.via:
        steps: list[Json] = []
        for at, link in enumerate(finding.via):
            step = _location(judgement, finding.via[: at + 1], finding.span, index)
            step["message"] = {"text": link}
            steps.append({"location": step})
        flow: dict[str, Json] = {"threadFlows": [{"locations": steps}]}
        found["codeFlows"] = [{**flow, "message": {"text": chain(judgement.assessed.scan.text, judged)}}]
    return found


def _refused(judgement: Judgement, refusal: Refusal, index: int | None) -> dict[str, Json]:
    return {
        "ruleId": "scan.refused",
        "level": "warning" if refusal.kind == "unparsed" else "error",
        "message": {"text": refusal.why},
        "locations": [_location(judgement, (), refusal.span, index)],
        "properties": {"decision": "ask" if refusal.kind == "unparsed" else "block", "kind": refusal.kind},
    }


def _location(judgement: Judgement, via: tuple[str, ...], span: tuple[int, int], index: int | None) -> dict[str, Json]:
    """The last file and line of the chain; else the file that was judged; else the place in the command."""
    for link in reversed(via):
        match = _LINE.match(link)
        if match is not None and (judgement.path is not None or "/" in match[1] or "." in match[1]):
            return _physical({"uri": quote(judgement.locate(match[1]))}, {"startLine": int(match[2])})
    if judgement.path is not None:
        return _physical({"uri": quote(judgement.path)}, {"startLine": 1})
    text = judgement.assessed.scan.text
    region: dict[str, Json] = {
        "charOffset": span[0],
        "charLength": max(span[1] - span[0], 0),
        "snippet": {"text": text[span[0] : span[1]]},
    }
    return _physical({"index": index}, region)


def _physical(artifact: dict[str, Json], region: dict[str, Json]) -> dict[str, Json]:
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}

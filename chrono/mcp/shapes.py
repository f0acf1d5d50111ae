"""Owns the structured results of the MCP tools: what a model reads, and what its client checks against a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

# pydantic, which comes with the SDK, cannot nest the one of the standard library before Python 3.12.
from typing_extensions import TypedDict

from chrono.clock import rfc3339

if TYPE_CHECKING:
    from chrono.policy.model import Policy, Verdict
    from chrono.store.savepoint import Savepoint
    from chrono.store.snapshot import Skip


class Database(TypedDict):
    """A registered database and its newest snapshot."""

    name: str
    last_snapshot: str | None


# `not` is a word of Python, so this form.
Covers = TypedDict("Covers", {"files": str, "skipped": list[str], "databases": list[Database], "not": list[str]})


class FindingShape(TypedDict):
    """One rule hit, and what became of it under the policy."""

    rule: str
    title: str
    score: int
    decision: str
    why: str
    safer: str
    targets: list[str]


class ScanResult(TypedDict):
    """The guard's answer to a command that was not run."""

    decision: str
    score: int
    reasons: list[str]
    findings: list[FindingShape]
    read_only: bool


class RunResult(TypedDict):
    """A command that ran, or was refused (`exit_code` null then). `output` is the end of what it printed."""

    decision: str
    reasons: list[str]
    exit_code: int | None
    how: str
    output: str
    output_cut: bool
    before: str | None
    commit: str | None
    rolled_back: bool
    undo: str | None
    still_running: list[str]
    covers: Covers


class SavepointShape(TypedDict):
    """One savepoint."""

    id: str
    kind: str
    at: str
    message: str
    agent: str | None
    command: str | None


class SnapshotResult(TypedDict):
    """A savepoint that was taken; `created` is false where the newest one holds the same files."""

    id: str
    created: bool
    covers: Covers


class StatusResult(TypedDict):
    """Where the project stands: its newest savepoint, and what differs from it now."""

    root: str
    branch: str
    newest: SavepointShape | None
    changes: list[str]
    changes_cut: bool


class LogResult(TypedDict):
    """Savepoints, newest first."""

    savepoints: list[SavepointShape]


class RollbackResult(TypedDict):
    """A rollback: `applied` is false where there was nothing to do or the policy's gate is closed."""

    applied: bool
    reason: str
    target: str | None
    restored: int
    removed: int
    undo: str | None
    covers: Covers


class VerifyResult(TypedDict):
    """Whether anybody changed the audit log; `exit_code` as `chrono audit --verify`."""

    ok: bool
    exit_code: int
    records: int
    summary: list[str]


def covers(skips: tuple[Skip, ...], policy: Policy | None) -> Covers:
    """What going back undoes, and what it does not."""
    from chrono.workspace.covers import covers as told

    value = told(skips, policy)
    return {
        "files": value.files,
        "skipped": [f"{skip.path}: {skip.reason}" for skip in value.skipped],
        "databases": [{"name": one.name, "last_snapshot": one.last_snapshot} for one in value.databases],
        "not": list(value.not_covered),
    }


def verdict(value: Verdict, *, read_only: bool) -> ScanResult:
    """A verdict as a model reads it."""
    return {
        "decision": value.decision,
        "score": value.score,
        "reasons": list(value.reasons),
        "findings": [
            {
                "rule": item.finding.rule,
                "title": item.finding.title,
                "score": item.finding.score,
                "decision": item.decision,
                "why": item.finding.why,
                "safer": item.finding.safer,
                "targets": [target.shown for target in item.finding.targets],
            }
            for item in value.findings
        ],
        "read_only": read_only,
    }


def savepoint(value: Savepoint) -> SavepointShape:
    """One savepoint."""
    return {
        "id": value.id,
        "kind": value.kind,
        "at": rfc3339(value.at_ns),
        "message": value.message,
        "agent": value.trailer("Chrono-Agent"),
        "command": value.trailer("Chrono-Command"),
    }

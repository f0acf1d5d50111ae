"""Owns the JSON that verbs print with --json: plain values out of the values of other rooms.

The shapes are documented in docs/reference/json.md; a member may be added, never renamed. Text for people is elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from chrono.clock import rfc3339

if TYPE_CHECKING:
    from chrono.policy.model import Policy
    from chrono.scan.command import Command, Redirect, Refusal, Word
    from chrono.scan.finding import Finding
    from chrono.store.diff import Change, LineCount
    from chrono.store.merge import MergeConflict
    from chrono.store.restore import Left
    from chrono.store.savepoint import Savepoint
    from chrono.store.snapshot import Skip
    from chrono.workspace.branches import Branch
    from chrono.workspace.mergestate import Waiting
    from chrono.workspace.oplog import Operation, RefMove

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

SHORT_DIGITS = 12
"""Digits of a commit id that people are shown; `Store.resolve` takes any unique prefix."""


def short(commit: str) -> str:
    return commit[:SHORT_DIGITS]


def savepoint(value: Savepoint) -> dict[str, Json]:
    return {
        "id": value.id,
        "kind": value.kind,
        "ref": value.ref,
        "at": rfc3339(value.at_ns),
        "message": value.message,
        "agent": value.trailer("Chrono-Agent"),
        "session": value.trailer("Chrono-Session"),
        "command": value.trailer("Chrono-Command"),
        "branch": value.trailer("Chrono-Branch"),
        "tree": value.tree,
        "parents": list(value.parents),
    }


def changes(values: Iterable[Change]) -> list[Json]:
    return [{"path": value.path, "kind": value.kind} for value in values]


def line_counts(values: Iterable[LineCount]) -> list[Json]:
    return [{"path": value.change.path, "added": value.added, "deleted": value.deleted} for value in values]


def skips(values: Iterable[Skip]) -> list[Json]:
    return [{"path": value.path, "reason": value.reason, "kept": value.kept} for value in values]


def covers(skipped: tuple[Skip, ...], policy: Policy | None) -> dict[str, Json]:
    """What going back can undo, and what it cannot. `policy` None: it cannot be read."""
    from chrono.workspace.covers import covers as told

    value = told(skipped, policy)
    return {
        "files": value.files,
        "skipped": skips(value.skipped),
        "databases": [{"name": base.name, "last_snapshot": base.last_snapshot} for base in value.databases],
        "not": list(value.not_covered),
    }


def left(values: Iterable[Left]) -> list[Json]:
    return [{"path": value.path, "why": value.why} for value in values]


def branch(value: Branch) -> dict[str, Json]:
    return {
        "name": value.name,
        "tip": savepoint(value.tip) if value.tip is not None else None,
        "current": value.current,
        "merged": value.merged,
    }


def conflict(value: MergeConflict) -> dict[str, Json]:
    return {"path": value.path, "why": value.why, "files": list(value.files)}


def waiting(value: Waiting) -> dict[str, Json]:
    return {
        "name": value.name,
        "theirs": value.theirs,
        "conflicts": [{**conflict(one), "open": is_open} for one, is_open in value.conflicts],
    }


def move(value: RefMove) -> dict[str, Json]:
    return {"ref": value.ref, "old": value.old, "new": value.new}


def operation(value: Operation) -> dict[str, Json]:
    return {
        "id": value.id,
        "verb": value.verb,
        "message": value.message,
        "at": rfc3339(value.at_ns),
        "author": value.author,
        "head_before": value.head_before,
        "head_after": value.head_after,
        "before": value.before,
        "after": value.after,
        "paths": list(value.paths),
        "moves": [move(one) for one in value.moves],
        "undoes": value.undoes,
    }


# --- verdicts


def word(value: Word) -> Json:
    """A string, null for an unknown word, a list of strings and nulls for a pattern, `{"many": true}` for an unknown
    number of words."""
    from chrono.scan.command import Many

    if isinstance(value, str):
        return value
    if isinstance(value, Many):
        return {"many": True}
    return None if value.pieces == (None,) else list(value.pieces)


def command(value: Command) -> dict[str, Json]:
    return {"argv": [word(one) for one in value.argv], "via": list(value.via), "span": list(value.span)}


def redirect(value: Redirect) -> dict[str, Json]:
    return {"op": value.op, "fd": value.fd, "target": word(value.target)}


def refusal(value: Refusal) -> dict[str, Json]:
    return {"kind": value.kind, "why": value.why, "span": list(value.span)}


def finding(value: Finding) -> dict[str, Json]:
    return {
        "rule": value.rule,
        "title": value.title,
        "score": value.score,
        "why": value.why,
        "safer": value.safer,
        "span": list(value.span),
        "argv": [word(one) for one in value.argv],
        "via": list(value.via),
        "targets": [
            {"path": target.path, "shown": target.shown, "place": target.place, "whole": target.whole}
            for target in value.targets
        ],
        "reversible": value.reversible,
        "references": list(value.references),
    }

"""Owns the question whether a savepoint undoes what a finding would do to a target. Pure.

What a savepoint holds is found out by `store` and handed over by `workspace.savepoints`; what follows from the answer
is decided by `policy.decide`.
"""

from __future__ import annotations

from chrono.policy.model import Cover, Excluded
from chrono.scan.finding import Finding, Target

REGENERABLE = frozenset({"heavy"})
"""Kinds of excluded entries that a build or an install brings back (specs: savepoints section 2, the heavy list)."""

LEFT_BY_GIT = frozenset({"git", "chrono", "control"})
"""Kinds that git's verbs for the work tree leave alone, or that the scanner looks for by itself (control files)."""

_WHY = {
    "git": "{path} is a git repository's own data, which no savepoint restores",
    "control": "{path} is a control file, which no savepoint restores",
    "chrono": "{path} belongs to chrono itself",
    "ignored": "{path} is left out by .chronoignore",
    "over-cap": "{path} is larger than a savepoint keeps",
    "unreadable": "{path} cannot be read, so no savepoint holds it",
    "nested": "{path} is another chrono project",
}


def uncovered_because(finding: Finding, cover: Cover | None) -> str | None:
    """None where `cover` undoes all that `finding` would touch, else why it does not, for people."""
    if cover is None:
        return "this folder is not a chrono project, so no savepoint can be taken (run `chrono init` in it)"
    if not finding.targets:
        return "what it would touch cannot be told from the command"
    for target in finding.targets:
        reason = _uncovered_target(target, cover)
        if reason is not None:
            return reason
    return None


def _uncovered_target(target: Target, cover: Cover) -> str | None:
    if target.path is None:
        return f"{target.shown} cannot be resolved to a path in the project"
    if not within(target.path, cover.root):
        return f"{target.shown} lies outside the project {cover.root}"
    for excluded in cover.excluded:
        if excluded.kind in REGENERABLE:
            continue
        if _touches(target, excluded, cover.root):
            return _WHY.get(excluded.kind, "{path} is not in the savepoint").format(path=excluded.path)
    return None


def _touches(target: Target, excluded: Excluded, root: str) -> bool:
    """Whether the excluded entry lies at, below or above the target."""
    path = target.path or root
    left_alone = excluded.kind in LEFT_BY_GIT or (target.place == "worktree" and not excluded.tracked)
    if target.place in ("worktree", "untracked") and left_alone and excluded.path != path:
        return within(path, excluded.path)
    return within(excluded.path, path) or within(path, excluded.path)


def within(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies below it; both absolute and normalised."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")

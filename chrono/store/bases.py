"""Owns the graph of commits: who is an ancestor of whom, and where two lines parted. Pure.

Reading commits is the caller's: `parents` gives those of one commit, none where history was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chrono.ids import CommitId

Parents = Callable[[CommitId], tuple[CommitId, ...]]


def ancestors(starts: Iterable[CommitId], parents: Parents) -> set[CommitId]:
    """`starts` and everything they descend from."""
    found: set[CommitId] = set()
    stack = list(starts)
    while stack:
        commit = stack.pop()
        if commit not in found:
            found.add(commit)
            stack.extend(parents(commit))
    return found


def merge_bases(ours: CommitId, theirs: CommitId, parents: Parents) -> tuple[CommitId, ...]:
    """The best common ancestors, sorted; several after a criss-cross, none for unrelated lines."""
    common = ancestors((ours,), parents) & ancestors((theirs,), parents)
    passed = {parent for commit in common for parent in parents(commit)}
    return tuple(sorted(common - passed))

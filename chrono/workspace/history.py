"""Owns what is shown of the past: the list of savepoints, one savepoint, and differences. Nothing is written.

Reading objects is left to `store`; making text of the values to `cli.render`.
"""

from __future__ import annotations

from collections.abc import Iterator

from chrono.errors import NoSuchSavepoint
from chrono.ids import CommitId
from chrono.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.store.contents import Entry
    from chrono.store.diff import Change
    from chrono.store.savepoint import Savepoint
    from chrono.workspace.project import Workspace

RESCUES = frozenset({"rescue", "crash", "merging"})
"""Kinds that hold what a rollback, crash or merge would have lost; never the target of a `rollback` without an ID."""


class Shown(NamedTuple):
    """One savepoint and what it changed against its parent (`changes` empty for the first)."""

    savepoint: Savepoint
    changes: tuple[Change, ...]


class Difference(NamedTuple):
    """What differs from savepoint `old` to `new` (None: the work tree), and the same as a patch."""

    old: CommitId
    new: CommitId | None
    changes: tuple[Change, ...]
    patch: str


def newest(ws: Workspace) -> CommitId | None:
    """The newest savepoint of the current branch, automatic ones included, never a rescue; None before the first.

    An automatic savepoint has the branch head of its time as its parent, so the newest one is newer than the head
    exactly where the head still is its parent. Clocks have no say.
    """
    store = ws.store
    head_ref = store.head_ref()
    head = store.ref(head_ref)
    branch = branch_name(head_ref)
    for _, commit in store.newest_refs("refs/chrono/auto/"):
        savepoint = store.savepoint(commit)
        if (savepoint.trailer("Chrono-Branch") or branch) != branch:
            continue
        return commit if savepoint.parents == ((head,) if head else ()) else head
    return head


def branch_name(ref: str) -> str:
    """`main` for `refs/heads/main`."""
    return ref.removeprefix("refs/heads/")


def log(
    ws: Workspace, *, auto: bool = True, limit: int | None = None, paths: tuple[str, ...] = ()
) -> Iterator[Savepoint]:
    """Savepoints, newest first: manual, automatic (unless `auto` is False), rescue and rollback commits.

    With `paths` only those that hold something else there than the one before them on their branch.
    """
    count = 0
    for savepoint in _changing(ws, paths) if paths else ws.store.history():
        if savepoint.kind == "auto" and not auto:
            continue
        if limit is not None and count >= limit:
            return
        count += 1
        yield savepoint


def _changing(ws: Workspace, paths: tuple[str, ...]) -> Iterator[Savepoint]:
    """A savepoint is given as soon as the next older one of its branch is known to differ from it."""
    store = ws.store
    newer: dict[str | None, tuple[Savepoint, tuple[Entry | None, ...]]] = {}
    for savepoint in store.history():
        branch = savepoint.trailer("Chrono-Branch")
        held = store.entries(savepoint.id, paths)
        waiting = newer.get(branch)
        if waiting is not None and waiting[1] != held:
            yield waiting[0]
        newer[branch] = savepoint, held
    for savepoint, held in newer.values():
        parents = savepoint.parents
        if held != (store.entries(parents[0], paths) if parents else (None,) * len(held)):
            yield savepoint


def show(ws: Workspace, text: str, paths: tuple[str, ...] = ()) -> Shown:
    """The savepoint that `text` names and what it changed. Raises NoSuchSavepoint."""
    store = ws.store
    savepoint = store.savepoint(store.resolve(text))
    parent = savepoint.parents[0] if savepoint.parents else None
    return Shown(savepoint, store.changes(parent, savepoint.id, paths) if parent else ())


def diff(ws: Workspace, old: str | None = None, new: str | None = None, paths: tuple[str, ...] = ()) -> Difference:
    """From `old` (default: the newest savepoint) to `new` (default: the work tree). Raises NoSuchSavepoint."""
    store = ws.store
    start = store.resolve(old) if old is not None else newest(ws)
    if start is None:
        raise NoSuchSavepoint("there is no savepoint yet", "run chrono snapshot")
    end = store.resolve(new) if new is not None else None
    return Difference(start, end, store.changes(start, end, paths), store.patch(start, end, paths))

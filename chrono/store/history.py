"""Owns reading commits: by id, name or prefix, and as one history of all kinds.

The bytes of a commit are left to `store.savepoint`.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from itertools import takewhile

from chrono.errors import NoSuchSavepoint, StoreError
from chrono.ids import CommitId
from chrono.store.objects import Objects
from chrono.store.refs import AUTO, BRANCHES, MERGE, RESCUE, Refs
from chrono.store.savepoint import Savepoint, decode

OPERATION = "op"
"""The kind of a commit of the operation log: it holds no files, so nothing may be restored from it."""

_HINT = "run chrono log to see what there is"
_FULL = re.compile(r"[0-9a-f]{40}")
_PREFIX = re.compile(r"[0-9a-f]{4,40}")
_SUFFIX = re.compile(r"(~\d*|\^\d*)$")


class History:
    """What the refs lead to."""

    def __init__(self, objects: Objects, refs: Refs) -> None:
        self._objects = objects
        self._refs = refs

    def raw(self, commit: str) -> bytes:
        """The raw commit object. Raises NoSuchSavepoint."""
        if not _FULL.fullmatch(commit):
            raise NoSuchSavepoint(f"no savepoint {commit!r}", _HINT)
        try:
            kind, data = self._objects.read(bytes.fromhex(commit))
        except KeyError:
            raise NoSuchSavepoint(f"no savepoint {commit}", _HINT) from None
        if kind != b"commit":
            raise NoSuchSavepoint(f"{commit} is a {kind.decode()}, not a savepoint", _HINT)
        return data

    def read(self, commit: str, ref: str | None = None) -> Savepoint:
        """Raises NoSuchSavepoint, StoreError."""
        return decode(CommitId(commit), self.raw(commit), ref)

    def walk(self) -> Iterator[Savepoint]:
        """Every savepoint once, newest first.

        Streams are merged by time: each branch from its head, the automatic savepoints and the rescues by falling
        number, rescues with a name each for itself, and the merge that waits for people. Within a stream the order
        is that of the stream, whatever the clock did.
        """
        seen: set[str] = set()
        heap: list[tuple[int, int, Savepoint, Iterator[Savepoint]]] = []
        streams = [self._line(oid, name) for name, oid in self._refs.below(BRANCHES)]
        streams += [self._numbered(AUTO), self._numbered(RESCUE), self._single(MERGE)]
        named = takewhile(lambda item: not _is_numbered(item[0]), self._refs.newest_first(RESCUE))
        streams += [self._single(name) for name, _ in named]
        for order, stream in enumerate(streams):
            first = next(stream, None)
            if first is not None:
                heap.append((-first.at_ns, -order, first, stream))
        heapq.heapify(heap)
        while heap:
            time, order, savepoint, stream = heap[0]
            following = next(stream, None)
            if following is None:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (max(-following.at_ns, time), order, following, stream))
            if savepoint.id not in seen:
                seen.add(savepoint.id)
                yield savepoint

    def _line(self, oid: str, ref: str) -> Iterator[Savepoint]:
        """A branch and all its ancestors, the newest of those whose children were given first."""
        known = {oid}
        first = self.read(oid, ref)
        heap = [(-first.at_ns, 0, first)]
        count = 0
        while heap:
            savepoint = heapq.heappop(heap)[2]
            yield savepoint
            for parent in savepoint.parents:
                if parent not in known:
                    known.add(parent)
                    count += 1
                    found = self._parent(parent, ref)
                    if found is not None:
                        heapq.heappush(heap, (max(-found.at_ns, -savepoint.at_ns), count, found))

    def _parent(self, oid: str, ref: str | None = None) -> Savepoint | None:
        """A shallow clone ends where its history was cut."""
        try:
            return self.read(oid, ref)
        except NoSuchSavepoint:
            return None

    def _numbered(self, prefix: str) -> Iterator[Savepoint]:
        for name, oid in self._refs.newest_first(prefix):
            if _is_numbered(name):
                yield self.read(oid, name)

    def _single(self, ref: str) -> Iterator[Savepoint]:
        oid = self._refs.read(ref)
        if oid is not None:
            yield self.read(oid, ref)

    def chain(self, ref: str) -> Iterator[Savepoint]:
        """A ref's commit and its first parents, newest first; ends early where history was cut."""
        oid = self._refs.read(ref)
        found = self._parent(oid, ref) if oid is not None else None
        while found is not None:
            yield found
            found = self._parent(found.parents[0], ref) if found.parents else None

    def newest(self) -> Savepoint | None:
        """The newest savepoint of all kinds, None before the first."""
        return next(self.walk(), None)

    def resolve(self, text: str) -> CommitId:
        """A commit by full id, branch, ref, `HEAD` or unique prefix, each with `~N` and `^N` behind it.

        Raises NoSuchSavepoint.
        """
        base = text.strip()
        steps: list[str] = []
        while (match := _SUFFIX.search(base)) is not None:
            steps.insert(0, match[1])
            base = base[: match.start()]
        found = self._named(base)
        if found is None:
            raise NoSuchSavepoint(f"no savepoint {text!r}", _HINT)
        for step in steps:
            found = self._step(found, step, text)
        if self.read(found).kind == OPERATION:
            raise NoSuchSavepoint(
                f"{text!r} is an operation, not a savepoint", "run chrono op log; chrono undo takes it"
            )
        return CommitId(found)

    def _named(self, base: str) -> str | None:
        if _FULL.fullmatch(base):
            self.raw(base)
            return base
        if base in ("HEAD", "@"):
            return self._refs.read(self._refs.head())
        remote, _, branch = base.partition("/")
        remotes = f"refs/chrono/remotes/{remote}/heads/{branch}"
        for name in (base, f"refs/{base}", f"refs/heads/{base}", f"refs/chrono/{base}", *([remotes] if branch else [])):
            if name.startswith("refs/"):
                try:
                    oid = self._refs.read(name)
                except StoreError:
                    continue
                if oid is not None:
                    return oid
        return self._by_prefix(base.lower())

    def _by_prefix(self, prefix: str) -> str | None:
        if not _PREFIX.fullmatch(prefix):
            return None
        fits = sorted({oid for oid in self._ids() if oid.startswith(prefix)})
        if len(fits) > 1:
            shown = ", ".join(oid[:12] for oid in fits[:5])
            raise NoSuchSavepoint(f"{prefix} fits several savepoints: {shown}", "give more digits")
        return fits[0] if fits else None

    def _ids(self) -> Iterator[str]:
        """The ids of what `walk` gives. The refs name nearly all of them, so hardly a commit is read."""
        for prefix in (AUTO, RESCUE):
            yield from self._refs.all_below(prefix).values()
        merging = self._refs.read(MERGE)
        if merging is not None:
            yield merging
        known: set[str] = set()
        waiting = [oid for _, oid in self._refs.below(BRANCHES)]
        while waiting:
            oid = waiting.pop()
            found = self._parent(oid) if oid not in known else None
            known.add(oid)
            if found is not None:
                yield oid
                waiting += found.parents

    def _step(self, commit: str, step: str, text: str) -> str:
        count = int(step[1:]) if len(step) > 1 else 1
        hops = [1] * count if step[0] == "~" else [count]
        for parent in hops:
            if parent == 0:
                continue
            parents = self.read(commit).parents
            if len(parents) < parent:
                raise NoSuchSavepoint(f"no savepoint {text!r}: the history ends before it", _HINT)
            commit = parents[parent - 1]
        return commit


def _is_numbered(ref: str) -> bool:
    """Not one that a recovery or a merge called by an id."""
    return ref.rpartition("/")[2].isdecimal()

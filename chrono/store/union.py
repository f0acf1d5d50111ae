"""Owns one merge from end to end: savepoints' contents in, a durable content out, the work tree untouched.

What meets what is `store.merge`'s, writing trees `store.building`'s, where lines parted `store.bases`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chrono.ids import CommitId, TreeId
from chrono.store.bases import Parents, merge_bases
from chrono.store.building import Builder
from chrono.store.contents import Contents
from chrono.store.filemerge import MERGE_AT_MOST_BYTES, Labels, Libgit2
from chrono.store.memory import open_contents
from chrono.store.merge import MergeConflict, Merger
from chrono.store.objects import NewObjects, Objects
from chrono.store.snapshot import Content
from chrono.tuples import NamedTuple


class MergeResult(NamedTuple):
    """The merged state, durable and named by nothing yet; where there are conflicts it holds what people resolve."""

    content: Content
    conflicts: tuple[MergeConflict, ...]
    notes: tuple[str, ...]


class Union:
    """Merges in one store; `content_of` reads a commit, `parents` is the graph that counts."""

    def __init__(self, objects: Objects, content_of: Callable[[CommitId], Content], parents: Parents) -> None:
        self._objects = objects
        self._content_of = content_of
        self._parents = parents
        self._libgit2 = Libgit2(objects.folder)

    def merge(self, ours: CommitId, theirs: CommitId, labels: Labels) -> MergeResult:
        """Merges two commits on the base that the graph gives them; unrelated ones on an empty base.

        Raises StoreError; what was written by then is named by nothing.
        """
        base = self._base(merge_bases(ours, theirs, self._parents), labels)
        return self._merge(base, self._content_of(ours), self._content_of(theirs), labels)

    def _base(self, bases: Sequence[CommitId], labels: Labels) -> Content:
        """One state for all of `bases`: several, after a criss-cross, are merged first, conflicts and all (as in
        git's recursive merge)."""
        if not bases:
            return self._empty()
        first, *more = bases
        content = self._content_of(first)
        for other in more:
            below = self._base(merge_bases(first, other, self._parents), labels)
            content = self._merge(below, content, self._content_of(other), labels, virtual=True).content
        return content

    def _merge(
        self, base: Content, ours: Content, theirs: Content, labels: Labels, *, virtual: bool = False
    ) -> MergeResult:
        before, mine, yours = (self._open(content) for content in (base, ours, theirs))
        sink = NewObjects(self._objects)
        try:
            merged = Merger(
                before,
                mine,
                yours,
                labels,
                self._libgit2,
                self._blob,
                lambda data: sink.put(b"blob", data).hex(),
                virtual=virtual,
            ).run()
            content = Builder(self._objects, sink, mine, yours).build(merged.edits)
            sink.flush()
        except BaseException:
            sink.abandon()
            raise
        return MergeResult(content, merged.conflicts, merged.notes)

    def _empty(self) -> Content:
        sink = NewObjects(self._objects)
        made = sink.put(b"tree", b"")
        sink.flush()
        return Content(TreeId(made.hex()), None)

    def _open(self, content: Content) -> Contents:
        return open_contents(self._objects, content.tree, content.meta)

    def _blob(self, oid: str) -> bytes | None:
        head = self._objects.head(bytes.fromhex(oid))
        if head is not None and head[1] > MERGE_AT_MOST_BYTES:
            return None
        return self._objects.read_as(bytes.fromhex(oid), b"blob")

"""Owns what libgit2 does for a merge: which files were renamed, and the lines of one file merged from two sides.

Which sides meet where is decided by `store.merge`. libgit2 works in a repository of its own that has this store's
objects and nothing else: no configuration, attribute or merge driver of anybody is read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chrono.errors import StoreError
from chrono.store.names import file_name
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    import pygit2

MERGE_AT_MOST_BYTES = 16 << 20
"""Larger files are not merged line by line: both are kept."""

_SIMILAR_PERCENT = 50
_RENAME_LIMIT = 1000
_BINARY_PROBE_BYTES = 8000


class MergedText(NamedTuple):
    """The merged bytes; `clean` False: with conflict markers in them."""

    data: bytes
    clean: bool


class Labels(NamedTuple):
    """What the sides are called in conflict markers and in names of kept files."""

    base: str
    ours: str
    theirs: str


class Libgit2:
    """libgit2 over the objects at `folder` (absolute)."""

    def __init__(self, folder: bytes) -> None:
        import pygit2

        levels = pygit2.enums.ConfigLevel
        for level in (levels.PROGRAMDATA, levels.SYSTEM, levels.XDG, levels.GLOBAL):
            pygit2.settings.search_path[level] = ""
        path = os.fsdecode(folder)
        odb = pygit2.Odb()
        odb.add_backend(pygit2.OdbBackendPack(path), 2)
        odb.add_backend(pygit2.OdbBackendLoose(path, 1, False), 1)
        self._repository = pygit2.Repository()
        self._repository.set_odb(odb)

    def renames(self, old_tree: bytes, new_tree: bytes) -> dict[bytes, bytes]:
        """Files that went away and came back under another name with much the same content: {old path: new path}."""
        import pygit2

        old, new = (self._tree(oid) for oid in (old_tree, new_tree))
        try:
            diff = old.diff_to_tree(new)
            diff.find_similar(
                flags=pygit2.enums.DiffFind.FIND_RENAMES,
                rename_threshold=_SIMILAR_PERCENT,
                rename_limit=_RENAME_LIMIT,
            )
            return {
                _own_path(delta.old_file.raw_path): _own_path(delta.new_file.raw_path)
                for delta in diff.deltas
                if delta.status == pygit2.enums.DeltaStatus.RENAMED
            }
        except (pygit2.GitError, KeyError) as error:
            raise StoreError(f"the two sides could not be compared: {error}") from None

    def _tree(self, oid: bytes) -> pygit2.Tree:
        import pygit2

        try:
            return self._repository[pygit2.Oid(raw=oid)].peel(pygit2.Tree)
        except (pygit2.GitError, KeyError) as error:
            raise StoreError(f"tree {oid.hex()} cannot be read: {error}") from None

    def text(self, base: str | None, ours: str, theirs: str, labels: Labels) -> MergedText:
        """Three blobs (ids in hexadecimal, `base` None: both sides are new) merged line by line.

        Conflicts are marked in the style of zdiff3: what both sides share is outside the markers. Raises StoreError.
        """
        import pygit2
        from pygit2.ffi import C, ffi

        entries = [
            pygit2.IndexEntry("merged", pygit2.Oid(hex=oid), pygit2.enums.FileMode.BLOB)._to_c()
            if oid is not None
            else (ffi.NULL, None)
            for oid in (base, ours, theirs)
        ]
        names = [ffi.new("char[]", name.encode("utf-8", "surrogateescape")) for name in labels]
        options = ffi.new("git_merge_file_options *")
        options.version = 1
        options.ancestor_label, options.our_label, options.their_label = names
        options.flags = int(pygit2.enums.MergeFileFlag.STYLE_ZDIFF3)
        result = ffi.new("git_merge_file_result *")
        pointers = [entry[0] for entry in entries]
        failed = C.git_merge_file_from_index(result, self._repository._repo, *pointers, options)
        if failed:
            raise StoreError(f"a file could not be merged line by line (libgit2 error {failed})")
        try:
            data = bytes(ffi.buffer(result.ptr, result.len)) if result.len else b""
            return MergedText(data, bool(result.automergeable))
        finally:
            C.git_merge_file_result_free(result)


def is_binary(data: bytes) -> bool:
    """git's own test: a NUL near the beginning."""
    return b"\0" in data[:_BINARY_PROBE_BYTES]


def _own_path(tree_path: bytes) -> bytes:
    return b"/".join(map(file_name, tree_path.split(b"/")))

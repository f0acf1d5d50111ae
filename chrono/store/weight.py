"""Owns the question how many files a tree unfolds to. A forged one names the same subtree again and again.

What is done about too many is decided by the verbs that take trees from elsewhere (`workspace.fetch`).
"""

from __future__ import annotations

from collections.abc import Callable

from chrono.store import tree

MOST_ENTRIES = 20_000_000
"""Files and folders of one savepoint that are believed; no disk that holds more is filled by accident."""


class Weights:
    """Counts entries by tree id; each tree is read once, however often it is named."""

    def __init__(self, read_tree: Callable[[bytes], bytes]) -> None:
        self._read_tree = read_tree
        self._known: dict[bytes, int] = {}

    def entries(self, root: bytes) -> int:
        """How many files and folders the tree (a 20-byte id) unfolds to. Raises what reading one raises."""
        known = self._known
        stack = [(root, self._folders(root))] if root not in known else []
        while stack:
            oid, (files, folders) = stack[-1]
            missing = [below for below in folders if below not in known]
            if missing:
                stack.append((missing[0], self._folders(missing[0])))
                continue
            known[oid] = files + sum(1 + known[below] for below in folders)
            stack.pop()
        return known[root]

    def _folders(self, oid: bytes) -> tuple[int, list[bytes]]:
        """How many entries are no folders, and the trees of those that are."""
        entries = tree.parse(self._read_tree(oid))
        folders = [entry.oid for entry in entries if entry.mode == tree.FOLDER]
        return len(entries) - len(folders), folders

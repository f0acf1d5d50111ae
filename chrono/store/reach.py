"""Owns the question what can be reached: every object that the refs lead to, through commits, trees and metadata.

Deleting what cannot is left to `store.prune`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from chrono.errors import StoreError
from chrono.store.objects import Objects

_ENTRY = re.compile(rb"([0-7]+) [^\0]+\0(.{20})", re.DOTALL)
_FOLDER = (b"40000", b"040000")
_LINK_TO_COMMIT = b"160000"
_NAMED = re.compile(rb"^(tree|parent) ([0-9a-f]{40})$", re.MULTILINE)
_META = re.compile(rb"^Chrono-Meta: ([0-9a-f]{40})$", re.MULTILINE)


class Marks:
    """What has been reached so far; `add` may be called again, with more to start from.

    `ids` holds all objects, `commits` those that are commits, `metas` the metadata blobs that the commits name.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._shallow = os.path.join(os.path.dirname(objects.folder), b"shallow")
        self.ids: set[bytes] = set()
        self.commits: set[bytes] = set()
        self.metas: set[bytes] = set()

    def add(self, starts: Iterable[str]) -> None:
        """Marks what `starts` (ids of commits, trees or tags in hexadecimal) lead to.

        Raises StoreError where something on the way is missing or damaged: who cannot see all, must delete nothing.
        """
        stack = [bytes.fromhex(start) for start in starts]
        while stack:
            oid = stack.pop()
            if oid in self.ids:
                continue
            try:
                kind, data = self._objects.read(oid)
            except KeyError:
                if oid in self.commits and os.path.lexists(self._shallow):
                    continue  # the parent of where a shallow history was cut
                raise StoreError(f"the store lacks object {oid.hex()}", StoreError.BRING_BACK) from None
            self.ids.add(oid)
            if kind == b"tree":
                self._tree(data, stack)
            elif kind == b"commit":
                self._commit(oid, data, stack)
            elif kind == b"tag":
                stack.append(bytes.fromhex(data[7:47].decode("ascii", "replace")))

    def _tree(self, data: bytes, stack: list[bytes]) -> None:
        known = self.ids
        for mode, oid in _ENTRY.findall(data):
            if oid in known:
                continue
            if mode in _FOLDER:
                stack.append(oid)
            elif mode != _LINK_TO_COMMIT:
                known.add(oid)

    def _commit(self, oid: bytes, data: bytes, stack: list[bytes]) -> None:
        self.commits.add(oid)
        head, _, text = data.partition(b"\n\n")
        for word, name in _NAMED.findall(head):
            named = bytes.fromhex(name.decode())
            if word == b"parent":
                self.commits.add(named)
            stack.append(named)
        for name in _META.findall(text):
            meta = bytes.fromhex(name.decode())
            if self._objects.head(meta) is not None:
                self.metas.add(meta)
                self.ids.add(meta)

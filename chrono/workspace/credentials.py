"""Owns the list of credential-class files in savepoints that are about to leave the machine: by their names.

What counts as one is said by `scan.places`. A secret inside an ordinary file is not seen by this.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from chrono.errors import StoreError
from chrono.scan.places import in_home, is_secret_name
from chrono.store import tree
from chrono.store.names import file_name

if TYPE_CHECKING:
    from chrono.store.exchange import Layered


def credential_files(objects: Layered, tips: Iterable[str], known: Iterable[str] = ()) -> tuple[str, ...]:
    """Paths of credential-class files in the commits that `tips` lead to, without those that `known` are or lead to.

    Raises StoreError for a commit or tree that cannot be read.
    """
    seen = set(known)
    stack = [tip for tip in dict.fromkeys(tips) if tip not in seen]
    trees: set[bytes] = set()
    found: set[bytes] = set()
    while stack:
        commit = stack.pop()
        if commit in seen:
            continue
        seen.add(commit)
        try:
            value = objects.commit(commit)
        except StoreError as error:
            if "not a commit" in error.message:
                continue  # the metadata's tree, which holds no files of the project
            raise
        _look(objects, bytes.fromhex(value.tree), trees, found)
        stack.extend(value.parents)
    return tuple(sorted(map(os.fsdecode, found)))


def _look(objects: Layered, root: bytes, trees: set[bytes], found: set[bytes]) -> None:
    stack = [(b"", root)]
    while stack:
        folder, oid = stack.pop()
        if oid in trees:
            continue
        trees.add(oid)
        for entry in tree.parse(objects.read(oid.hex(), b"tree")):
            name = file_name(entry.name)
            path = folder + b"/" + name if folder else name
            if entry.mode == tree.FOLDER:
                stack.append((path, entry.oid))
            elif entry.mode in (tree.FILE, tree.EXECUTABLE) and _is_credential(path, name):
                found.add(path)


def _is_credential(path: bytes, name: bytes) -> bool:
    return is_secret_name(os.fsdecode(name)) or in_home(os.fsdecode(path)) == "credential"

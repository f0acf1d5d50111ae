"""Claims about counting what a tree unfolds to."""

from __future__ import annotations

from chrono.store import tree
from chrono.store.weight import Weights


def test_a_tree_that_names_its_subtrees_twice_is_counted_without_unfolding_it() -> None:
    blob = tree.object_id(b"blob", b"x")
    trees: dict[bytes, bytes] = {}
    reads: list[bytes] = []

    def keep(*entries: tuple[bytes, int, bytes]) -> bytes:
        data = tree.build(entries)
        trees[tree.object_id(b"tree", data)] = data
        return tree.object_id(b"tree", data)

    def read(oid: bytes) -> bytes:
        reads.append(oid)
        return trees[oid]

    top = keep((b"a", tree.FILE, blob), (b"b", tree.LINK, blob))
    assert Weights(read).entries(top) == 2
    for _ in range(60):
        top = keep((b"a", tree.FOLDER, top), (b"b", tree.FOLDER, top))
    reads.clear()
    assert Weights(read).entries(top) == 2**62 - 2
    assert len(reads) == len(set(reads)) == 61


def test_a_chain_of_folders_is_no_recursion() -> None:
    trees = {tree.EMPTY_TREE: b""}
    top = tree.EMPTY_TREE
    for _ in range(5000):
        data = tree.build([(b"a", tree.FOLDER, top)])
        top = tree.object_id(b"tree", data)
        trees[top] = data
    assert Weights(trees.__getitem__).entries(top) == 5000

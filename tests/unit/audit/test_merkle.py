"""Claims about the tree: RFC 6962 section 2.1, against a plain reading of it."""

from __future__ import annotations

from hashlib import sha256

import pytest

from chrono.audit.merkle import (
    EMPTY_ROOT,
    CompactRange,
    Span,
    consistency_spans,
    inclusion_spans,
    leaf_hash,
    root_of_inclusion,
)
from chrono.audit.proof import roots_of

from .consistency import consistent


def root_by_definition(leaves: list[bytes]) -> bytes:
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + root_by_definition(leaves[:split]) + root_by_definition(leaves[split:])).digest()


def test_the_root_is_that_of_the_definition_at_every_size() -> None:
    tree, leaves = CompactRange(), []
    assert tree.root() == EMPTY_ROOT == root_by_definition([])
    for number in range(130):
        leaves.append(leaf_hash(b"%d" % number))
        tree.add(leaves[-1])
        assert tree.root() == root_by_definition(leaves)
        assert tree.size == number + 1
        assert len(tree.hashes) == (number + 1).bit_count()


def test_roots_are_those_of_the_known_vectors() -> None:
    """The test vectors of certificate transparency."""
    inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]
    tree = CompactRange()
    for text, root in zip(inputs, roots, strict=True):
        tree.add(leaf_hash(bytes.fromhex(text)))
        assert tree.root().hex() == root


def test_a_copy_grows_alone() -> None:
    tree = CompactRange()
    tree.add(leaf_hash(b"a"))
    other = tree.copy()
    other.add(leaf_hash(b"b"))
    assert (tree.size, other.size) == (1, 2)
    assert tree.root() != other.root()


def test_a_range_has_as_many_hashes_as_its_size_has_ones() -> None:
    with pytest.raises(ValueError, match="perfect subtrees"):
        CompactRange(3, [bytes(32)])


def leaf(n: int) -> bytes:
    return leaf_hash(str(n).encode())


def root_of(size: int) -> bytes:
    tree = CompactRange()
    for n in range(size):
        tree.add(leaf(n))
    return tree.root()


def spans_of(spans: tuple[Span, ...]) -> list[bytes]:
    return list(roots_of([leaf(n) for n in range(max((span.end for span in spans), default=0))], spans))


def test_every_leaf_of_every_small_tree_is_proved_and_no_other() -> None:
    for size in range(1, 40):
        root = root_of(size)
        for index in range(size):
            path = spans_of(inclusion_spans(index, size))
            assert root_of_inclusion(index, size, leaf(index), path) == root
            assert root_of_inclusion(index, size, leaf(index + 1), path) != root
            assert root_of_inclusion(index, size, leaf(index), [*path, root]) is None
            assert not path or root_of_inclusion(index, size, leaf(index), path[:-1]) != root
            assert index == 0 or root_of_inclusion(index - 1, size, leaf(index), path) != root
    assert root_of_inclusion(3, 3, leaf(3), []) is None
    with pytest.raises(ValueError, match="no leaf"):
        inclusion_spans(3, 3)


def test_every_small_tree_is_proved_to_be_the_beginning_of_a_larger_one() -> None:
    for size in range(1, 40):
        for old in range(1, size + 1):
            path = spans_of(consistency_spans(old, size))
            assert consistent(old, root_of(old), size, root_of(size), path)
            assert not consistent(old, root_of(old + 1), size, root_of(size), path)
            assert not consistent(old, root_of(old), size, root_of(size + 1), path)
            assert not consistent(old, root_of(old), size, root_of(size), [*path, bytes(32)])
            assert not path or not consistent(old, root_of(old), size, root_of(size), path[1:])
    assert not consistent(0, root_of(0), 3, root_of(3), [])
    with pytest.raises(ValueError, match="beginning"):
        consistency_spans(4, 3)

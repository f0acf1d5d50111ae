"""Claims about the packs together: an object is found wherever it is, what is in none is not, and packs come and go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from chrono.store import packs as packs_module
from chrono.store.disk import Disk
from chrono.store.pack import PackWriter
from chrono.store.packs import Packs
from chrono.store.tree import object_id


def write(folder: Path, texts: list[bytes]) -> tuple[bytes, list[bytes]]:
    """(the common path of a pack and its index, the ids of the blobs in it)"""
    writer = PackWriter(os.fsencode(folder), Disk())
    ids = [object_id(b"blob", text) for text in texts]
    for oid, text in zip(ids, texts, strict=True):
        writer.add(oid, b"blob", text)
    return writer.finish(), ids


@pytest.mark.parametrize("asked_often", [0, 1 << 30])
def test_an_object_is_found_in_whichever_pack_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked_often: int
) -> None:
    monkeypatch.setattr(packs_module, "_ASKED_OFTEN", asked_often)
    monkeypatch.setattr(packs_module, "_SMALL", 20)
    made = [write(tmp_path, [b"%d of %d" % (n, pack) for n in range(size)]) for pack, size in enumerate((5, 40, 20))]
    packs = Packs(os.fsencode(tmp_path))
    for _ in range(3):
        for stem, ids in made:
            for oid in ids:
                found = packs.find(oid)
                assert found is not None and found[0].path == stem + b".idx"
                assert object_id(*found[0].read(found[1])) == oid
        assert packs.find(object_id(b"blob", b"in none")) is None
    packs.close()


def test_packs_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs_module, "_ASKED_OFTEN", 0)
    packs = Packs(os.fsencode(tmp_path))
    first, (one,) = write(tmp_path, [b"first"])
    assert packs.find(one) is not None
    _, (two,) = write(tmp_path, [b"second"])
    assert packs.find(two, listed=True) is None
    assert packs.find(two) is not None
    assert packs.find(one) is not None
    os.unlink(first + b".idx")
    assert packs.find(one) is None
    assert packs.find(two) is not None
    packs.close()
    again = packs.find(two)
    assert again is not None
    assert again[0].read(again[1]) == (b"blob", b"second")
    packs.close()


def test_a_pack_of_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    packs = Packs(os.fsencode(tmp_path))
    write(tmp_path, [b"first"])
    soon = time.time_ns() + 60_000_000_000  # however slow this machine is just now
    os.utime(tmp_path, ns=(soon, soon))
    packs.indexes()
    _, (two,) = write(tmp_path, [b"second"])
    os.utime(tmp_path, ns=(soon, soon))
    assert packs.find(two) is not None
    packs.close()

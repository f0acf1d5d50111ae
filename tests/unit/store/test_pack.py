"""Claims about packs: large files that a remote packed are read in pieces, and damage is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.store.pack import PackIndex, _index

from .conftest import Project


def pack_all(project: Project, *settings: str) -> Path:
    """Everything into one pack by git, as a remote sends it; nothing stays loose."""
    repo = Path(project.layout.repo)
    words = [word for setting in ("core.bigFileThreshold=8m", *settings) for word in ("-c", setting)]
    subprocess.run(
        ["git", f"--git-dir={repo}", *words, "repack", "-a", "-d", "-q", "-f"], check=True, capture_output=True
    )
    project.reopen()
    (pack,) = (repo / "objects" / "pack").glob("*.pack")
    return pack


@pytest.mark.parametrize("data", [os.urandom(9 << 20), b"line\n" * (2 << 20)], ids=["random", "text"])
def test_a_large_file_out_of_a_pack_is_the_same(project: Project, tmp_path: Path, data: bytes) -> None:
    project.write("big", data)
    project.write("small", "x")
    commit = project.save("manual")
    pack_all(project)
    (tmp_path / "out").mkdir()
    project.store.check_out(commit, str(tmp_path / "out"))
    assert (tmp_path / "out" / "big").read_bytes() == data
    oid = bytes.fromhex(project.store._contents(commit).find(b"big").oid)  # type: ignore[union-attr]
    size, pieces = project.store._objects.blob(oid)
    found = list(pieces)
    assert size == len(data) and b"".join(found) == data and max(map(len, found)) <= 1 << 20


def test_a_damaged_large_file_is_noticed(project: Project, tmp_path: Path) -> None:
    project.write("big", os.urandom(9 << 20))
    commit = project.save("manual")
    pack = pack_all(project)
    os.chmod(pack, 0o644)
    with open(pack, "r+b") as file:
        file.seek(5 << 20)
        file.write(b"\0" * 64)
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreError, match="damaged"):
        project.store.check_out(commit, str(tmp_path / "out"))


@pytest.mark.slow
def test_a_large_file_out_of_a_pack_takes_little_memory(project: Project, tmp_path: Path) -> None:
    project.write("big", os.urandom(256 << 20))
    commit = project.save("manual")
    pack_all(project)
    (tmp_path / "out").mkdir()
    script = (
        "import resource, sys\n"
        "from chrono.layout import ProjectLayout\n"
        "from chrono.store.repository import Store\n"
        "store = Store.open(ProjectLayout(sys.argv[1]))\n"
        "store.savepoint(sys.argv[2])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "store.check_out(sys.argv[2], sys.argv[3])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", script, str(project.root), CommitId(commit), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(out.stdout) < 64 << 10  # KiB


ALIKE = st.binary(min_size=19, max_size=19).map(lambda data: b"\x11" + bytes(0x11 + (byte & 1) for byte in data))


@given(st.lists(ALIKE, min_size=1, max_size=200, unique=True), st.lists(ALIKE, max_size=20))
def test_an_id_across_two_others_is_not_taken_for_one(
    tmp_path_factory: pytest.TempPathFactory, held: list[bytes], asked: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("pack") / "pack-x.idx"
    path.write_bytes(_index([(oid, 0, 12 + number) for number, oid in enumerate(held)], bytes(20)))
    index = PackIndex(os.fsencode(path))
    across = [(one + other)[shift : shift + 20] for one, other in pairwise(sorted(held)) for shift in (1, 7)]
    where = {oid: 12 + number for number, oid in enumerate(held)}
    for oid in [*asked, *across[:40], *held[:40]]:
        index._asked = 0  # the whole index would be read as a table otherwise
        assert index.offset(oid) == where.get(oid)
    index.close()

"""Claims about packs: large files that a remote packed are read in pieces, and damage is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chrono.errors import StoreError
from chrono.ids import CommitId

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

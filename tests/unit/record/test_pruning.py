"""Bounds of the store: the oldest goes first, what a plane still waits for last, what is being written never."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.record.cursor import Cursor
from chrono.record.frames import ENVELOPE
from chrono.record.local import StoreWriter
from chrono.record.pruning import Bounds, prune, sync_folder
from chrono.record.storefile import file_names

TRACE = "a" * 32


def written(folder: Path, plane: str | None = None, *, close: bool = True) -> tuple[str, StoreWriter]:
    writer = StoreWriter(str(folder), plane=plane)
    path = writer.append(ENVELOPE, TRACE, {"text": "x" * 1000}).path
    if close:
        writer.close()
    return Path(path).name, writer


def test_a_store_within_its_bounds_is_left_alone(tmp_path: Path) -> None:
    names = [written(tmp_path)[0] for _ in range(3)]
    assert prune(str(tmp_path), Bounds(10_000, 3)).names == ()
    assert file_names(str(tmp_path)) == names


@pytest.mark.parametrize("bounds", [Bounds(3_000, 100), Bounds(1 << 30, 2)])
def test_the_oldest_go_first(tmp_path: Path, bounds: Bounds) -> None:
    names = [written(tmp_path)[0] for _ in range(5)]
    assert prune(str(tmp_path), bounds).names == tuple(names[:3])


def test_what_a_plane_waits_for_goes_last_and_is_counted(tmp_path: Path) -> None:
    waiting, _ = written(tmp_path, "p")
    done, _ = written(tmp_path, "p")
    local, _ = written(tmp_path)
    cursor = Cursor.take(sync_folder(str(tmp_path), "p"), done)
    assert cursor is not None
    cursor.advance((tmp_path / done).stat().st_size)
    cursor.close()
    first = prune(str(tmp_path), Bounds(1 << 30, 1))
    assert (first.names, first.undelivered_bytes) == ((done, local), 0)
    assert not list(tmp_path.rglob("*.cursor"))
    second = prune(str(tmp_path), Bounds(1 << 30, 0))
    assert second.names == (waiting,) and second.undelivered_bytes > 1000


def test_a_file_that_is_being_written_is_never_removed(tmp_path: Path) -> None:
    name, writer = written(tmp_path, close=False)
    assert prune(str(tmp_path), Bounds(0, 0)).names == ()
    writer.close()
    assert prune(str(tmp_path), Bounds(0, 0)).names == (name,)


def test_files_that_came_with_a_trace_go_when_its_records_do(tmp_path: Path) -> None:
    import os

    written(tmp_path)
    files = tmp_path / "files"
    files.mkdir()
    for name, age_s in (("old", 100), ("new", -100)):
        (files / f"{name}.json").write_text("{}")
        then = (tmp_path / file_names(str(tmp_path))[0]).stat().st_mtime - age_s
        os.utime(files / f"{name}.json", (then, then))
    for _ in range(2):
        written(tmp_path)
    assert prune(str(tmp_path), Bounds(1 << 30, 3)).names == () and len(list(files.iterdir())) == 2
    assert len(prune(str(tmp_path), Bounds(1 << 30, 2)).names) == 1
    assert [path.name for path in files.iterdir()] == ["new.json"]
    assert prune(str(tmp_path), Bounds(0, 0)).names and not list(files.iterdir())

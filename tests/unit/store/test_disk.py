"""Claims about syncs that are made at once: none is left out, none is announced late, and an error is not lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.store import disk
from chrono.store.disk import SYNCS_AT_ONCE, Disk


@pytest.fixture
def files(tmp_path: Path) -> Iterator[list[int]]:
    fds = [os.open(tmp_path / f"f{at}", os.O_RDWR | os.O_CREAT) for at in range(3 * SYNCS_AT_ONCE)]
    yield fds
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize("count", [0, 1, 2, SYNCS_AT_ONCE, 3 * SYNCS_AT_ONCE])
def test_each_file_is_synced_once_and_announced_before(
    count: int, files: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    synced: list[int] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        assert len(steps) == count
        real(fd)
        synced.append(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    Disk(lambda step, _: steps.append(step)).fsync_all(files[:count])
    assert sorted(synced) == files[:count] and steps == ["fsync"] * count


def test_an_error_is_raised_when_all_have_ended(files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def fsync(fd: int) -> None:
        if fd == files[5]:
            raise OSError(errno.EIO, "broken")
        synced.append(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="broken"):
        Disk().fsync_all(files)
    assert sorted([*synced, files[5]]) == files


def test_where_no_thread_can_be_started_this_one_syncs_all(files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def fails(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(disk, "start_new_thread", fails)
    monkeypatch.setattr(os, "fsync", synced.append)
    Disk().fsync_all(files)
    assert sorted(synced) == files


def test_folders_are_synced_and_one_that_cannot_be_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [os.fsencode(tmp_path / f"d{at}") for at in range(3)]
    for name in names:
        os.mkdir(name)
    seen: list[str] = []

    def fsync(fd: int) -> None:
        seen.append(os.readlink(f"/proc/self/fd/{fd}"))
        raise OSError(errno.EINVAL, "no sync of folders here")

    monkeypatch.setattr(os, "fsync", fsync)
    Disk().fsync_folders(names)
    assert sorted(seen) == [os.fsdecode(name) for name in names]
    with pytest.raises(FileNotFoundError):
        Disk().fsync_folders([names[0], os.fsencode(tmp_path / "gone")])

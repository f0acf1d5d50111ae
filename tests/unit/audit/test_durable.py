"""Claims about group commit: one sync serves all it covers, and nobody waits for a writer that stands still."""

from __future__ import annotations

import fcntl
import os
import threading
import time

import pytest

from chrono.audit import durable

from .conftest import Ground


def test_a_writer_alone_syncs_once_for_each_record(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin(1)
    synced = counted(monkeypatch)
    ground.command()
    ground.command()
    assert len(synced) == 2
    assert ground.witness().state().acknowledged == 4


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """fdatasync, slow enough that writers meet in it, and the sizes of the log that it was called with."""
    synced: list[int] = []

    def slow(fd: int) -> None:
        synced.append(os.fstat(fd).st_size)
        time.sleep(0.02)

    monkeypatch.setattr(os, "fdatasync", slow)
    return synced


def test_one_sync_acknowledges_all_records_before_it(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin(1)
    synced = counted(monkeypatch)
    logs = [ground.again() for _ in range(8)]
    told: list[int] = []

    def writes(n: int) -> None:
        for _ in range(4):
            receipt = ground.command(log=logs[n])
            assert ground.witness().state().acknowledged >= receipt.size
            told.append(receipt.n)

    threads = [threading.Thread(target=writes, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(2, 34))
    assert len(synced) < 24
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_whoever_stands_still_with_the_turn_holds_up_nobody_for_long(ground: Ground) -> None:
    ground.begin(1)
    held = os.open(ground.place.log, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    start = time.monotonic()
    receipt = ground.command()
    assert durable.PATIENCE_S <= time.monotonic() - start < durable.PATIENCE_S + 2
    assert ground.witness().state().acknowledged == receipt.size
    os.close(held)


def test_a_sync_speaks_for_no_other_file(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was renamed away meanwhile: what others wrote into the new one is not on the disk yet."""
    log = ground.begin(1)
    fd = os.open(ground.place.log, os.O_RDWR)
    ground.command()
    before = ground.witness().state().acknowledged
    mark = ground.witness().state().mark
    assert mark is not None
    os.rename(ground.place.log, ground.place.log + ".aside")
    open(ground.place.log, "wb").close()
    witness = ground.witness()
    witness.appended(mark._replace(size=9))
    durable.settle(fd, ground.place.log, before, witness, lambda _: None)
    assert ground.witness().state().acknowledged == before
    os.close(fd)
    log.close()

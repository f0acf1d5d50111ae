"""Claims about group commit: one sync serves all it covers, and nobody waits for a writer that stands still."""

from __future__ import annotations

import fcntl
import os
import threading
import time

import pytest

from chrono.audit import durable
from chrono.files import lock_in_line
from tests.waiting import LONG_S, until

from .conftest import Ground


def test_a_writer_alone_syncs_once_for_each_record(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin(1)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    ground.command()
    ground.command()
    assert len(synced) == 2
    assert ground.witness().state().acknowledged == 4


def test_one_sync_acknowledges_all_records_before_it(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.begin(1)
    monkeypatch.setattr(durable, "PATIENCE_S", LONG_S)
    synced: list[int] = []

    def after_all_have_written(fd: int) -> None:
        synced.append(len(ground.lines()))
        until(lambda: len(ground.lines()) == 2 + 8)

    monkeypatch.setattr(os, "fdatasync", after_all_have_written)
    logs = [ground.again() for _ in range(8)]
    told: list[int] = []

    def writes(n: int) -> None:
        receipt = ground.command(log=logs[n])
        assert ground.witness().state().acknowledged >= receipt.size
        told.append(receipt.n)

    threads = [threading.Thread(target=writes, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(2, 10))
    assert len(synced) <= 2  # the first writer's own, and one for all that wrote meanwhile
    assert ground.verify(full=True, strict=True).exit_code == 0


def test_whoever_stands_still_with_the_turn_holds_up_nobody_for_long(ground: Ground) -> None:
    ground.begin(1)
    held = os.open(ground.place.log, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    start = time.monotonic()
    receipt = ground.command()
    assert time.monotonic() - start >= durable.PATIENCE_S  # and then it has not waited for the turn, which never comes
    assert ground.witness().state().acknowledged == receipt.size
    os.close(held)


@pytest.mark.parametrize(("others", "syncs"), [(3, 0), (2, 1)])
def test_whoever_hears_of_syncs_waits_for_the_one_that_covers_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, others: int, syncs: int
) -> None:
    """Else a slow disk that serves one sync at a time would be asked by all at once, and never again by one for all."""
    ground.begin(1)
    first = ground.witness().state().acknowledged
    fd, held = os.open(ground.place.log, os.O_RDWR), os.open(ground.place.log, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    heard: list[int] = []

    def too_slow(fd: int, deadline: float, path: str, *, shared: bool) -> bool:
        if len(heard) < others:
            heard.append(first + 1 + len(heard))
            ground.witness().acknowledged(heard[-1])
        return False

    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    monkeypatch.setattr(durable, "lock_in_line", too_slow)
    witness = ground.witness()
    witness.state()
    durable.settle(fd, ground.place.log, first + 3, witness, lambda _: None)
    assert (len(heard), len(synced)) == (others, syncs)
    assert ground.witness().state().acknowledged == first + 3
    os.close(fd)
    os.close(held)


def test_a_sync_speaks_for_no_other_file(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was renamed away meanwhile: what others wrote into the new one is not on the disk yet."""
    ground.begin(1)
    fd, held = os.open(ground.place.log, os.O_RDWR), os.open(ground.place.log, os.O_RDONLY)
    ground.command()
    before, mark, witness = ground.witness().state().acknowledged, ground.witness().state().mark, ground.witness()
    assert mark is not None
    fcntl.flock(held, fcntl.LOCK_EX)

    def replaced_while_waiting(fd: int, deadline: float, path: str, *, shared: bool) -> bool:
        fcntl.flock(held, fcntl.LOCK_UN)
        has = lock_in_line(fd, deadline, path, shared=shared)
        os.rename(path, path + ".aside")
        open(path, "wb").close()
        witness.appended(mark._replace(size=9))
        return has

    monkeypatch.setattr(durable, "lock_in_line", replaced_while_waiting)
    durable.settle(fd, ground.place.log, before + 1, witness, lambda _: None)
    assert ground.witness().state().acknowledged == before + 1
    os.close(fd)
    os.close(held)

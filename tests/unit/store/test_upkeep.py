"""Claims about packing and pruning: nothing that a ref leads to is lost, what nothing leads to goes, at every crash."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store import upkeep
from chrono.store.disk import Disk
from chrono.store.repository import Store
from tests.waiting import LONG_S

from .conftest import Project, save_locked
from .test_crash import Volatile, fsck, kills


class _Any(frozenset[CommitId]):
    """Every commit may go."""

    def __rsub__(self, other: object) -> frozenset[CommitId]:
        return frozenset()


ANY = _Any()


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    return make_project("project", Volatile())


def fill(project: Project, saves: int) -> list[CommitId]:
    """`saves` savepoints, each with another version of two files, and one with a private mode."""
    chance = random.Random(5)
    body = [f"line {chance.random()}" for _ in range(200)]
    commits = []
    for number in range(saves):
        body[chance.randrange(200)] = f"changed {number}"
        project.write("src/a.txt", "\n".join(body))
        project.write(f"src/deep/{number % 7}.txt", f"{number}\n" * 20, 0o640 if number % 5 == 0 else 0o644)
        commits.append(project.save("manual" if number % 10 == 0 else "auto"))
    return commits


def loose(store: Store) -> list[str]:
    found = []
    objects = os.path.join(store.layout.repo, "objects")
    for first in os.listdir(objects):
        if len(first) == 2:
            found += [first + name for name in os.listdir(os.path.join(objects, first))]
    return found


def packs(store: Store) -> list[str]:
    return sorted(os.listdir(os.path.join(store.layout.repo, "objects", "pack")))


def make_old(store: Store, seconds: float = 7200) -> None:
    then = time.time() - seconds
    for folder, _, names in os.walk(os.path.join(store.layout.repo, "objects")):
        for name in names:
            os.utime(os.path.join(folder, name), (then, then))


def contents(store: Store) -> dict[str, tuple[bytes, bytes]]:
    return {found.id: (store.read(found.id, "src/a.txt"), store.raw_commit(found.id)) for found in store.history()}


def auto_refs(store: Store, count: int) -> dict[str, CommitId]:
    return dict(store.refs("refs/chrono/auto/")[:count])


def test_loose_objects_become_two_packs_and_all_is_read(project: Project) -> None:
    fill(project, 30)
    before = contents(project.store)
    assert len(loose(project.store)) > 100
    assert project.store.upkeep.pack_loose(5) > 100
    assert loose(project.store) == []
    assert len([name for name in packs(project.store) if name.endswith(".pack")]) == 2
    assert contents(project.store) == before
    assert contents(project.reopen()) == before
    fsck(project.store)


def test_a_resident_store_reads_on_while_another_packs(project: Project) -> None:
    commits = fill(project, 12)
    resident = Store.open(project.layout)
    before = contents(resident)
    project.store.upkeep.pack_loose(5)
    assert contents(resident) == before
    fill(project, 3)
    project.store.upkeep.pack_loose(5)
    project.store.upkeep.join_packs(5)
    assert resident.raw_commit(commits[0]) == before[commits[0]][1]
    assert set(contents(resident)) >= set(before)


def test_large_files_stay_loose_so_that_they_are_streamed(project: Project) -> None:
    project.write("src/a.txt", "x")
    project.write("zeros", bytes(9 << 20))
    project.write("noise", os.urandom(9 << 20))
    project.save()
    project.store.upkeep.pack_loose(5)
    assert len(loose(project.store)) == 2


def test_packing_refs_keeps_every_savepoint_and_its_number(project: Project) -> None:
    fill(project, 30)
    before = project.store.refs("refs/chrono/")
    resident = Store.open(project.layout)
    assert project.store.upkeep.pack_refs(5) == 27
    assert os.listdir(os.path.join(project.layout.repo, "refs/chrono/auto")) == []
    assert project.store.refs("refs/chrono/") == before
    assert resident.refs("refs/chrono/") == before
    number = project.store.next_auto_ref()
    project.write("src/a.txt", "after")
    project.save()
    assert project.store.refs("refs/chrono/auto/")[-1][0] == number
    fsck(project.store)


def test_removed_savepoints_leave_the_disk_and_the_rest_stays_whole(project: Project) -> None:
    fill(project, 40)
    store = project.store
    refs = auto_refs(store, 20)
    before = contents(store)
    promised = store.upkeep.unreachable_without(refs, ())
    gone = promised.commits
    assert gone == frozenset(refs.values())
    assert promised.now.objects == 0 and promised.later.objects > 40
    with store.lock(5):
        assert store.remove_refs(refs) == 20
    assert store.upkeep.collect(5, removable=ANY).objects == 0  # younger than an hour
    make_old(store)
    promised = store.upkeep.unreachable_without((), ())
    freed = store.upkeep.collect(5, removable=ANY)
    assert freed == promised.now and freed.objects > 40
    assert promised.later.objects == 0
    assert contents(store) == {commit: both for commit, both in before.items() if commit not in gone}
    for commit in gone:
        assert store._objects.head(bytes.fromhex(commit)) is None
    fsck(store)


def test_packed_objects_that_nothing_leads_to_go_with_their_pack(project: Project) -> None:
    fill(project, 40)
    store = project.store
    store.upkeep.pack_loose(5)
    store.upkeep.pack_refs(5)
    make_old(store)
    refs = auto_refs(store, 30)
    with store.lock(5):
        store.remove_refs(refs)
    before = contents(store)
    old = packs(store)
    freed = store.upkeep.collect(5, removable=ANY)
    assert freed.objects > 60 and freed.size_bytes > 0
    assert not set(old) & set(packs(store))
    assert contents(store) == before
    assert contents(project.reopen()) == before
    fsck(store)


def test_metadata_of_savepoints_that_went_goes_too(project: Project) -> None:
    fill(project, 30)
    store = project.store
    kept = {store.content(found.id).meta for found in store.history()} - {None}
    assert len(kept) > 1
    with store.lock(5):
        store.remove_refs(dict(store.refs("refs/chrono/auto/")[:-1]))
    make_old(store)
    store.upkeep.collect(5, removable=ANY)
    left = {store.content(found.id).meta for found in store.history()} - {None}
    assert left < kept
    for meta in kept:
        assert (store._objects.head(bytes.fromhex(str(meta))) is not None) == (meta in left)
    fsck(store)


def test_an_object_that_is_used_again_is_spared(project: Project) -> None:
    project.write("src/a.txt", "first")
    commit = project.save()
    project.write("src/a.txt", "second")
    project.save()
    store = project.store
    make_old(store)
    with store.lock(5):
        store.remove_refs({"refs/chrono/auto/1": commit})
    project.write("src/a.txt", "first")  # the same blob again
    with store.lock(5):
        store.capture()
    store.upkeep.collect(5, removable=ANY)
    again = project.save()
    assert store.read(again, "src/a.txt") == b"first"
    fsck(store)


def test_a_damaged_store_loses_nothing_more(project: Project) -> None:
    fill(project, 12)
    store = project.store
    tree = store.content(store.refs("refs/chrono/auto/")[3][1]).tree
    os.unlink(os.path.join(project.layout.repo, "objects", tree[:2], tree[2:]))
    make_old(store)
    with store.lock(5):
        store.remove_refs(auto_refs(store, 1))
    before = loose(store)
    with pytest.raises(StoreError, match="lacks object"):
        project.reopen().upkeep.collect(5, removable=ANY)
    assert loose(store) == before


def test_packing_without_room_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(project, 12)
    before = loose(project.store)
    full = os.statvfs_result((4096, 4096, 10, 0, 0, 10, 10, 10, 0, 255))
    monkeypatch.setattr(upkeep.os, "statvfs", lambda path: full)
    with pytest.raises(StoreError, match="are free"):
        project.store.upkeep.pack_loose(5)
    assert sorted(loose(project.store)) == sorted(before)


def test_a_stat_cache_of_a_savepoint_that_went_is_not_believed(project: Project) -> None:
    """Its ids would stand for objects that are no longer there."""
    project.write("src/a.txt", "only here")
    commit = project.save()
    store = project.store
    resident = Store.open(project.layout)
    with resident.lock(5):
        capture = resident.capture()
        resident.remember(capture, commit)
    make_old(store)
    with store.lock(5):
        store.remove_refs({"refs/chrono/auto/1": commit})
    store.upkeep.collect(5, removable=ANY)
    with resident.lock(5):
        again, _ = save_locked(resident)
    assert resident.read(again, "src/a.txt") == b"only here"
    fsck(store)


def test_what_is_held_is_told(project: Project) -> None:
    fill(project, 12)
    held = project.store.upkeep.holdings()
    assert held.loose_count == len(loose(project.store)) and held.pack_count == 0
    project.store.upkeep.pack_loose(5)
    after = project.store.upkeep.holdings()
    assert (after.loose_count, after.pack_count, after.packed_count) == (0, 2, held.loose_count)
    done = subprocess.run(["du", "-s", "-B1", project.layout.repo], capture_output=True, text=True, check=True)
    assert 0 <= int(done.stdout.split()[0]) - after.total_bytes < 2_000_000  # folders, which du counts too


class Aged:
    """A store with packs and loose objects, part of which nothing leads to, all old."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.project = Project(self.folder, Volatile())
        fill(self.project, 14)
        store = self.project.store
        store.upkeep.pack_loose(5)
        fill(self.project, 6)
        make_old(store)
        self.refs = auto_refs(store, 9)
        self.kept = {commit: both for commit, both in contents(store).items() if commit not in self.refs.values()}
        self.saved = folder / "saved"
        subprocess.run(["cp", "-a", str(self.folder), str(self.saved)], check=True)

    def reset(self) -> ProjectLayout:
        shutil.rmtree(self.folder)
        subprocess.run(["cp", "-a", str(self.saved), str(self.folder)], check=True)
        return self.project.layout

    def tidy(self, disk: Disk) -> None:
        store = Store.open(self.project.layout, disk=disk)
        store.upkeep.pack_loose(5)
        store.upkeep.pack_refs(5)
        with store.lock(5):
            store.remove_refs(self.refs)
        store.upkeep.collect(5, removable=ANY, older_than_s=0)


def check_killed(tmp_path: Path, every: int) -> None:
    aged = Aged(tmp_path)
    step = 0
    for step in kills(aged.tidy, aged.reset, first=1, every=every):
        store = Store.open(aged.project.layout)
        found = contents(store)
        assert {commit: found[commit] for commit in aged.kept} == aged.kept, step
        if step % 4 == 0:
            fsck(store)
        aged.tidy(Volatile())
        assert contents(store) == aged.kept, step
    assert step > 30
    assert contents(Store.open(aged.project.layout)) == aged.kept
    fsck(Store.open(aged.project.layout))


def test_upkeep_killed_at_a_step_loses_nothing_and_ends_the_next_time(tmp_path: Path) -> None:
    check_killed(tmp_path, 29)


@pytest.mark.slow
def test_upkeep_killed_at_any_step_loses_nothing_and_ends_the_next_time(tmp_path: Path) -> None:
    check_killed(tmp_path, 1)


def test_a_commit_that_nobody_named_stays(project: Project) -> None:
    """The audit log must have said that it goes."""
    fill(project, 12)
    store = project.store
    refs = auto_refs(store, 2)
    named, unnamed = refs.values()
    with store.lock(5):
        store.remove_refs(refs)
    make_old(store)
    store.upkeep.collect(5, removable=frozenset((named,)))
    assert store._objects.head(bytes.fromhex(named)) is None
    assert store.read(unnamed, "src/deep/2.txt") == b"2\n" * 20


def test_what_is_promised_is_what_goes_whatever_it_shares(project: Project) -> None:
    """In a pack with much that stays nothing goes now; loose, young and metadata are told apart, too."""
    fill(project, 60)
    store = project.store
    store.upkeep.pack_loose(5)
    fill(project, 5)
    make_old(store)
    for count in (1, 1, 20, 3):
        refs = auto_refs(store, count)
        promised = store.upkeep.unreachable_without(refs, ())
        with store.lock(5):
            store.remove_refs(refs)
        assert store.upkeep.collect(5, removable=ANY) == promised.now
        again = store.upkeep.unreachable_without((), ())
        assert again.now.objects == 0
        assert store.upkeep.collect(5, removable=ANY).objects == 0
    fsck(store)


def test_a_pack_that_holds_the_list_of_metadata_can_be_made_anew(project: Project) -> None:
    fill(project, 30)
    store = project.store
    store.upkeep.pack_loose(5)
    make_old(store)
    refs = auto_refs(store, 25)
    last = {store.content(commit).meta: name for name, commit in refs.items()}
    metas = store._refs.read("refs/chrono/meta")
    with store.lock(5):
        assert store.remove_refs({name: refs[name] for name in set(refs) - set(last.values())}) > 10
    promised = store.upkeep.unreachable_without((), ())
    assert store.upkeep.collect(5, removable=ANY) == promised.now
    assert promised.now.objects > 30 and promised.later.objects == 0
    assert store._refs.read("refs/chrono/meta") == metas
    fsck(store)


class Waits:
    """A store lock that keeps how long its holder worked in it (processor time), and how long it left it alone."""

    def __init__(self, store: Store) -> None:
        self._lock = store.lock
        self.held: list[float] = []
        self.free: list[float] = []
        self._ended = 0.0

    @contextmanager
    def __call__(self, timeout_s: float) -> Iterator[None]:
        with self._lock(timeout_s):
            if self._ended:
                self.free.append(time.monotonic() - self._ended)
            began = time.thread_time()
            yield
            self.held.append(time.thread_time() - began)
            self._ended = time.monotonic()


def test_a_writer_never_waits_long_for_packing(project: Project) -> None:
    """It gets its turn between two turns of the packer, and each of those is short."""
    fill(project, 40)
    folder = os.path.join(project.layout.repo, "objects")
    for number in range(2500):
        data = zlib.compress(b"blob 6\0%06d" % number)
        oid = hashlib.sha1(b"blob 6\0%06d" % number).hexdigest()
        Path(folder, oid[:2]).mkdir(exist_ok=True)
        Path(folder, oid[:2], oid[2:]).write_bytes(data)
    taken, done = 0, threading.Event()
    writer = Store.open(project.layout, disk=Volatile())

    def save_all_the_time() -> None:
        nonlocal taken
        while not done.is_set():
            with writer.lock(LONG_S):
                taken += 1
            time.sleep(0.005)

    thread = threading.Thread(target=save_all_the_time)
    thread.start()
    keep = project.store.upkeep
    keep._lock = turns = Waits(project.store)
    try:
        assert keep.pack_loose(LONG_S) > 2500
    finally:
        done.set()
        thread.join()
    assert len(turns.held) > 1 and min(turns.free) > 0.04 and taken > 1
    assert sorted(turns.held)[len(turns.held) // 2] < 0.2

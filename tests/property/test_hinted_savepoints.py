"""Property: whatever happens between two savepoints, and while one is taken, a hinted one holds what a full scan finds.

Rounds of random edits, renames of folders, new folders filled at once, links, modes, deletions and floods; a second
thread goes on while the savepoint is taken, and the next savepoint must hold what it did.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from chrono.layout import ProjectLayout
from chrono.store.disk import Disk
from chrono.store.memory import read_rules
from chrono.store.mounts import is_watchable
from chrono.store.objects import HashOnly
from chrono.store.repository import Store
from chrono.store.scanning import Scan
from chrono.store.statcache import Folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

NAMES = ("a", "b", "c", "deep", "e f", "x.py")


class Hasty(Disk):
    """Nobody cuts the power here, and waiting for the disk is most of what a savepoint takes."""

    def fsync(self, fd: int) -> None: ...

    def fsync_folder(self, name: bytes) -> None: ...

    def fsync_all(self, fds: Sequence[int]) -> None: ...

    def fsync_folders(self, names: Sequence[bytes]) -> None: ...


class Chaos:
    """Random changes below `root`; what is impossible just now is passed over."""

    def __init__(self, root: str, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)

    def folders(self) -> list[str]:
        found = [self.root]
        for place, names, _ in os.walk(self.root):
            names[:] = [name for name in names if name != ".chrono"]
            found += [os.path.join(place, name) for name in names if not os.path.islink(os.path.join(place, name))]
        return found

    def place(self) -> str:
        return os.path.join(self.chance.choice(self.folders()), self.chance.choice(NAMES))

    def act(self) -> None:
        try:
            self.chance.choice((self.edit, self.edit, self.edit, self.quietly, self.move, self.grow, self.remove,
                                self.link, self.mode, self.swap))()  # fmt: skip
        except OSError:
            pass

    def edit(self) -> None:
        with open(self.place(), "w") as file:
            file.write(str(self.chance.random()))

    def quietly(self) -> None:
        """Other bytes of the same length, and the old time."""
        path = self.place()
        before = os.lstat(path)
        with open(path, "r+b") as file:
            file.write(b"%d" % self.chance.randrange(10))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def move(self) -> None:
        os.rename(self.place(), self.place())

    def grow(self) -> None:
        """A folder in a folder, with a file in it, before anybody can watch it."""
        place = self.place()
        os.makedirs(os.path.join(place, "in", "side"))
        with open(os.path.join(place, "in", "side", "file"), "w") as file:
            file.write(str(self.chance.random()))

    def remove(self) -> None:
        place = self.place()
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        else:
            os.unlink(place)

    def link(self) -> None:
        """A link where something was, also a folder."""
        place, aside = self.place(), self.place()
        if os.path.lexists(place):
            os.rename(place, aside)
        Path(place).symlink_to(self.chance.choice((aside, "nowhere", "..")))

    def mode(self) -> None:
        place = self.place()
        os.chmod(place, self.chance.choice((0o700, 0o755)) if os.path.isdir(place) else 0o640)

    def swap(self) -> None:
        first, second = self.place(), self.place()
        if not os.path.isdir(first) or not os.path.isdir(second):
            return
        aside = os.path.join(self.root, "aside")
        os.rename(first, aside)
        os.rename(second, first)
        os.rename(aside, second)


def truth(layout: ProjectLayout) -> str:
    root = os.fsencode(layout.root)
    return Scan(root, Folder(b"", None), read_rules(layout), HashOnly(), 1 << 62).run().tree.hex()


def save(store: Store) -> tuple[str, bool]:
    """(the tree, whether it was hinted)"""
    with store.lock(10):
        capture = store.capture(hinted=True)
        commit = store.write_commit(
            capture, parents=(), message="m", trailers=(("Chrono-Kind", "auto"),), at_ns=time.time_ns(), author="a"
        )
        store.move_ref(store.next_auto_ref(), None, commit)
        store.remember(capture, commit)
    return str(capture.tree), not capture.full


@pytest.fixture
def root(tmp_path: Path) -> Iterator[str]:
    place = os.path.realpath(tmp_path / "project")
    os.mkdir(place)
    if not is_watchable(os.fsencode(place)):
        pytest.skip("no file system here that tells of every change")
    yield place


def rounds(root: str, seed: int, count: int) -> int:
    """How many of `count` savepoints were hinted ones; each holds what the disk does."""
    chaos, beside = Chaos(root, seed), Chaos(root, -seed - 1)
    for _ in range(40):
        chaos.act()
    layout = ProjectLayout(root)
    store = Store.create(layout, disk=Hasty())
    hints = store.use_hints()
    hinted = 0
    for number in range(count):
        for _ in range(chaos.chance.choice((0, 1, 1, 3, 12))):
            chaos.act()
        if number % 3 == 0:
            working = threading.Thread(target=lambda: [beside.act() for _ in range(15)])
            working.start()
            save(store)  # of a project in motion: nobody can say what it should hold
            hints.check()
            working.join()
        tree, was_hinted = save(store)
        assert tree == truth(layout), f"seed {seed}, round {number}, hinted {was_hinted}"
        hinted += was_hinted
        if chaos.chance.random() < 0.7:
            found = hints.check()
            assert found.missed == (), f"seed {seed}, round {number}"
        if chaos.chance.random() < 0.3:
            time.sleep(0.025)  # older than the racy window: now the stat keys are believed
    assert not hints.stopped
    hints.close()
    return hinted


@pytest.mark.parametrize("seed", range(4))
def test_a_hinted_savepoint_holds_what_a_full_scan_finds(root: str, seed: int) -> None:
    assert rounds(root, seed, 40) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_hinted_savepoints_hold_what_a_full_scan_finds(root: str, seed: int) -> None:
    assert rounds(root, seed, 150) > 50

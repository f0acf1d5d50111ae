"""Claims about hints: what is saved with them is what a full scan saves, and in any doubt there are none."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chrono.store import hints as hints_module
from chrono.store.hints import Hints
from chrono.store.memory import read_rules
from chrono.store.mounts import is_watchable
from chrono.store.objects import HashOnly
from chrono.store.scanning import Found, Scan
from chrono.store.statcache import Folder

from .conftest import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SETTLED_S = 0.03
"""Longer than the racy window."""


class Watched:
    """A project whose hints are in use."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.hints: Hints = project.store.use_hints()

    def save(self, *, hinted: bool = True) -> bool:
        """Whether the savepoint was a hinted one; its tree must be what the disk holds."""
        store = self.project.store
        truth = self.truth()
        tree = truth.tree.hex()
        with store.lock(5):
            capture = store.capture(hinted=hinted)
            commit = store.write_commit(
                capture, parents=(), message="m", trailers=(("Chrono-Kind", "auto"),), at_ns=time.time_ns(), author="a"
            )
            store.move_ref(store.next_auto_ref(), None, commit)
            store.remember(capture, commit)
        assert str(capture.tree) == tree
        assert store.content(commit).tree == tree
        assert capture.meta == (truth.meta.hex() if truth.meta is not None else None)
        assert capture[2:6] == (truth.skips, truth.excluded, truth.live, truth.file_count)
        return not capture.full

    def truth(self) -> Found:
        """What a scan finds that knows nothing from before and reads every file."""
        root = os.fsencode(self.project.root)
        return Scan(root, Folder(b"", None), read_rules(self.project.layout), HashOnly(), 1 << 62).run()

    def prove(self) -> None:
        assert self.hints.check().done
        assert not self.hints.stopped

    def settle(self) -> None:
        """Hinted, and nothing left that must be looked at again."""
        time.sleep(SETTLED_S)
        self.save(hinted=False)
        self.prove()
        assert self.save()
        self.prove()


@pytest.fixture
def watched(project: Project) -> Iterator[Watched]:
    if not is_watchable(os.fsencode(os.path.realpath(project.root))):
        pytest.skip("no file system here that tells of every change")
    for number in range(24):
        project.write(f"d{number % 3}/e{number % 4}/f{number}", str(number))
    project.write("top", "top")
    made = Watched(project)
    made.settle()
    yield made
    made.hints.close()


def test_the_first_savepoint_looks_at_everything(project: Project) -> None:
    project.write("a", "1")
    made = Watched(project)
    assert not made.save()
    assert not made.save()  # nobody has checked yet that the watches were there before the scan
    made.prove()
    assert made.save()
    made.hints.close()


def test_a_savepoint_that_may_not_be_hinted_looks_at_everything(watched: Watched) -> None:
    assert not watched.save(hinted=False)


def test_only_folders_with_a_notice_are_asked_about(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    plain = hints_module.ask
    monkeypatch.setattr(
        hints_module, "ask", lambda root, folders: asked.extend(f.path for f in folders) or plain(root, folders)
    )
    watched.project.write("d1/e1/f1", "changed")
    assert watched.save()
    assert asked == [b"d1/e1"]


def _rename_over(watched: Watched) -> None:
    root = watched.project.path
    os.rename(root("d0"), root("kept"))
    os.rename(root("d1"), root("d0"))


def _swap_deep(watched: Watched) -> None:
    """Two folders change places: none of the files below is touched, nor any folder above but the root."""
    root = watched.project.path
    for old, new in (("d0", "x"), ("d1", "d0"), ("x", "d1")):
        os.rename(root(old), root(new))


def _new_folders(watched: Watched) -> None:
    watched.project.write("n/o/p/q", "deep")
    watched.project.write("d0/n/o", "1")


def _leave(watched: Watched) -> None:
    outside = os.path.join(os.path.dirname(watched.project.root), "outside")
    os.rename(watched.project.path("d2"), outside)
    with open(os.path.join(outside, "e1", "late"), "w") as file:
        file.write("not ours any more")


def _link_for_folder(watched: Watched) -> None:
    root = watched.project.path
    os.rename(root("d0/e0"), root("d1/moved"))
    Path(root("d0/e0")).symlink_to("../d1/moved")
    watched.project.write("d1/moved/f0", "through the new name")


def _remake(watched: Watched) -> None:
    import shutil

    shutil.rmtree(watched.project.path("d1"))
    watched.project.write("d1/e1/f1", "again")


CHANGES: dict[str, Callable[[Watched], object]] = {
    "written": lambda w: w.project.write("d0/e0/f0", "x"),
    "same size and time": lambda w: _quietly(w.project.path("d0/e0/f0")),
    "shortened": lambda w: os.truncate(w.project.path("top"), 1),
    "removed": lambda w: os.unlink(w.project.path("d0/e0/f0")),
    "renamed": lambda w: os.rename(w.project.path("d0/e0/f0"), w.project.path("d1/e1/f0")),
    "mode": lambda w: os.chmod(w.project.path("d0/e0/f0"), 0o600),
    "mode of a folder": lambda w: os.chmod(w.project.path("d0/e0"), 0o700),
    "a link": lambda w: Path(w.project.path("link")).symlink_to("top"),
    "a link instead of a folder": _link_for_folder,
    "a folder renamed over another's name": _rename_over,
    "folders swapped": _swap_deep,
    "new folders": _new_folders,
    "an empty folder": lambda w: os.mkdir(w.project.path("d0/empty")),
    "a folder made anew": _remake,
    "a folder that leaves": _leave,
    "what is left out": lambda w: w.project.write("node_modules/a/b", "1"),
    "another project inside": lambda w: os.makedirs(w.project.path("d0/e0/.chrono/repo.git")),
    "other rules": lambda w: w.project.write(".chronoignore", "d0/\n"),
}


def _quietly(path: str) -> None:
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"Z")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_saved(watched: Watched, name: str) -> None:
    CHANGES[name](watched)
    watched.save()
    time.sleep(SETTLED_S)
    watched.project.write("d1/e2/after", "and what follows")
    watched.save()
    watched.prove()
    watched.project.write("d1/e2/after", "and still")
    assert watched.save()


def test_nothing_is_listed_where_nothing_happened(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scan, "run", lambda self: pytest.fail("a scan"))
    store = watched.project.store
    with store.lock(5):
        capture = store.capture(hinted=True)
        store.remember(capture, store.refs("refs/chrono/auto/")[-1][1])
    assert not capture.full
    assert capture.changed_count == 0
    assert capture.file_count == 25


def test_a_heavy_folder_is_looked_at_each_time(watched: Watched) -> None:
    watched.project.write("built/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55")
    watched.save()
    watched.settle()
    os.unlink(watched.project.path("built/CACHEDIR.TAG"))
    watched.project.write("built/now/source", "1")
    assert watched.save()


def test_an_overflow_means_a_full_scan(watched: Watched) -> None:
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        limit = int(file.read())
    if limit > 100_000:
        pytest.skip("the queue is too long to be filled here")
    for number in range(limit // 2 + 10):
        os.utime(watched.project.path(("top", "d0/e0/f0")[number % 2]))
        os.chmod(watched.project.path("d1/e1/f1"), 0o600 + number % 2)
    watched.project.write("d2/e2/f2", "after the queue was full")
    assert not watched.save()
    watched.prove()
    assert watched.save()


def test_a_file_with_two_names_ends_hints_while_it_is_there(watched: Watched) -> None:
    outside = os.path.join(os.path.dirname(watched.project.root), "other-name")
    os.link(watched.project.path("top"), outside)
    watched.hints.check()
    with open(outside, "w") as file:
        file.write("written where nobody watches")
    assert not watched.save()
    os.unlink(outside)
    watched.save(hinted=False)
    watched.prove()
    assert watched.save()


def test_a_missed_change_is_named_and_ends_hints(watched: Watched) -> None:
    assert watched.hints._inotify is not None
    watched.hints._inotify.unwatch(watched.hints._watches[b"d0/e0"])
    watched.hints._paths.clear()  # as if the kernel had never told
    watched.hints._sort = lambda events: bool(list(events)) or True  # type: ignore[method-assign]
    watched.project.write("d0/e0/f0", "unseen")
    assert watched.hints.check().missed == (b"d0/e0",)
    assert watched.hints.stopped
    assert not watched.save()


def test_a_project_that_moved_is_not_believed(watched: Watched) -> None:
    root = str(watched.project.root)
    os.rename(root, root + "-away")
    os.rename(root + "-away", root)
    assert not watched.save()


def test_no_more_than_its_share_of_watches_is_taken(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints_module, "_most_watches", lambda: 10)
    os.mkdir(watched.project.path("one-more"))
    watched.save()
    assert watched.hints.stopped
    assert not watched.save()


def test_hints_need_a_check_every_few_savepoints(watched: Watched) -> None:
    outcomes = [watched.save() for _ in range(hints_module.UNCHECKED_AT_MOST + 2)]
    assert outcomes.count(False) >= 1
    watched.prove()
    assert watched.save()


def test_another_process_that_saved_means_a_full_scan(watched: Watched) -> None:
    watched.project.write("top", "by another")
    time.sleep(SETTLED_S)
    from chrono.store.repository import Store

    watched.project.store, mine = Store.open(watched.project.layout), watched.project.store
    watched.project.save()
    watched.project.store = mine
    assert not watched.save()


def test_a_folder_that_is_closed_is_no_missed_change(watched: Watched) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is closed to root")
    os.chmod(watched.project.path("d0"), 0)
    try:
        assert watched.hints.check().missed == ()
    finally:
        os.chmod(watched.project.path("d0"), 0o755)

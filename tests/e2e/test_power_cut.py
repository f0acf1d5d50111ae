"""Claims about a power cut: whatever of the unsynced writes of a call reached the disk, what was answered still holds.

`Cable` notes at each sync what is certainly on the disk (the content of a synced file, the names of a synced folder)
and what merely is in memory. A cut keeps the first and of the second nothing, only names, only contents, or some of
both by chance; a file whose content was lost is empty, one that grew may be cut in the middle.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from chrono.agents.claude_code import ADAPTER
from chrono.audit import append, verify
from chrono.guard.caller import Caller
from chrono.guard.engine import answer
from chrono.guard.resources import Resources
from chrono.ids import CommitId
from chrono.workspace import history
from chrono.workspace import verify as whole
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save

Names = dict[str, int]
Content = bytes | Names
"""Of a file, or of a folder: inodes by name."""

SECTOR_BYTES = 512
"""A new file that is no longer than that is there as a whole or is empty."""


class Cut(NamedTuple):
    """A moment: what is certain, what is in memory, the savepoints of calls that were answered."""

    certain: dict[int, Content]
    memory: dict[int, Content]
    answered: tuple[str, ...]


class Cable:
    """Watches the folders `tops` while syncs happen in this process."""

    def __init__(self, tops: tuple[Path, ...]) -> None:
        self.tops = tops
        self.answered: tuple[str, ...] = ()
        self.cuts: list[Cut] = []
        self._held: dict[int, int] = {}
        self._guard = threading.Lock()
        self._certain = self._look()

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)

    def note(self) -> None:
        """The power may go now."""
        with self._guard:
            self.cuts.append(Cut(dict(self._certain), self._look(), self.answered))

    def synced(self, fd: int) -> None:
        self.note()
        with self._guard:
            self._certain[os.fstat(fd).st_ino] = _content(f"/proc/self/fd/{fd}")

    def _look(self) -> dict[int, Content]:
        found: dict[int, Content] = {}
        for top in self.tops:
            for folder, _, files in os.walk(top):
                for path in [folder, *(os.path.join(folder, name) for name in files)]:
                    try:
                        inode = os.stat(path).st_ino
                        found[inode] = _content(path)
                        if inode not in self._held:  # so that no other file gets its number
                            self._held[inode] = os.open(path, os.O_PATH)
                    except FileNotFoundError:
                        pass  # another thread renamed it
        return found

    def restore(self, cut: Cut, keeps: Keeps) -> None:
        """Makes the folders what the disk holds after `cut`."""
        for top in self.tops:
            for name in os.listdir(top):
                path = top / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            self._fill(str(top), os.stat(top).st_ino, cut, keeps)

    def _fill(self, folder: str, inode: int, cut: Cut, keeps: Keeps) -> None:
        sure, now = cut.certain.get(inode, {}), cut.memory.get(inode, {})
        assert isinstance(sure, dict) and isinstance(now, dict)
        for name in sorted(sure.keys() | now.keys()):
            child = (now if keeps.name() else sure).get(name)
            if child is None:
                continue
            path = os.path.join(folder, name)
            if isinstance(cut.memory.get(child, cut.certain.get(child)), dict):
                os.mkdir(path, 0o700)
                self._fill(path, child, cut, keeps)
            else:
                _write(path, _survived(cut.certain.get(child, b""), cut.memory.get(child), keeps))


class Keeps(NamedTuple):
    """What of the unsynced a cut keeps: asked for each name and each content anew."""

    name: Callable[[], bool]
    content: Callable[[], bool]
    part: Callable[[], float]

    @classmethod
    def by_chance(cls, seed: int) -> Keeps:
        random = Random(seed)
        return cls(lambda: random.random() < 0.5, lambda: random.random() < 0.5, random.random)


NOTHING = Keeps(lambda: False, lambda: False, lambda: 1.0)
NAMES = Keeps(lambda: True, lambda: False, lambda: 1.0)
CONTENTS = Keeps(lambda: False, lambda: True, lambda: 1.0)


def _content(path: str) -> Content:
    if stat.S_ISDIR(os.stat(path).st_mode):
        with os.scandir(path) as entries:
            return {entry.name: entry.inode() for entry in entries}
    with open(path, "rb") as file:
        return file.read()


def _survived(sure: Content, now: Content | None, keeps: Keeps) -> bytes:
    assert isinstance(sure, bytes)
    if not isinstance(now, bytes) or not keeps.content():
        return sure
    grown = len(now) - len(sure)
    if grown <= 0 or not now.startswith(sure) or (not sure and grown <= SECTOR_BYTES):
        return now
    return now[: len(sure) + int(grown * keeps.part())]


def _write(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)
    if path.endswith(".lock"):
        os.utime(path, (0, 0))  # it would be waited for, two seconds


class Scene:
    """A project, and a resident process that guards it."""

    def __init__(self, folder: Path) -> None:
        self.environ = {
            "HOME": str(folder / "person"),
            "CHRONO_HOME": str(folder / "state"),
            "PATH": os.environ["PATH"],
            "CHRONO_HINTS": "off",
        }
        self.root = folder / "project"
        (self.root / "src" / "deep").mkdir(parents=True)
        (folder / "person").mkdir()
        self.file = self.root / "src" / "deep" / "a.txt"
        self.file.write_text("zero\n")
        (self.root / "keep").write_text("keep\n")
        self.by = actor(self.environ)
        ws = initialise(str(self.root), self.environ, self.by).ws
        self.first = {savepoint.id for savepoint in history.log(ws)}
        self.home = ws.home
        ws.close()
        self.resources = Resources(stays=True)
        self.call("git status")  # rules are compiled, the witness is there

    def call(self, command: str) -> None:
        caller = Caller(self.environ, os.getpid(), 1, None, time.monotonic() + 20, str(self.root))
        reply = answer("claude-code", ADAPTER.sample(command, cwd=str(self.root)), caller, self.resources)
        assert reply.exit_code == 0, reply

    def newest(self) -> str:
        ws = Workspace.open(str(self.root), self.environ)
        found = history.newest(ws)
        ws.close()
        assert found is not None
        return found


@contextmanager
def noted_syncs(cable: Cable) -> Iterator[None]:
    def noted(fd: int) -> None:
        cable.synced(fd)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", noted)
        patch.setattr(os, "fdatasync", noted)
        yield


def cuts_of(scene: Scene, *, settles: bool) -> Cable:
    """Two calls with a savepoint each and one that reads, and every moment at which the power could go."""
    state = Path(scene.home.root)
    cable = Cable((scene.root / ".chrono", state / "witness"))
    with noted_syncs(cable):
        for text in ("one\n", "two\n"):
            scene.file.write_text(text)
            scene.call("touch something")
            cable.answered = (*cable.answered, scene.newest())
            cable.note()
            if settles:
                scene.resources.settle()
        scene.call("git status")
        cable.note()
    scene.resources.close()
    return cable


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where there is one: it is written some hundred times."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK):
        yield tmp_path
        return
    folder = place / f"chrono-cut-{os.getpid()}-{tmp_path.name}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="Linux holds an inode by O_PATH")
@pytest.mark.parametrize(
    ("settles", "chances"),
    [(False, 2), (True, 1), pytest.param(False, 20, marks=pytest.mark.slow)],
)
def test_what_was_answered_outlives_a_power_cut_at_any_moment(
    settles: bool, chances: int, memory_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(memory_folder)
    cable = cuts_of(scene, settles=settles)
    monkeypatch.setattr(append, "boot_id", lambda: "f" * 36)  # the machine was started anew
    monkeypatch.setattr(verify, "boot_id", lambda: "f" * 36)
    try:
        assert len(cable.cuts) > 10
        for at, cut in enumerate(cable.cuts):
            kinds = [NOTHING, NAMES, CONTENTS, *(Keeps.by_chance(at * chances + seed) for seed in range(chances))]
            for kind, keeps in enumerate(kinds):
                cable.restore(cut, keeps)
                check(scene, cut, f"cut {at}, kept {kind}")
    finally:
        cable.close()


def check(scene: Scene, cut: Cut, where: str) -> None:
    ws = Workspace.open(str(scene.root), scene.environ)
    saved = save(ws, "auto", "the next command", scene.by)
    found = {savepoint.id for savepoint in history.log(ws)}
    assert found >= scene.first | {*cut.answered, saved.commit}, where
    for commit in (*cut.answered, saved.commit):
        ws.store.read(CommitId(commit), "src/deep/a.txt")
    assert ws.store.read(saved.commit, "src/deep/a.txt") == b"two\n", where
    report = whole.verify(ws, full=True)
    assert report.findings == (), where
    reached = subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "rev-list", "--objects", "--all"], capture_output=True, text=True
    )
    assert reached.returncode == 0, f"{where}: {reached.stderr}"
    ws.close()

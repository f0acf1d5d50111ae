"""Claims about crashes: the process ends before any one change to the disk, and what is left is whole."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from chrono.errors import Locked, StoreError
from chrono.ids import CommitId, OpId
from chrono.layout import ProjectLayout
from chrono.store.disk import Disk
from chrono.store.repository import Store

from .conftest import Project, save_locked

OP = OpId("0" * 32)
State = dict[str, tuple[int, bytes]]


class Volatile(Disk):
    """Announces syncs but does not wait for them: a process that ends loses nothing that it wrote."""

    def fsync(self, fd: int) -> None:
        self._at_step("fsync", b"")

    def fsync_folder(self, name: bytes) -> None:
        self._at_step("fsync", name)

    def fsync_all(self, fds: Sequence[int]) -> None:
        for fd in fds:
            self.fsync(fd)

    def fsync_folders(self, names: Sequence[bytes]) -> None:
        for name in names:
            self.fsync_folder(name)

    def syncfs(self, fd: int) -> None:
        self._at_step("syncfs", b"")


def dies_at(step: int) -> Disk:
    """A disk before whose `step`-th change the process ends, as by SIGKILL."""
    left = [step]

    def at_step(_: str, __: bytes) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return Volatile(at_step)


def killed(action: Callable[[], None]) -> bool:
    """Runs `action` in a child; whether it was killed rather than done."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed instead of dying"
    return os.WIFSIGNALED(status)


def steps_of(action: Callable[[Disk], None]) -> int:
    """How many changes `action` makes, counted in a child.

    Another run may make a step or two more or less: a commit's id holds the time, and the folder under objects/
    that it falls into may be there already. What must meet every step uses `kills` instead.
    """
    reader, writer = os.pipe()
    count = [0]

    def at_step(_: str, __: bytes) -> None:
        count[0] += 1

    def counted() -> None:
        action(Volatile(at_step))
        os.write(writer, str(count[0]).encode())

    assert not killed(counted)
    os.close(writer)
    with os.fdopen(reader) as file:
        return int(file.read())


def kills(
    action: Callable[[Disk], None], reset: Callable[[], object], *, first: int = 0, every: int = 1
) -> Iterator[int]:
    """Runs `action` from a `reset` ground, killed before each `every`-th change, until one run outlives its kill.

    Yields the number of the change before which the process died.
    """
    for step in itertools.count(first, every):
        reset()
        if not killed(lambda step=step: action(dies_at(step))):
            return
        yield step


def fsck(store: Store) -> None:
    done = subprocess.run(
        ["git", "--git-dir", store.layout.repo, "fsck", "--strict", "--full", "--no-dangling"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr


class Scene:
    """Two states of one project, and a restore from one to the other that meets every kind of change."""

    def __init__(self, folder: Path) -> None:
        root = folder / "project"
        root.mkdir()
        self.project = project = Project(root)
        for number in range(4):
            project.write(f"same/{number}", f"old {number}" * 50)
        project.write("gone/deep/x", "comes back", 0o600)
        project.write("to_folder", "a file before")
        project.write("to_file/inner", "a folder before")
        os.symlink("same/1", project.path("link_to_file"))
        project.write("file_to_link", "a file before")
        project.write("private", "mode only", 0o600)
        os.makedirs(project.path("empty"))
        project.write("narrow/x", "old", 0o644)
        os.chmod(project.path("narrow"), 0o555)
        self.target = project.save()
        self.target_state = project.state()
        for number in range(4):
            project.write(f"same/{number}", f"new {number}" * 60)
        shutil.rmtree(project.path("gone"))
        os.unlink(project.path("to_folder"))
        project.write("to_folder/now/inside", "new")
        shutil.rmtree(project.path("to_file"))
        project.write("to_file", "new")
        os.unlink(project.path("link_to_file"))
        project.write("link_to_file", "new")
        os.unlink(project.path("file_to_link"))
        os.symlink("same/2", project.path("file_to_link"))
        os.chmod(project.path("private"), 0o644)
        os.rmdir(project.path("empty"))
        project.write("added/one", "new")
        project.write("added/two", "new")
        os.chmod(project.path("narrow"), 0o755)
        project.write("narrow/x", "new")
        self.pre = project.save("rescue")
        self.pre_state = project.state()
        self.saved = folder / "saved"
        subprocess.run(["cp", "-a", str(root), str(self.saved)], check=True)

    def reset(self) -> None:
        subprocess.run(["rm", "-rf", str(self.project.root)], check=True)
        subprocess.run(["cp", "-a", str(self.saved), str(self.project.root)], check=True)

    def roll_back(self, disk: Disk) -> None:
        store = Store.open(self.project.layout, disk=disk)
        with store.lock(5):
            plan = store.plan_restore(self.pre, self.target)
            journal = store.begin(plan, OP)
            store.apply(plan, journal)
            store.finish(journal)

    def recover(self, *, abort: bool, disk: Disk | None = None) -> None:
        store = Store.open(self.project.layout, disk=disk or Volatile())
        with store.lock(5):
            journal = store.pending()
            if journal is None:
                return
            crash, _ = save_locked(store, "rescue")
            plan = store.plan_restore(crash, journal.pre if abort else journal.target, journal.paths)
            store.apply(plan, journal)
            store.finish(journal)

    def check_no_file_is_torn_or_missing(self) -> None:
        now = self.project.state()
        old, new = self.pre_state, self.target_state
        for path, (mode, content) in now.items():
            contents = [state[path][1] for state in (old, new) if path in state and _kind(state, path) == mode >> 12]
            if mode >> 12 != 0o04:
                assert content in contents, f"{path} is neither its old nor its new content"
        for path in old.keys() & new.keys():
            if _kind(old, path) != 0o04 and _kind(new, path) != 0o04:
                assert path in now, f"{path} is missing"


def _kind(state: State, path: str) -> int:
    return state[path][0] >> 12


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Path]:
    """A folder in memory where there is one: hundreds of copies of a project need no disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="chrono-crash-", dir=place) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def scene(in_memory: Path) -> Scene:
    """Made once; every kill starts from a copy."""
    return Scene(in_memory)


def test_a_restore_killed_at_any_step_is_finished_or_undone(scene: Scene) -> None:
    step = 0
    for step in kills(scene.roll_back, scene.reset):
        scene.check_no_file_is_torn_or_missing()
        began = Store.open(scene.project.layout).pending() is not None
        left = scene.project.state()
        abort = step % 2 == 0
        scene.recover(abort=abort)
        wanted = (scene.pre_state if abort else scene.target_state) if began else left
        assert scene.project.state() == wanted, f"step {step}"
        assert wanted in (scene.pre_state, scene.target_state)
        store = Store.open(scene.project.layout)
        assert store.pending() is None
        assert os.listdir(scene.project.layout.stage) == [] if began else True
    assert scene.project.state() == scene.target_state
    assert step >= 40


@pytest.mark.slow
def test_a_recovery_killed_at_any_step_is_recovered_too(scene: Scene) -> None:
    half = f"{scene.saved}.half"

    def reset() -> None:
        subprocess.run(["rm", "-rf", str(scene.project.root)], check=True)
        subprocess.run(["cp", "-a", half, str(scene.project.root)], check=True)

    for step in kills(scene.roll_back, scene.reset, first=3, every=7):
        if Store.open(scene.project.layout).pending() is None:
            continue
        subprocess.run(["rm", "-rf", half], check=True)
        subprocess.run(["cp", "-a", str(scene.project.root), half], check=True)
        for inner in kills(lambda disk: scene.recover(abort=False, disk=disk), reset, every=2):
            scene.check_no_file_is_torn_or_missing()
            began = Store.open(scene.project.layout).pending() is not None
            scene.recover(abort=False)
            assert scene.project.state() == scene.target_state or not began, f"{step}, {inner}"


@pytest.mark.parametrize("files", [1, 60])
def test_a_save_killed_at_any_step_leaves_a_whole_store(in_memory: Path, files: int) -> None:
    root = in_memory / f"saving-{files}"
    root.mkdir()
    project = Project(root)
    project.write("base", "x")
    first = project.save("manual")
    for number in range(files):
        project.write(f"d{number % 7}/{number}", f"content {number}", 0o640)
    subprocess.run(["cp", "-a", str(project.root), str(project.root) + ".saved"], check=True)

    def save(disk: Disk) -> None:
        store = Store.open(project.layout, disk=disk)
        with store.lock(5):
            save_locked(store, "manual")

    def reset() -> None:
        subprocess.run(["rm", "-rf", str(project.root)], check=True)
        subprocess.run(["cp", "-a", str(project.root) + ".saved", str(project.root)], check=True)

    state = project.state()
    step = 0
    seen: set[CommitId | None] = set()
    for step in kills(save, reset):
        store = project.reopen(Volatile())
        head = store.ref("refs/heads/main")
        seen.add(head if head == first else None)
        store.savepoint(head or first)
        if step % 15 == 0:
            fsck(store)
        lock = Path(project.layout.repo, "refs/heads/main.lock")
        if lock.exists():
            os.utime(lock, (0, 0))  # it would be waited for, two seconds
        commit = project.save("manual")
        if step % 15 == 0:
            fsck(store)
        assert project.store.changes(commit, None) == ()
        assert project.state() == state
    assert step >= 20
    assert seen == {first, None}, "the kills must fall on both sides of the ref"


def test_a_full_disk_reports_no_savepoint_and_loses_none(make_project: Callable[..., Project]) -> None:
    """RLIMIT_FSIZE stands in for a full disk: every write beyond it fails."""
    project = make_project("full")
    project.write("base", "x")
    first = project.save("manual")
    for number in range(40):
        project.write(f"big/{number}", os.urandom(4000))
    project.write("large", os.urandom(9 << 20))

    def save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            project.save("manual")
        except StoreError as error:
            assert "could not be written" in error.message
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            commit = project.save("manual")  # the same store, once there is room
            assert project.store.changes(commit, None) == ()
            return
        raise AssertionError("a savepoint was reported")

    assert not killed(save)
    fsck(project.reopen())
    left = [name for name in os.listdir(os.path.join(project.layout.repo, "objects")) if name.startswith("tmp_")]
    assert left == []
    assert project.store.savepoint(project.store.resolve("main~1")).id == first


@pytest.mark.parametrize("limit", [10, 20_000])
def test_a_restore_that_cannot_be_staged_touches_nothing(make_project: Callable[..., Project], limit: int) -> None:
    project = make_project("full")
    project.write("a", os.urandom(30_000))
    project.write("b", "x" * 15)
    target = project.save()
    project.write("a", "two")
    project.write("b", "two")
    before = project.state()
    pre = project.save("rescue")

    def roll_back() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with project.store.lock(5):
            plan = project.store.plan_restore(pre, target)
            journal = project.store.begin(plan, OP)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(StoreError, match="prepared"):
                project.store.apply(plan, journal)

    assert not killed(roll_back)
    assert project.state() == before
    assert project.store.pending() is None
    assert os.listdir(project.layout.stage) == []


SAVER = """
import sys
sys.path.insert(0, {checkout!r})
from chrono.layout import ProjectLayout
from chrono.store.repository import Store
from tests.unit.store.conftest import save_locked
layout = ProjectLayout(sys.argv[1])
store = Store.open(layout)
for number in range(15):
    open(layout.root + "/" + sys.argv[2] + str(number), "w").write(sys.argv[2] * number)
    with store.lock(120):
        save_locked(store, "manual")
"""


def test_two_savers_at_once_lose_nothing(make_project: Callable[..., Project]) -> None:
    project = make_project("busy")
    script = SAVER.format(checkout=str(Path(__file__).parents[3]))
    savers = [subprocess.Popen([sys.executable, "-c", script, str(project.root), name]) for name in "ab"]
    assert [saver.wait() for saver in savers] == [0, 0]
    store = project.reopen()
    assert len([found for found in store.history() if found.ref == "refs/heads/main"]) == 30
    assert store.changes(store.resolve("main"), None) == ()
    fsck(store)


def test_a_held_lock_is_waited_for_then_named(project: Project) -> None:
    other = Store.open(project.layout)
    with other.lock(5):
        started = time.monotonic()
        with pytest.raises(Locked, match=f"pid {os.getpid()}"), project.store.lock(0.2):
            pass
        assert time.monotonic() - started >= 0.2


def test_writing_without_the_lock_is_refused(project: Project) -> None:
    for action in (project.store.capture, lambda: project.store.move_ref("refs/heads/x", None, CommitId("0" * 40))):
        with pytest.raises(StoreError, match="without its lock"):
            action()


def test_a_repository_made_half_is_not_there(tmp_path: Path) -> None:
    for step in range(1000):
        root = tmp_path / str(step)
        root.mkdir()
        layout = ProjectLayout(str(root))
        died = killed(lambda layout=layout, step=step: Store.create(layout, disk=dies_at(step)) and None)
        if os.path.isdir(layout.repo):
            Store.open(layout)
        else:
            Store.create(layout)
        if not died:
            break
    assert 20 < step < 1000


def test_what_a_killed_process_left_is_swept_an_hour_later(project: Project) -> None:
    objects = Path(project.layout.repo, "objects")
    old = [
        objects / "tmp_obj_1",
        objects / "pack/tmp_pack_1",
        objects / "pack/tmp_idx_1",
        Path(project.layout.dir, "stat.cache.tmp-1"),
    ]
    new = objects / "tmp_obj_2"
    for path in [*old, new]:
        path.write_bytes(b"x")
    for path in old:
        os.utime(path, (time.time() - 3700,) * 2)
    project.reopen()
    project.save()
    assert [path.exists() for path in [*old, new]] == [False] * 4 + [True]

"""Owns a throw-away project with a store, as tests of this room use it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chrono.ids import CommitId, OpId, TreeId
from chrono.layout import ProjectLayout
from chrono.store import tree
from chrono.store.disk import Disk
from chrono.store.objects import NewObjects
from chrono.store.repository import Store
from chrono.store.restore import Restored
from chrono.store.snapshot import Capture, Content


class Project:
    """A folder with a store. Paths are relative `str`."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        self.root = root
        self.layout = ProjectLayout(str(root))
        self.store = Store.create(self.layout, disk=disk)

    def reopen(self, disk: Disk | None = None) -> Store:
        self.store = Store.open(self.layout, disk=disk)
        return self.store

    def path(self, name: str) -> str:
        return os.path.join(str(self.root), name)

    def write(self, name: str, data: bytes | str = b"", mode: int | None = None) -> str:
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()

    def capture(self) -> Capture:
        with self.store.lock(5):
            return self.store.capture()

    def save(self, kind: str = "auto", message: str = "a message", timeout_s: float = 5) -> CommitId:
        """A savepoint on the next automatic ref, on the branch for the kind "manual"."""
        with self.store.lock(timeout_s):
            return save_locked(self.store, kind, message)[0]

    def restore(self, target: CommitId, *paths: str) -> Restored:
        pre = self.save("rescue")
        with self.store.lock(5):
            plan = self.store.plan_restore(pre, target, paths)
            journal = self.store.begin(plan, OpId("0" * 32))
            done = self.store.apply(plan, journal)
            self.store.finish(journal)
        return done

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Everything below the root but `.chrono`: {path: (mode, content or link target)}."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".chrono"]
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                if os.path.islink(path):
                    content = os.readlink(os.fsencode(path))
                elif os.path.isdir(path):
                    content = b""
                else:
                    with open(path, "rb") as file:
                        content = file.read()
                found[os.path.relpath(path, self.root)] = (mode, content)
        return found


def save_locked(store: Store, kind: str = "auto", message: str = "a message") -> tuple[CommitId, Capture]:
    capture = store.capture()
    branch = store.head_ref()
    head = store.ref(branch)
    commit = store.write_commit(
        capture,
        parents=(head,) if head is not None else (),
        message=message,
        trailers=(("Chrono-Kind", kind),),
        at_ns=time.time_ns(),
        author="a test",
    )
    if kind == "manual":
        store.move_ref(branch, head, commit)
    elif kind == "rescue":
        store.move_ref(store.next_rescue_ref(), None, commit)
    else:
        store.move_ref(store.next_auto_ref(), None, commit)
    store.remember(capture, commit)
    return commit, capture


def forged(project: Project, *entries: tuple[bytes, int, bytes]) -> CommitId:
    """A commit whose tree holds what no capture makes; `entries` are (name, mode, content)."""
    store = project.store
    with store.lock(5):
        sink = NewObjects(store._objects)
        rows = [(name, mode, sink.put(b"blob", data) if mode != tree.FOLDER else data) for name, mode, data in entries]
        oid = sink.put(b"tree", tree.build(rows))
        sink.flush()
        return store.write_commit(
            Content(TreeId(oid.hex()), None), parents=(), message="forged", trailers=(("Chrono-Kind", "auto"),), at_ns=1, author="x"
        )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    def make(name: str = "another", disk: Disk | None = None) -> Project:
        root = tmp_path / name
        root.mkdir()
        return Project(root, disk)

    return make

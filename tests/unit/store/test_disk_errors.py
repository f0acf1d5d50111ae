"""Claims about a disk that is full or broken at any one step: no savepoint is reported that is not there, no file is
torn, and the next call goes on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chrono.errors import StoreError
from chrono.ids import CommitId
from chrono.store.disk import Disk
from chrono.store.repository import Store

from .conftest import Project, save_locked
from .test_crash import Scene, Volatile, fsck, in_memory, scene, steps_of

__all__ = ["in_memory", "scene"]

ERRORS = (errno.ENOSPC, errno.EIO)


class Fault:
    """Lets the `step`-th change fail with `number`, and no other."""

    def __init__(self, step: int, number: int) -> None:
        self.left = step
        self.number = number
        self.what = ""

    def __call__(self, step: str, name: bytes) -> None:
        self.left -= 1
        if self.left == -1:
            self.what = f"{step} {os.fsdecode(name)}: {errno.errorcode[self.number]}"
            raise OSError(self.number, os.strerror(self.number))


def faults(total: int, every: int) -> Iterator[Fault]:
    for step in [*range(0, total, every), total - 1]:
        for number in ERRORS:
            yield Fault(step, number)


def check_saving(folder: Path, files: int, every: int) -> None:
    root = folder / f"failing-{files}"
    root.mkdir()
    project = Project(root, Volatile())
    project.write("base", "x")
    first = project.save("manual")
    for number in range(files):
        project.write(f"d{number % 7}/{number}", f"content {number}", 0o640)
    saved = f"{root}.saved"
    subprocess.run(["cp", "-a", str(root), saved], check=True)

    def save(disk: Disk) -> CommitId:
        store = Store.open(project.layout, disk=disk)
        with store.lock(5):
            return save_locked(store, "manual")[0]

    total = steps_of(lambda disk: save(disk) and None)
    refused = 0
    for fault in faults(total, every):
        shutil.rmtree(root)
        subprocess.run(["cp", "-a", saved, str(root)], check=True)
        try:
            reported: CommitId | None = save(Volatile(fault))
        except (StoreError, OSError):
            reported = None
            refused += 1
        store = Store.open(project.layout, disk=Volatile())
        head = store.ref("refs/heads/main")
        if reported is not None:
            assert head == reported, fault.what
            assert store.changes(reported, None) == (), fault.what
        store.savepoint(head or first)
        with store.lock(5):
            again, _ = save_locked(store, "manual")
        assert store.changes(again, None) == (), fault.what
        assert len(store.read(again, "base")) == 1
        if fault.left % 9 == 0:
            fsck(store)
    assert refused > 10


def check_restoring(scene: Scene, every: int) -> None:
    scene.reset()
    total = steps_of(scene.roll_back)
    refused = 0
    for fault in faults(total, every):
        scene.reset()
        try:
            scene.roll_back(Volatile(fault))
        except (StoreError, OSError):
            refused += 1
        scene.check_no_file_is_torn_or_missing()
        abort = fault.number == errno.EIO
        began = Store.open(scene.project.layout).pending() is not None
        left = scene.project.state()
        scene.recover(abort=abort)
        wanted = (scene.pre_state if abort else scene.target_state) if began else left
        assert scene.project.state() == wanted, fault.what
        assert wanted in (scene.pre_state, scene.target_state), fault.what
    assert refused > 10


@pytest.mark.parametrize("files", [2, 40])
def test_a_save_with_an_error_at_a_step_reports_only_what_is_there(in_memory: Path, files: int) -> None:
    check_saving(in_memory, files, 5)


def test_a_restore_with_an_error_at_a_step_is_finished_or_undone(scene: Scene) -> None:
    check_restoring(scene, 9)


@pytest.mark.slow
@pytest.mark.parametrize("files", [3, 41])
def test_a_save_with_an_error_at_any_step_reports_only_what_is_there(in_memory: Path, files: int) -> None:
    check_saving(in_memory, files, 1)


@pytest.mark.slow
def test_a_restore_with_an_error_at_any_step_is_finished_or_undone(scene: Scene) -> None:
    check_restoring(scene, 1)

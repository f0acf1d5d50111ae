"""Claims about asking for stats: the answer is the same however it is asked, and nobody's working directory moves."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from chrono.store import probe
from chrono.store.statcache import Folder

from .conftest import Project


def base_of(project: Project) -> Folder:
    for number in range(300):
        project.write(f"d{number % 7}/e{number % 3}/f{number}", str(number))
    project.save()
    then = 1_600_000_000
    for folder, _, names in os.walk(project.root):
        if ".chrono" not in folder:
            for name in names:
                os.utime(os.path.join(folder, name), (then, then))
    import time

    time.sleep(0.05)
    project.save()
    capture_base = project.store._memory._cached
    assert capture_base is not None
    return capture_base.root


def doubts(project: Project, base: Folder) -> probe.Doubts:
    return probe.ask(os.fsencode(project.root), base.walk())


@pytest.mark.parametrize("how", ["private", "paths", "cold"])
def test_what_changed_is_found_however_it_is_asked(project: Project, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    base = base_of(project)
    if how == "paths":
        monkeypatch.setattr(probe, "unshare_cwd", lambda: False)
    if how == "cold":
        monkeypatch.setattr(probe, "_gave_way", lambda asked: True)
        monkeypatch.setattr(probe, "COLD_NS", 0)
        monkeypatch.setattr(probe, "_FIRST", 20)
        monkeypatch.setattr(probe, "_SHARE", 2)
    assert doubts(project, base) == {}
    project.write("d1/e1/f1", "other")
    project.write("d2/e2/new", "new")
    os.unlink(project.path("d3/e0/f3"))
    found = doubts(project, base)
    assert found.keys() == {b"d1/e1", b"d2/e2", b"d3/e0"}
    assert found[b"d2/e2"] is None and found[b"d3/e0"] is None
    keys = found[b"d1/e1"]
    assert keys is not None
    known = next(folder for folder in base.walk() if folder.path == b"d1/e1")
    different = [name for name, old, new in zip(known.names, known.keys, keys, strict=True) if old != new]
    assert different == [b"f1"]


@pytest.mark.parametrize("how", ["private", "cold"])
def test_what_could_not_be_asked_is_in_doubt(
    project: Project, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, how: str
) -> None:
    base = base_of(project)
    monkeypatch.setattr(probe, "_gave_way", lambda asked: how == "cold")
    monkeypatch.setattr(probe, "_FIRST", 0)
    monkeypatch.setattr(probe, "_SHARE", 2)
    monkeypatch.setattr(probe, "key_of", lambda found: 1 // 0)
    monkeypatch.setattr(threading, "excepthook", lambda given: None)
    try:
        assert doubts(project, base).keys() == {folder.path for folder in base.walk()}
    except ZeroDivisionError:
        assert how == "private"


def test_the_working_directory_of_the_process_stays(project: Project) -> None:
    base = base_of(project)
    before = os.getcwd()
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(os.getcwd())

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(20):
        doubts(project, base)
    done.set()
    watcher.join()
    assert seen == {before} and os.getcwd() == before


def test_a_folder_that_became_a_link_is_not_taken_for_itself(project: Project, tmp_path: Path) -> None:
    base = base_of(project)
    os.rename(project.path("d5"), tmp_path / "moved")
    Path(project.path("d5")).symlink_to(tmp_path / "moved")
    assert doubts(project, base)[b""] is None  # its parent changed, so it is listed anew
    commit = project.save()
    assert project.store.read(commit, "d5") == os.fsencode(tmp_path / "moved")

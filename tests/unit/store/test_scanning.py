"""Claims about a capture: what it holds, what it leaves out and says so, and that a stat cache never hides a change."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from chrono.store import metadata, tree
from chrono.store.repository import Store
from chrono.store.scanning import Rules, Scan
from chrono.store.snapshot import Capture

from .conftest import Project, save_locked


def kinds(capture: Capture, project: Project) -> dict[str, str]:
    return {os.path.relpath(path, project.root): kind for path, kind in capture.excluded}


def test_bytes_are_kept_exactly(project: Project) -> None:
    project.write(".gitattributes", "* text=auto ident\n")
    project.write("dos.txt", b"one\r\n$Id$\r\n")
    commit = project.save()
    assert project.store.read(commit, "dos.txt") == b"one\r\n$Id$\r\n"


def test_modes_links_empty_folders_and_raw_names_come_back(project: Project) -> None:
    project.write(".env", "SECRET=1", 0o600)
    project.write("run", "#!/bin/sh\n", 0o755)
    project.write("odd", "x", 0o640)
    os.makedirs(project.path("empty/inner"))
    os.mkdir(project.path("private"), 0o700)
    os.symlink("nowhere/at all", project.path("link"))
    with open(os.fsencode(str(project.root)) + b"/caf\xe9\n", "wb") as file:
        file.write(b"raw")
    commit = project.save()
    before = project.state()
    subprocess.run(
        ["find", ".", "-mindepth", "1", "-maxdepth", "1", "!", "-name", ".chrono", "-exec", "rm", "-rf", "{}", "+"],
        cwd=project.root,
        check=True,
    )
    assert project.state() == {}
    project.restore(commit)
    assert project.state() == before


def test_chmod_alone_is_a_change_that_the_metadata_shows(project: Project) -> None:
    project.write("a", "x", 0o644)
    first = project.save()
    os.chmod(project.path("a"), 0o600)
    capture = project.capture()
    assert capture.tree == project.store.content(first).tree
    assert capture.content != project.store.content(first)
    assert [change.kind for change in project.store.changes(first, None)] == ["mode"]


def test_another_umask_costs_one_line_a_folder(project: Project) -> None:
    for number in range(50):
        project.write(f"src/{number}", "x", 0o664)
    os.chmod(project.path("src"), 0o775)
    meta = project.store.content(project.save()).meta
    assert meta is not None
    text = project.store._objects.read_as(bytes.fromhex(meta), b"blob")
    assert text == b"chrono-metadata 1\nd 0775 src/\nF 0664 src/\n"
    assert metadata.parse(text).mode(b"src/7", tree.FILE) == 0o664


def test_control_data_and_git_are_left_out_and_said(project: Project) -> None:
    for name in [
        "chrono-policy.yaml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        "sub/.claude/settings.json",
        ".codex/hooks.json",
        ".github/hooks/x.json",
        ".cline/hooks/PreToolUse",
        ".git/config",
        "nested/.git/HEAD",
        "node_modules/x/index.js",
        "pkg/__pycache__/x.pyc",
        ".vscode/settings.json",
    ]:
        project.write(name, "{}")
    for name in [".claude/commands/x.md", ".github/workflows/ci.yml", "nested/code.c", "pkg/x.py"]:
        project.write(name, "kept")
    capture = project.capture()
    assert kinds(capture, project) == {
        ".chrono": "chrono", ".git": "git", "nested/.git": "git", "chrono-policy.yaml": "control",
        ".claude/settings.json": "control", ".claude/settings.local.json": "control",
        "sub/.claude/settings.json": "control", ".codex/hooks.json": "control", ".github/hooks/x.json": "control",
        ".cline/hooks": "control", "node_modules": "heavy", "pkg/__pycache__": "heavy", ".vscode": "ignored",
    }  # fmt: skip
    assert capture.file_count == 4
    assert [(skip.path, skip.reason) for skip in capture.skips] == [("nested/.git", "git")]


def test_chronoignore_leaves_out_and_a_change_of_it_counts_at_once(project: Project) -> None:
    project.write("data/big.bin", "x")
    project.write("keep", "x")
    assert project.capture().file_count == 2
    project.save()
    project.write(".chronoignore", "data/\n")
    capture = project.capture()
    assert kinds(capture, project)["data"] == "ignored"
    assert capture.file_count == 2  # keep and .chronoignore
    os.unlink(project.path(".chronoignore"))
    assert project.capture().file_count == 2


def test_build_folders_need_evidence(project: Project) -> None:
    project.write("target/x", "a person's own folder")
    project.write("rust/Cargo.toml", "")
    project.write("rust/target/debug/app", "built")
    project.write("env/pyvenv.cfg", "")
    project.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    project.write("fake/CACHEDIR.TAG", "no signature")
    found = kinds(project.capture(), project)
    assert {path for path, kind in found.items() if kind == "heavy"} == {"rust/target", "env", "cache"}


@pytest.mark.parametrize("forget", [False, True])
def test_a_tag_dropped_into_a_captured_folder_does_not_hide_it(project: Project, forget: bool) -> None:
    project.write("src/a.py", "x")
    project.save()
    project.write("src/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    if forget:
        os.unlink(project.layout.stat_cache)
        project.reopen()
    capture = project.capture()
    assert "src" not in kinds(capture, project)
    assert capture.file_count == 2


def test_a_heavy_folder_that_loses_its_tag_is_captured(project: Project) -> None:
    project.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    project.write("cache/work", "x")
    project.save()
    os.unlink(project.path("cache/CACHEDIR.TAG"))
    assert project.capture().file_count == 1


def test_a_nested_project_is_a_boundary_also_if_it_comes_later(project: Project) -> None:
    project.write("inner/.chrono/x", "not yet a project")
    project.write("inner/code", "x")
    project.save()
    assert project.capture().file_count == 1
    os.mkdir(project.path("inner/.chrono/repo.git"))
    capture = project.capture()
    assert (capture.file_count, kinds(capture, project)["inner"]) == (0, "nested")


def test_caps_differ_for_what_git_ignores(project: Project) -> None:
    project.write(".gitignore", "*.bin\n")
    for name in ["big.bin", "big.dat"]:
        with open(project.path(name), "wb") as file:
            file.truncate(11 << 20)
    capture = project.capture()
    assert kinds(capture, project)["big.bin"] == "over-cap"
    assert "big.dat" not in kinds(capture, project)
    assert [(skip.path, skip.reason, skip.kept) for skip in capture.skips] == [("big.bin", "over-cap", False)]


def test_a_file_that_becomes_special_keeps_its_entry_and_is_listed(project: Project) -> None:
    project.write("a", "content")
    commit = project.save()
    os.unlink(project.path("a"))
    os.mkfifo(project.path("a"))
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(project.root)
    try:
        server.bind("sock")
    finally:
        os.chdir(here)
    for _ in range(2):
        capture = project.capture()
        assert capture.tree == project.store.content(commit).tree
        assert sorted(capture.skips) == [("a", "special", True), ("sock", "special", False)]
        assert kinds(capture, project)["a"] == "unreadable"
    server.close()


AS_NOBODY = """
import os, sys, json
from chrono.layout import ProjectLayout
from chrono.store.repository import Store
os.setgroups([]); os.setgid(65534); os.setuid(65534)  # after the imports: Python itself may lie in a private folder
store = Store.open(ProjectLayout(sys.argv[1]))
with store.lock(5):
    capture = store.capture()
    commit = store.write_commit(capture, parents=(), message="m", trailers=(("Chrono-Kind", "auto"),), at_ns=1, author="t")
    store.move_ref(store.next_auto_ref(), None, commit)
    store.remember(capture, commit)
print(json.dumps([capture.tree, sorted(capture.skips), capture.file_count]))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_permission_error_is_never_a_deletion(project: Project, tmp_path: Path) -> None:
    for name in ["a", "closed/x", "closed/deep/y", "blind/z"]:
        project.write(name, name)
    subprocess.run(["chown", "-R", "65534:65534", str(project.root)], check=True)
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_mode & 0o055 != 0o055 and str(folder).startswith(tempfile.gettempdir()):
            os.chmod(folder, 0o755)

    def capture_as_nobody() -> str:
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(project.root)], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = json.loads(capture_as_nobody())
    os.chmod(project.path("a"), 0)
    os.chmod(project.path("closed"), 0)
    os.chmod(project.path("blind"), 0o644)
    for _ in range(2):
        found = json.loads(capture_as_nobody())
        assert found == [
            whole[0],
            [["a", "unreadable", True], ["blind", "unreadable", True], ["closed", "unreadable", True]],
            4,
        ]
    os.unlink(project.layout.stat_cache)
    assert json.loads(capture_as_nobody()) == found
    os.chmod(project.path("closed"), 0o755)
    os.unlink(project.path("closed/x"))
    again = json.loads(capture_as_nobody())
    assert again[2] == 3 and ["closed", "unreadable", True] not in again[1]


def test_same_size_edits_with_restored_times_are_seen(project: Project) -> None:
    path = project.write("a", "one")
    project.save()
    time.sleep(0.03)
    project.save()  # the key is believed from here on
    found = os.stat(path)
    project.write("a", "two")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert project.store.read(project.save(), "a") == b"two"


def test_an_edit_in_the_tick_of_the_capture_is_seen(project: Project) -> None:
    for number in range(30):
        project.write("a", f"{number:04}")
        assert project.store.read(project.save(), "a") == f"{number:04}".encode()


def test_an_unchanged_tree_reads_no_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        project.write(f"d{number % 3}/{number}", str(number))
    project.save()
    time.sleep(0.05)
    project.save()
    commit = project.save()
    project.reopen()
    opened: list[object] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(path) or real(path, *rest, **more))
    listed: list[object] = []
    monkeypatch.setattr(os, "listdir", listed.append)
    capture = project.capture()
    assert capture.content == project.store.content(commit)
    assert not [path for path in opened if b"/d" in os.fsencode(path) and b".chrono" not in os.fsencode(path)]
    assert listed == []


@pytest.mark.parametrize("damage", ["missing", "garbage", "cut", "flipped", "link", "other version"])
def test_a_cache_that_cannot_be_believed_is_not(project: Project, damage: str) -> None:
    project.write("a/b", "x")
    project.save()
    cache = project.layout.stat_cache
    data = Path(cache).read_bytes()
    os.unlink(cache)
    if damage == "garbage":
        Path(cache).write_bytes(os.urandom(500))
    elif damage == "cut":
        Path(cache).write_bytes(data[:-7])
    elif damage == "flipped":
        middle = len(data) // 2
        Path(cache).write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    elif damage == "link":
        Path(project.path("elsewhere")).write_bytes(data)
        os.symlink(project.path("elsewhere"), cache)
    elif damage == "other version":
        Path(cache).write_bytes(data.replace(b"cache 1", b"cache 2"))
    project.write("a/b", "y")
    project.reopen()
    commit = project.save()
    assert project.store.read(commit, "a/b") == b"y"
    assert project.store.survey().file_count == project.capture().file_count


def test_the_cache_is_appended_to_and_read_back(project: Project) -> None:
    for number in range(200):
        project.write(f"{number % 20}/{number}", "x")
    project.save()
    time.sleep(0.03)
    project.save()
    size = os.stat(project.layout.stat_cache).st_size
    inode = os.stat(project.layout.stat_cache).st_ino
    project.write("3/3", "changed")
    os.unlink(project.path("4/4"))
    subprocess.run(["rm", "-r", project.path("5")], check=True)
    project.write("new/file", "n")
    commit = project.save()
    found = os.stat(project.layout.stat_cache)
    assert found.st_ino == inode and size < found.st_size < size * 2
    project.reopen()
    capture = project.capture()
    assert capture.content == project.store.content(commit)
    assert capture.changed_count == 0


def test_a_cache_whose_commit_is_gone_is_not_used(project: Project) -> None:
    project.write("a", "x")
    commit = project.save()
    os.unlink(project.store._objects.path(bytes.fromhex(commit)))
    os.unlink(os.path.join(project.layout.repo, "refs/chrono/auto/1"))
    assert project.reopen().survey().file_count == 1
    assert project.capture().changed_count == 1


def test_capture_without_remembering_does_not_change_what_counts_as_the_last(project: Project) -> None:
    project.write("a", "one")
    project.save()
    project.write("a", "two")
    assert project.capture().changed_count == 1
    assert project.capture().changed_count == 1


def test_a_file_that_changes_while_it_is_read_is_marked(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.write("busy", "x" * 100)
    real = os.read

    def read(fd: int, size: int) -> bytes:
        data = real(fd, size)
        if data.startswith(b"xxx"):
            with open(path, "ab") as file:
                file.write(b"y")
        return data

    monkeypatch.setattr(os, "read", read)
    capture = project.capture()
    assert [(skip.path, skip.reason) for skip in capture.skips] == [("busy", "unstable")]
    assert kinds(capture, project)["busy"] == "unreadable"


def test_a_file_that_grows_is_held_as_it_was_at_some_time_and_whole_once_it_rests(project: Project) -> None:
    paths = [project.write(name, b"begin\n") for name in ("small.log", "large.log")]
    with open(paths[1], "ab") as file:
        file.write(b"0123456789abcde\n" * (9 << 16))  # long enough to be streamed
    ends = threading.Event()

    def grow() -> None:
        number = 0
        while not ends.wait(0.002):
            number += 1
            for path in paths:
                with open(path, "ab") as file:
                    file.write(b"line %d\n" % number * 50)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        saved = [project.save() for _ in range(4)]
    finally:
        ends.set()
        writer.join()
    rested = project.save()
    for name in ("small.log", "large.log"):
        whole = project.read(name)
        assert project.store.read(rested, name) == whole
        assert all(whole.startswith(project.store.read(commit, name)) for commit in saved)


def test_live_databases_are_marked(project: Project) -> None:
    import sqlite3

    connection = sqlite3.connect(project.path("app.db"))
    connection.execute("pragma journal_mode=wal")
    connection.execute("create table t(x)")
    connection.commit()
    capture = project.capture()
    assert capture.live == ("app.db",)
    connection.close()
    assert project.capture().live == ()


def test_paths_longer_than_the_system_takes_are_captured(project: Project) -> None:
    fd = os.open(project.root, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=fd)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    file = os.open("deep", os.O_CREAT | os.O_WRONLY, dir_fd=fd)
    os.write(file, b"far down")
    os.close(file)
    os.close(fd)
    commit = project.save()
    path = "/".join(["d" * 200] * 25) + "/deep"
    assert project.store.read(commit, path) == b"far down"
    assert project.capture().content == project.store.content(commit)
    subprocess.run(["rm", "-rf", project.path("d" * 200)], check=True)
    project.restore(commit)
    assert project.store.changes(commit, None) == ()


def test_very_deep_trees_do_not_run_out_of_descriptors(project: Project) -> None:
    path = "/".join(["d"] * 300)
    os.makedirs(project.path(path))
    project.write(path + "/f", "x")
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        commit = project.save()
        subprocess.run(["rm", "-rf", project.path("d")], check=True)
        project.restore(commit)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert project.read(path + "/f") == b"x"


def test_a_survey_writes_nothing(project: Project) -> None:
    project.write("a", "x")
    project.save()
    project.write("b", "y" * 100)
    project.write("node_modules/x", "")

    def stored() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path(project.layout.dir).rglob("*") if path.is_file()}

    before = stored()
    survey = project.store.survey()
    assert project.store.changes(project.store.refs("refs/chrono/auto/")[0][1], None)[0].path == "b"
    assert survey.file_count == 2
    assert "heavy" in {kind for _, kind in survey.excluded}
    assert stored() == before


def test_a_folder_replaced_by_a_link_during_the_scan_leads_nowhere(project: Project, tmp_path: Path) -> None:
    """The link is put in place after its parent was listed: what it points to must not get into the savepoint."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("not yours")
    project.write("dir/a", "x")

    class Racing(Store):
        pass

    real = Scan._look
    done = []

    def look(self: Scan, folder: object) -> None:
        real(self, folder)  # type: ignore[arg-type]
        if not done:
            done.append(True)
            os.rename(project.path("dir"), project.path("moved"))
            os.symlink(outside, project.path("dir"))

    Scan._look = look  # type: ignore[method-assign]
    try:
        capture = project.capture()
    finally:
        Scan._look = real  # type: ignore[method-assign]
    assert capture.file_count == 0
    assert stat.S_ISLNK(os.lstat(project.path("dir")).st_mode)


def test_rules_default_to_the_documented_caps() -> None:
    assert (Rules().cap_bytes, Rules().ignored_cap_bytes) == (1 << 30, 10 << 20)


def test_two_stores_see_each_others_savepoints(project: Project) -> None:
    project.write("a", "1")
    project.save()
    other = Store.open(project.layout)
    project.write("a", "2")
    with other.lock(5):
        second, _ = save_locked(other)
    project.write("b", "3")
    third = project.save()
    assert project.store.read(third, "a") == b"2"
    assert [change.path for change in project.store.changes(second, third)] == ["b"]

"""Claims about refs: compare-and-swap that git's own tools can take part in."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from chrono.errors import Conflict, NoSuchSavepoint, StoreError
from chrono.ids import CommitId
from chrono.store import refs
from tests.waiting import LONG_S

from .conftest import Project


def git(project: Project, *arguments: str) -> str:
    done = subprocess.run(["git", "--git-dir", project.layout.repo, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def move(project: Project, name: str, old: CommitId | None, new: CommitId | None) -> None:
    with project.store.lock(5):
        project.store.move_ref(name, old, new)


def test_a_ref_moves_only_from_where_it_was_thought_to_be(project: Project) -> None:
    first = project.save()
    project.write("a", "x")
    second = project.save()
    move(project, "refs/heads/x", None, first)
    with pytest.raises(Conflict):
        move(project, "refs/heads/x", None, second)
    with pytest.raises(Conflict):
        move(project, "refs/heads/x", second, first)
    move(project, "refs/heads/x", first, second)
    assert project.store.ref("refs/heads/x") == second
    assert git(project, "rev-parse", "x") == second
    with pytest.raises(NoSuchSavepoint):
        move(project, "refs/heads/x", second, CommitId("1" * 40))
    with pytest.raises(Conflict):
        move(project, "refs/heads/x", first, None)
    move(project, "refs/heads/x", second, None)
    assert project.store.ref("refs/heads/x") is None


def test_refs_that_git_packed_are_read_moved_and_deleted(project: Project) -> None:
    first = project.save()
    project.write("a", "x")
    second = project.save()
    for name in ["one", "two", "deep/three"]:
        move(project, f"refs/heads/{name}", None, first)
    git(project, "pack-refs", "--all", "--prune")
    assert not os.path.exists(os.path.join(project.layout.repo, "refs/heads/one"))
    assert [name for name, _ in project.store.refs("refs/heads/")] == [
        "refs/heads/deep/three", "refs/heads/one", "refs/heads/two"
    ]  # fmt: skip
    move(project, "refs/heads/one", first, second)
    move(project, "refs/heads/two", first, None)
    assert git(project, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") == (
        f"refs/heads/deep/three {first}\nrefs/heads/one {second}"
    )
    assert project.store.next_auto_ref() == "refs/chrono/auto/3"
    assert project.reopen().next_auto_ref() == "refs/chrono/auto/3"


def test_numbers_are_sorted_by_value_and_never_reused(project: Project) -> None:
    for number in range(11):
        project.write("a", str(number))
        project.save()
    names = [name for name, _ in project.store.refs("refs/chrono/auto/")]
    assert names == [f"refs/chrono/auto/{number}" for number in range(1, 12)]
    project.save("rescue")
    assert (project.store.next_auto_ref(), project.store.next_rescue_ref()) == (
        "refs/chrono/auto/12", "refs/chrono/rescue/2"
    )  # fmt: skip


def test_a_lock_of_git_is_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refs, "STALE_LOCK_S", LONG_S)
    commit = project.save()
    lock = Path(project.layout.repo, "refs/heads/x.lock")
    lock.touch()
    started = time.monotonic()
    threading.Timer(0.3, lock.unlink).start()
    move(project, "refs/heads/x", None, commit)
    assert time.monotonic() - started >= 0.3


def test_a_lock_that_a_crash_left_is_removed(project: Project) -> None:
    commit = project.save()
    lock = Path(project.layout.repo, "refs/heads/x.lock")
    lock.touch()
    os.utime(lock, (time.time() - 60,) * 2)
    move(project, "refs/heads/x", None, commit)
    assert not lock.exists()


@pytest.mark.parametrize(
    "name",
    ["refs/heads/../../x", "refs/heads/a b", "refs/heads/a.lock", "refs/heads/.a", "HEAD", "refs", "refs/heads/a\n",
     "refs/heads/", "refs/heads//a", "/etc/passwd", "refs/heads/a..b", "refs/heads/a@{1}", "refs/heads/a.", ""],
)  # fmt: skip
def test_a_name_git_would_refuse_is_refused(project: Project, name: str) -> None:
    commit = project.save()
    with pytest.raises(StoreError, match="not a ref name"):
        move(project, name, None, commit)


def test_a_damaged_ref_is_an_error_an_empty_one_is_none(project: Project) -> None:
    path = Path(project.layout.repo, "refs/heads/x")
    path.write_bytes(b"")
    assert project.store.ref("refs/heads/x") is None
    path.write_bytes(b"\0" * 41)
    assert project.store.ref("refs/heads/x") is None
    path.write_bytes(b"nonsense\n")
    with pytest.raises(StoreError, match="damaged"):
        project.store.ref("refs/heads/x")
    path.unlink()
    os.symlink("/etc/hostname", path)
    with pytest.raises(StoreError):
        project.store.ref("refs/heads/x")


def test_history_holds_every_kind_once_newest_first(project: Project) -> None:
    made = []
    for number, kind in enumerate(["manual", "auto", "rescue", "manual", "auto", "auto", "manual", "rescue"]):
        project.write("a", str(number))
        made.append((project.save(kind), kind))
    found = [(savepoint.id, savepoint.kind) for savepoint in project.store.history()]
    assert found == list(reversed(made))
    assert [savepoint.kind for savepoint in project.store.history(kinds=frozenset(["rescue"]))] == ["rescue"] * 2


def test_savepoints_are_found_by_id_prefix_name_and_step(project: Project) -> None:
    made = []
    for number in range(3):
        project.write("a", str(number))
        made.append(project.save("manual"))
    auto = project.save()
    resolve = project.store.resolve
    assert resolve("main") == resolve("HEAD") == resolve("@") == resolve("refs/heads/main") == made[2]
    assert resolve("HEAD~") == resolve("main~1") == resolve("HEAD^") == made[1]
    assert resolve("HEAD~2") == resolve("HEAD^^") == resolve("HEAD~1^1") == made[0]
    assert resolve(made[1][:8]) == resolve(made[1][:8].upper()) == resolve(made[1]) == made[1]
    assert resolve("auto/1") == resolve(auto[:12]) == auto
    for text in [
        "nope",
        "HEAD~3",
        "HEAD^2",
        "",
        "0000000",
        "abc",
        "-x",
        "a" * 41,
        "refs/heads/../main",
        project.store.content(auto).tree,
    ]:
        with pytest.raises(NoSuchSavepoint):
            resolve(text)


def test_a_prefix_of_several_is_refused_and_names_them(project: Project) -> None:
    seen: dict[str, CommitId] = {}
    with project.store.lock(5):
        content = project.store.capture().content
        for number in range(3000):
            commit = project.store.write_commit(
                content, parents=(), message=str(number), trailers=(("Chrono-Kind", "auto"),), at_ns=number, author="x"
            )  # fmt: skip
            if commit[:4] in seen:
                project.store.move_ref("refs/heads/a", None, commit)
                project.store.move_ref("refs/heads/b", None, seen[commit[:4]])
                break
            seen[commit[:4]] = commit
    with pytest.raises(NoSuchSavepoint, match="fits several"):
        project.store.resolve(commit[:4])
    assert project.store.resolve(commit[:14]) == commit


@pytest.mark.parametrize("line", ["zz", "0" * 39 + " refs/chrono/auto/1", "# ok\n" + "0" * 40 + "\trefs/chrono/auto/1"])
def test_a_damaged_line_among_packed_refs_is_an_error(project: Project, line: str) -> None:
    commit = project.save()
    with project.store.lock(5):
        project.store._refs.pack("refs/chrono/auto/", 10)
    path = os.path.join(project.layout.repo, "packed-refs")
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{whole}^{'1' * 40}\n\n# a remark\n")
    assert project.reopen().refs("refs/chrono/auto/") == (("refs/chrono/auto/1", commit),)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{whole}{line}\n")
    with pytest.raises(StoreError, match="damaged"):
        project.reopen().refs("refs/chrono/auto/")

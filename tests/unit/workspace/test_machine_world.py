"""Claims about the machine as a scan sees it: one answer a path, no waiting, and a hash of what was read."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from pathlib import Path

import pytest

from chrono.scan.world import Read, Stat, Unreadable
from chrono.workspace import machine_world
from chrono.workspace.machine_world import ClosedWorld, MachineWorld


def world(root: Path, **environ: str) -> MachineWorld:
    return MachineWorld(str(root), environ, project=str(root), chrono_home="/none", user_home=str(root))


def test_the_first_answer_stays_and_its_hash_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "x.sh"
    script.write_bytes(b"echo 1\n")
    seen = world(tmp_path)
    assert seen.read(str(script), 100) == Read(b"echo 1\n")
    script.write_bytes(b"rm -rf /\n")
    assert seen.read(str(script), 100) == Read(b"echo 1\n")
    assert seen.hashes() == ((str(script), hashlib.sha256(b"echo 1\n").hexdigest()),)


def test_a_fifo_a_device_and_a_folder_are_not_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    seen = world(tmp_path)
    assert seen.read(str(tmp_path / "fifo"), 100) == Unreadable("not a file")
    assert seen.read("/dev/zero", 100) == Unreadable("not a file")
    assert seen.read(str(tmp_path), 100) == Unreadable("not a file")


def test_the_limit_holds_for_the_first_and_for_later_reads(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    seen = world(tmp_path)
    assert seen.read(str(tmp_path / "x"), 4) == Unreadable("too large")
    assert seen.read(str(tmp_path / "x"), 5) == Read(b"12345")
    assert seen.read(str(tmp_path / "x"), 4) == Unreadable("too large")


def test_the_head_of_a_file_needs_no_limit_and_is_no_reading(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF" + b"0" * 5_000_000)
    seen = world(tmp_path)
    assert seen.head(str(tmp_path / "x"), 4) == Read(b"\x7fELF")
    assert seen.hashes() == ()
    os.mkfifo(tmp_path / "fifo")
    assert seen.head(str(tmp_path / "fifo"), 4) == Unreadable("not a file")


def test_a_file_without_a_size_is_limited_too() -> None:
    if not Path("/proc/self/maps").exists():
        pytest.skip("no /proc here")
    assert world(Path("/")).read("/proc/self/maps", 10) == Unreadable("too large")
    assert isinstance(world(Path("/")).read("/proc/self/maps", 1_000_000), Read)


def test_missing_and_impossible_paths_are_answers_not_errors(tmp_path: Path) -> None:
    seen = world(tmp_path)
    assert seen.read(str(tmp_path / "no"), 9) == Unreadable("missing")
    assert seen.read("a\0b", 9) == Unreadable("denied")
    assert seen.read("/" + "x" * 5000, 9) == Unreadable("denied")
    assert seen.lstat("a\0b") is None
    assert seen.listdir("a\0b") is None
    assert seen.realpath("a\0b") == "a\0b"


def test_kinds_are_told_apart_without_following(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"123")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    seen = world(tmp_path)
    assert seen.lstat(str(tmp_path / "file")) == Stat("file", 3, 0o640, os.getuid())
    assert [seen.lstat(str(tmp_path / name)).kind for name in ("", "link", "fifo")] == ["dir", "link", "other"]  # type: ignore[union-attr]
    assert seen.realpath(str(tmp_path / "link" / ".." / "link")) == os.path.realpath(tmp_path / "file")
    assert seen.listdir(str(tmp_path)) == ("fifo", "file", "link")


def test_a_folder_with_too_many_names_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_world, "MAX_NAMES", 20)
    for index in range(20):
        os.close(os.open(f"{tmp_path}/{index}", os.O_CREAT))
    assert len(world(tmp_path).listdir(str(tmp_path)) or ()) == 20
    for index in range(20, 21):
        os.close(os.open(f"{tmp_path}/{index}", os.O_CREAT))
    assert world(tmp_path).listdir(str(tmp_path)) is None


def test_the_environment_is_the_one_that_was_passed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY_OURS", "1")
    seen = world(tmp_path, THEIRS="2", USER="sara")
    assert (seen.env("ONLY_OURS"), seen.env("THEIRS"), seen.user) == (None, "2", "sara")
    assert world(tmp_path).user
    assert seen.platform == sys.platform


def test_homes_hold_the_own_and_the_roots(tmp_path: Path) -> None:
    homes = world(tmp_path).homes()
    assert homes[0] == str(tmp_path)
    assert "/" not in homes
    assert len(set(homes)) == len(homes)


def test_a_closed_world_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    closed = ClosedWorld(str(tmp_path), {}, project=None, chrono_home="/none", user_home="/home/dev")
    assert closed.read(str(tmp_path / "x"), 9) == Unreadable("denied")
    assert closed.lstat(str(tmp_path / "x")) is None
    assert closed.listdir(str(tmp_path)) is None
    assert closed.realpath(f"{tmp_path}/a/../x") == f"{tmp_path}/x"
    assert closed.homes() == ("/home/dev",)


def test_links_resolve_as_the_system_resolves_them(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "a/b/c").mkdir(parents=True)
    for name, target in {
        "a/l": "b",
        "a/b/up": str(root / "a"),
        "a/dead": "../nowhere",
        "self": "self",
        "far": "/",
    }.items():
        (root / name).symlink_to(target)
    chance = random.Random(5)
    seen = world(root)  # what it was asked before does not change an answer
    for _ in range(3000):
        parts = chance.choices(["a", "b", "c", "l", "up", "dead", "far", "x", "..", "."], k=chance.randrange(1, 7))
        path = "/".join((str(root), *parts))
        real = os.path.realpath(path)
        assert seen.realpath(path) == world(root).realpath(path) == real
        assert (seen.lstat(real) is not None) == os.path.lexists(real)
    deep = f"{root}/" + "x/" * 1500 + "l"
    assert world(root).realpath(deep) == deep
    assert world(root).realpath(f"{root}/self/x").startswith(str(root))


def test_a_folder_that_many_paths_share_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, looked = tmp_path.resolve(), list[str]()
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: (looked.append(str(path)), real(path, **more))[1])
    seen = world(root)
    for name in "abc":
        seen.realpath(f"{root}/x/{name}")
    assert len(looked) == len(set(looked)) > 3
    assert f"{root}/x" in looked
    assert f"{root}/x/a" not in looked, "there is nothing below a folder that is not there"
    assert seen.lstat(f"{root}/x/a") is None


def test_a_new_account_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    accounts = tmp_path / "passwd"
    accounts.write_text("ann:x:1000:1000::/srv/ann:/bin/sh\n")
    monkeypatch.setattr(machine_world, "ACCOUNTS", str(accounts))
    assert "/srv/ann" in world(tmp_path).homes()
    accounts.write_text("bob:x:1001:1001::/srv/bob/home:/bin/sh\n")
    homes = world(tmp_path).homes()
    assert "/srv/bob/home" in homes and "/srv/ann" not in homes


def test_the_process_that_looks_is_not_taken_for_the_one_that_will_run(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_text("1")
    seen = world(tmp_path)
    for own in (
        "/proc/self/cwd",
        "/proc/thread-self/cwd",
        f"/proc/self/root{tmp_path}",
        "/proc/self/root/proc/self/cwd",
    ):
        assert seen.realpath(own) == str(tmp_path)
        assert seen.realpath(f"{own}/src/a") == f"{tmp_path}/src/a"
        assert seen.read(f"{own}/src/a", 10) == Read(b"1")
        assert seen.listdir(f"{own}/src") == ("a",)
        assert seen.lstat(f"{own}/src") == seen.lstat(str(tmp_path / "src")) is not None
    assert seen.realpath("/proc/self/root") == "/"
    assert seen.realpath("/proc/self/fd/3") == "/proc/self/fd/3"
    assert seen.realpath("/proc/self") == "/proc/self"
    looping = MachineWorld("/proc/self/cwd", {}, project=None, chrono_home="/none", user_home="/none")
    assert looping.realpath("/proc/self/cwd/x").endswith("/x")


def test_a_home_that_becomes_a_link_is_no_longer_where_its_path_says(tmp_path: Path) -> None:
    parent = tmp_path / "home"
    (parent / "ann").mkdir(parents=True)
    (parent / "bob").symlink_to(tmp_path)
    known = machine_world._kept(str(parent), machine_world._folders_in)
    assert known.paths == (f"{parent}/ann", f"{parent}/bob")
    assert known.plain == (f"{parent}/ann",)
    (parent / "ann").rename(tmp_path / "ann")
    (parent / "ann").symlink_to(tmp_path / "ann")
    assert machine_world._kept(str(parent), machine_world._folders_in).plain == ()


def test_below_a_linked_parent_no_home_is_where_its_path_says(tmp_path: Path) -> None:
    parent = tmp_path / "home"
    (parent / "ann").mkdir(parents=True)
    assert machine_world._kept(str(parent), machine_world._folders_in).plain == (f"{parent}/ann",)
    parent.rename(tmp_path / "data")
    parent.symlink_to(tmp_path / "data")
    assert machine_world._kept(str(parent), machine_world._folders_in).plain == ()


def test_below_what_is_not_there_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: asked.append(str(path)) or real(path))
    seen = world(tmp_path)
    assert seen.lstat(f"{tmp_path}/gone") is None
    assert seen.lstat(f"{tmp_path}/gone/.git") is None
    assert asked == [f"{tmp_path}/gone"]


def test_the_way_into_a_listed_home_begins_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path = tmp_path.resolve()
    _, parent, name, *_ = str(tmp_path).split("/")
    home = f"/{parent}/{name}"
    listed = machine_world._Homes((home,), (home,))
    monkeypatch.setattr(machine_world, "_homes", lambda platform: (machine_world._Homes((), ()), listed))
    monkeypatch.setattr(machine_world, "_HOMES_PARENTS", (parent,))
    asked: list[str] = []
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: asked.append(str(path)) or real(path))
    assert world(tmp_path).realpath(f"{tmp_path}/x") == f"{tmp_path}/x"
    assert asked[-1] == f"{tmp_path}/x"
    assert not {f"/{parent}", home} & set(asked)

"""Random work trees, captured with the stat cache, must give the very tree that git gives with `add -A -f`."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from chrono.layout import ProjectLayout
from chrono.store import tree
from chrono.store.repository import Store

NAMES = [
    b"a",
    b"b",
    b"c.txt",
    b"d-e",
    b"d",
    b"d.x",
    b"caf\xe9",
    "grün".encode(),
    b"sp ace",
    b"\xff\xfe",
    b"new\nline",
    b"z" * 200,
]
CONTENTS = [b"", b"x", b"x\r\ny\r\n", b"$Id$\n", b"\0\1\2", b"same size 1", b"same size 2", b"q" * 5000]


class Tree:
    """A work tree that is changed at random, in the ways that fool stat caches."""

    def __init__(self, root: bytes, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)

    def folders(self) -> list[bytes]:
        found = []
        for folder, names, _ in os.walk(self.root):
            names[:] = [name for name in names if name not in (b".chrono", b".git")]
            found.append(folder)
        return found

    def files(self) -> list[bytes]:
        found = []
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in (b".chrono", b".git")]
            found += [os.path.join(folder, name) for name in [*files, *names] if name != b".git"]
        return [path for path in found if os.path.islink(path) or not os.path.isdir(path)]

    def fresh_path(self) -> bytes | None:
        path = os.path.join(self.random.choice(self.folders()), self.random.choice(NAMES))
        return None if os.path.lexists(path) else path

    def step(self) -> None:
        getattr(
            self,
            self.random.choice(
                [
                    "add",
                    "add",
                    "add",
                    "edit",
                    "edit",
                    "edit_same_size_keep_times",
                    "delete",
                    "rename",
                    "link",
                    "mkdir",
                    "chmod",
                    "file_to_folder",
                    "swap",
                    "remove_folder",
                    "rename_folder",
                    "utime",
                ]
            ),
        )()

    def _write(self, path: bytes, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)

    def add(self) -> None:
        path = self.fresh_path()
        if path is not None:
            self._write(path, self.random.choice(CONTENTS))

    def _regular(self) -> bytes | None:
        files = [path for path in self.files() if not os.path.islink(path)]
        return self.random.choice(files) if files else None

    def edit(self) -> None:
        path = self._regular()
        if path is not None:
            self._write(path, self.random.choice(CONTENTS))

    def edit_same_size_keep_times(self) -> None:
        path = self._regular()
        if path is not None:
            found = os.stat(path)
            self._write(path, os.urandom(found.st_size))
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def utime(self) -> None:
        path = self._regular()
        if path is not None:
            os.utime(path, ns=(0, self.random.choice([0, 10**18, time.time_ns() + 10**12])))

    def delete(self) -> None:
        files = self.files()
        if files:
            os.unlink(self.random.choice(files))

    def rename(self) -> None:
        files, path = self.files(), self.fresh_path()
        if files and path is not None:
            os.rename(self.random.choice(files), path)

    def swap(self) -> None:
        files = self.files()
        if len(files) > 1:
            one, two = self.random.sample(files, 2)
            os.rename(one, one + b".swap")
            os.rename(two, one)
            os.rename(one + b".swap", two)

    def link(self) -> None:
        path = self.fresh_path()
        if path is not None:
            os.symlink(self.random.choice([b"a", b"../x", b"/etc", b"\xff"]), path)

    def mkdir(self) -> None:
        path = self.fresh_path()
        if path is not None:
            os.mkdir(path)

    def chmod(self) -> None:
        path = self._regular()
        if path is not None:
            os.chmod(path, self.random.choice([0o644, 0o755, 0o600, 0o700]))

    def file_to_folder(self) -> None:
        path = self._regular()
        if path is not None:
            os.unlink(path)
            os.mkdir(path)
            self._write(os.path.join(path, b"inner"), b"was a file")

    def remove_folder(self) -> None:
        folders = self.folders()[1:]
        if folders:
            subprocess.run(["rm", "-rf", "--", self.random.choice(folders)], check=True)

    def rename_folder(self) -> None:
        folders, path = self.folders()[1:], self.fresh_path()
        if folders and path is not None:
            folder = self.random.choice(folders)
            if not (path + b"/").startswith(folder + b"/"):
                os.rename(folder, path)


def without_empty_folders(store: Store, oid: bytes) -> bytes | None:
    """Our tree as git has it: git's index knows no empty folder."""
    kept = []
    for entry in tree.parse(store._objects.read_as(oid, b"tree")):
        if entry.mode == tree.FOLDER:
            inner = without_empty_folders(store, entry.oid)
            if inner is not None:
                kept.append((entry.name, entry.mode, inner))
        else:
            kept.append(tuple(entry))
    return tree.object_id(b"tree", tree.build(kept)) if kept else None


def git_tree(root: bytes, shadow: str) -> str:
    env = {**os.environ, "GIT_DIR": shadow, "GIT_WORK_TREE": os.fsdecode(root), "GIT_INDEX_FILE": shadow + "/index"}
    if os.path.exists(shadow + "/index"):
        os.unlink(shadow + "/index")  # git's own stat cache must not be the judge
    subprocess.run(
        ["git", "add", "-A", "-f", "--", ".", ":(exclude).chrono"], env=env, check=True, capture_output=True, cwd=root
    )
    return subprocess.run(["git", "write-tree"], env=env, check=True, capture_output=True, text=True).stdout.strip()


def run_rounds(folder: Path, seed: int, rounds: int) -> Store:
    root = os.fsencode(folder / "tree")
    os.mkdir(root)
    shadow = str(folder / "shadow.git")
    subprocess.run(["git", "init", "-q", "--bare", shadow], check=True)
    Path(shadow, "info", "attributes").write_text("* -text -ident -filter -eol -working-tree-encoding\n")
    subprocess.run(["git", "--git-dir", shadow, "config", "core.bare", "false"], check=True)
    layout = ProjectLayout(os.fsdecode(root))
    store = Store.create(layout)
    changing = Tree(root, seed)
    parent = None
    for number in range(rounds):
        for _ in range(changing.random.randrange(1, 6)):
            changing.step()
        if changing.random.random() < 0.1:
            os.path.exists(layout.stat_cache) and os.unlink(layout.stat_cache)
        if changing.random.random() < 0.3:
            store = Store.open(layout)
        with store.lock(5):
            capture = store.capture()
            theirs = git_tree(root, shadow)
            commit = store.write_commit(
                capture,
                parents=(parent,) if parent else (),
                message=f"round {number}",
                trailers=(("Chrono-Kind", "auto"),),
                at_ns=time.time_ns(),
                author="fuzz",
            )
            ours = without_empty_folders(store, bytes.fromhex(capture.tree))
            assert (ours or tree.EMPTY_TREE).hex() == theirs, f"seed {seed}, round {number}"
            store.move_ref(store.next_auto_ref(), None, commit)
            store.remember(capture, commit)
            store.move_ref("refs/heads/main", parent, commit)
            parent = commit
    return store


def fsck(store: Store) -> None:
    done = subprocess.run(
        ["git", "--git-dir", store.layout.repo, "fsck", "--strict", "--full", "--no-dangling"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("seed", range(5))
def test_captures_equal_what_git_adds(tmp_path: Path, seed: int) -> None:
    store = run_rounds(tmp_path, seed, 40)
    fsck(store)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_two_thousand_captures_equal_what_git_adds(tmp_path: Path, seed: int) -> None:
    store = run_rounds(tmp_path, seed, 100)
    fsck(store)

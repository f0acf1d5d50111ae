"""Claims about merges, each checked against the real git: clean where git is clean and the same tree, else a conflict.

Where the two differ, the case says why ours is the safer one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from chrono.ids import CommitId
from chrono.layout import ProjectLayout
from chrono.store.filemerge import Labels
from chrono.store.repository import Store
from chrono.store.union import MergeResult

LABELS = Labels("base", "main", "feature")

C = TypeVar("C")

File = str | bytes | tuple[str, str]
"""Text, bytes, ("link", target), ("run", text of an executable) or ("dir", "")."""

State = dict[str, File]


class Case(NamedTuple):
    """`git`: what git must say, and we too ("clean" or "conflict"); `files`: what our result must hold."""

    name: str
    base: State
    ours: State
    theirs: State
    git: str = "clean"
    noted: bool = False
    files: tuple[tuple[str, str | None], ...] = ()


def lines(*changed: tuple[int, str], count: int = 30) -> str:
    rows = [f"line {number}" for number in range(count)]
    for number, text in changed:
        rows[number] = text
    return "".join(row + "\n" for row in rows)


LONG = lines()
BINARY = b"\0\1\2" + bytes(range(256)) * 8

CASES = (
    Case("each side edits a file of its own", {"a": "1\n", "b": "1\n"}, {"a": "2\n", "b": "1\n"},
         {"a": "1\n", "b": "2\n"}, files=(("a", "2\n"), ("b", "2\n"))),
    Case("both edit one file far apart", {"a": LONG}, {"a": lines((2, "ours"))}, {"a": lines((25, "theirs"))},
         files=(("a", lines((2, "ours"), (25, "theirs"))),)),
    Case("both edit the same line", {"a": LONG}, {"a": lines((5, "ours"))}, {"a": lines((5, "theirs"))}, "conflict"),
    Case("both make the same edit", {"a": LONG}, {"a": lines((5, "same"))}, {"a": lines((5, "same"))}),
    Case("one deletes what the other left alone", {"a": LONG, "b": "1\n"}, {"b": "1\n"}, {"a": LONG, "b": "2\n"}),
    Case("one deletes what the other edited", {"a": LONG, "b": "1\n"}, {"b": "1\n"},
         {"a": lines((5, "theirs")), "b": "1\n"}, "conflict",
         files=(("a", None), ("a~feature", lines((5, "theirs"))))),
    Case("both add the same file", {"b": "1\n"}, {"a": LONG, "b": "1\n"}, {"a": LONG, "b": "1\n"}),
    Case("both add a different file of one name", {"b": "1\n"}, {"a": "x\n", "b": "1\n"}, {"a": "y\n", "b": "1\n"},
         "conflict"),
    Case("one renames, the other edits", {"a": LONG}, {"new": LONG}, {"a": lines((5, "theirs"))},
         files=(("new", lines((5, "theirs"))), ("a", None))),
    Case("both rename alike and edit apart", {"a": LONG}, {"new": lines((2, "ours"))},
         {"new": lines((25, "theirs"))}, files=(("new", lines((2, "ours"), (25, "theirs"))), ("a", None))),
    Case("both rename to different names", {"a": LONG}, {"x": LONG}, {"y": LONG}, "conflict",
         files=(("x~main", LONG), ("y~feature", LONG), ("a", None))),
    Case("one renames, the other deletes", {"a": LONG, "b": "1\n"}, {"x": LONG, "b": "1\n"}, {"b": "1\n"}, "conflict",
         files=(("x~main", LONG), ("x", None))),
    Case("both edit a binary file", {"a": BINARY}, {"a": BINARY + b"o"}, {"a": BINARY + b"t"}, "conflict",
         files=(("a", None),)),
    Case("both turn a link to other targets", {"a": ("link", "x")}, {"a": ("link", "y")}, {"a": ("link", "z")},
         "conflict", files=(("a", None), ("a~main", "y"), ("a~feature", "z"))),
    Case("one makes it executable, the other edits", {"a": LONG}, {"a": ("run", LONG)}, {"a": lines((5, "theirs"))},
         files=(("a", lines((5, "theirs"))),)),
    Case("a file on one side, a folder on the other", {"b": "1\n"}, {"d": "file\n", "b": "1\n"},
         {"d/x": "in\n", "b": "1\n"}, "conflict", files=(("d/x", "in\n"), ("d~main", "file\n"))),
    Case("a file that became a folder and was edited", {"d": LONG}, {"d/x": LONG + "more\n"},
         {"d": lines((5, "theirs"))}, "clean",  # git takes it for a rename into the folder
         files=(("d/x", lines((5, "theirs")) + "more\n"),)),
    Case("one turns a file into a link, the other edits", {"a": LONG}, {"a": ("link", "b")},
         {"a": lines((5, "theirs"))}, "conflict", files=(("a~main", "b"), ("a~feature", lines((5, "theirs"))))),
    # By default git guesses that the new file belongs into the moved folder, and calls that a conflict; we leave it
    # where it was put and say so, as git does with merge.directoryRenames=false.
    Case("one moves a folder, the other adds to it", {"d/1": LONG, "d/2": LONG + "2\n"},
         {"e/1": LONG, "e/2": LONG + "2\n"}, {"d/1": LONG, "d/2": LONG + "2\n", "d/new": "new\n"}, noted=True,
         files=(("d/new", "new\n"), ("e/1", LONG))),
    Case("both swap lines of a file without a last line feed", {"a": "1\n2\n3"}, {"a": "1\n2\n3\n4"},
         {"a": "0\n1\n2\n3"}, "clean"),
    Case("the same file added with other rights", {"b": "1\n"}, {"a": ("run", LONG), "b": "1\n"},
         {"a": LONG, "b": "1\n"}, "conflict", files=(("a~main", LONG), ("a~feature", LONG))),
    Case("both delete it", {"a": LONG, "b": "1\n"}, {"b": "1\n"}, {"b": "1\n"}),
    Case("one renames onto what the other added", {"a": LONG, "b": "1\n"}, {"n": LONG, "b": "1\n"},
         {"a": LONG, "n": "other\n", "b": "1\n"}, "conflict"),
    Case("one deletes a folder, the other adds to it", {"d/1": LONG, "b": "1\n"}, {"b": "1\n"},
         {"d/1": LONG, "d/new": "new\n", "b": "1\n"}, files=(("d/new", "new\n"), ("d/1", None))),
)  # fmt: skip


def lay(root: Path, state: State) -> None:
    for entry in root.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name not in (".git", ".chrono"):
                shutil.rmtree(entry)
        else:
            entry.unlink()
    for relative, file in state.items():
        path = root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(file, tuple) and file[0] == "link":
            path.symlink_to(file[1])
        elif isinstance(file, tuple) and file[0] == "dir":
            path.mkdir()
        else:
            content = file[1] if isinstance(file, tuple) else file
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            path.chmod(0o755 if isinstance(file, tuple) else 0o644)


class Ours:
    """A store with commits made to order."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.root = root
        self.store = Store.create(ProjectLayout(str(root)))

    def commit(self, state: State, *parents: CommitId) -> CommitId:
        lay(self.root, state)
        with self.store.lock(5):
            capture = self.store.capture()
            trailers = (("Chrono-Kind", "manual"),)
            commit = self.store.write_commit(
                capture, parents=parents, message="m", trailers=trailers, at_ns=time.time_ns(), author="a test"
            )
            self.store.move_ref(self.store.next_auto_ref(), None, commit)
            self.store.remember(capture, commit)
        return commit

    def merge(self, ours: CommitId, theirs: CommitId) -> MergeResult:
        with self.store.lock(5):
            return self.store.merge(ours, theirs, LABELS, lambda commit: self.store.savepoint(commit).parents)

    def hold(self, result: MergeResult, *parents: CommitId) -> CommitId:
        with self.store.lock(5):
            commit = self.store.write_commit(
                result.content,
                parents=parents,
                message="m",
                trailers=(("Chrono-Kind", "merge"),),
                at_ns=time.time_ns(),
                author="a test",
            )
            self.store.move_ref(self.store.next_auto_ref(), None, commit)
        return commit


class Git:
    """A repository of the real git."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.root = root
        self.run("init", "-q", "-b", "main")

    def run(self, *argv: str, code: int = 0) -> str:
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "merge.conflictStyle=zdiff3",
               "-c", "merge.directoryRenames=false"]  # fmt: skip
        done = subprocess.run(["git", *who, *argv], cwd=self.root, env=environ, capture_output=True, text=True)
        assert done.returncode <= code, done.stderr
        return done.stdout

    def commit(self, state: State, *parents: str) -> str:
        lay(self.root, state)
        self.run("add", "-A", "-f")
        tree = self.run("write-tree").strip()
        return self.run("commit-tree", tree, "-m", "m", *(word for one in parents for word in ("-p", one))).strip()

    def read(self, tree: str, path: str) -> bytes:
        """A file of a tree, its base called as ours is: git writes an id, libgit2 nothing where there is none."""
        data = self.run("show", f"{tree}:{path}").encode()
        return without_base_label(data)

    def merge(self, ours: str, theirs: str) -> tuple[bool, str]:
        """(clean, tree)."""
        self.run("branch", "-f", "feature", theirs)
        self.run("update-ref", "refs/heads/main", ours)
        out = self.run("merge-tree", "--write-tree", "main", "feature", code=1)
        return len(out.splitlines()) == 1, out.splitlines()[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_merge_ends_as_git_s_or_safer(tmp_path: Path, case: Case) -> None:
    ours, git = Ours(tmp_path / "ours"), Git(tmp_path / "git")
    commits = three(ours.commit, case)
    theirs = three(git.commit, case)
    result = ours.merge(commits[1], commits[2])
    clean, tree = git.merge(theirs[1], theirs[2])
    assert clean == (case.git == "clean")
    assert (not result.conflicts) == clean, result.conflicts
    if clean:
        assert result.content.tree == tree
    assert bool(result.notes) == case.noted
    commit = ours.hold(result, commits[1], commits[2])
    for path, wanted in case.files:
        assert held(ours.store, commit, path) == (wanted.encode() if wanted is not None else None), path
    for conflict in result.conflicts:
        for path in conflict.files:
            assert held(ours.store, commit, path) is not None
        if conflict.why == "content":  # the same lines outside the markers, and the same in them
            (path,) = conflict.files
            assert without_base_label(held(ours.store, commit, path) or b"") == git.read(tree, path)


def without_base_label(data: bytes) -> bytes:
    return re.sub(rb"(?m)^(\|{7}).*$", rb"\1", data)


def three(commit: Callable[..., C], case: Case) -> tuple[C, C, C]:
    base = commit(case.base)
    return base, commit(case.ours, base), commit(case.theirs, base)


def held(store: Store, commit: CommitId, path: str) -> bytes | None:
    from chrono.errors import NoSuchSavepoint

    try:
        return store.read(commit, path)
    except NoSuchSavepoint:
        return None

"""Claims about states that never lay on the disk: their bytes are those that a capture of the same files writes."""
# ruff: noqa: PTH211 - links are made from bytes and relative names

from __future__ import annotations

import os
import random
import shutil

import pytest

from chrono.ids import CommitId
from chrono.store.bases import ancestors, merge_bases
from chrono.store.building import Builder
from chrono.store.memory import open_contents
from chrono.store.objects import NewObjects

from .conftest import Project

NAMES = (
    "a",
    "b.txt",
    "dir/c",
    "dir/deep/d",
    "dir/deep/e",
    "sp ace",
    "ümlaut",
    "x/.gitattributes",
    "dir2/x\ny",
    "z/.git ",
)


def shake(project: Project, dice: random.Random) -> None:
    for name in NAMES:
        path = project.path(name)
        if dice.random() < 0.3:
            continue
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        elif os.path.isdir(path):
            shutil.rmtree(path)
        kind = dice.randrange(8)
        if kind == 0:
            os.makedirs(path, dice.choice((0o755, 0o700)), exist_ok=True)
        elif kind == 1:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(dice.choice(("a", "nowhere")), path)
        elif kind < 7:
            line = "x" * dice.choice((10, 10, 3000))
            project.write(name, f"{line} {dice.random()}\n", dice.choice((0o644, 0o755, 0o600, 0o664)))
    for folder in ("dir", "dir/deep", "x", "z", "dir2"):
        if os.path.isdir(project.path(folder)):
            if not os.listdir(project.path(folder)) and dice.random() < 0.5:
                os.rmdir(project.path(folder))
            else:
                os.chmod(project.path(folder), dice.choice((0o755, 0o755, 0o700)))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_built_from_edits_is_what_a_capture_would_have_written(project: Project, seed: int) -> None:
    dice = random.Random(seed)
    commits = []
    for _ in range(4):
        shake(project, dice)
        commits.append(project.save())
    objects = project.store._objects
    for old in commits:
        for new in commits:
            a, b = (open_contents(objects, *project.store.content(one)) for one in (old, new))
            edits = {item.path: item.new for item in a.differences(b)}
            sink = NewObjects(objects)
            assert Builder(objects, sink, a, b).build(edits) == project.store.content(new)
            sink.abandon()


def test_a_folder_that_is_taken_away_stays_while_something_is_in_it(project: Project) -> None:
    project.write("d/one", "1")
    project.write("d/two", "2")
    content = project.store.content(project.save())
    objects = project.store._objects
    ground = open_contents(objects, *content)
    with project.store.lock(5):
        sink = NewObjects(objects)
        built = Builder(objects, sink, ground, ground).build({b"d": None, b"d/one": None})
        sink.flush()
    assert open_contents(objects, *built).names(b"d") == {b"two"}


def graph(**parents: str) -> dict[CommitId, tuple[CommitId, ...]]:
    return {CommitId(name): tuple(map(CommitId, text.split())) for name, text in parents.items()}


def bases(tree: dict[CommitId, tuple[CommitId, ...]], a: str, b: str) -> tuple[str, ...]:
    return merge_bases(CommitId(a), CommitId(b), lambda commit: tree.get(commit, ()))


def test_the_base_is_where_two_lines_parted() -> None:
    tree = graph(a="", b="a", c="b", d="b", m="c d", e="m", other="")
    assert bases(tree, "c", "d") == ("b",)
    assert bases(tree, "e", "d") == ("d",)
    assert bases(tree, "c", "c") == ("c",)
    assert bases(tree, "c", "other") == ()


def test_a_criss_cross_has_two_bases() -> None:
    assert bases(graph(a="", x="a", y="a", m="x y", n="y x"), "m", "n") == ("x", "y")


def test_a_parent_that_was_cut_off_ends_the_walk() -> None:
    tree = graph(b="gone")
    assert ancestors((CommitId("b"),), lambda commit: tree.get(commit, ())) == {"b", "gone"}

"""Claims about sums: one holds what each folder below it says, and a folder that did not change is not asked again."""

from __future__ import annotations

import os
import stat

from chrono.store import metadata, tree
from chrono.store.snapshot import Excluded, Skip
from chrono.store.statcache import HEAVY, KEPT, Folder
from chrono.store.totals import is_control_only, total

ROOT = b"/project"


def folder(path: bytes, *, parent: Folder | None = None, names: tuple[bytes, ...] = ()) -> Folder:
    made = Folder(path, parent)
    if parent is not None:
        parent.children.append(made)
    made.tree = b"t" * 20
    made.names = list(names)
    made.modes = [stat.S_IFREG | 0o644] * len(names)
    return made


def left_out(path: str, kind: str) -> Excluded:
    return Excluded(os.path.join(os.fsdecode(ROOT), path), kind)


def test_a_sum_holds_what_each_folder_below_says() -> None:
    top = folder(b"", names=(b"one",))
    middle = folder(b"a", parent=top, names=(b"app.db", b"two"))
    deep = folder(b"a/b", parent=middle, names=(b"other.db",))
    middle.live, deep.live = [b"app.db"], [b"other.db"]
    middle.skips, deep.skips = [(b"pipe", "special", True)], [(b"big", "over-cap", False)]
    middle.excluded, deep.excluded = [(b"cache", "ignored")], [(b"hooks", "control")]
    deep.mode = 0o700
    found = total(top, ROOT)
    assert found.file_count == 4
    assert found.live == ("a/app.db", "a/b/other.db")
    assert found.skips == (Skip("a/pipe", "special", True), Skip("a/b/big", "over-cap", False))
    assert found.excluded == (
        left_out("a/cache", "ignored"),
        left_out("a/pipe", "unreadable"),
        left_out("a/b/hooks", "control"),
        left_out("a/b/big", "over-cap"),
    )
    read = metadata.parse(metadata.HEADER + found.metadata)
    assert (read.folders, read.skips, read.live) == ({b"a/b": 0o700}, found.skips, found.live)


def test_a_sum_that_a_child_has_is_taken_as_it_is() -> None:
    top = folder(b"", names=(b"one",))
    child = folder(b"a", parent=top, names=(b"two",))
    child.totals = total(child, ROOT)._replace(file_count=40)
    assert total(top, ROOT).file_count == 41


def test_the_lines_of_a_folder_are_made_once() -> None:
    top = folder(b"")
    top.modes, top.names = [stat.S_IFREG | 0o600], [b"private"]
    assert total(top, ROOT).metadata != b""
    assert top.touched
    top.touched, top.piece = False, b"as it was\n"
    assert total(top, ROOT).metadata == b"as it was\n"
    assert not top.touched


def test_a_folder_of_usual_modes_still_names_its_skips_and_databases() -> None:
    skipping, used = folder(b"a", names=(b"x",)), folder(b"b", names=(b"app.db",))
    skipping.skips, used.live = [(b"pipe", "special", True)], [b"app.db"]
    assert total(skipping, ROOT).metadata == b"s special kept a/pipe\n"
    assert total(used, ROOT).metadata == b"l b/app.db\n"
    assert total(folder(b"c", names=(b"x",)), ROOT).metadata == b""


def test_a_folder_that_cannot_be_read_is_told_with_what_is_kept_of_it() -> None:
    kept, lost = folder(b"a"), folder(b"b")
    kept.state = lost.state = KEPT
    lost.tree = None
    assert total(kept, ROOT).metadata == b"s unreadable kept a\n"
    assert total(lost, ROOT).metadata == b"s unreadable absent b\n"
    assert total(kept, ROOT).skips == (Skip("a", "unreadable", True),)
    assert total(kept, ROOT).excluded == (left_out("a", "unreadable"),)


def test_the_modes_of_what_no_savepoint_holds_are_not_written() -> None:
    control = folder(b".kiro")
    inner = folder(b".kiro/deep", parent=control)
    heavy = folder(b"target")
    heavy.state = HEAVY
    inner.excluded = [(b"hooks", "control")]
    for one in (control, inner, heavy):
        one.mode = 0o700
    control.tree = inner.tree = tree.EMPTY_TREE
    assert is_control_only(control)
    assert total(control, ROOT).metadata == total(heavy, ROOT).metadata == b""
    inner.skips = [(b"pipe", "special", False)]
    assert not is_control_only(inner)

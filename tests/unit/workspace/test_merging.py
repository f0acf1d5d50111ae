"""Claims about merges in a project: clean ones are commits, conflicts wait for people, and nothing of either is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import Conflict, NoSuchSavepoint
from chrono.workspace import branches, mergestate, merging, oplog, rollback, undoing
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify


def fork(ws: Workspace, root: Path, by: Actor, theirs: dict[str, str | None], ours: dict[str, str | None]) -> None:
    """Branch "feature" with `theirs`, then "main" with `ours`; None deletes."""
    branches.create(ws, "feature", by)
    branches.checkout(ws, "feature", by)
    lay(root, theirs)
    save(ws, "manual", "theirs", by)
    branches.checkout(ws, "main", by)
    lay(root, ours)


def lay(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)


def test_a_clean_merge_is_a_commit_with_two_parents_and_the_files_are_there(
    ws: Workspace, root: Path, by: Actor
) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n", "new": "new\n"}, {"README": "ours\n"})
    (root / "src" / "a.txt").chmod(0o640)
    theirs = ws.store.ref("refs/heads/feature")
    done = merging.merge(ws, "feature", by)
    assert done is not None and done.commit is not None
    commit = ws.store.savepoint(done.commit)
    assert (commit.kind, commit.parents) == ("merge", (done.saved, theirs))
    assert ws.store.ref("refs/heads/main") == done.commit
    assert (root / "src" / "a.txt").read_text() == "theirs\n"
    assert (root / "src" / "a.txt").stat().st_mode & 0o777 == 0o640  # ours made it so, theirs did not
    assert (root / "new").read_text() == "new\n"
    assert (root / "README").read_text() == "ours\n"
    assert ws.store.changes(done.commit, None) == ()
    assert not save(ws, "manual", "x", by).created  # byte for byte what a capture finds
    assert merging.merge(ws, "feature", by) is None
    assert verify(ws, full=True).exit_code == 0


def test_conflicts_wait_with_both_names_in_the_markers(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n"}, {"src/a.txt": "ours\n", "README": None})
    done = merging.merge(ws, "feature", by)
    assert done is not None and done.commit is None
    assert [(one.path, one.why) for one in done.conflicts] == [("src/a.txt", "content")]
    text = (root / "src" / "a.txt").read_text()
    assert text == "<<<<<<< main\nours\n||||||| base\none\n=======\ntheirs\n>>>>>>> feature\n"
    found = mergestate.waiting(ws)
    assert found is not None and found.name == "feature"
    assert [one.path for one in found.unresolved] == ["src/a.txt"]
    assert ws.store.ref("refs/heads/main") == done.saved
    for act in (
        lambda: merging.end(ws, by),
        lambda: merging.merge(ws, "feature", by),
        lambda: branches.checkout(ws, "feature", by),
    ):
        with pytest.raises(Conflict):
            act()
    assert verify(ws, full=True).exit_code == 0


def test_a_resolved_merge_ends_in_a_commit_of_the_files_as_they_are(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n"}, {"src/a.txt": "ours\n"})
    theirs = ws.store.ref("refs/heads/feature")
    merging.merge(ws, "feature", by)
    (root / "src" / "a.txt").write_text("both\n")
    (root / "more").write_text("more\n")
    commit = merging.end(ws, by)
    found = ws.store.savepoint(commit)
    assert found.kind == "merge" and found.parents[1] == theirs
    assert ws.store.read(commit, "src/a.txt") == b"both\n"
    assert ws.store.read(commit, "more") == b"more\n"
    assert mergestate.waiting(ws) is None
    assert merging.merge(ws, "feature", by) is None
    with pytest.raises(NoSuchSavepoint):
        merging.end(ws, by)
    undoing.apply(ws, undoing.plan_undo(ws), by)  # the whole merge, not only its end
    assert (root / "src" / "a.txt").read_text() == "ours\n"
    assert mergestate.waiting(ws) is None
    undoing.apply(ws, undoing.plan_redo(ws), by)
    assert (root / "src" / "a.txt").read_text() == "both\n"
    assert verify(ws, full=True).exit_code == 0


def test_both_versions_of_what_has_no_lines_wait_beside_each_other(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": None, "bin": "\0t"}, {"src/a.txt": "ours\n", "bin": "\0o"})
    done = merging.merge(ws, "feature", by)
    assert done is not None
    assert {one.path: one.files for one in done.conflicts} == {
        "bin": ("bin~main", "bin~feature"),
        "src/a.txt": ("src/a.txt~main",),
    }
    (root / "bin~main").rename(root / "bin")
    (root / "bin~feature").unlink()
    with pytest.raises(Conflict):
        merging.end(ws, by)
    (root / "src" / "a.txt~main").unlink()
    commit = merging.end(ws, by)
    assert ws.store.read(commit, "bin") == b"\0o"


def test_an_abandoned_merge_leaves_the_files_of_before_it_and_a_rescue(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n", "new": "n"}, {"src/a.txt": "ours, unsaved\n"})
    done = merging.merge(ws, "feature", by)
    assert done is not None
    (root / "src" / "a.txt").write_text("half resolved\n")
    undone = undoing.apply(ws, undoing.plan_undo(ws, mergestate.begun_by(ws).id), by)
    assert (root / "src" / "a.txt").read_text() == "ours, unsaved\n"
    assert not (root / "new").exists()
    assert mergestate.waiting(ws) is None
    assert undone.rescue is not None
    assert ws.store.read(undone.rescue, "src/a.txt") == b"half resolved\n"
    assert ws.store.ref("refs/heads/main") == done.saved
    assert verify(ws, full=True).exit_code == 0
    undoing.apply(ws, undoing.plan_redo(ws), by)
    assert (root / "src" / "a.txt").read_text() == "half resolved\n"
    assert mergestate.waiting(ws) is not None
    assert verify(ws, full=True).exit_code == 0


def test_a_whole_rollback_ends_the_merge_that_waits(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n"}, {"src/a.txt": "ours\n"})
    merging.merge(ws, "feature", by)
    rollback.apply(ws, rollback.plan(ws), by)
    assert (root / "src" / "a.txt").read_text() == "ours\n"
    assert mergestate.waiting(ws) is None
    assert verify(ws, full=True).exit_code == 0


def test_a_merge_that_was_undone_can_be_made_again(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n"}, {"README": "ours\n"})
    merging.merge(ws, "feature", by)
    undoing.apply(ws, undoing.plan_undo(ws), by)
    assert (root / "src" / "a.txt").read_text() == "one\n"
    branches.checkout(ws, "feature", by)
    (root / "more").write_text("more\n")
    branches.checkout(ws, "main", by)
    done = merging.merge(ws, "feature", by)
    assert done is not None and done.commit is not None
    assert (root / "src" / "a.txt").read_text() == "theirs\n"  # not only what came after the first merge
    assert (root / "more").read_text() == "more\n"
    assert (root / "README").read_text() == "ours\n"


def test_what_no_savepoint_holds_stops_a_merge_before_it_touches_anything(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"logs": "a file\n", "src/a.txt": "theirs\n"}, {".chronoignore": "/logs/\n", "logs/l": "kept\n"})
    with pytest.raises(Conflict):
        merging.merge(ws, "feature", by)
    assert (root / "logs" / "l").read_text() == "kept\n"
    assert (root / "src" / "a.txt").read_text() == "one\n"
    assert mergestate.waiting(ws) is None
    assert ws.store.pending() is None


def test_control_files_are_no_part_of_a_merge(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {".claude/settings.json": "1", "new": "n"}, {".claude/settings.json": "2"})
    done = merging.merge(ws, "feature", by)
    assert done is not None and not done.conflicts
    assert (root / ".claude" / "settings.json").read_text() == "2"


def test_a_criss_cross_is_merged_on_both_bases(ws: Workspace, root: Path, by: Actor) -> None:
    body = "".join(f"{number}\n" for number in range(20))
    fork(ws, root, by, {"t": body.replace("3\n", "three\n", 1)}, {"u": body})
    merging.merge(ws, "feature", by)
    first_main = str(ws.store.ref("refs/heads/main"))
    lay(root, {"u": body.replace("7\n", "seven\n", 1)})
    save(ws, "manual", "m2", by)
    branches.checkout(ws, "feature", by)
    merging.merge(ws, first_main, by)
    lay(root, {"u": body.replace("15\n", "fifteen\n", 1)})
    branches.checkout(ws, "main", by)
    done = merging.merge(ws, "feature", by)
    assert done is not None and not done.conflicts
    text = (root / "u").read_text()
    assert "seven" in text and "fifteen" in text


def test_the_operation_log_tells_a_merge_from_its_end(ws: Workspace, root: Path, by: Actor) -> None:
    fork(ws, root, by, {"src/a.txt": "theirs\n"}, {"src/a.txt": "ours\n"})
    merging.merge(ws, "feature", by)
    begun = oplog.newest_operation(ws)
    (root / "src" / "a.txt").write_text("both\n")
    merging.end(ws, by)
    ended = oplog.newest_operation(ws)
    assert begun is not None and ended is not None
    assert (ended.verb, ended.replaces, ended.before) == ("merge", begun.id, begun.before)

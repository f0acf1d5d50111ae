"""Claims about the line of states, and about whose the change between two of them is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from chrono.audit.record import Actor
from chrono.workspace import branches, rollback, timeline, undoing
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.timeline import Cause

from .session import Session


def causes(ws: Workspace, path: str) -> list[Cause]:
    """The cause of each change of `path`, oldest first, the files of now included."""
    line = timeline.read(ws)
    found = []
    for step in line.steps[1:]:
        assert step.before is not None
        if ws.store.changes(step.before.commit, step.after.commit if step.after else None, (path,)):
            found.append(timeline.cause(step, path))
    return found


def who(ws: Workspace, path: str) -> list[str]:
    return [cause.call.tool_use or "?" if cause.call else cause.kind for cause in causes(ws, path)]


def test_a_commands_change_is_what_differs_until_the_next_savepoint(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    first = one.bash("make a", lambda: (root / "README").write_text("a\n"))
    one.bash("make nothing")
    second = one.bash("make b", lambda: (root / "README").write_text("b\n"))
    assert who(ws, "README") == [first, second]
    (cause, _) = causes(ws, "README")
    assert cause.call is not None
    assert (cause.call.agent, cause.call.session, cause.call.command) == ("claude-code", "s1", "make a")
    assert cause.others == ()


def test_a_call_after_which_nothing_had_changed_is_ruled_out(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    one.bash("true")
    one.bash("date > /dev/null")
    third = one.bash("make", lambda: (root / "README").write_text("x\n"))
    assert who(ws, "README") == [third] and causes(ws, "README")[0].others == ()


def test_an_edit_by_hand_between_two_savepoints_is_the_persons(ws: Workspace, by: Actor, root: Path) -> None:
    one = Session(ws, "s1")
    call = one.bash("make", lambda: (root / "README").write_text("agent\n"))
    save(ws, "manual", "after the agent", by)
    (root / "README").write_text("by hand\n")
    one.bash("true")
    assert who(ws, "README") == [call, "person"]


def test_a_tool_that_names_its_files_is_not_charged_with_others(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    call = one.write("src/a.txt", "by the tool\n")
    (root / "README").write_text("by hand, before the next call\n")
    one.bash("true")
    assert who(ws, "src/a.txt") == [call] and who(ws, "README") == ["person"]


def test_a_denied_call_changed_nothing(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    one.bash("rm -rf .", decision="block")
    (root / "README").write_text("by hand\n")
    one.bash("true")
    assert who(ws, "README") == ["person"]


def test_of_two_sessions_at_once_the_one_that_named_the_file_is_charged(ws: Workspace, root: Path) -> None:
    one, two = Session(ws, "s1"), Session(ws, "s2", "codex")
    long = one.begin("pytest --watch")
    edit = two.write("src/a.txt", "two\n")
    (root / "README").write_text("who knows\n")  # the long command, or a person: only it was running
    one.end(long)
    one.bash("true")
    assert who(ws, "src/a.txt") == [edit] and who(ws, "README") == [long.call_id]


def test_two_commands_at_once_are_both_named(ws: Workspace, root: Path) -> None:
    one, two = Session(ws, "s1"), Session(ws, "s2")
    a, b = one.begin("make a"), two.begin("make b")
    (root / "README").write_text("x\n")
    one.end(a)
    two.end(b)
    one.bash("true")
    (cause,) = causes(ws, "README")
    assert cause.call is not None and cause.call.tool_use == b.call_id
    assert [other.tool_use for other in cause.others] == [a.call_id]


def test_a_rollback_is_a_verb_of_chrono(ws: Workspace, by: Actor, root: Path) -> None:
    one = Session(ws, "s1")
    call = one.bash("make", lambda: (root / "README").write_text("bad\n"))
    rollback.apply(ws, rollback.plan(ws), by)
    assert (root / "README").read_text() == "read\n"
    assert who(ws, "README") == [call, "verb"]
    assert causes(ws, "README")[-1].step.after is not None


def test_switching_branches_is_nobodys_edit(ws: Workspace, by: Actor, root: Path) -> None:
    one = Session(ws, "s1")
    branches.create(ws, "topic", by)
    a = one.write("README", "on main\n")
    branches.checkout(ws, "topic", by)
    assert (root / "README").read_text() == "read\n"
    b = one.write("README", "on topic\n")
    branches.checkout(ws, "main", by)
    assert (root / "README").read_text() == "on main\n"
    c = one.write("README", "on main again\n")
    assert who(ws, "README") == [a, "verb", b, "verb", c]


def test_undo_and_redo_are_verbs_of_chrono(ws: Workspace, by: Actor, root: Path) -> None:
    one = Session(ws, "s1")
    call = one.write("README", "bad\n")
    rollback.apply(ws, rollback.plan(ws), by)
    undoing.apply(ws, undoing.plan_undo(ws), by)
    assert (root / "README").read_text() == "bad\n"
    assert who(ws, "README") == [call, "verb", "verb"]


def test_what_is_not_saved_yet_belongs_to_the_call_that_runs(ws: Workspace, root: Path) -> None:
    call = Session(ws, "s1").bash("make", lambda: (root / "README").write_text("now\n"))
    assert who(ws, "README") == [call]


def test_without_a_log_the_savepoints_themselves_tell(
    ws: Workspace, by: Actor, root: Path, environ: dict[str, str]
) -> None:
    one = Session(ws, "s1")
    (root / "src" / "a.txt").write_text("so that the next call has a savepoint of its own\n")
    call = one.bash("make", lambda: (root / "README").write_text("x\n"))
    one.bash("true")
    ws.close()
    os.unlink(ws.layout.audit_log)
    again = initialise(str(root), environ, by, adopt=True).ws
    (cause,) = causes(again, "README")
    assert cause.call is not None
    assert (cause.call.tool_use, cause.call.command, cause.call.record) == (call, "make", None)


def test_a_log_that_was_moved_aside_still_tells(
    ws: Workspace, by: Actor, root: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    one = Session(ws, "s1")
    call = one.bash("make", lambda: (root / "README").write_text("x\n"))
    one.bash("true")
    ws.close()
    shutil.copytree(root, tmp_path / "copy", symlinks=True)
    again = initialise(str(tmp_path / "copy"), environ, by, adopt=True).ws
    two = Session(again, "s2")
    later = two.write("README", "y\n")
    assert who(again, "README") == [call, later]
    assert causes(again, "README")[0].call is not None and causes(again, "README")[0].call.record is not None  # type: ignore[union-attr]


def test_a_project_that_was_moved_keeps_its_names(
    ws: Workspace, root: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    call = Session(ws, "s1").write("src/a.txt", "x\n")
    (root / "README").write_text("by hand\n")
    ws.close()
    root.rename(tmp_path / "elsewhere")
    moved = Workspace.open(str(tmp_path / "elsewhere"), environ)
    assert who(moved, "src/a.txt") == [call] and who(moved, "README") == ["person"]

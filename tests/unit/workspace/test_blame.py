"""Claims about who last wrote each line: three sessions and a person, renames, rollbacks, and files without lines."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import NoSuchSavepoint, UsageError
from chrono.store.tracing import shared_lines
from chrono.workspace import branches, merging, rollback
from chrono.workspace.blame import blame
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save

from .session import Session


def who(ws: Workspace, path: str) -> list[str]:
    """For each line the tool call, or the kind of its cause."""
    lines = blame(ws, path).lines
    assert lines is not None
    return [line.cause.call.tool_use or "?" if line.cause.call else line.cause.kind for line in lines]


def put(path: Path, *lines: str) -> None:
    path.write_text("".join(line + "\n" for line in lines))


def test_each_line_of_three_sessions_and_a_person_has_the_right_call(ws: Workspace, by: Actor, root: Path) -> None:
    file = root / "src" / "a.txt"
    one, two, three = Session(ws, "s1"), Session(ws, "s2", "codex"), Session(ws, "s3", "gemini")
    a = one.write("src/a.txt", "one\nalpha\nbeta\ngamma\n")
    b = two.bash("sed -i s/beta/BETA/ src/a.txt", lambda: put(file, "one", "alpha", "BETA", "gamma"))
    c = three.write("src/a.txt", "one\nalpha\nBETA\ninserted\ngamma\n")
    save(ws, "manual", "before my own edit", by)
    put(file, "one", "alpha by hand", "BETA", "inserted", "gamma")
    d = one.write("src/a.txt", "one\nalpha by hand\nBETA\ninserted\ngamma\ndelta\n")
    assert who(ws, "src/a.txt") == ["start", "person", b, c, a, d]
    found = blame(ws, "src/a.txt")
    assert found.lines is not None
    sessions = [line.cause.call.session if line.cause.call else None for line in found.lines]
    agents = [line.cause.call.agent if line.cause.call else None for line in found.lines]
    assert sessions == [None, None, "s2", "s3", "s1", "s1"]
    assert agents == [None, None, "codex", "gemini", "claude-code", "claude-code"]
    assert [line.text for line in found.lines][1] == b"alpha by hand"


def test_an_edit_that_is_not_saved_yet_is_told_apart(ws: Workspace, by: Actor, root: Path) -> None:
    call = Session(ws, "s1").write("src/a.txt", "one\ntwo\n")
    save(ws, "manual", "x", by)
    put(root / "src" / "a.txt", "one", "two", "three")
    assert who(ws, "src/a.txt") == ["start", call, "person"]


def test_what_was_written_after_the_last_call_had_ended_is_the_persons(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    one.bash("true")
    file = root / "src" / "a.txt"
    put(file, "one", "by hand")
    later_ns = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(later_ns, later_ns))
    assert who(ws, "src/a.txt") == ["start", "person"]
    running = one.begin("make")
    put(file, "one", "by make")
    os.utime(file, ns=(later_ns, later_ns))
    assert who(ws, "src/a.txt") == ["start", running.call_id]


def test_an_edit_by_hand_right_after_a_command_is_the_persons_though_the_next_savepoint_is_late(
    ws: Workspace, root: Path
) -> None:
    one = Session(ws, "s1")
    file, other = root / "src" / "a.txt", root / "src" / "b.txt"
    sed = one.bash("sed -i s/one/ONE/ src/a.txt; touch src/b.txt", lambda: (put(file, "ONE"), put(other, "made")))
    time.sleep(0.05)  # a file system's clock may be this much behind the log's
    put(file, "ONE", "by hand")
    one.bash("true")
    lines = blame(ws, "src/a.txt").lines
    assert lines is not None and [line.cause.kind for line in lines] == ["person", "person"]
    # What sed changed was never saved by itself, so it stays in question.
    assert [[call.tool_use for call in line.cause.others] for line in lines] == [[sed], [sed]]
    assert who(ws, "src/b.txt") == [sed]


def test_a_time_that_the_command_itself_set_does_not_excuse_it(ws: Workspace, root: Path) -> None:
    """Set ahead, the time of the inode still tells; while a command runs, all is the command's."""
    one = Session(ws, "s1")
    file = root / "src" / "a.txt"
    ahead_ns = time.time_ns() + 3_600_000_000_000

    def change() -> None:
        put(file, "one", "from the future")
        os.utime(file, ns=(ahead_ns, ahead_ns))

    touch = one.bash("touch -d tomorrow src/a.txt", change)
    time.sleep(0.05)
    one.bash("true")
    assert who(ws, "src/a.txt") == ["start", touch]
    running = one.begin("make")
    put(file, "one", "from the future", "by make")
    one.bash("true")
    assert who(ws, "src/a.txt") == ["start", touch, running.call_id]


def test_a_rename_keeps_the_names_of_its_lines(ws: Workspace, root: Path) -> None:
    one, two = Session(ws, "s1"), Session(ws, "s2")
    a = one.write("src/a.txt", "one\ntwo\nthree\nfour\n")
    moved = two.bash("git mv src/a.txt b.txt", lambda: (root / "src" / "a.txt").rename(root / "b.txt"))
    c = two.write("b.txt", "one\ntwo\nTHREE\nfour\n")
    assert who(ws, "b.txt") == ["start", a, c, a]
    (rename,) = blame(ws, "b.txt").renames
    assert (rename.old, rename.new) == ("src/a.txt", "b.txt")
    assert rename.cause.call is not None and rename.cause.call.tool_use == moved


def test_a_rename_with_an_edit_is_still_one(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    a = one.write("src/a.txt", "".join(f"line {n}\n" for n in range(10)))

    def move() -> None:
        (root / "src" / "a.txt").unlink()
        put(root / "new.txt", *(f"line {n}" for n in range(9)), "changed")

    b = one.bash("refactor", move)
    assert who(ws, "new.txt") == [a] * 9 + [b]


def test_a_new_file_beside_a_deleted_one_is_no_rename(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")

    def replace() -> None:
        (root / "src" / "a.txt").unlink()
        put(root / "src" / "b.txt", "something", "else")

    call = one.bash("replace", replace)
    assert who(ws, "src/b.txt") == [call, call] and blame(ws, "src/b.txt").renames == ()


def test_a_rollback_brings_the_names_back_too(ws: Workspace, by: Actor, root: Path) -> None:
    one = Session(ws, "s1")
    a = one.write("src/a.txt", "one\ntwo\n")
    good = save(ws, "manual", "good", by).commit
    one.write("src/a.txt", "ruined\n")
    one.bash("rm src/a.txt", (root / "src" / "a.txt").unlink)
    rollback.apply(ws, rollback.plan(ws, good), by)
    assert who(ws, "src/a.txt") == ["start", a]


def test_lines_that_a_merge_brought_keep_their_names(ws: Workspace, by: Actor, root: Path) -> None:
    one, two = Session(ws, "s1"), Session(ws, "s2")
    text = [f"{number}" for number in range(9)]
    base = one.write("f", "".join(f"{line}\n" for line in text))
    save(ws, "manual", "base", by)
    branches.create(ws, "topic", by)
    branches.checkout(ws, "topic", by)
    theirs = two.write("f", "".join(f"{line}\n" for line in [*text, "theirs"]))
    branches.checkout(ws, "main", by)
    ours = one.write("f", "".join(f"{line}\n" for line in ["ours", *text]))
    done = merging.merge(ws, "topic", by)
    assert done is not None and not done.conflicts
    assert who(ws, "f") == [ours, *[base] * 9, theirs]


def test_a_deleted_file_is_told_with_who_deleted_it(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    a = one.write("src/a.txt", "one\ntwo\n")
    gone = one.bash("rm src/a.txt", (root / "src" / "a.txt").unlink)
    found = blame(ws, "src/a.txt")
    assert found.deleted is not None and found.deleted.call is not None and found.deleted.call.tool_use == gone
    assert who(ws, "src/a.txt") == ["start", a]
    one.bash("true")
    assert blame(ws, "src/a.txt").deleted == found.deleted or blame(ws, "src/a.txt").deleted is not None


def test_a_file_that_came_back_is_whoever_brought_its(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    one.bash("rm README", (root / "README").unlink)
    back = one.write("README", "read\n")
    assert who(ws, "README") == [back]


@pytest.mark.parametrize(("data", "what"), [(b"\0\1\2", "binary"), (b"x\n" * (5 << 20), "large")])
def test_a_file_without_lines_is_told_as_a_whole(ws: Workspace, data: bytes, what: str) -> None:
    one = Session(ws, "s1")
    one.write("blob", b"first\n")
    call = one.write("blob", data)
    one.bash("true")
    found = blame(ws, "blob")
    assert found.lines is None and found.what == what
    assert found.last.call is not None and found.last.call.tool_use == call


def test_a_link_is_told_as_a_whole(ws: Workspace, root: Path) -> None:
    call = Session(ws, "s1").bash("ln -s README l", lambda: (root / "l").symlink_to("README"))
    found = blame(ws, "l")
    assert found.what == "link" and found.last.call is not None and found.last.call.tool_use == call


def test_bytes_that_are_not_utf8_are_lines_too(ws: Workspace, root: Path) -> None:
    one = Session(ws, "s1")
    name = os.fsdecode(b"na\xefve")
    a = one.write(name, b"\xff\xfe\r\nplain\n")
    b = one.write(name, b"\xff\xfe\r\nchanged \xe9\n")
    assert who(ws, name) == [a, b]
    lines = blame(ws, name).lines
    assert lines is not None and lines[0].text == b"\xff\xfe\r" and lines[1].text == b"changed \xe9"


def test_a_text_that_was_binary_for_a_while_begins_anew(ws: Workspace) -> None:
    one = Session(ws, "s1")
    one.write("f", "text\n")
    one.write("f", b"\0")
    c = one.write("f", "text\n")
    assert who(ws, "f") == [c]


def test_a_folder_and_a_stranger_are_refused_in_words(ws: Workspace) -> None:
    with pytest.raises(UsageError, match="folder"):
        blame(ws, "src")
    with pytest.raises(NoSuchSavepoint, match="ever held"):
        blame(ws, "never")


def test_an_empty_file_has_no_lines(ws: Workspace) -> None:
    Session(ws, "s1").write("empty", "")
    assert blame(ws, "empty").lines == ()


def test_shared_lines_are_those_that_both_have() -> None:
    chance = random.Random(7)
    for _ in range(300):
        old = [chance.choice([b"a", b"b", b"c", b""]) for _ in range(chance.randrange(12))]
        new = list(old)
        for _ in range(chance.randrange(4)):
            if new and chance.random() < 0.5:
                del new[chance.randrange(len(new))]
            else:
                new.insert(chance.randrange(len(new) + 1), chance.choice([b"a", b"x", b""]))
        ends = chance.choice([b"", b"\n"])
        a, b = b"\n".join(old) + ends, b"\n".join(new) + ends
        left, right = a.splitlines(keepends=True), b.splitlines(keepends=True)
        at = 0
        for run in shared_lines(a, b):
            assert run.new >= at and run.lines > 0
            assert left[run.old : run.old + run.lines] == right[run.new : run.new + run.lines]
            at = run.new + run.lines
        assert at <= len(right)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_it_agrees_with_git_on_a_line_of_edits(ws: Workspace, tmp_path: Path, seed: int) -> None:
    chance, count = random.Random(seed), 0
    lines = [f"line {number}" for number in range(12)]
    repo = tmp_path / "repo"
    repo.mkdir()
    one = Session(ws, "s1")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words],
            cwd=repo,
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    git("init", "-q")
    calls = {}
    for _ in range(10):
        for _ in range(chance.randrange(1, 4)):
            count += 1
            at = chance.randrange(len(lines))
            if chance.random() < 0.3 and len(lines) > 4:
                del lines[at]
            elif chance.random() < 0.5:
                lines[at] = f"changed {count}"
            else:
                lines.insert(at, f"new {count}")
        text = "".join(line + "\n" for line in lines)
        call = one.write("f", text)
        (repo / "f").write_text(text)
        git("add", "f")
        git("commit", "-q", "--allow-empty", "-m", call)
        calls[git("rev-parse", "HEAD").strip()] = call
    told = [row.split()[0] for row in git("blame", "-l", "--root", "-s", "f").splitlines()]
    assert who(ws, "f") == [calls[commit] for commit in told]

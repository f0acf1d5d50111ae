"""Claims about transactions: all or nothing, named savepoints as in SQL, one at a time, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import chrono
from chrono import Transaction
from chrono.audit.record import Actor
from chrono.errors import Locked, NoSuchSavepoint, NoWorkspace, UsageError
from chrono.workspace import history
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify
from tests.waiting import LONG_S


@pytest.fixture(autouse=True)
def _environ(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environ.items():
        monkeypatch.setenv(key, value)


class Broken(Exception):
    """What the block raises."""


def text(root: Path) -> str:
    return (root / "src" / "a.txt").read_text()


def write(root: Path, value: str) -> None:
    (root / "src" / "a.txt").write_text(value)


def test_a_clean_end_is_a_commit_and_the_documented_example_works(
    ws: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / "src" / "unsaved").write_text("before\n")
    with chrono.Transaction(".", "trusted agent") as tx:
        write(root, "models\n")
        tx.savepoint("models")
        write(root, "broken\n")
        tx.rollback_to("models")
        assert text(root) == "models\n"
        write(root, "done\n")
    assert text(root) == "done\n"
    assert tx.begin is not None and tx.commit is not None
    assert ws.store.read(tx.begin, "src/unsaved") == b"before\n"
    assert ws.store.read(tx.commit, "src/a.txt") == b"done\n"
    assert ws.store.ref("refs/heads/main") == tx.commit
    messages = [one.message for one in history.log(ws) if one.kind == "manual"]
    assert messages[:3] == ["COMMIT trusted agent", "models", "BEGIN trusted agent"]
    assert verify(ws, full=True).exit_code == 0


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt, SystemExit])
def test_any_exception_brings_back_the_beginning_and_goes_on(
    ws: Workspace, root: Path, error: type[BaseException]
) -> None:
    write(root, "unsaved before\n")
    with pytest.raises(error), Transaction(str(root)) as tx:
        write(root, "half\n")
        (root / "new").write_text("half\n")
        tx.savepoint("x")
        raise error
    assert text(root) == "unsaved before\n"
    assert not (root / "new").exists()
    assert tx.commit is None
    rescue = next(one for one in history.log(ws) if one.kind == "rescue")
    assert ws.store.read(rescue.id, "new") == b"half\n"


def test_nothing_done_is_nothing_saved(ws: Workspace, root: Path) -> None:
    before = [one.id for one in history.log(ws)]
    with Transaction(str(root)) as tx:
        assert tx.rollback_to() is None
    with pytest.raises(Broken), Transaction(str(root)):
        raise Broken
    assert tx.begin == tx.commit == before[0]
    assert [one.id for one in history.log(ws)] == before


def test_names_work_as_in_sql(ws: Workspace, root: Path) -> None:
    with Transaction(str(root)) as tx:
        for name in ("a", "b", "c", "a"):
            write(root, name + str(len(tx.savepoints)))
            tx.savepoint(name)
        assert list(tx.savepoints) == ["BEGIN", "b", "c", "a"]
        tx.rollback_to("b")
        assert text(root) == "b2"
        assert list(tx.savepoints) == ["BEGIN", "b"]
        write(root, "again")
        tx.rollback_to("b")
        assert text(root) == "b2"
        for unknown in ("c", "nowhere"):
            with pytest.raises(NoSuchSavepoint):
                tx.rollback_to(unknown)
        for name in ("BEGIN", "COMMIT", " "):
            with pytest.raises(UsageError):
                tx.savepoint(name)
        tx.rollback_to("BEGIN")
        assert text(root) == "one\n"


def test_a_nested_one_goes_back_alone_or_with_the_outer_one(ws: Workspace, root: Path) -> None:
    with Transaction(str(root), "outer") as outer:
        write(root, "outer\n")
        with pytest.raises(Broken), Transaction(str(root), "inner"):
            write(root, "inner\n")
            raise Broken
        assert text(root) == "outer\n"
        with Transaction(str(root / "src"), "inner"):
            write(root, "inner, kept\n")
            with pytest.raises(UsageError):
                outer.rollback_to()
        assert text(root) == "inner, kept\n"
    assert text(root) == "inner, kept\n"
    with pytest.raises(Broken), Transaction(str(root), "outer"):
        with Transaction(str(root), "inner") as inner:
            write(root, "inner, committed\n")
        raise Broken
    assert inner.commit is not None
    assert text(root) == "inner, kept\n"
    assert ws.store.read(inner.commit, "src/a.txt") == b"inner, committed\n"


def test_another_thread_has_to_wait_and_is_told_who_it_waits_for(ws: Workspace, root: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with Transaction(str(root), "first"):
            entered.set()
            leave.wait(30)
            write(root, "first\n")

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert entered.wait(30)
        with pytest.raises(Locked), Transaction(str(root), "second"):
            raise AssertionError("two at once")
        threading.Timer(0.2, leave.set).start()
        with Transaction(str(root), "third", wait_s=30):
            assert text(root) == "first\n"
    finally:
        leave.set()
        holder.join()


def test_another_process_is_refused_and_may_save_all_the_same(
    ws: Workspace, root: Path, by: Actor, environ: dict[str, str]
) -> None:
    program = (
        "import sys; from chrono import Transaction, Workspace; Workspace.open(sys.argv[1]).snapshot('child')\n"
        "try:\n    Transaction(sys.argv[1]).__enter__()\nexcept Exception as error:\n    print(type(error).__name__)\n"
    )
    code = str(Path(__file__).parents[3])
    with Transaction(str(root)):
        write(root, "of the block\n")
        done = subprocess.run(
            [sys.executable, "-c", program, str(root)],
            env={**environ, "PYTHONPATH": code},
            capture_output=True,
            text=True,
            timeout=LONG_S,
        )
        assert done.stdout == "Locked\n", done.stderr
        assert save(ws, "auto", "a hook's", by).cover is not None
    assert "child" in [one.message for one in history.log(ws)]


def test_tasks_side_by_side_do_not_nest_in_each_other(ws: Workspace, root: Path) -> None:
    async def work(results: list[str]) -> None:
        try:
            with Transaction(str(root)):
                await asyncio.sleep(0.05)
                results.append("done")
        except Locked:
            results.append("locked")

    async def both(outer: bool) -> list[str]:
        results: list[str] = []
        if outer:
            with Transaction(str(root)):
                await asyncio.gather(work(results), work(results))
        else:
            await asyncio.gather(work(results), work(results))
        return results

    assert asyncio.run(both(False)) == ["locked", "done"]
    assert asyncio.run(both(True)) == ["locked", "done"]


def test_two_projects_have_nothing_to_do_with_each_other(
    ws: Workspace, root: Path, tmp_path: Path, environ: dict[str, str], by: Actor
) -> None:
    from chrono.workspace.init import initialise

    other = tmp_path / "other"
    other.mkdir()
    initialise(str(other), environ, by)
    with Transaction(str(root)), pytest.raises(Broken):
        write(root, "kept\n")
        with Transaction(str(other)):
            (other / "x").write_text("x")
            raise Broken
    assert text(root) == "kept\n"
    assert not (other / "x").exists()


def test_it_is_used_once_and_only_while_it_is_open(ws: Workspace, root: Path, tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace):
        Transaction(str(tmp_path))
    tx = Transaction(str(root))
    with pytest.raises(UsageError):
        tx.savepoint("x")
    with tx:
        pass
    for act in (lambda: tx.savepoint("x"), tx.rollback_to, tx.__enter__):
        with pytest.raises(UsageError):
            act()


def test_a_killed_process_leaves_its_files_and_a_beginning_to_go_back_to(
    ws: Workspace, root: Path, environ: dict[str, str]
) -> None:
    program = (
        "import os, sys; from chrono import Transaction\nwith Transaction(sys.argv[1], 'killed'):\n"
        "    open(sys.argv[1] + '/README', 'w').write('half')\n    os._exit(9)\n"
    )
    env = {**environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    (root / "unsaved").write_text("x")
    assert subprocess.run([sys.executable, "-c", program, str(root)], env=env, timeout=LONG_S).returncode == 9
    assert os.path.exists(ws.layout.transaction_lock)
    with Transaction(str(root)) as tx:  # the lock went with the process
        pass
    begin = next(one for one in history.log(ws) if one.message == "BEGIN killed")
    assert ws.store.read(begin.id, "README") == b"read\n"
    assert tx.commit is not None

"""Claims about savepoints: each tied to the log both ways, none for an unchanged tree, none that did not happen."""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import threading
from pathlib import Path

import pytest

from chrono.audit.place import project_place
from chrono.audit.record import Act, Actor, Record
from chrono.audit.verify import read_records
from chrono.errors import ChronoError, Locked
from chrono.files import file_lock
from chrono.workspace import history
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import STEPS, save
from chrono.workspace.verify import parse_trailer, verify


def records(ws: Workspace) -> list[Record]:
    return [record for record in read_records(project_place(ws.layout)) if record is not None]


def test_commit_and_record_prove_each_other(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("x")
    steps: list[str] = []
    act = Act(tool="Bash", cmd="touch new")
    saved = save(ws, "auto", "before touch", by, act=act, trailers=(("Chrono-Agent", "a"),), at_step=steps.append)
    assert tuple(steps) == STEPS
    savepoint = ws.store.savepoint(saved.commit)
    assert savepoint.kind == "auto"
    assert savepoint.trailer("Chrono-Agent") == "a"
    log, size, _ = parse_trailer(savepoint.trailer("Chrono-Audit") or "")
    record = records(ws)[-1]
    assert (log, size) == (ws.log.log_id, record.n)
    assert record.act["cmd"] == "touch new"
    assert record.anchor is not None
    assert record.anchor["commit"] == saved.commit
    assert record.anchor["op"] == savepoint.trailer("Chrono-Op")
    assert record.anchor["sha256"] == hashlib.sha256(ws.store.raw_commit(saved.commit)).hexdigest()
    raw = subprocess.run(
        ["git", "--git-dir", ws.layout.repo, "cat-file", "commit", saved.commit], capture_output=True, check=True
    ).stdout
    assert hashlib.sha256(raw).hexdigest() == record.anchor["sha256"]
    assert ws.store.ref(str(record.anchor["ref"])) == saved.commit


def test_an_unchanged_tree_names_the_savepoint_that_holds_it(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("x")
    first = save(ws, "auto", "x", by)
    count = len(records(ws))
    again = save(ws, "auto", "y", by)
    assert not again.created
    assert again.commit == first.commit
    assert again.cover.commit == first.commit
    assert len(records(ws)) == count


def test_a_mode_alone_is_a_change(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "README").chmod(0o600)
    assert save(ws, "auto", "x", by).created


def test_a_manual_savepoint_is_not_left_to_an_automatic_one(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("x")
    auto = save(ws, "auto", "x", by)
    manual = save(ws, "manual", "mine", by)
    assert manual.created
    assert manual.commit != auto.commit
    assert ws.store.ref("refs/heads/main") == manual.commit
    assert not save(ws, "auto", "x", by).created


def test_the_newest_is_told_by_parents_not_by_clocks(ws: Workspace, root: Path, by: Actor) -> None:
    class Back:
        def now_ns(self) -> int:
            return 1

    (root / "new").write_text("1")
    save(ws, "auto", "x", by)
    ws.clock = Back()
    (root / "new").write_text("2")
    auto = save(ws, "auto", "x", by)
    assert history.newest(ws) == auto.commit
    (root / "new").write_text("3")
    manual = save(ws, "manual", "x", by)
    assert history.newest(ws) == manual.commit


def test_a_state_seen_before_the_newest_savepoint_gets_a_new_one(ws: Workspace, root: Path, by: Actor) -> None:
    """Else `rollback` without an id would go to the newer one, whose state is another."""
    (root / "new").write_text("x")
    save(ws, "auto", "x", by)
    (root / "new").unlink()
    back = save(ws, "auto", "as at first", by)
    assert back.created
    assert history.newest(ws) == back.commit


def test_the_cover_names_what_is_not_held(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x").write_text("x")
    (root / ".chronoignore").write_text("logs/\n")
    (root / "logs").mkdir()
    (root / "logs" / "l").write_text("x")
    (root / "chrono-policy.yaml").write_text("")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    cover = save(ws, "auto", "x", by).cover
    assert cover.root == str(root)
    excluded = {(one.path, one.kind) for one in cover.excluded}
    assert {(f"{root}/node_modules", "heavy"), (f"{root}/logs", "ignored")} <= excluded
    assert {kind for _, kind in excluded} == {"heavy", "ignored", "chrono", "control", "git"}


def test_an_unreadable_file_is_a_skip_that_is_told(ws: Workspace, root: Path, by: Actor) -> None:
    os.mkfifo(root / "fifo")
    saved = save(ws, "auto", "x", by)
    assert [skip.path for skip in saved.skips] == ["fifo"]
    assert (f"{root}/fifo", "unreadable") in {(one.path, one.kind) for one in saved.cover.excluded}


def test_a_lock_that_is_held_is_an_error_that_names_its_holder(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("x")
    for path in (ws.layout.lock, ws.layout.audit_lock):
        with file_lock(path, timeout_s=1), pytest.raises(Locked) as caught:
            save(Workspace(ws.layout, ws.home, ws.environ), "auto", "x", by, timeout_s=0.05)
        assert caught.value.holder == f"pid {os.getpid()}"
    assert save(ws, "auto", "x", by).created
    assert verify(ws).exit_code == 0


def test_a_log_that_cannot_be_written_means_no_savepoint(ws: Workspace, root: Path, by: Actor) -> None:
    (root / "new").write_text("x")
    before = {savepoint.id for savepoint in history.log(ws)}
    os.chmod(ws.home.audit_key, 0o644)
    with pytest.raises(ChronoError):
        save(Workspace(ws.layout, ws.home, ws.environ), "auto", "x", by)
    assert {savepoint.id for savepoint in history.log(ws)} == before


def test_threads_and_processes_save_one_after_another(root: Path, environ: dict[str, str], by: Actor) -> None:
    initialise(str(root), environ, by).ws.close()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            mine = Workspace.open(str(root), environ)
            for turn in range(5):
                (root / f"{number}").write_text(str(turn))
                save(mine, "auto", f"{number}.{turn}", by, timeout_s=30)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    ws = Workspace.open(str(root), environ)
    assert verify(ws, full=True).exit_code == 0
    assert not save(ws, "auto", "x", by).created


def test_a_workspace_that_is_forgotten_keeps_no_file_open(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    def work() -> None:
        opened = Workspace.open(str(root), environ)
        save(opened, "manual", "x", by)

    work()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        work()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("command", [("pack-refs", "--all", "--prune"), ("gc", "--quiet")], ids=["pack-refs", "gc"])
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_ref_that_git_packed_with_its_folder_stops_no_savepoint(
    ws: Workspace, root: Path, by: Actor, environ: dict[str, str], command: tuple[str, ...], stays: bool, reopened: bool
) -> None:
    ws.store.stays = stays
    (root / "new").write_text("x")
    first = save(ws, "auto", "x", by)
    subprocess.run(["git", "--git-dir", ws.layout.repo, *command], check=True)
    assert not os.path.exists(os.path.join(ws.layout.repo, "refs", "chrono", "auto"))
    used = Workspace.open(str(root), environ) if reopened else ws
    try:
        used.store.stays = stays
        used.store.settle()
        (root / "new").write_text("longer")
        second = save(used, "auto", "y", by)
        used.store.settle()
        assert second.created
        assert history.newest(used) == second.commit
        assert used.store.ref("refs/chrono/auto/1") == first.commit
        assert verify(used).exit_code == 0
    finally:
        if reopened:
            used.close()

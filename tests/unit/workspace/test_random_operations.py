"""Claims about long use: whatever order of edits, saves and rollbacks, git reads the store and the log verifies."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.workspace import history, rollback
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify

NAMES = ("a", "b.txt", "dir/c", "dir/deep/d", "sp ace", "ümlaut", "-dash", ".hidden", "dir2/x\ny")


def edit(root: Path, dice: random.Random) -> None:
    path = root / dice.choice(NAMES)
    act = dice.randrange(6)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    if act == 0 and os.path.lexists(path):
        path.unlink()
        return
    for parent in reversed(path.parents):
        if parent.is_relative_to(root) and os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir()):
            parent.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if act == 1:
        path.unlink(missing_ok=True)
        path.symlink_to(dice.choice(("a", "nowhere", "../..")))
    elif act == 2:
        path.unlink(missing_ok=True)
        path.mkdir()
    else:
        if path.is_symlink():
            path.unlink()
        path.write_bytes(dice.randbytes(dice.randrange(40)) + b"\r\n")
        path.chmod(dice.choice((0o644, 0o755, 0o600)))


def picture(root: Path) -> dict[str, object]:
    """All there is below `root`, apart from `.chrono`."""
    seen: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(".chrono"):
            continue
        if path.is_symlink():
            seen[name] = ("link", os.readlink(path))
        elif path.is_dir():
            seen[name] = "dir"
        else:
            seen[name] = (path.read_bytes(), path.stat().st_mode & 0o7777)
    return seen


def work(ws: Workspace, root: Path, by: Actor, *, seed: int, operations: int) -> None:
    dice = random.Random(seed)
    pictures: dict[str, dict[str, object]] = {}
    for _ in range(operations):
        act = dice.randrange(10)
        if act < 5:
            edit(root, dice)
        elif act < 8:
            saved = save(ws, dice.choice(("auto", "auto", "manual")), "x", by)
            pictures.setdefault(saved.commit, picture(root))
            assert pictures[saved.commit] == picture(root)
        else:
            before = picture(root)
            target = dice.choice(sorted(pictures)) if pictures else None
            plan = rollback.plan(ws, target)
            if not plan.changes:
                continue
            done = rollback.apply(ws, plan, by)
            pictures[done.rescue] = before
            if target is not None:
                assert picture(root) == pictures[target]
    finish(ws, root, pictures)


def finish(ws: Workspace, root: Path, pictures: dict[str, dict[str, object]]) -> None:
    assert verify(ws, full=True).exit_code == 0
    assert set(pictures) <= {savepoint.id for savepoint in history.log(ws)}
    git = ["git", "--git-dir", ws.layout.repo]
    fsck = subprocess.run([*git, "fsck", "--strict", "--no-dangling"], capture_output=True, text=True)
    assert (fsck.returncode, fsck.stdout + fsck.stderr) == (0, "")
    listed = subprocess.run([*git, "log", "--all", "--format=%H"], capture_output=True, text=True, check=True)
    assert set(pictures) <= set(listed.stdout.split())
    subprocess.run([*git, "show", "HEAD"], capture_output=True, check=True)
    clone = root.parent / "clone"
    subprocess.run(["git", "clone", "-q", "--mirror", ws.layout.repo, str(clone)], capture_output=True, check=True)


def test_sixty_random_operations(ws: Workspace, root: Path, by: Actor) -> None:
    work(ws, root, by, seed=7, operations=60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_random_operations(ws: Workspace, root: Path, by: Actor, seed: int) -> None:
    work(ws, root, by, seed=seed, operations=1000)

"""Claim: whatever order of saves, edits, branches, merges, rollbacks, undos, redos, prunes and crashes, the files are
those of a model that knows no git, and nothing that may not be pruned is lost.

A crash is an exception that stops a verb after one of its steps; what runs next is another Workspace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from chrono.ids import CommitId
from chrono.store.bases import merge_bases
from chrono.workspace import branches, history, mergestate, merging, oplog, prune, rollback, undoing
from chrono.workspace.actors import actor
from chrono.workspace.init import initialise
from chrono.workspace.project import Workspace
from chrono.workspace.recover import recover
from chrono.workspace.retention import Rules
from chrono.workspace.savepoints import STEPS as SAVE_STEPS
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify

NAMES = ("a", "b", "d/x", "d/y", "e/f/z")
BRANCHES = ("one", "two", "three")
Files = dict[str, tuple[int, bytes]]


class Crash(BaseException):
    """The process ends here."""


class State(NamedTuple):
    """What an undo brings back."""

    files: Files
    head: str
    names: frozenset[str]


class History(RuleBasedStateMachine):
    """The model: `files` of the work tree, `saved` files of each savepoint, piles of states to go back to."""

    @initialize()
    def begin(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="chrono-model-"))
        self.root = self.base / "proj"
        self.root.mkdir()
        environ = {"HOME": str(self.base), "CHRONO_HOME": str(self.base / "state"), "PATH": os.environ["PATH"]}
        self.by = actor(environ)
        (self.root / "a").write_bytes(b"a 0\n")
        self.ws = initialise(str(self.root), environ, self.by).ws
        self.count = 0
        self.files: Files = {"a": (0o644, b"a 0\n")}
        self.saved: dict[CommitId, Files] = {self.tip(): dict(self.files)}
        self.done: list[State] = []
        self.undone: list[tuple[State, list[State]]] = []

    def teardown(self) -> None:
        if hasattr(self, "ws"):
            self.finish()
            self.ws.close()
            shutil.rmtree(self.base)

    # --- the model's eyes

    def tip(self) -> CommitId:
        found = self.ws.store.ref(self.ws.store.head_ref())
        assert found is not None
        return found

    def names(self) -> frozenset[str]:
        return frozenset(branch.name for branch in branches.branches(self.ws))

    def state(self) -> State:
        return State(dict(self.files), self.ws.store.head_ref(), self.names())

    def on_disk(self) -> Files:
        found: Files = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".chrono"]
            for name in names:
                path = Path(folder) / name
                found[str(path.relative_to(self.root))] = (path.stat().st_mode & 0o7777, path.read_bytes())
        return found

    def crashing(self, act: Callable[[Callable[[str], None]], Any], step: str | None) -> Any:
        """Runs `act`; with `step` it stops there and the next command recovers. None where it was stopped."""

        def at(name: str) -> None:
            if name == step:
                raise Crash

        try:
            return act(at)
        except Crash:
            environ = dict(self.ws.environ)
            self.ws.close()
            self.ws = Workspace.open(str(self.root), environ)
            recover(self.ws, self.by)
            return None

    # --- work

    @rule(name=st.sampled_from(NAMES), mode=st.sampled_from((0o644, 0o755, 0o600)))
    def write(self, name: str, mode: int) -> None:
        self.count += 1
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = f"{name} {self.count}\n".encode()
        path.write_bytes(data)
        path.chmod(mode)
        self.files[name] = (mode, data)

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        if name in self.files:
            path = self.root / name
            path.unlink()
            del self.files[name]
            folder = path.parent
            while folder != self.root and not any(folder.iterdir()):
                folder.rmdir()
                folder = folder.parent

    @rule(kind=st.sampled_from(("auto", "manual", "rescue")), step=st.sampled_from((None, None, *SAVE_STEPS)))
    def save(self, kind: str, step: str | None) -> None:
        self.crashing(lambda at: save(self.ws, kind, "x", self.by, at_step=at), step)
        done = save(self.ws, "auto", "again", self.by)
        self.saved[done.commit] = dict(self.files)

    @rule(keep=st.integers(0, 5))
    def prune(self, keep: int) -> None:
        """Only automatic savepoints may go, and never one that an undo still needs."""
        kinds = {commit: self.ws.store.savepoint(commit).kind for commit in self.saved}
        prune.apply(self.ws, prune.plan(self.ws, Rules(keep_auto=keep)), self.by)
        known = {savepoint.id for savepoint in history.log(self.ws)}
        assert all(kinds[commit] == "auto" for commit in self.saved if commit not in known)
        self.saved = {commit: files for commit, files in self.saved.items() if commit in known}

    # --- branches

    @precondition(lambda self: mergestate.waiting(self.ws) is None)
    @rule(name=st.sampled_from(BRANCHES), step=st.sampled_from((None, None, *branches.BRANCH_STEPS)))
    def branch(self, name: str, step: str | None) -> None:
        if name in self.names():
            return
        before = self.state()
        self.crashing(lambda at: branches.create(self.ws, name, self.by, at_step=at), step)
        assert name in self.names()
        self.pushed(before)

    @precondition(lambda self: mergestate.waiting(self.ws) is None)
    @rule(name=st.sampled_from(("main", *BRANCHES)), step=st.sampled_from((None, None, *branches.CHECKOUT_STEPS)))
    def checkout(self, name: str, step: str | None) -> None:
        if name not in self.names() or f"refs/heads/{name}" == self.ws.store.head_ref():
            return
        before = self.state()
        target = self.ws.store.ref(f"refs/heads/{name}")
        assert target is not None
        self.crashing(lambda at: branches.checkout(self.ws, name, self.by, at_step=at), step)
        if step == "saved":
            self.saved[self.tip()] = dict(self.files)
            return
        left = self.ws.store.ref(before.head)
        assert left is not None
        self.saved[left] = before.files
        assert self.ws.store.head_ref() == f"refs/heads/{name}"
        self.files = dict(self.saved[target])
        self.pushed(before)

    @precondition(lambda self: mergestate.waiting(self.ws) is None)
    @rule(name=st.sampled_from(("main", *BRANCHES)), step=st.sampled_from((None, None, *merging.MERGE_STEPS)))
    def merge(self, name: str, step: str | None) -> None:
        if name not in self.names() or f"refs/heads/{name}" == self.ws.store.head_ref():
            return
        before = self.state()
        theirs = self.ws.store.ref(f"refs/heads/{name}")
        assert theirs is not None
        seen = oplog.newest_operation(self.ws)
        self.crashing(lambda at: merging.merge(self.ws, name, self.by, at_step=at), step)
        if oplog.newest_operation(self.ws) == seen:  # held already, or stopped before anything was touched
            self.saved[self.tip()] = dict(self.files)
            return
        newest = oplog.newest_operation(self.ws)
        assert newest is not None and newest.before is not None
        self.saved[newest.before] = before.files
        wanted, clashes = self.merged(newest.before, theirs)
        waiting = mergestate.waiting(self.ws)
        assert {conflict.path for conflict, _ in waiting.conflicts} == clashes if waiting else not clashes
        self.files = self.on_disk()
        for path in wanted.keys() | self.files.keys():
            if not any(path == clash or path.startswith(clash + "~") for clash in clashes):
                assert self.files.get(path) == wanted.get(path), path
        if waiting is None:
            self.saved[self.tip()] = dict(self.files)
        else:
            self.saved[waiting.commit] = dict(self.files)
        self.pushed(before)

    def merged(self, ours: CommitId, theirs: CommitId) -> tuple[Files, set[str]]:
        """Path by path: every content is one line of its own, so two different changes of one path always clash."""
        bases = merge_bases(ours, theirs, merging._Graph(self.ws, ours))
        a, b = self.saved[ours], self.saved[theirs]
        base = self.saved[bases[0]] if len(bases) == 1 else {}
        wanted: Files = {}
        clashes: set[str] = set()
        for path in a.keys() | b.keys() | base.keys():
            left, right, old = a.get(path), b.get(path), base.get(path)
            if left == right or right == old:
                chosen = left
            elif left == old:
                chosen = right
            else:
                chosen = three_way(old, left, right)
                if chosen is None:
                    clashes.add(path)
            if chosen is not None:
                wanted[path] = chosen
        if len(bases) > 1:  # merged bases are more than this model knows
            unclear = {path for path in a.keys() | b.keys() if a.get(path) != b.get(path)}
            waiting = mergestate.waiting(self.ws)
            found = {conflict.path for conflict, _ in waiting.conflicts} if waiting is not None else set()
            assert found <= unclear
            disk = self.on_disk()
            wanted = {**{path: file for path, file in wanted.items() if path not in unclear},
                      **{path: file for path, file in disk.items() if path in unclear}}  # fmt: skip
            clashes = found
        return wanted, clashes

    @precondition(lambda self: mergestate.waiting(self.ws) is not None)
    @rule(step=st.sampled_from((None, None, *merging.CONTINUE_STEPS)))
    def resolve(self, step: str | None) -> None:
        waiting = mergestate.waiting(self.ws)
        assert waiting is not None
        for conflict in waiting.unresolved:
            for path in conflict.files:
                if (self.root / path).exists():
                    (self.root / path).unlink()
        for name in list(self.files):
            if not (self.root / name).exists():
                del self.files[name]
        for folder in sorted((path for path in self.root.rglob("*") if path.is_dir()), reverse=True):
            if ".chrono" not in folder.parts and not any(folder.iterdir()):
                folder.rmdir()
        self.crashing(lambda at: merging.end(self.ws, self.by, at_step=at), step)
        assert mergestate.waiting(self.ws) is None
        self.saved[self.tip()] = dict(self.files)
        # The merge is one operation, from its beginning; whatever came in between is taken back with it.
        newest = oplog.newest_operation(self.ws)
        assert newest is not None and newest.before is not None
        self.forget()

    # --- back and forth

    @rule(which=st.integers(0, 999), step=st.sampled_from((None, None, *rollback.STEPS)))
    def roll_back(self, which: int, step: str | None) -> None:
        target = list(self.saved)[which % len(self.saved)]
        plan = rollback.plan(self.ws, target)
        if not plan.changes:
            return
        before = self.state()
        self.crashing(lambda at: rollback.apply(self.ws, plan, self.by, at_step=at), step)
        if step == "rescue":
            return
        self.files = dict(self.saved[target])
        self.saved[self.tip()] = dict(self.files)
        assert mergestate.waiting(self.ws) is None
        self.pushed(before)

    @rule(step=st.sampled_from((None, None, *undoing.STEPS)))
    def undo(self, step: str | None) -> None:
        assert len(undoing.stacks(self.ws).done) >= len(self.done)
        if not self.done:
            return
        now, plan = self.state(), undoing.plan_undo(self.ws)
        self.crashing(lambda at: undoing.apply(self.ws, plan, self.by, at_step=at), step)
        if step == "rescue" and plan.target is not None:
            return
        self.undone.append((now, [self.done.pop()]))
        self.went_back(self.undone[-1][1][0], plan)

    @rule(step=st.sampled_from((None, None, *undoing.STEPS)))
    def redo(self, step: str | None) -> None:
        if not self.undone:
            return
        plan = undoing.plan_redo(self.ws)
        self.crashing(lambda at: undoing.apply(self.ws, plan, self.by, at_step=at), step)
        if step == "rescue" and plan.target is not None:
            return
        state, popped = self.undone.pop()
        self.done += popped
        self.went_back(state, plan)

    def went_back(self, state: State, plan: undoing.UndoPlan) -> None:
        if plan.target is not None:
            self.files = dict(state.files)
        assert self.ws.store.head_ref() == state.head
        assert self.names() == state.names | set(plan.kept)
        held = self.ws.store.content(self.tip())
        if not self.ws.store.changes(self.tip(), None):
            assert held is not None
            self.saved[self.tip()] = dict(self.files)

    def pushed(self, before: State) -> None:
        self.done.append(before)
        self.undone.clear()

    def forget(self) -> None:
        """What came before is further than this model looks."""
        self.done.clear()
        self.undone.clear()

    # --- what always holds

    @invariant()
    def the_files_are_the_model_s(self) -> None:
        if hasattr(self, "ws"):
            assert self.on_disk() == self.files
            assert self.ws.store.pending() is None

    def finish(self) -> None:
        report = verify(self.ws, full=True)
        assert report.findings == () and report.exit_code == 0
        assert set(self.saved) <= {savepoint.id for savepoint in history.log(self.ws)}
        git = ["git", "--git-dir", self.ws.layout.repo, "fsck", "--strict", "--no-dangling"]
        fsck = subprocess.run(git, capture_output=True, text=True)
        assert (fsck.returncode, fsck.stdout + fsck.stderr) == (0, "")


def three_way(
    old: tuple[int, bytes] | None, left: tuple[int, bytes] | None, right: tuple[int, bytes] | None
) -> tuple[int, bytes] | None:
    """Both changed one file, if differently: its mode and its content each by themselves; None is a conflict."""
    if left is None or right is None:
        return None
    found: list[Any] = []
    for index in (0, 1):
        was = old[index] if old is not None else None
        if left[index] == right[index] or right[index] == was:
            found.append(left[index])
        elif left[index] == was:
            found.append(right[index])
        else:
            return None
    return found[0], found[1]


def play(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=(Phase.generate,),  # shrinking would take many minutes; the steps are printed as they were
            derandomize=examples < 10,
        ),
    )


def test_the_files_are_always_those_of_the_model() -> None:
    play(3, 25)


@pytest.mark.slow
def test_the_files_are_always_those_of_the_model_at_length() -> None:
    play(60, 50)

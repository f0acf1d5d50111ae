"""Owns the face of a project for programs: `from chrono import Workspace`; a method for each verb of the command line.

Each only calls the verb's own module with this process's environment and actor; nothing is decided here. Paths are
relative to the project, "/"-separated; errors are `chrono.ChronoError` and what the verbs' docstrings name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from chrono.clock import Clock
from chrono.ids import CommitId
from chrono.tuples import NamedTuple
from chrono.workspace import project
from chrono.workspace.actors import actor
from chrono.workspace.config import environment
from chrono.workspace.project import CLI_WAIT_S

if TYPE_CHECKING:
    from chrono.audit.keys import KeySettings
    from chrono.audit.record import Actor
    from chrono.audit.report import Report
    from chrono.policy.model import Verdict
    from chrono.store.diff import Change
    from chrono.store.savepoint import Savepoint
    from chrono.store.snapshot import Skip
    from chrono.workspace.bisect import Broken
    from chrono.workspace.blame import Blame
    from chrono.workspace.branches import Branch, CheckedOut
    from chrono.workspace.fetch import Report as FetchReport
    from chrono.workspace.health import Check
    from chrono.workspace.history import Difference, Shown
    from chrono.workspace.mergestate import Waiting
    from chrono.workspace.merging import MergeDone
    from chrono.workspace.oplog import Operation
    from chrono.workspace.prune import Pruned, Stats
    from chrono.workspace.push import Report as PushReport
    from chrono.workspace.remotes import Remote
    from chrono.workspace.retention import Rules
    from chrono.workspace.ring import Saved
    from chrono.workspace.rollback import RollbackPlan, RolledBack
    from chrono.workspace.transaction import Transaction
    from chrono.workspace.undoing import Undone, UndoPlan
    from chrono.workspace.worktrees import Added, Worktree


class Status(NamedTuple):
    """How the files stand against the newest savepoint of the branch (None: there is none yet).

    `merge` waits for people; `skips` are paths that a savepoint taken now would not hold as they are.
    """

    branch: str
    newest: Savepoint | None
    changes: tuple[Change, ...]
    merge: Waiting | None
    skips: tuple[Skip, ...]


class Workspace(project.Workspace):
    """One project, opened by `Workspace.open(".")` or made by `Workspace.init(".")`."""

    @classmethod
    def open(
        cls,
        start: str = ".",
        environ: Mapping[str, str] | None = None,
        *,
        clock: Clock | None = None,
        keys: KeySettings | None = None,
    ) -> Self:
        """The project at or above folder `start`, under this process's environment unless `environ` is given."""
        return super().open(start, environment() if environ is None else environ, clock=clock, keys=keys)

    @classmethod
    def init(cls, root: str = ".", environ: Mapping[str, str] | None = None) -> Self:
        """Makes folder `root` a project with a first savepoint, or completes one, and opens it."""
        from chrono.workspace.init import initialise

        chosen = environment() if environ is None else environ
        initialise(root, chosen, actor(chosen, source="sdk")).ws.close()
        return cls.open(root, chosen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _by(self) -> Actor:
        return actor(self.environ, source="sdk")

    # --- save and look

    def snapshot(self, message: str = "snapshot") -> Saved:
        """Takes a savepoint on the branch; an unchanged project makes no new one."""
        from chrono.workspace.savepoints import save

        return save(self, "manual", message, self._by(), timeout_s=CLI_WAIT_S)

    def status(self) -> Status:
        """Compares the files with the newest savepoint of the branch. Writes nothing."""
        from chrono.workspace.history import branch_name, newest
        from chrono.workspace.mergestate import waiting

        commit = newest(self)
        return Status(
            branch_name(self.store.head_ref()),
            self.store.savepoint(commit) if commit is not None else None,
            self.store.changes(commit, None) if commit is not None else (),
            waiting(self),
            self.store.survey().skips,
        )

    def history(self, *, auto: bool = True, limit: int | None = None) -> Iterator[Savepoint]:
        """What `chrono log` lists: savepoints, newest first."""
        from chrono.workspace.history import log

        return log(self, auto=auto, limit=limit)

    def show(self, savepoint: str) -> Shown:
        """One savepoint by id, unique prefix, branch or `HEAD~2`, and what it changed."""
        from chrono.workspace.history import show

        return show(self, savepoint)

    def diff(self, old: str | None = None, new: str | None = None, paths: Sequence[str] = ()) -> Difference:
        """From `old` (default: the newest savepoint) to `new` (default: the files), with a patch."""
        from chrono.workspace.history import diff

        return diff(self, old, new, tuple(paths))

    def blame(self, path: str) -> Blame:
        """Which savepoint, agent and tool call last wrote each line of a file."""
        from chrono.workspace.blame import blame

        return blame(self, path)

    # --- go back

    def plan_rollback(self, savepoint: str | None = None, paths: Sequence[str] = ()) -> RollbackPlan:
        """What `rollback` would do. Writes nothing."""
        from chrono.workspace import rollback

        return rollback.plan(self, savepoint, tuple(paths))

    def rollback(self, target: str | RollbackPlan | None = None, paths: Sequence[str] = ()) -> RolledBack | None:
        """Goes back to a savepoint (default: the newest), or does a plan that was looked at; None: no file differs."""
        from chrono.workspace import rollback

        plan = target if isinstance(target, rollback.RollbackPlan) else rollback.plan(self, target, tuple(paths))
        return rollback.apply(self, plan, self._by()) if plan.changes else None

    def operations(self) -> Iterator[Operation]:
        """What moved files, branches or HEAD, newest first."""
        from chrono.workspace.oplog import operations

        return operations(self)

    def plan_undo(self, operation: str | None = None) -> UndoPlan:
        """What `undo` would do. Writes nothing."""
        from chrono.workspace import undoing

        return undoing.plan_undo(self, operation)

    def undo(self, operation: str | UndoPlan | None = None) -> Undone:
        """Goes back to before an operation (default: the newest that is not undone), or does a plan."""
        from chrono.workspace import undoing

        plan = operation if isinstance(operation, undoing.UndoPlan) else undoing.plan_undo(self, operation)
        return undoing.apply(self, plan, self._by())

    def redo(self) -> Undone:
        """Takes back the newest undo that nothing followed."""
        from chrono.workspace import undoing

        return undoing.apply(self, undoing.plan_redo(self), self._by())

    def transaction(self, name: str = "transaction", *, wait_s: float = 0.0) -> Transaction:
        """`with ws.transaction("trusted agent") as tx:`; see `chrono.Transaction`."""
        from chrono.workspace.transaction import Transaction

        return Transaction(self.root, name, wait_s=wait_s, environ=self.environ)

    # --- branches

    def branches(self) -> tuple[Branch, ...]:
        """All branches by name."""
        from chrono.workspace import branches

        return branches.branches(self)

    def create_branch(self, name: str, start: str | None = None) -> Branch:
        """Makes a branch at a savepoint (default: the head of the current branch), without switching to it."""
        from chrono.workspace import branches

        return branches.create(self, name, self._by(), start)

    def delete_branch(self, name: str) -> CommitId:
        """Deletes a branch that another one holds all of; returns where it was."""
        from chrono.workspace import branches

        return branches.delete(self, name, self._by())

    def checkout(self, name: str) -> CheckedOut:
        """Saves the files on the current branch and switches to another one with all its files."""
        from chrono.workspace import branches

        return branches.checkout(self, name, self._by())

    def merge(self, name: str) -> MergeDone | None:
        """Merges a branch into the current one; None: it holds all of it already. Look at `conflicts`."""
        from chrono.workspace import merging

        return merging.merge(self, name, self._by())

    def end_merge(self) -> CommitId:
        """Commits a merge whose conflicts are resolved."""
        from chrono.workspace import merging

        return merging.end(self, self._by())

    def abandon_merge(self) -> Undone:
        """Takes back a merge that waits with conflicts."""
        from chrono.workspace import mergestate

        return self.undo(mergestate.begun_by(self).id)

    # --- beside the project

    def worktrees(self) -> tuple[Worktree, ...]:
        """The folders that savepoints were checked out into."""
        from chrono.workspace import worktrees

        return worktrees.listed(self)

    def add_worktree(self, folder: str, savepoint: str) -> Added:
        """Checks a savepoint out into a new folder outside the project."""
        from chrono.workspace import worktrees

        return worktrees.add(self, folder, savepoint, self._by())

    def remove_worktree(self, folder: str, *, force: bool = False) -> None:
        """Deletes such a folder; `force`: with what was changed in it."""
        from chrono.workspace import worktrees

        worktrees.remove(self, worktrees.find(self, folder), self._by(), force=force)

    def bisect(
        self,
        command: Sequence[str],
        *,
        start: str | None = None,
        end: str | None = None,
        timeout_s: float | None = None,
    ) -> Broken:
        """Finds the first savepoint where `command` fails, and whose change it is. Each run has its own folder."""
        from chrono.workspace import bisect, trial

        trial.check(command, self.environ)
        return bisect.find(
            self,
            bisect.lineage(self, start, end),
            lambda folder, _: trial.run(command, folder, self.environ, timeout_s=timeout_s).exit_code,
        )

    # --- off the machine

    def remotes(self) -> tuple[Remote, ...]:
        """Where savepoints are sent to."""
        from chrono.workspace import remotes

        return remotes.listed(self)

    def add_remote(self, name: str, url: str) -> Remote:
        """Adds a remote; a relative path is meant from the project. Nothing is sent."""
        from chrono.workspace import remotes

        return remotes.add(self, name, url, self._by(), start=self.root)

    def remove_remote(self, name: str) -> Remote:
        """Forgets a remote; what it holds stays there."""
        from chrono.workspace import remotes

        return remotes.remove(self, name, self._by())

    def push(self, name: str | None = None, *, include_secrets: bool = False) -> PushReport:
        """Sends what the remote lacks. `refused` in the answer names branches that moved over there."""
        from chrono.workspace.push import push

        return push(self, name, self._by(), include_secrets=include_secrets)

    def fetch(self, name: str | None = None) -> FetchReport:
        """Fetches and verifies what other machines pushed; the files and branches here stay as they are."""
        from chrono.workspace.fetch import fetch

        return fetch(self, name, self._by())

    # --- judge, prove, tidy

    def doctor(self) -> tuple[Check, ...]:
        """What protects this project, and what to do about each gap. Rolls forward what a crash left."""
        from chrono.workspace.health import checks

        return checks(self.root, self.environ, self._by())

    def assess(self, command: str, *, shell: str | None = None) -> Verdict:
        """What the guard would decide about a command here, covered by a savepoint taken now. Nothing is run."""
        from chrono.workspace.assess import assess

        return assess(command, project=self.root, shell=shell)

    def verify(self, *, full: bool = False) -> Report:
        """Whether the audit log and the savepoints are what was written; `full`: every signature."""
        from chrono.workspace.verify import verify

        return verify(self, full=full)

    def prune(self, rules: Rules | None = None) -> Pruned:
        """Removes old automatic savepoints by `rules` (default: the policy's)."""
        from chrono.workspace import prune

        return prune.apply(self, prune.plan(self, rules), self._by())

    def stats(self) -> Stats:
        """What the savepoints take, and what could go."""
        from chrono.workspace import prune

        return prune.stats(self)

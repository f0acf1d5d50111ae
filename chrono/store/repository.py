"""Owns the door of this room: one project's hidden repository, from capture to restore.

The work is done by the modules beside it. Audit records, the order of the ring and what people are told are left to
`workspace`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from chrono.ids import CommitId, OpId
from chrono.layout import ProjectLayout
from chrono.store.diff import Change
from chrono.store.journal import Journal
from chrono.store.restore import Restored, RestorePlan
from chrono.store.savepoint import Savepoint
from chrono.store.snapshot import Capture, Content, Survey


class Store:
    """One project's savepoints.

    Reading needs no lock. Every method that writes (capture, write_commit, move_ref, remember, begin, apply,
    finish) must run inside `with store.lock(timeout_s):`. A Store may live as long as a resident process: what other
    processes wrote is noticed at the next call. Raises StoreError where the repository cannot be read or written.
    """

    layout: ProjectLayout

    @classmethod
    def create(cls, layout: ProjectLayout) -> Store:
        """Makes `.chrono/repo.git`, `.chrono/format`, and opens them. Raises StoreError where one exists."""
        raise NotImplementedError

    @classmethod
    def open(cls, layout: ProjectLayout) -> Store:
        """Opens an existing repository with neutral configuration: none of its own settings is read.

        Raises NoWorkspace where there is none, StoreError where `.chrono/format` is newer than this chrono or a
        part of the repository is a link.
        """
        raise NotImplementedError

    @property
    def writable(self) -> bool:
        """False where `.chrono` belongs to another user: it is read, never written."""
        raise NotImplementedError

    def lock(self, timeout_s: float) -> AbstractContextManager[None]:
        """Holds the store lock. Not re-entrant. Raises Locked, naming the holder, or StoreError if not writable."""
        raise NotImplementedError

    # --- capture

    def capture(self) -> Capture:
        """Scans the whole work tree and writes what is new; every object is durable when it returns."""
        raise NotImplementedError

    def survey(self) -> Survey:
        """What a capture would leave out. Writes nothing and needs no lock."""
        raise NotImplementedError

    def remember(self, capture: Capture, commit: CommitId) -> None:
        """Keeps the stat cache of the latest `capture`, whose content `commit` holds. The ring's last step."""
        raise NotImplementedError

    # --- commits

    def write_commit(
        self,
        content: Content | Capture,
        *,
        parents: tuple[CommitId, ...],
        message: str,
        trailers: tuple[tuple[str, str], ...],
        at_ns: int,
        author: str,
    ) -> CommitId:
        """Writes a durable commit; no ref names it yet. `trailers` must hold `Chrono-Kind`.

        Whatever `message` and the values contain, they cannot forge a trailer. Raises ValueError for a malformed
        trailer key, StoreError where the commit cannot be written.
        """
        raise NotImplementedError

    def raw_commit(self, commit: CommitId) -> bytes:
        """The raw commit object, without git's header. Raises NoSuchSavepoint."""
        raise NotImplementedError

    def savepoint(self, commit: CommitId) -> Savepoint:
        """The commit, read. Raises NoSuchSavepoint."""
        raise NotImplementedError

    def content(self, commit: CommitId) -> Content:
        """What the commit holds, to be compared with `capture.content`. Raises NoSuchSavepoint."""
        raise NotImplementedError

    # --- refs

    def ref(self, name: str) -> CommitId | None:
        """The commit that `name` ("refs/heads/main") points to, or None."""
        raise NotImplementedError

    def refs(self, prefix: str) -> tuple[tuple[str, CommitId], ...]:
        """All refs below `prefix` ("refs/chrono/auto/"), sorted by name; numbers by value."""
        raise NotImplementedError

    def head_ref(self) -> str:
        """The ref of the current branch: "refs/heads/main" after create."""
        raise NotImplementedError

    def move_ref(self, name: str, old: CommitId | None, new: CommitId | None) -> None:
        """Compare and swap; `old` None: it must not exist, `new` None: delete it. Raises Conflict."""
        raise NotImplementedError

    def next_auto_ref(self) -> str:
        """The name for the next automatic savepoint: "refs/chrono/auto/<seq>"."""
        raise NotImplementedError

    def next_rescue_ref(self) -> str:
        """The name for the next rescue: "refs/chrono/rescue/<seq>"."""
        raise NotImplementedError

    # --- reading

    def resolve(self, text: str) -> CommitId:
        """A commit by id, unique prefix (4 or more digits), branch, ref, `HEAD`, each with `~N` and `^`.

        Raises NoSuchSavepoint, also where a prefix fits several.
        """
        raise NotImplementedError

    def history(self, *, kinds: frozenset[str] | None = None) -> Iterator[Savepoint]:
        """Every savepoint on a branch, automatic, rescue or other, newest first, each once."""
        raise NotImplementedError

    def changes(self, old: CommitId, new: CommitId | None, paths: tuple[str, ...] = ()) -> tuple[Change, ...]:
        """What differs from `old` to `new` (None: the work tree), sorted by path; `paths` limit it."""
        raise NotImplementedError

    def patch(self, old: CommitId, new: CommitId | None, paths: tuple[str, ...] = ()) -> str:
        """The same as a unified diff in git's form."""
        raise NotImplementedError

    def read(self, commit: CommitId, path: str) -> bytes:
        """A file's bytes (a link's target) as of `commit`. Raises NoSuchSavepoint where it holds no such file."""
        raise NotImplementedError

    # --- restore

    def plan_restore(self, pre: CommitId, target: CommitId, paths: tuple[str, ...] = ()) -> RestorePlan:
        """The plan from `pre` (the savepoint of the present state) to `target`; changes nothing."""
        raise NotImplementedError

    def begin(self, plan: RestorePlan, op: OpId) -> Journal:
        """Checks that the work tree still is `plan.pre` where it would change, then writes the journal.

        Order: rescue savepoint, plan, begin, audit "restore begin", apply, audit "restore end", finish.
        Raises Conflict where a file changed since; nothing was touched then.
        """
        raise NotImplementedError

    def apply(self, plan: RestorePlan, journal: Journal) -> Restored:
        """Stages, syncs, then renames into place; durable when it returns.

        Where staging fails nothing was touched and the journal is gone. Raises StoreError otherwise, and leaves the
        journal: `plan_restore` from a new savepoint to `journal.target` (go on) or `journal.pre` (abort), then
        apply and finish.
        """
        raise NotImplementedError

    def finish(self, journal: Journal) -> None:
        """Removes the journal and the stage; the restore is over."""
        raise NotImplementedError

    def pending(self) -> Journal | None:
        """The restore that a crash left under way, or None. Raises StoreError for a journal that cannot be read."""
        raise NotImplementedError

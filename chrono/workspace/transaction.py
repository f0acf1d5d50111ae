"""Owns transactions: a block of a program whose files are all there at its end, or as they were at its beginning.

Saving and going back are left to `workspace.savepoints` and `workspace.rollback`. What nests and what excludes each
other: docs/decisions/0041.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Self

from chrono.errors import ChronoError, Conflict, Locked, NoSuchSavepoint, UsageError
from chrono.files import file_lock
from chrono.ids import CommitId
from chrono.workspace import rollback
from chrono.workspace.actors import actor
from chrono.workspace.config import environment
from chrono.workspace.project import CLI_WAIT_S, Workspace
from chrono.workspace.savepoints import save

if TYPE_CHECKING:
    from chrono.workspace.rollback import RolledBack

BEGIN, COMMIT = "BEGIN", "COMMIT"

_inside: ContextVar[tuple[Transaction, ...]] = ContextVar("chrono_transactions", default=())
"""The transactions around this code, outermost first: a new thread is in none, an asyncio task in its maker's."""


class Transaction:
    """`with Transaction(".", "trusted agent") as tx:` saves BEGIN, and COMMIT at a clean end; an exception, whatever
    it is, brings the files back as they were at BEGIN and goes on.

    In the block `tx.savepoint("models")` saves and `tx.rollback_to("models")` goes back. Nothing is locked against
    other programs' edits; but a project has one transaction at a time, and those inside it. `wait_s`: how long to
    wait for somebody else's to end. What goes back leaves a rescue, so nothing is lost. Raises NoWorkspace, Locked,
    Denied, StoreError.
    """

    def __init__(
        self,
        path: str = ".",
        name: str = "transaction",
        *,
        wait_s: float = 0.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._environ = environment() if environ is None else environ
        self._ws = Workspace.open(path, self._environ)
        self._wait_s = wait_s
        self._stack = ExitStack()
        self._named: dict[str, CommitId] = {}
        self._open_inside: list[Transaction] = []
        self._token: Token[tuple[Transaction, ...]] | None = None
        self.begin: CommitId | None = None
        self.commit: CommitId | None = None

    @property
    def savepoints(self) -> Mapping[str, CommitId]:
        """The names that `rollback_to` takes now, BEGIN first."""
        return dict(self._named)

    def __enter__(self) -> Self:
        if self.begin is not None:
            raise UsageError("a transaction is entered once", "make a new one")
        around = [one for one in _inside.get() if one._ws.root == self._ws.root]
        if around:
            self._nest(around)
        else:
            self._stack.enter_context(_alone(self._ws, self._wait_s))
            self._open_inside = [self]
        try:
            self.begin = self._save(BEGIN, f"{BEGIN} {self.name}")
        except BaseException:
            self._leave()
            raise
        self._token = _inside.set((*_inside.get(), self))
        return self

    def _nest(self, around: list[Transaction]) -> None:
        """A transaction in another one is a part of it; two parts at once would take each other's files back."""
        family = around[0]._open_inside
        if not family or family[-1] is not around[-1]:
            raise Locked(f"transaction '{around[-1].name}' has another one open in it", "let that one end first")
        self._open_inside = family
        family.append(self)

    def savepoint(self, name: str) -> CommitId:
        """Saves the files as they are under `name`; a name that was used before means this one from now on."""
        self._require_open()
        if name in (BEGIN, COMMIT) or not name.strip():
            raise UsageError(f"a savepoint cannot be called {name!r}")
        self._named.pop(name, None)
        return self._save(name, name)

    def rollback_to(self, name: str = BEGIN) -> RolledBack | None:
        """Brings the files back as they were at `name`, which stays; later names are forgotten. None: no file differed.

        Raises NoSuchSavepoint for an unknown name, Conflict where others keep writing meanwhile.
        """
        self._require_open()
        if self._open_inside[-1] is not self:
            raise UsageError(f"transaction '{self._open_inside[-1].name}' is open in '{self.name}'", "let it end first")
        commit = self._named.get(name)
        if commit is None:
            known = ", ".join(self._named)
            raise NoSuchSavepoint(f"transaction '{self.name}' has no savepoint '{name}'", f"there are: {known}")
        done = self._restore(commit)
        names = list(self._named)
        for later in names[names.index(name) + 1 :]:
            del self._named[later]
        return done

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is None or self.begin is None:
            return
        try:
            if error is None:
                self.commit = self._save(COMMIT, f"{COMMIT} {self.name}")
            else:
                try:
                    done = self._restore(self.begin)
                    for left in done.left if done is not None else ():
                        error.add_note(f"{left.path} was left alone: {left.why}")
                except ChronoError as failed:
                    failed.add_note(f"the files could not be brought back: chrono rollback {self.begin[:12]} does it")
                    raise
        finally:
            _inside.reset(self._token)
            self._leave()

    def _save(self, name: str, message: str) -> CommitId:
        trailers = (("Chrono-Transaction", self.name), ("Chrono-Savepoint", name))
        by = actor(self._environ, source="sdk")
        commit = save(self._ws, "manual", message, by, trailers=trailers, timeout_s=CLI_WAIT_S).commit
        if name != COMMIT:
            self._named[name] = commit
        return commit

    def _restore(self, commit: CommitId) -> RolledBack | None:
        """Goes back; where somebody else writes in between, it looks again rather than give up at once."""
        by = actor(self._environ, source="sdk")
        for attempt in range(3):
            plan = rollback.plan(self._ws, commit)
            if not plan.changes:
                return None
            try:
                return rollback.apply(self._ws, plan, by)
            except Conflict:
                if attempt == 2:
                    raise
        return None

    def _require_open(self) -> None:
        if self.begin is None or self._token is None or self not in self._open_inside:
            raise UsageError(f"transaction '{self.name}' is not open")

    def _leave(self) -> None:
        self._token = None
        if self in self._open_inside:
            self._open_inside.remove(self)
        self._open_inside = []
        self._stack.close()
        self._ws.close()


@contextmanager
def _alone(ws: Workspace, wait_s: float) -> Iterator[None]:
    """The project's only outermost transaction, for the length of the block."""
    ws.require_own()
    try:
        stack = ExitStack()
        stack.enter_context(file_lock(ws.layout.transaction_lock, timeout_s=wait_s))
    except Locked as error:
        raise Locked(
            f"another transaction is open in {ws.root}", "wait for its end, or give wait_s=", holder=error.holder
        ) from None
    with stack:
        yield

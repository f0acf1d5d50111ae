"""Owns an opened project: its paths, whose it is, and the doors to its store, log and policy.

Making one is left to `workspace.init`, taking savepoints to `workspace.savepoints`, and so on: one verb a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from chrono.clock import Clock, SystemClock
from chrono.errors import Denied, NoWorkspace
from chrono.layout import HomeLayout, ProjectLayout, find_project
from chrono.policy.model import Policy
from chrono.workspace.config import effective_policy, home_layout
from chrono.workspace.standing import Standing, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from chrono.audit.keys import KeySettings
    from chrono.audit.log import AuditLog
    from chrono.store.repository import Store

HOOK_WAIT_S = 10.0
"""How long a hook waits for a lock. Half its deadline: a busy machine may starve who holds it for seconds, and a hook
that gives up blocks a call for nothing."""

CLI_WAIT_S = 30.0


class Workspace:
    """One project. Opening it runs nothing and writes nothing but a pin that a move made stale.

    `store` and `log` are opened on first use. A resident process may keep a Workspace: both notice what others wrote.
    """

    def __init__(
        self,
        layout: ProjectLayout,
        home: HomeLayout,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        keys: KeySettings | None = None,
    ) -> None:
        self.layout = layout
        self.home = home
        self.environ = environ
        self.clock: Clock = clock or SystemClock()
        self._keys = keys
        self._store: Store | None = None
        self._log: AuditLog | None = None

    @classmethod
    def open(
        cls,
        start: str,
        environ: Mapping[str, str],
        *,
        clock: Clock | None = None,
        keys: KeySettings | None = None,
    ) -> Self:
        """The project around folder `start`: the nearest `.chrono` at or above it, links resolved.

        `environ` says where CHRONO_HOME and, unless `keys` does, the signing key is. Raises NoWorkspace.
        """
        layout = find_project(os.path.realpath(start))
        if layout is None:
            raise NoWorkspace(f"no chrono project at or above {start}", "run chrono init in the project's folder")
        return cls(layout, home_layout(environ), environ, clock=clock, keys=keys)

    @property
    def root(self) -> str:
        return self.layout.root

    def standing(self) -> Standing:
        """Whose this project is; looked at afresh each time, since folders are moved and copied."""
        found = standing(self.layout, self.home)
        if found.kind == "moved":
            from chrono.audit.place import pin_again, project_place

            pin_again(self.home, project_place(self.layout))
        return found

    def require_own(self) -> None:
        """Raises Denied where this home must not write here: a stranger's, another user's or a copied `.chrono`."""
        found = self.standing()
        if not found.own:
            raise Denied(found.why, found.hint)

    @property
    def keys(self) -> KeySettings:
        """What the environment says about signing. Raises UsageError, KeyRefused."""
        if self._keys is None:
            from chrono.audit.keys import settings

            self._keys = settings(self.environ)
        return self._keys

    @property
    def store(self) -> Store:
        """The savepoints. Raises StoreError, NoWorkspace."""
        if self._store is None:
            from chrono.store.repository import Store

            self._store = Store.open(self.layout)
        return self._store

    @property
    def log(self) -> AuditLog:
        """The audit log. Raises AuditTampered or AuditUnverifiable where it is gone or not this home's."""
        if self._log is None:
            from chrono.audit.log import open_log
            from chrono.audit.place import project_place

            self._log = open_log(project_place(self.layout), self.home, self.keys, self.clock)
        return self._log

    def policy(self) -> Policy:
        """The policy that holds here now. Raises PolicyError."""
        return effective_policy(self.layout, self.home)

    def settle(self) -> None:
        """Makes durable what a savepoint could leave for after the answer. Raises StoreError."""
        if self._store is not None:
            self._store.settle()

    def close(self) -> None:
        """Closes what was opened; it opens again by itself."""
        if self._log is not None:
            self._log.close()
        if self._store is not None:
            self._store.close()
        self._log = None
        self._store = None

"""Owns what a call is judged with: the project around it, its policy, the compiled rules, the logs.

A hook that evaluates by itself opens them once; the resident service keeps them from call to call, and looks each
time whether something changed, since the command line and other hooks write too.
"""

from __future__ import annotations

import os
import time
from _thread import LockType, allocate_lock
from collections.abc import Iterator, Mapping

from chrono.errors import Denied
from chrono.layout import HomeLayout, ProjectLayout, find_project
from chrono.tuples import NamedTuple
from chrono.workspace.config import effective_policy, ensure_home, home_layout, user_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import AgentAdapter
    from chrono.audit.log import AuditLog
    from chrono.policy.model import Policy
    from chrono.scan.rule import Ruleset
    from chrono.workspace.machine_world import MachineWorld
    from chrono.workspace.project import Workspace

_REFUSED = ("other-user", "newer")
"""Standings in which nothing may run: chrono cannot keep its word there. The others are judged as no project."""

HINTS = "auto"
"""Where CHRONO_HINTS does not say otherwise."""

MAX_PROJECTS = 64
"""Open at a time; each costs some descriptors."""

RACY_NS = 100_000_000
"""A file that changed within the last 0.1 s is read again: its clock ticks in steps of some milliseconds."""


class Place(NamedTuple):
    """Where a call happens, and which log records it.

    `cwd` is resolved, `root` the project around it. `own`: this home's project, so `ws` can save; else the machine log
    records.
    """

    cwd: str
    layout: ProjectLayout | None
    ws: Workspace | None
    home: HomeLayout
    log: AuditLog

    @property
    def root(self) -> str | None:
        return self.layout.root if self.layout is not None else None

    @property
    def own(self) -> bool:
        return self.ws is not None


class Rulebook(NamedTuple):
    """What holds at a place: its policy, and the compiled rules with the policy's own among them."""

    policy: Policy
    rules: Ruleset


class Resources:
    """Opened projects, logs and rules. Safe to use from several threads; `holding` serialises calls of one project.

    `stays`: this process goes on after a call. So the kernel's notices between two calls are of use, and `settle` is
    called after each.
    """

    def __init__(self, *, stays: bool = False) -> None:
        self._stays = stays
        self._hinted: dict[str, Workspace] = {}
        self._unhinted: set[str] = set()
        self._checking: set[str] = set()
        self._guard = allocate_lock()
        self._projects: dict[tuple[str, int], Workspace] = {}
        self._locks: dict[str, LockType] = {}
        self._machine: dict[str, AuditLog] = {}
        self._policies: dict[tuple[object, ...], Policy] = {}
        self._adapters: dict[str, AgentAdapter] = {}
        self._books: dict[str | None, tuple[Ruleset, Rulebook]] = {}

    def adapter(self, name: str) -> AgentAdapter:
        """Raises PluginError."""
        found = self._adapters.get(name)
        if found is None:
            from chrono.agents.registry import adapter

            found = self._adapters[name] = adapter(name)
        return found

    def holding(self, cwd: str) -> LockType:
        """The lock of the project around `cwd` (or of all that is no project)."""
        layout = find_project(os.path.realpath(cwd)) if cwd else None
        with self._guard:
            return self._locks.setdefault(layout.root if layout is not None else "", allocate_lock())

    def place(self, cwd: str, environ: Mapping[str, str]) -> Place:
        """Where a call in folder `cwd` happens. Raises Denied, AuditUnverifiable, KeyRefused, OSError."""
        home = home_layout(environ)
        ensure_home(home)
        real = os.path.realpath(cwd)
        layout = find_project(real)
        ws = self._own(layout, home, environ)
        log = ws.log if ws is not None else self._machine_log(home, environ)
        if ws is not None and self._stays:
            ws.store.stays = True
        if ws is not None and self.may_hint(ws.root, environ):
            ws.store.use_hints()
            self._hinted[ws.root] = ws
        return Place(real, layout, ws, home, log)

    def rulebook(self, place: Place) -> Rulebook:
        """What holds there now. Raises PolicyError, PluginError."""
        from chrono.rulepack.ruleset import ruleset
        from chrono.workspace.config import ruleset_for

        policy = self._policy(place.layout, place.home)
        base = ruleset(place.home)
        known = self._books.get(place.root)
        if known is not None and known[0] is base and known[1].policy is policy:
            return known[1]
        book = Rulebook(policy, ruleset_for(policy, place.home))
        self._books[place.root] = (base, book)
        return book

    def world(self, place: Place, environ: Mapping[str, str]) -> MachineWorld:
        """The machine as one scan sees it, with the environment of the agent's call."""
        from chrono.workspace.machine_world import MachineWorld

        home = os.path.realpath(place.home.root)
        return MachineWorld(place.cwd, environ, project=place.root, chrono_home=home, user_home=user_home(environ))

    def _own(self, layout: ProjectLayout | None, home: HomeLayout, environ: Mapping[str, str]) -> Workspace | None:
        """The project where it is this home's own, None where it is a stranger's or there is none."""
        if layout is None:
            return None
        ws = self._project(layout, home, environ)
        standing = ws.standing()
        if standing.kind in _REFUSED:
            raise Denied(standing.why, standing.hint)
        return ws if standing.own else None

    def _project(self, layout: ProjectLayout, home: HomeLayout, environ: Mapping[str, str]) -> Workspace:
        from chrono.workspace.project import Workspace

        inode = os.lstat(layout.dir).st_ino
        with self._guard:
            ws = self._projects.pop((layout.root, inode), None)
            if ws is None or ws.home != home:
                if ws is not None:
                    ws.close()
                for old in [known for known in self._projects if known[0] == layout.root]:
                    self._projects.pop(old).close()
                self._make_room()
                ws = Workspace(layout, home, _own_words(environ))
            self._projects[layout.root, inode] = ws  # at the end: the first of the table is the one unused longest
            return ws

    def _make_room(self) -> None:
        """Closes the projects unused longest, but for those that a call is busy with. `_guard` is held."""
        for key in list(self._projects)[: 1 + len(self._projects) - MAX_PROJECTS]:
            busy = self._locks.get(key[0])
            if busy is None or not busy.locked():
                self._projects.pop(key).close()
                self._books.pop(key[0], None)
                self._hinted.pop(key[0], None)

    def _machine_log(self, home: HomeLayout, environ: Mapping[str, str]) -> AuditLog:
        """The log of calls outside every project; begun by the first of them."""
        from chrono.audit.keys import settings
        from chrono.audit.log import create
        from chrono.audit.place import machine_place
        from chrono.clock import SystemClock
        from chrono.workspace.actors import actor

        with self._guard:
            log = self._machine.get(home.root)
            if log is None:
                by = actor(environ, source="hook")
                log = create(machine_place(home), home, settings(environ), SystemClock(), by, timeout_s=5.0)
                self._machine[home.root] = log
            return log

    def _policy(self, layout: ProjectLayout | None, home: HomeLayout) -> Policy:
        """The policy as of now; parsed again only where one of its files, or the trust in them, changed."""
        key = (home.root, layout.root if layout is not None else None)
        stamp = (*key, *(_stamp(path) for path in (home.policy, home.trust, layout.policy if layout else "")))
        with self._guard:
            found = self._policies.get(stamp)
        if found is None:
            now_ns = time.time_ns()
            found = effective_policy(layout, home)
            with self._guard:
                self._policies = {old: policy for old, policy in self._policies.items() if old[:2] != key}
                if _settled(stamp, now_ns):
                    self._policies[stamp] = found
        return found

    def may_hint(self, root: str, environ: Mapping[str, str]) -> bool:
        """Whether savepoints of the project at `root` may be hinted ones (`store.hints`)."""
        return self._stays and root not in self._unhinted and environ.get("CHRONO_HINTS", HINTS) == "auto"

    def settle(self) -> None:
        """After a call, with nobody waiting: makes durable what its savepoint left for now. Raises StoreError."""
        with self._guard:
            opened = list(self._projects.values())
        for ws in opened:
            ws.settle()

    def check_hints(self) -> Iterator[str]:
        """After a call, with nobody waiting: see `guard.rechecking`. Gives what is worth a note.

        Raises OSError, ChronoError.
        """
        from chrono.guard.rechecking import check_again

        with self._guard:
            mine = {root: ws for root, ws in self._hinted.items() if root not in self._checking}
            self._checking.update(mine)
        try:
            for root, ws in mine.items():
                told = check_again(ws, self.holding(root))
                if told:
                    self._unhinted.add(root)
                    yield told
        finally:
            with self._guard:
                self._checking.difference_update(mine)

    def close(self) -> None:
        """Closes all that is open."""
        with self._guard:
            for ws in self._projects.values():
                ws.close()
            for log in self._machine.values():
                log.close()
            self._projects.clear()
            self._hinted.clear()
            self._machine.clear()


def _own_words(environ: Mapping[str, str]) -> dict[str, str]:
    """What chrono itself reads from the environment; the rest (an agent's keys and tokens) is not kept."""
    return {name: value for name, value in environ.items() if name.startswith("CHRONO") or name == "SSH_AUTH_SOCK"}


def _settled(stamp: tuple[object, ...], now_ns: int) -> bool:
    """Whether no file changed so shortly ago that a further change could leave the same time stamp."""
    return all(now_ns - max(part[:2]) > RACY_NS for part in stamp if isinstance(part, tuple))


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

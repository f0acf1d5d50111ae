"""Owns `chrono clone`: a project brought back on another machine, checked against its audit logs before it is used.

The new project has a log of its own, which names the old ones; their records lie beside it and can still be read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.clock import Clock, SystemClock
from chrono.errors import ChronoError, RemoteError, UsageError
from chrono.files import atomic_write
from chrono.ids import CommitId
from chrono.layout import HomeLayout, ProjectLayout, find_project
from chrono.tuples import NamedTuple
from chrono.workspace import fetch, remotes
from chrono.workspace.config import ensure_home, home_layout, user_home
from chrono.workspace.fetch import Arrived
from chrono.workspace.ground import keep_git_off, refuse_root
from chrono.workspace.history import newest
from chrono.workspace.logcopy import Judged
from chrono.workspace.project import CLI_WAIT_S, Workspace
from chrono.workspace.push import redact
from chrono.workspace.remotes import LOGS, Remote
from chrono.workspace.savepoints import save

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.checkout import CheckedOut
    from chrono.store.exchange import Layered
    from chrono.store.gitprogram import Address


class Cloned(NamedTuple):
    """A project that was brought back. `commit`: the savepoint that its files are as of. `logs` are all that came,
    `log` the one that it goes on from. `lost`: records that this home remembers and the remote never got."""

    root: str
    commit: CommitId
    written: CheckedOut
    branch: str
    log: str
    logs: tuple[Judged, ...]
    savepoints: int
    lost: int
    remote: Remote


def clone(
    typed: str,
    folder: str,
    environ: Mapping[str, str],
    by: Actor,
    *,
    start: str,
    log: str | None = None,
    key: str | None = None,
    person: bool = False,
    clock: Clock | None = None,
    timeout_s: float = CLI_WAIT_S,
) -> Cloned:
    """Makes a project in `folder` (new or empty) out of what a remote holds; where it fails nothing is left.

    `log`: whose automatic savepoints and rescues become the project's own (default: the one that was pushed last);
    `key`: the id of the key that it must be signed by. Raises UsageError, RemoteError, AuditTampered,
    AuditUnverifiable.
    """
    place = remotes.where(typed, start, None)
    home = home_layout(environ)
    root = _fit(folder, start, home, environ)
    made = not os.path.isdir(root)
    ensure_home(home)
    try:
        os.makedirs(root, exist_ok=True)
        return _fill(
            _Order(place, root, home, log, key, person), environ, by, clock or SystemClock(), timeout_s=timeout_s
        )
    except BaseException:
        _empty(root, whole=made)
        raise


class _Order(NamedTuple):
    place: Address
    root: str
    home: HomeLayout
    log: str | None
    key: str | None
    person: bool


def _fill(order: _Order, environ: Mapping[str, str], by: Actor, clock: Clock, *, timeout_s: float) -> Cloned:
    from chrono.audit.log import create
    from chrono.audit.place import project_place
    from chrono.store.repository import Store

    layout = ProjectLayout(order.root)
    store = Store.create(layout)
    remote = Remote(remotes.DEFAULT, order.place)
    with store.exchange.connect(order.place, environ, redact, person=order.person) as connection:
        there = connection.listed()
        pins = _pins(order.home, remotes.logs_in(there))
        arrived = fetch.receive(connection, pins, order.place.shown, own=None)
        chosen = _choose(order, connection.objects, arrived)
        fetch.require_recorded(connection.objects, arrived, set(), order.place.shown)
        refs = _local(arrived, chosen.log)
        with store.lock(timeout_s):
            connection.accept()
            store.exchange.set_refs({**refs, **fetch.tracking(remote, arrived.refs, chosen.log)})
            store.set_head(f"refs/heads/{_branch(chosen, refs)}")
    ws = Workspace(layout, order.home, environ, clock=clock)
    commit = newest(ws)
    if commit is None:
        raise RemoteError(f"{order.place.shown} holds no savepoint", "push some first: chrono push")
    written = ws.store.check_out(commit, order.root)
    _lay_logs(layout, arrived)
    lost = _lost(order.home, chosen)
    origin = _origin(order.home, layout, chosen, arrived)
    create(
        project_place(layout), order.home, ws.keys, clock, by, timeout_s=timeout_s, more=(("forked_from", origin),)
    ).close()
    keep_git_off(layout)
    fetch.note(ws, by, remote, arrived, timeout_s)
    keys = tuple((one.log, one.key.text if one.key is not None else "") for one in arrived.judged)
    remote = remote._replace(keys=tuple(sorted(keys)))
    remotes.keep(ws, remote)
    save(ws, "manual", f"cloned from {order.place.shown}", by, timeout_s=timeout_s)
    ws.close()
    return Cloned(
        root=order.root,
        commit=commit,
        written=written,
        branch=_branch(chosen, refs),
        log=chosen.log,
        logs=arrived.judged,
        savepoints=len(refs),
        lost=lost,
        remote=remote,
    )


def _fit(folder: str, start: str, home: HomeLayout, environ: Mapping[str, str]) -> str:
    """The absolute path of `folder`. Raises UsageError, ChronoError where it is not fit for a new project."""
    path = os.path.normpath(os.path.join(start, folder))
    root = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if os.path.islink(root) or (os.path.lexists(root) and not os.path.isdir(root)):
        raise UsageError(f"{folder} exists and is no folder", "name a folder that does not exist yet")
    if os.path.isdir(root) and os.listdir(root):
        raise UsageError(f"{folder} exists and is not empty", "name a new folder, or an empty one")
    if not os.path.isdir(os.path.dirname(root)):
        raise UsageError(f"{os.path.dirname(root)} does not exist", "make it first, or choose another place")
    around = find_project(os.path.dirname(root))
    if around is not None:
        raise UsageError(f"{folder} lies inside another project, {around.root}", "choose a folder outside of it")
    if os.path.isdir(root):
        refuse_root(root, home, user_home(environ))
    return root


def _pins(home: HomeLayout, logs: Mapping[str, object]) -> dict[str, str]:
    """Keys that this home pinned for the logs: it may be the very machine that lost the project."""
    from chrono.audit.pin import read_pin

    pins = {}
    for log in logs:
        pin = read_pin(home, log)
        if pin is not None:
            pins[log] = pin.key.text if pin.key is not None else ""
    return pins


def _choose(order: _Order, objects: Layered, arrived: Arrived) -> Judged:
    """The log that the project goes on from. Raises RemoteError, UsageError."""

    if not arrived.judged:
        raise RemoteError(f"{order.place.shown} holds no chrono project", "chrono push puts one there")
    logs = {one.log: one for one in arrived.judged}
    name = order.log
    if name is None:
        name = max(logs, key=lambda log: objects.commit(arrived.refs[f"{LOGS}{log}/audit"]).at_ns)
    fits = [log for log in logs if log.startswith(name)]
    if len(fits) != 1:
        raise UsageError(f"{order.place.shown} holds no log {name}", f"there are: {', '.join(sorted(logs))}")
    chosen = logs[fits[0]]
    kid = chosen.key.kid if chosen.key is not None else "none"
    if order.key is not None and not kid.startswith(order.key):
        raise UsageError(
            f"the log is signed by key {kid}, not by {order.key}", "ask whoever pushed it: chrono audit --keys"
        )
    return chosen


def _local(arrived: Arrived, log: str) -> dict[str, str]:
    """The refs that the new project has of its own: shared branches, and the chosen log's savepoints. What was under
    way over there (a merge, operations to undo) stays there."""
    found = {name: oid for name, oid in arrived.refs.items() if name.startswith("refs/heads/")}
    for name, oid in remotes.logs_in(arrived.refs)[log].items():
        if name.startswith("heads/"):
            found.setdefault(f"refs/{name}", oid)
        elif name.startswith(("auto/", "rescue/")) or name == "meta":
            found[f"refs/chrono/{name}"] = oid
    return found


def _branch(chosen: Judged, refs: Mapping[str, str]) -> str:
    """The branch that the project was on, if it came along."""
    if f"refs/heads/{chosen.copy.branch}" in refs:
        return chosen.copy.branch
    heads = sorted(name.removeprefix("refs/heads/") for name in refs if name.startswith("refs/heads/"))
    return "main" if "main" in heads or not heads else heads[0]


def _lay_logs(layout: ProjectLayout, arrived: Arrived) -> None:
    """The records of the old logs, for reading: who wrote which line is told from them."""
    for one in arrived.judged:
        atomic_write(f"{layout.audit_log}.{one.log}.cloned", one.copy.lines)


def _origin(home: HomeLayout, layout: ProjectLayout, chosen: Judged, arrived: Arrived) -> dict[str, Json]:
    """What the new log says it goes on from. A project that lay in this very folder before, and is gone, is ended."""
    from chrono.audit.pin import pin_of_path, remove_pin
    from chrono.audit.witness import Witness

    earlier = {one.log for one in arrived.judged}.union(*(one.earlier for one in arrived.judged))
    gone = pin_of_path(home, layout.dir)
    origin: dict[str, Json] = {}
    if gone is not None:
        earlier.add(gone.log)
        witness = Witness(home.witness_log(gone.log), home.witness_lock(gone.log))
        mark = witness.state().mark
        witness.close()
        if mark is not None and gone.log == chosen.log:
            origin.update(size=mark.size, note=mark.note)
        remove_pin(home, gone.log)
    origin.update(log=chosen.log, earlier=[*sorted(earlier - {chosen.log})])
    return origin


def _lost(home: HomeLayout, chosen: Judged) -> int:
    """Records that this home saw and that were never pushed."""
    from chrono.audit.witness import Witness

    witness = Witness(home.witness_log(chosen.log), home.witness_lock(chosen.log))
    try:
        mark = witness.state().mark
    finally:
        witness.close()
    return max(0, mark.size - chosen.report.size) if mark is not None else 0


def _empty(root: str, *, whole: bool) -> None:
    """Takes away what was made."""
    from chrono.store.checkout import remove_tree

    try:
        if whole and os.path.isdir(root):
            remove_tree(os.fsencode(root))
            return
        for name in os.listdir(root):
            path = os.path.join(root, name)
            if os.path.isdir(path) and not os.path.islink(path):
                remove_tree(os.fsencode(path))
            else:
                os.unlink(path)
    except OSError as error:
        raise ChronoError(f"{root} could not be cleared: {error.strerror}", "remove it by hand") from None

"""Owns `chrono fetch`: what other machines pushed, checked against their audit logs before anything is believed.

Branches of a remote are kept beside the project's own (`origin/main`); bringing one in is `chrono merge`'s. What was
pushed from here is only compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.errors import RemoteError
from chrono.tuples import NamedTuple
from chrono.workspace import logcopy, remotes
from chrono.workspace.logcopy import Judged
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.push import redact
from chrono.workspace.remotes import LOGS, TRACKING, Remote

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.exchange import Connection, Layered
    from chrono.workspace.project import Workspace

_RECENT = 50


class Branch(NamedTuple):
    """One branch of the remote. `state`: "new", "moved" or "same"."""

    name: str
    commit: str
    state: str


class Log(NamedTuple):
    """One audit log of another machine. `savepoints` are new here; `verdict` in words; `key` its id, None: unsigned."""

    log: str
    records: int
    savepoints: int
    verdict: str
    key: str | None


class Report(NamedTuple):
    """What a fetch brought."""

    remote: Remote
    branches: tuple[Branch, ...]
    logs: tuple[Log, ...]


class Arrived(NamedTuple):
    """What waits in quarantine: refs of the remote by their names there, and the logs that were checked."""

    refs: dict[str, str]
    judged: tuple[Judged, ...]


def fetch(ws: Workspace, name: str | None, by: Actor, *, person: bool = False, timeout_s: float = CLI_WAIT_S) -> Report:
    """Fetches all logs and branches of a remote. The work tree and the project's own branches stay as they are.

    Raises RemoteError, and AuditTampered where a log does not hold: then nothing is kept.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    remote = remotes.get(ws, name)
    exchange, own = ws.store.exchange, str(ws.log.log_id)
    with exchange.connect(remote.address, ws.environ, redact, person=person) as connection:
        there = connection.listed()
        if not remotes.logs_in(there) and not [ref for ref in there if ref != "HEAD"]:
            raise RemoteError(
                f"{remote.address.shown} is empty", f"send something there first: chrono push {remote.name}"
            )
        remotes.require_same(ws, remote, there)
        connection.know(_haves(exchange.refs()))
        arrived = receive(connection, _pins(ws, remote, there), remote.address.shown, own=own)
        if own in remotes.logs_in(arrived.refs):
            _compare_own(ws, remote, connection, arrived, own, timeout_s)
        require_recorded(connection.objects, arrived, remotes.known_logs(ws), remote.address.shown)
        before = exchange.refs(f"{TRACKING}{remote.name}/")
        after = tracking(remote, arrived.refs, own)
        with ws.store.lock(timeout_s):
            recover_locked(ws, by, timeout_s=timeout_s)
            connection.accept()
            exchange.set_refs({ref: oid for ref, oid in after.items() if before.get(ref) != oid})
    report = _report(remote, arrived, before, after)
    remotes.keep(ws, remote._replace(keys=_keys(remote, arrived)))
    note(ws, by, remote, arrived, timeout_s)
    return report


def receive(connection: Connection, pins: Mapping[str, str], shown: str, *, own: str | None) -> Arrived:
    """Fetches everything into quarantine and judges every log but `own`. `pins` are the keys of logs by id.

    Raises RemoteError, AuditTampered, AuditUnverifiable.
    """
    got = connection.fetch([("refs/heads/*", "heads/"), (f"{LOGS}*", "logs/")])
    refs = {}
    for name, oid in got.items():
        refs[f"refs/{name}" if name.startswith("heads/") else f"refs/chrono/{name}"] = oid
    judged = []
    for log, tips in sorted(remotes.logs_in(refs).items()):
        if log != own:
            folder = os.path.join(connection.folder, f"log-{log}")
            judged.append(logcopy.judge(connection.objects, folder, log, tips, pins.get(log)))
    require_bounded(connection.objects, refs, shown)
    return Arrived(refs, tuple(judged))


def require_recorded(objects: Layered, arrived: Arrived, known: set[str], shown: str) -> None:
    """Every savepoint of a fetched branch must be of a log that was checked. Raises RemoteError."""
    from chrono.workspace.verify import parse_trailer

    fine = known | {one.log for one in arrived.judged}
    for one in arrived.judged:
        fine |= one.earlier
    seen: set[str] = set()
    stack = [(name, oid) for name, oid in arrived.refs.items() if name.startswith("refs/heads/")]
    while stack:
        name, commit = stack.pop()
        if commit in seen:
            continue
        seen.add(commit)
        value = objects.commit(commit)
        log, _, _ = parse_trailer(value.trailer("Chrono-Audit") or "")
        if log not in fine:
            raise RemoteError(
                f"{shown}: branch {name.removeprefix('refs/heads/')} holds savepoint {commit[:12]}, "
                "which no audit log there records",
                "whoever pushed it must push with chrono, which sends the log too",
            )
        stack.extend((name, parent) for parent in value.parents)


def require_bounded(objects: Layered, refs: Mapping[str, str], shown: str) -> None:
    """No savepoint that came may unfold to more files than any disk is meant to hold. Raises RemoteError."""
    from chrono.store.weight import MOST_ENTRIES, Weights

    weights = Weights(lambda oid: objects.read(oid.hex(), b"tree"))
    seen: set[str] = set()
    # A log's `meta` is no savepoint but a tree of metadata blobs.
    stack = [oid for name, oid in refs.items() if (remotes.log_of(name) or ("", ""))[1] != "meta"]
    while stack:
        commit = stack.pop()
        if commit in seen or not objects.is_new(commit):
            continue
        seen.add(commit)
        value = objects.commit(commit)
        if weights.entries(bytes.fromhex(value.tree)) > MOST_ENTRIES:
            raise RemoteError(
                f"{shown}: {commit[:12]} names the same folders over and over, {MOST_ENTRIES} files and more in all",
                "it was made to fill a disk; ask whoever keeps the remote",
            )
        stack.extend(value.parents)


def tracking(remote: Remote, refs: Mapping[str, str], own: str | None) -> dict[str, str]:
    """What arrived, under the names that it has here; of the own log only the copy of its records."""
    kept = {}
    for name, oid in refs.items():
        found = remotes.log_of(name)
        if found is None or found[0] != own or found[1] == "audit":
            kept[f"{TRACKING}{remote.name}/{name.removeprefix('refs/').removeprefix('chrono/')}"] = oid
    return kept


def note(ws: Workspace, by: Actor, remote: Remote, arrived: Arrived, timeout_s: float) -> None:
    """Records what was fetched; the logs that it names may from now on vouch for savepoints here."""
    from chrono.audit.record import Act, Entry

    logs = {one.log for one in arrived.judged}.union(*(one.earlier for one in arrived.judged))
    heads: dict[str, Json] = {
        name.removeprefix("refs/heads/"): oid for name, oid in arrived.refs.items() if name.startswith("refs/heads/")
    }
    more: tuple[tuple[str, Json], ...] = (
        ("branches", heads),
        ("logs", [*sorted(logs)]),
        ("remote", remote.name),
        ("url", remote.address.shown),
    )
    ws.log.append(Entry("remote.fetch", by, Act(phase="end", more=more)), timeout_s=timeout_s)


def _haves(refs: Mapping[str, str]) -> list[tuple[str, str]]:
    """What git need not be sent again: heads, what remotes had, the newest automatic savepoints."""
    first = [(name, oid) for name, oid in refs.items() if name.startswith(("refs/heads/", TRACKING))]
    autos = [(name, oid) for name, oid in refs.items() if name.startswith("refs/chrono/auto/")]
    return [*(pair for pair in first if not pair[0].endswith("/meta")), *autos[-_RECENT:]]


def _pins(ws: Workspace, remote: Remote, there: Mapping[str, str]) -> dict[str, str]:
    """The keys that logs are known by: of this home, else as the remote first showed them."""
    from chrono.audit.pin import read_pin

    pins = dict(remote.keys)
    for log in remotes.logs_in(dict(there)):
        pin = read_pin(ws.home, log)
        if pin is not None:
            pins[log] = pin.key.text if pin.key is not None else ""
    return pins


def _keys(remote: Remote, arrived: Arrived) -> tuple[tuple[str, str], ...]:
    found = dict(remote.keys)
    for one in arrived.judged:
        found.setdefault(one.log, one.key.text if one.key is not None else "")
    return tuple(sorted(found.items()))


def _compare_own(
    ws: Workspace, remote: Remote, connection: Connection, arrived: Arrived, own: str, timeout_s: float
) -> None:
    from chrono.store.exchange import read_files

    commit = arrived.refs[f"{LOGS}{own}/audit"]
    copy = logcopy.joined(read_files(connection.objects, commit))
    logcopy.continued(copy, logcopy.take(ws, timeout_s=timeout_s), remote.address.shown)


def _report(remote: Remote, arrived: Arrived, before: Mapping[str, str], after: Mapping[str, str]) -> Report:
    prefix = f"{TRACKING}{remote.name}/"
    branches = tuple(
        Branch(name.removeprefix("refs/heads/"), oid, _state(before.get(f"{prefix}{name.removeprefix('refs/')}"), oid))
        for name, oid in sorted(arrived.refs.items())
        if name.startswith("refs/heads/")
    )
    logs = [
        Log(
            one.log,
            one.report.size,
            sum(
                ref.startswith((f"{prefix}logs/{one.log}/auto/", f"{prefix}logs/{one.log}/rescue/"))
                and ref not in before
                for ref in after
            ),
            one.report.integrity,
            one.key.kid if one.key is not None else None,
        )
        for one in arrived.judged
    ]
    return Report(remote, branches, tuple(logs))


def _state(before: str | None, now: str) -> str:
    return "new" if before is None else "same" if before == now else "moved"

"""Owns `chrono push`: savepoints, rescues and the audit log to a remote; branches only forward.

The list of remotes and names is `workspace.remotes`'s, the copy of the log `workspace.logcopy`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.errors import Denied, RemoteError
from chrono.tuples import NamedTuple
from chrono.workspace import logcopy, remotes
from chrono.workspace.credentials import credential_files
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.remotes import LOGS, TRACKING, Remote

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.store.exchange import Connection, Exchange, Pushed
    from chrono.workspace.logcopy import LogCopy
    from chrono.workspace.project import Workspace


class Report(NamedTuple):
    """What a push did. `branches` are (name, state, why); `savepoints` new ones of the log's own space;
    `records` of the audit log are over there now. `secrets`: credential-class files that went along."""

    remote: Remote
    branches: tuple[tuple[str, str, str], ...]
    savepoints: int
    records: int
    refused: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...]


def push(
    ws: Workspace,
    name: str | None,
    by: Actor,
    *,
    include_secrets: bool = False,
    person: bool = False,
    timeout_s: float = CLI_WAIT_S,
) -> Report:
    """Sends everything that the remote lacks. A branch that is not a fast-forward there is refused, the rest goes.

    `include_secrets`: a person agrees that the credential-class files found now leave the machine. Raises Denied where
    they did not, RemoteError, AuditTampered where the remote holds another past of this log.
    """
    from chrono.workspace.recover import recover_locked

    ws.require_own()
    remote = remotes.get(ws, name)
    exchange, log = ws.store.exchange, ws.log.log_id
    with exchange.connect(remote.address, ws.environ, redact, person=person) as connection:
        there = connection.listed()
        remotes.require_same(ws, remote, there)
        with ws.store.lock(timeout_s):
            recover_locked(ws, by, timeout_s=timeout_s)
            refs = remotes.sent(exchange.refs(), log)
        secrets = credential_files(exchange.objects, _new(refs, there), there.values())
        remote = _agreed(ws, remote, secrets, include_secrets)
        copy = logcopy.take(ws, timeout_s=timeout_s)
        grown = f"{LOGS}{log}/audit"
        refs[grown], copy = _log_commit(ws, exchange, connection, remote, there, copy, timeout_s)
        done = connection.push(refs, forced=f"{LOGS}{log}/", grown=grown)
        with ws.store.lock(timeout_s):
            exchange.set_refs(_tracked(remote, refs, done))
    report = _report(remote, done, copy, secrets, log)
    if not any(one.name.endswith("/audit") and one.state == "refused" for one in done):
        _seen(ws, remote, copy)
    _note(ws, by, report, timeout_s)
    return report


def _seen(ws: Workspace, remote: Remote, copy: LogCopy) -> None:
    """Keeps in mind how much of the log the remote has now: every later verification is held against it (level W4)."""
    from chrono.audit.external import External, add_external
    from chrono.audit.merkle import CompactRange, leaf_hash
    from chrono.clock import rfc3339

    tree = CompactRange()
    for line in copy.lines.split(b"\n")[:-1]:
        tree.add(leaf_hash(line))
    if tree.size:
        at = rfc3339(ws.clock.now_ns())
        add_external(ws.home, ws.log.log_id, [External("W4", remote.name, tree.size, tree.root().hex(), at, "")])


def redact(text: str) -> str:
    """What git says, without what looks like a secret."""
    from chrono.audit.redact import redact as redacted

    return redacted(text)[0]


def _new(refs: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    known = set(there.values())
    return [oid for name, oid in refs.items() if oid not in known and not name.endswith("/meta")]


def _agreed(ws: Workspace, remote: Remote, secrets: tuple[str, ...], include: bool) -> Remote:
    """The remote with what a person agreed to. Raises Denied, naming the files, where nobody did."""
    more = tuple(path for path in secrets if path not in remote.secrets)
    if not more:
        return remote
    if not include:
        shown = "\n".join(f"  {path}" for path in more[:20])
        rest = f"\n  … and {len(more) - 20} more" if len(more) > 20 else ""
        raise Denied(
            f"the savepoints hold files that usually keep secrets; nothing was sent:\n{shown}{rest}",
            f"where {remote.address.shown} may hold them: chrono push {remote.name} --include-secrets; "
            "savepoints cannot be changed afterwards, so keep such files out with .chronoignore from the beginning",
        )
    remote = remote._replace(secrets=tuple(sorted({*remote.secrets, *more})))
    remotes.keep(ws, remote)
    return remote


def _log_commit(
    ws: Workspace,
    exchange: Exchange,
    connection: Connection,
    remote: Remote,
    there: Mapping[str, str],
    copy: LogCopy,
    timeout_s: float,
) -> tuple[str, LogCopy]:
    """The commit that holds the log, on top of the one that the remote has, and the log as it is there then."""
    from chrono.store.exchange import read_files

    ref = f"{LOGS}{ws.log.log_id}/audit"
    before = there.get(ref)
    if before is not None:
        if exchange.refs(f"{TRACKING}{remote.name}/").get(_tracking(remote, ref)) != before:
            connection.fetch([(ref, "own/audit")])
            with ws.store.lock(timeout_s):
                connection.accept()
        old = logcopy.joined(read_files(connection.objects, before))
        copy = logcopy.continued(old, copy, remote.address.shown)
        if old == copy:
            return before, copy
    if logcopy.pruned(copy):
        raise RemoteError(
            f"records of the audit log were pruned here, and {remote.address.shown} never had them",
            "push to a remote that has the log from its beginning",
        )
    with ws.store.lock(timeout_s):
        parents = [before] if before is not None else []
        return exchange.write_files(logcopy.files(copy), parents, "audit log", ws.clock.now_ns()), copy


def _tracking(remote: Remote, ref: str) -> str:
    """Where the state of a remote's ref is remembered."""
    return f"{TRACKING}{remote.name}/{ref.removeprefix('refs/').removeprefix('chrono/')}"


def _tracked(remote: Remote, refs: Mapping[str, str], done: tuple[Pushed, ...]) -> dict[str, str]:
    """Branches and the log as they are over there now; savepoints need no second name here."""
    kept = {}
    for one in done:
        if one.state != "refused" and (one.name.startswith("refs/heads/") or one.name.endswith("/audit")):
            kept[_tracking(remote, one.name)] = refs[one.name]
    return kept


def _report(remote: Remote, done: tuple[Pushed, ...], copy: LogCopy, secrets: tuple[str, ...], log: str) -> Report:
    space = f"{LOGS}{log}/"
    branches = tuple(
        (one.name.removeprefix("refs/heads/"), one.state, one.why) for one in done if one.name.startswith("refs/heads/")
    )
    return Report(
        remote=remote,
        branches=branches,
        savepoints=sum(
            one.state in ("new", "moved") and one.name.startswith((f"{space}auto/", f"{space}rescue/")) for one in done
        ),
        records=copy.lines.count(b"\n"),
        refused=tuple((one.name, one.why) for one in done if one.state == "refused"),
        secrets=secrets,
    )


def _note(ws: Workspace, by: Actor, report: Report, timeout_s: float) -> None:
    from chrono.audit.record import Act, Entry

    branches: list[Json] = [f"{name}: {state}" for name, state, _ in report.branches]
    more: tuple[tuple[str, Json], ...] = (
        ("branches", branches),
        ("records", report.records),
        ("refused", [name for name, _ in report.refused]),
        ("remote", report.remote.name),
        ("savepoints", report.savepoints),
        ("secrets", [*report.secrets[:100]]),
        ("url", report.remote.address.shown),
    )
    ws.log.append(Entry("remote.push", by, Act(phase="end", more=more)), timeout_s=timeout_s)

"""Owns what a call leaves behind: the savepoint before it, the audit record of it, what is noted after it ran.

Whether there is a savepoint is decided by `engine`; how one is taken is left to `workspace.savepoints`.
"""

from __future__ import annotations

import os

from chrono.audit.record import Act, Actor, Entry
from chrono.audit.redact import SALT_BYTES, protect
from chrono.guard import wording
from chrono.tuples import NamedTuple
from chrono.workspace.project import HOOK_WAIT_S
from chrono.workspace.trust import newest_policy, now_under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import Call
    from chrono.audit.append import Writing
    from chrono.canonical import Json
    from chrono.guard.caller import Caller
    from chrono.guard.recall import Earlier
    from chrono.guard.resources import Place
    from chrono.policy.approvals import Grant
    from chrono.policy.model import Verdict
    from chrono.scan.finding import Scan
    from chrono.workspace.ring import Also
    from chrono.workspace.savepoints import Saved

MESSAGE_CHARS = 120
TRAILER_CHARS = 400
COMPARED_BYTES = 1_000_000


class Judged(NamedTuple):
    """What was found out about a call: the scan, the verdict, what the client is told, under which policy.

    `saved` is the savepoint before it, None where none was needed or can be taken. `grant`: a person's approval that
    it uses up; `request`: the id under which a person can give one.
    """

    scan: Scan
    verdict: Verdict
    decision: str
    policy_sha256: str
    saved: Saved | None
    grant: Grant | None = None
    request: str | None = None


class _Said(NamedTuple):
    """A call's text, fit to be recorded."""

    text: str | None
    commitment: str | None
    salt: bytes | None


def savepoint(call: Call, caller: Caller, place: Place, *, hinted: bool = False, also: Also | None = None) -> Saved:
    """The savepoint before the call; the existing one where nothing changed. Raises Locked, StoreError, OSError.

    `hinted`: nothing about the call leans on it, so that the kernel's notices may stand in for looking everywhere.
    `also` records the call in the savepoint's turn of the log (`workspace.savepoints.save`).
    """
    from chrono.workspace.savepoints import save

    assert place.ws is not None
    said = _said(call)
    what = said.text or " ".join((call.tool, *call.paths))
    trailers = [("Chrono-Agent", call.client)]
    if call.session:
        trailers.append(("Chrono-Session", call.session))
    if call.call_id:
        trailers.append(("Chrono-Tool-Use", call.call_id))
    trailers.append(("Chrono-Command", what))
    return save(
        place.ws,
        "auto",
        f"before {_line(call.tool, 40)}: {_line(what, MESSAGE_CHARS)}",
        actor(call, caller),
        act=Act(tool=call.tool, cmd=said.text, cmd_c=said.commitment, cwd=call.cwd),
        trailers=tuple((key, _line(value, TRAILER_CHARS)) for key, value in trailers),
        timeout_s=HOOK_WAIT_S,
        hinted=hinted,
        also=also,
    )


def record(call: Call, caller: Caller, place: Place, judged: Judged, writing: Writing | None = None) -> None:
    """One `command` or `file` record of the decision; it is on the disk when this returns, or when `writing` ends.

    Raises as `AuditLog`; Denied where the approval that it leans on was used already.
    """
    if writing is None:
        with place.log.writing(HOOK_WAIT_S) as turn:
            record(call, caller, place, judged, turn)
        return
    said = _said(call)
    verdict, saved = judged.verdict, judged.saved
    act = Act(
        tool=call.tool,
        cmd=said.text,
        cmd_c=said.commitment,
        cwd=call.cwd,
        decision=judged.decision,
        rules=tuple(dict.fromkeys(item.finding.rule for item in verdict.findings)),
        score=verdict.score,
        policy_sha256=judged.policy_sha256 or None,
        files=judged.scan.followed,
        scan=saved.scan if saved is not None else None,
        more=(*_circumstances(call, place, judged), *_claims(call, caller)),
    )
    # The machine's log also records calls in strangers' projects, under policies that come and go.
    log, now = place.log, judged.policy_sha256 if place.own or place.root is None else ""
    before = newest_policy(place.home, log.log_id) if now else ""
    if judged.grant is not None:
        from chrono.workspace.approvals import spend

        spend(place.home, log.place, judged.grant)
    if now and before and before != now:
        changed = Act(policy_sha256=now, more=(("before", before),))
        writing.append(Entry("policy.changed", Actor(source="chrono"), changed))
    writing.append(Entry(_kind(call), actor(call, caller), act))
    _keep_raw(call, caller, place, said)
    if now and before != now:
        now_under(place.home, log.log_id, now)


def _circumstances(call: Call, place: Place, judged: Judged) -> list[tuple[str, Json]]:
    """What only some decisions have: a savepoint, paths, an approval asked for or used, and why there was no other."""
    verdict, saved = judged.verdict, judged.saved
    more: list[tuple[str, Json]] = []
    if judged.decision != verdict.decision:
        more.append(("verdict", verdict.decision))
    if saved is not None:
        more.append(("savepoint", saved.commit))
        if saved.skips:
            more.append(("skips", len(saved.skips)))
    if call.paths:
        more.append(("paths", [*call.paths[:50]]))
    if verdict.refusals:
        more.append(("refusals", [f"{refusal.kind}: {refusal.why}" for refusal in verdict.refusals[:10]]))
    if place.root is not None and not place.own:
        more.append(("project", place.root))
    if judged.request is not None:
        more.append(("request", judged.request))
    if judged.grant is not None:
        from chrono.workspace.approvals import used_members

        more.extend(used_members(judged.grant))
    return more


def after(call: Call, caller: Caller, place: Place) -> str | None:
    """Notes the result of a call or the end of a session. What must be told at once is the answer, else None."""
    by = actor(call, caller)
    act = Act(
        tool=call.tool or None,
        cwd=call.cwd,
        phase="end" if call.event in ("post", "fail") else None,
        dur_ms=call.dur_ms,
        message=call.outcome,
        more=_claims(call, caller),
    )
    if call.event in ("session.start", "session.end"):
        place.log.append(Entry(call.event, by, act), timeout_s=HOOK_WAIT_S)
        return None
    from chrono.guard.recall import earlier

    before = earlier(place.log.place, call.call_id) if call.call_id else None
    told = None
    with place.log.writing(HOOK_WAIT_S) as writing:
        writing.append(Entry(_kind(call), by, act))
        if before is not None and before.decision == "block" and call.event == "post":
            told = wording.denied_but_ran(call.tool)
            more: tuple[tuple[str, Json], ...] = (("record", before.n),)
            writing.append(Entry("alarm.denied_but_ran", by, Act(tool=call.tool, cwd=call.cwd, more=more)))
        changed = _changed_since(before) if before is not None and before.decision != "block" else ()
        if changed:
            assert before is not None
            files: list[Json] = [*changed]
            alarm = Act(tool=call.tool, cwd=call.cwd, more=(("record", before.n), ("changed", files)))
            writing.append(Entry("alarm.script_changed", by, alarm))
    return told


def actor(call: Call, caller: Caller) -> Actor:
    """Who: the account and process that asks, and what the client's payload says about session and call."""
    from chrono.workspace.actors import account, host

    uid = os.getuid() if hasattr(os, "getuid") else None
    return Actor(
        user=account(uid, caller.environ),
        uid=uid,
        host=host(),
        agent=call.client,
        session=call.session,
        tool_use_id=call.call_id,
        pid=caller.pid,
        ppid=caller.ppid,
        exe=caller.exe,
        source="hook",
    )


def _kind(call: Call) -> str:
    return "file" if call.kind in ("write", "edit", "read") else "command"


def _claims(call: Call, caller: Caller) -> tuple[tuple[str, Json], ...]:
    """What somebody says of themselves and nobody can check: labels, marked as such."""
    said: dict[str, Json] = {}
    for key in ("CHRONO_AGENT", "CHRONO_MODEL"):
        value = caller.environ.get(key)
        if value:
            said[key.removeprefix("CHRONO_").lower()] = value
    more: list[tuple[str, Json]] = []
    if call.agent_id:
        more.append(("subagent", call.agent_id))
    if call.server:
        more.append(("server", call.server))
    if call.mode:
        more.append(("mode", call.mode))
    if said:
        more.append(("claimed", said))
    return tuple(more)


def _said(call: Call) -> _Said:
    if not call.commands:
        return _Said(None, None, None)
    protected = protect("\n".join(call.commands), os.urandom(SALT_BYTES))
    return _Said(protected.text, protected.commitment, protected.salt)


def _keep_raw(call: Call, caller: Caller, place: Place, said: _Said) -> None:
    """Where a person asked for it, what was taken out of the record stays in a private file for some days."""
    wanted = caller.environ.get("CHRONO_AUDIT_KEEP_RAW_DAYS")
    if not wanted or said.commitment is None or said.salt is None:
        return
    import time

    from chrono.audit.reveal import Kept, days_of, keep

    days = days_of(wanted)
    if days:
        raw = Kept("\n".join(call.commands), said.salt)
        keep(place.home, said.commitment, raw, now_ns=time.time_ns(), days=days)


def _changed_since(before: Earlier) -> tuple[str, ...]:
    """Files that the scan followed and that have other bytes now: what ran may not be what was looked at."""
    import hashlib

    from chrono.scan.world import Read
    from chrono.workspace.machine_world import read_file

    changed = []
    for path, digest in before.files:
        content = read_file(path, COMPARED_BYTES)
        if not isinstance(content, Read) or hashlib.sha256(content.data).hexdigest() != digest:
            changed.append(path)
    return tuple(changed)


def _line(text: str, limit: int) -> str:
    """`text` on one line, of bounded length, without what a commit message or a trailer cannot hold."""
    from chrono.canonical import recordable

    line = " ".join(recordable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"

"""Owns one supervised command from its verdict to its record: judge, save, run, and save or go back.

Running the process is left to `run.process`; asking the person and printing to `cli`. What an agent's client runs
comes through `guard`, never this way.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.audit.record import Act, Actor, Entry
from chrono.audit.redact import SALT_BYTES, protect
from chrono.errors import Denied, UsageError
from chrono.tuples import NamedTuple
from chrono.workspace import rollback
from chrono.workspace.assess import Assessed, Assessor
from chrono.workspace.project import CLI_WAIT_S
from chrono.workspace.savepoints import save

if TYPE_CHECKING:
    from chrono.ids import CommitId
    from chrono.policy.model import Policy
    from chrono.run.process import Ended
    from chrono.workspace.project import Workspace
    from chrono.workspace.rollback import RollbackPlan, RolledBack
    from chrono.workspace.savepoints import Saved

_MESSAGE_CHARS = 120
_TRAILER_CHARS = 400


class Request(NamedTuple):
    """What is to run: `argv` as the process gets it, `text` as it is scanned, shown and recorded."""

    argv: tuple[str, ...]
    text: str


class Judged(NamedTuple):
    """A request with the folder it would run in, its verdict, and the policy it was judged by."""

    request: Request
    folder: str
    assessed: Assessed
    policy: Policy

    @property
    def decision(self) -> str:
        return self.assessed.verdict.decision


class Begun(NamedTuple):
    """A run that may start: the savepoint before it."""

    judged: Judged
    before: Saved
    forced: bool


def request(words: tuple[str, ...], *, shell: str | None = None) -> Request:
    """The request for a command line's words, each an argument of its own; or for one text that a shell runs.

    Raises UsageError where there is nothing to run, or both.
    """
    if shell is not None:
        if words:
            raise UsageError("--shell takes exactly one text", "quote it: chrono run --shell 'make && make test'")
        if not shell.strip():
            raise UsageError("there is nothing to run")
        return Request(("/bin/sh", "-c", shell), shell)
    if not words:
        raise UsageError("there is nothing to run", "for example: chrono run pytest -x")
    return Request(words, shlex.join(words))


def judge(asked: Request, folder: str, environ: Mapping[str, str]) -> Judged:
    """The verdict on a request that would run in `folder`. Raises PolicyError, PluginError, Denied."""
    assessor = Assessor.open(folder, environ)
    return Judged(asked, folder, assessor.assess(asked.text), assessor.policy)


def begin(ws: Workspace, judged: Judged, by: Actor, *, forced: bool = False) -> Begun:
    """Takes the savepoint and records the decision; the record is on the disk when this returns.

    Raises Denied (nothing was saved; the refusal is recorded), Locked, StoreError.
    """
    if judged.decision == "block" and not forced:
        _record(ws, judged, by, "block", None)
        why = "\n".join(judged.assessed.verdict.reasons) or "the policy blocks it"
        raise Denied(f"blocked, nothing was run: {why}", "chrono scan --explain CMD shows where and why")
    said = protect(judged.request.text, os.urandom(SALT_BYTES))
    saved = save(
        ws,
        "auto",
        f"before run: {_line(said.text, _MESSAGE_CHARS)}",
        by,
        trailers=(("Chrono-Command", _line(said.text, _TRAILER_CHARS)),),
        timeout_s=CLI_WAIT_S,
    )
    _record(ws, judged, by, "allow", saved, forced=forced)
    return Begun(judged, saved, forced)


def approved(ws: Workspace, judged: Judged, by: Actor) -> None:
    """Uses up a person's approval of this run, where there is one. Raises Denied where there is none: the refusal is
    recorded and the request left then, and the hint says how a person answers it."""
    from chrono.policy.approvals import Subject
    from chrono.workspace.gates import spend_or_ask

    asked = judged.request
    folder = os.path.realpath(judged.folder)
    files = judged.assessed.scan.followed
    subject = Subject("run", "chrono run", "argv", asked.argv, folder, ws.log.log_id, files=files)
    try:
        spend_or_ask(ws, judged.policy, subject, judged.assessed.verdict.reasons, by)
    except Denied:
        refuse(ws, judged, by)
        raise


def refuse(ws: Workspace, judged: Judged, by: Actor) -> None:
    """Records that a person said no, or that nobody was there to ask."""
    _record(ws, judged, by, "block", None)


def ended(ws: Workspace, by: Actor, end: Ended) -> None:
    """Records how the command ended."""
    more: list[tuple[str, str | int | list[str | int]]] = [("exit", end.exit_code)]
    if end.left:
        more.append(("left", [f"{one.pid} {one.name}" for one in end.left[:20]]))
    act = Act(phase="end", dur_ms=round(end.duration_s * 1000), message=end.how, more=tuple(more))  # type: ignore[arg-type]
    ws.log.append(Entry("command", by, act), timeout_s=CLI_WAIT_S)


def commit(ws: Workspace, begun: Begun, by: Actor) -> CommitId:
    """The savepoint after a command that succeeded. Raises Locked, StoreError."""
    said = protect(begun.judged.request.text, os.urandom(SALT_BYTES))
    message = f"COMMIT {_line(said.text, _MESSAGE_CHARS)}"
    trailers = (("Chrono-Savepoint", "COMMIT"), ("Chrono-Command", _line(said.text, _TRAILER_CHARS)))
    return save(ws, "manual", message, by, trailers=trailers, timeout_s=CLI_WAIT_S).commit


def way_back(ws: Workspace, begun: Begun) -> RollbackPlan:
    """What going back to before the command would do."""
    return rollback.plan(ws, begun.before.commit)


def go_back(ws: Workspace, plan: RollbackPlan, by: Actor) -> RolledBack | None:
    """Does it; None where no file differs. Raises Conflict, Locked, StoreError."""
    return rollback.apply(ws, plan, by) if plan.changes else None


def _record(
    ws: Workspace, judged: Judged, by: Actor, decision: str, saved: Saved | None, *, forced: bool = False
) -> None:
    verdict = judged.assessed.verdict
    said = protect(judged.request.text, os.urandom(SALT_BYTES))
    more: list[tuple[str, str | bool]] = []
    if decision != verdict.decision:
        more.append(("verdict", verdict.decision))
    if forced:
        more.append(("forced", True))
    if saved is not None:
        more.append(("savepoint", saved.commit))
    act = Act(
        tool="run",
        cmd=said.text,
        cmd_c=said.commitment,
        cwd=judged.folder,
        decision=decision,
        rules=tuple(dict.fromkeys(item.finding.rule for item in verdict.findings)),
        score=verdict.score,
        files=judged.assessed.scan.followed,
        scan="full" if saved is not None else None,
        more=tuple(more),
    )
    ws.log.append(Entry("command", by, act), timeout_s=CLI_WAIT_S)


def _line(text: str, most: int) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"

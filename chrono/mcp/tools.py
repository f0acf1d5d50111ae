"""Owns what the MCP tools do: the same verbs as on the command line, with structured results and nobody to ask.

The protocol is left to `mcp.server`, each verb to its room. A model calls these, so nothing here overrules the policy.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chrono.clock import Clock
from chrono.errors import ChronoError, Denied, UsageError
from chrono.mcp import shapes
from chrono.policy.decide import stronger
from chrono.policy.roles import gate
from chrono.run import supervisor
from chrono.run.process import execute_aside
from chrono.workspace import rollback
from chrono.workspace.actors import actor
from chrono.workspace.assess import Assessor
from chrono.workspace.config import effective_policy
from chrono.workspace.gates import FILES, pass_gate
from chrono.workspace.history import branch_name, newest
from chrono.workspace.project import CLI_WAIT_S, Workspace
from chrono.workspace.savepoints import save
from chrono.workspace.verify import verify

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.policy.model import Policy
    from chrono.run.process import Ended
    from chrono.workspace.rollback import RolledBack

OUTPUT_BYTES = 64 * 1024
"""The end of a command's output that a model is shown."""

MAX_CHANGES = 200
SHORTEST_RUN_S, DEFAULT_RUN_S, LONGEST_RUN_S = 0.1, 600.0, 86_400.0


class Tools:
    """The tools for one project. Methods raise ChronoError; none of them asks anybody."""

    def __init__(self, start: str, environ: Mapping[str, str]) -> None:
        """Raises NoWorkspace, Denied."""
        self._environ = dict(environ)
        self._ws = Workspace.open(start, self._environ)
        self._ws.require_own()
        self.clock: Clock = self._ws.clock
        self._one_at_a_time = threading.Lock()

    @property
    def root(self) -> str:
        """The project's folder."""
        return self._ws.root

    def scan(self, command: str) -> shapes.ScanResult:
        """What the guard would decide; nothing is run or saved."""
        found = Assessor.open(self._ws.root, self._environ).assess(command)
        return shapes.verdict(found.verdict, read_only=found.scan.read_only)

    def run(self, command: str, timeout_s: float | None, stop: threading.Event) -> shapes.RunResult:
        """Judges, saves, runs and, where it fails, goes back as the policy says (`run.on_failure`)."""
        if timeout_s is None:
            timeout_s = DEFAULT_RUN_S
        if not SHORTEST_RUN_S <= timeout_s <= LONGEST_RUN_S:  # NaN neither
            raise UsageError(f"timeout_s lies between {SHORTEST_RUN_S:g} and {LONGEST_RUN_S:g}")
        asked = supervisor.request((), shell=command)
        judged = supervisor.judge(asked, self._ws.root, self._environ)
        by = self._by()
        closed = stronger(gate(judged.policy, "mcp.run"), judged.decision)
        if closed == "block":
            supervisor.refuse(self._ws, judged, by)
            return self._refused(judged, "")
        if closed == "ask":
            try:
                supervisor.approved(self._ws, judged, by)
            except Denied as refused:
                return self._refused(judged, refused.hint or refused.message)
        with self._one_at_a_time, tempfile.TemporaryFile() as output:
            begun = supervisor.begin(self._ws, judged, by)
            run_id = f"{begun.before.commit[:16]}-mcp-{os.urandom(4).hex()}"
            end = execute_aside(
                asked.argv,
                self._environ,
                run_id,
                folder=self._ws.root,
                output=output.fileno(),
                stop=stop,
                timeout_s=timeout_s,
            )
            supervisor.ended(self._ws, by, end)
            commit, back = self._close(begun, by, end, judged.policy)
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - OUTPUT_BYTES))
            said = output.read().decode("utf-8", "replace")
        return {
            "decision": judged.decision,
            "reasons": list(judged.assessed.verdict.reasons),
            "exit_code": end.exit_code,
            "how": end.how,
            "output": said,
            "output_cut": size > OUTPUT_BYTES,
            "before": begun.before.commit,
            "commit": commit,
            "rolled_back": back is not None,
            "undo": f"chrono rollback {back.rescue if back is not None else begun.before.commit}",
            "still_running": [f"{one.pid} {one.name}" for one in end.left],
            "covers": shapes.covers(begun.before.skips, judged.policy),
        }

    def snapshot(self, message: str) -> shapes.SnapshotResult:
        """Takes a savepoint."""
        policy = self._policy()
        pass_gate(self._ws, policy, ("mcp.snapshot",), ("snapshot",), self._by())
        saved = save(self._ws, "manual", message or "snapshot", self._by(), timeout_s=CLI_WAIT_S)
        return {"id": saved.commit, "created": saved.created, "covers": shapes.covers(saved.skips, policy)}

    def status(self) -> shapes.StatusResult:
        """What changed since the newest savepoint."""
        store = self._ws.store
        commit = newest(self._ws)
        changes = store.changes(commit, None) if commit is not None else ()
        return {
            "root": self._ws.root,
            "branch": branch_name(store.head_ref()),
            "newest": shapes.savepoint(store.savepoint(commit)) if commit is not None else None,
            "changes": [f"{change.kind} {change.path}" for change in changes[:MAX_CHANGES]],
            "changes_cut": len(changes) > MAX_CHANGES,
        }

    def log(self, limit: int) -> shapes.LogResult:
        """Savepoints, newest first."""
        if not 1 <= limit <= 1000:
            raise UsageError("limit lies between 1 and 1000")
        found = []
        for savepoint in self._ws.store.history():
            found.append(shapes.savepoint(savepoint))
            if len(found) == limit:
                break
        return {"savepoints": found}

    def rollback(self, target: str | None) -> shapes.RollbackResult:
        """Goes back; undone by the command it names. The policy's gate `mcp.rollback` may leave it to people."""
        policy = self._policy()
        told = shapes.covers((), policy)
        try:
            pass_gate(self._ws, policy, FILES, ("rollback", *((target,) if target else ())), self._by())
        except Denied as refused:
            return _not_applied(as_text(refused), target, told)
        plan = rollback.plan(self._ws, target)
        if not plan.changes:
            return _not_applied("the files are as in that savepoint", plan.target.id, told)
        done = rollback.apply(self._ws, plan, self._by())
        return {
            "applied": True,
            "reason": "",
            "target": done.target,
            "restored": done.written,
            "removed": done.deleted,
            "undo": done.undo,
            "covers": told,
        }

    def audit_verify(self) -> shapes.VerifyResult:
        """Whether anybody changed the log."""
        report = verify(self._ws)
        return {
            "ok": report.exit_code == 0,
            "exit_code": report.exit_code,
            "records": report.size,
            "summary": [report.integrity, report.completeness, *(str(found) for found in report.findings[:20])],
        }

    def _by(self) -> Actor:
        return actor(self._environ, source="mcp")

    def _policy(self) -> Policy:
        return effective_policy(self._ws.layout, self._ws.home)

    def _close(
        self, begun: supervisor.Begun, by: Actor, end: Ended, policy: Policy
    ) -> tuple[str | None, RolledBack | None]:
        if end.exit_code == 0:
            return supervisor.commit(self._ws, begun, by), None
        if policy.run_on_failure != "rollback":
            return None, None
        return None, supervisor.go_back(self._ws, supervisor.way_back(self._ws, begun), by)

    def _refused(self, judged: supervisor.Judged, how: str) -> shapes.RunResult:
        """`how`: how a person can allow it, "" where nobody can."""
        reasons = list(judged.assessed.verdict.reasons)
        if gate(judged.policy, "mcp.run") != "allow":
            reasons.append("the policy's gate mcp.run leaves this to people")
        if how:
            reasons.append(how)
        return {
            "decision": "ask" if how else "block",
            "reasons": reasons,
            "exit_code": None,
            "how": "not run",
            "output": "",
            "output_cut": False,
            "before": None,
            "commit": None,
            "rolled_back": False,
            "undo": None,
            "still_running": [],
            "covers": shapes.covers((), judged.policy),
        }


def _not_applied(reason: str, target: str | None, told: shapes.Covers) -> shapes.RollbackResult:
    return {
        "applied": False,
        "reason": reason,
        "target": target,
        "restored": 0,
        "removed": 0,
        "undo": None,
        "covers": told,
    }


def as_text(error: ChronoError) -> str:
    """An error as a model reads it: what happened, and what to do."""
    return f"{error.message}. {error.hint}" if error.hint else error.message

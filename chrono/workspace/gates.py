"""Owns the gates of a policy for what chrono itself does on an agent's word: it passes, is refused, or waits for a
person's approval, which it uses up.

What a gate says is read by `policy.roles`; approvals are kept by `workspace.approvals`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chrono.errors import Denied
from chrono.policy.approvals import Subject
from chrono.policy.decide import stronger
from chrono.policy.roles import gate
from chrono.workspace import approvals
from chrono.workspace.approvals import Asking
from chrono.workspace.lineage import agents_behind
from chrono.workspace.project import CLI_WAIT_S

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.policy.approvals import Grant
    from chrono.policy.model import Policy
    from chrono.workspace.project import Workspace

FILES = ("rollback", "mcp.rollback")
"""The gates of everything that brings files of a savepoint back, whatever it is called."""


def pass_gate(ws: Workspace, policy: Policy, actions: tuple[str, ...], words: tuple[str, ...], by: Actor) -> None:
    """Returns where the policy's gates for `actions` let the agent do `words` (a command of chrono) now.

    Raises Denied where a gate is closed, or where a person has to approve and has not; the hint says how.
    """
    decision = "allow"
    for action in actions:
        decision = stronger(decision, gate(policy, action))
    if decision == "allow":
        return
    closed = next(action for action in actions if gate(policy, action) == decision)
    if decision == "block":
        raise Denied(f"the policy's gate {closed} keeps agents from this", "let the person run it")
    subject = Subject("verb", "chrono", "argv", words, os.path.realpath(ws.root), ws.log.log_id)
    why = f"the policy's gate {closed} wants a person's approval"
    spend_or_ask(ws, policy, subject, (why,), by)


def spend_or_ask(ws: Workspace, policy: Policy, subject: Subject, reasons: tuple[str, ...], by: Actor) -> Grant:
    """Uses up the approval of `subject`, and records that.

    Raises Denied where there is none: the request is left then, and the hint says how a person answers it.
    """
    from chrono.audit.record import Act, Entry

    now_ns = ws.clock.now_ns()
    answer = approvals.answered(ws.home, subject, policy, now_ns)
    if answer.grant is not None:
        used = Act(tool=subject.tool, decision="allow", phase="used", more=approvals.used_members(answer.grant))
        with ws.log.writing(CLI_WAIT_S) as writing:
            approvals.spend(ws.home, ws.log.place, answer.grant)
            writing.append(Entry("approval", by, used))
        return answer.grant
    agents = tuple((one.pid, one.start, one.name) for one in agents_behind(os.getpid()))
    asking = Asking(by.agent or "", by.session or "", ws.root, reasons, agents)
    request = approvals.ask(ws.home, subject, asking, now_ns)
    said = "; ".join((*reasons, answer.why) if answer.why else reasons)
    raise Denied(said, f"a person runs: chrono approvals approve {request.id}   then do exactly the same again")

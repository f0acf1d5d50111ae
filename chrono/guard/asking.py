"""Owns asking a person who is not there: what exactly is asked for, what they answered, and leaving the request.

What an approval binds is said by `policy.approvals`; files and log are left to `workspace.approvals`.
"""

from __future__ import annotations

import time

from chrono.errors import Denied
from chrono.policy.approvals import Subject
from chrono.workspace import approvals
from chrono.workspace.approvals import Answer, Asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.agents.protocol import Call
    from chrono.guard.caller import Caller
    from chrono.guard.resources import Place
    from chrono.policy.model import Policy, Verdict
    from chrono.scan.finding import Scan

MAX_REASONS = 6


def subject_of(call: Call, scan: Scan, place: Place) -> Subject | None:
    """What a person would approve; None where the adapter does not tell all of what the tool is given."""
    if call.kind != "shell" and not call.given:
        return None
    return Subject(
        "call",
        call.tool,
        call.shell,
        call.commands,
        place.cwd,
        place.log.log_id,
        call.paths,
        call.given,
        scan.followed,
    )


def answer_to(subject: Subject | None, place: Place, policy: Policy) -> Answer:
    """What a person said to it. Raises PolicyError (a damaged team)."""
    if subject is None:
        return Answer(None)
    return approvals.answered(place.home, subject, policy, time.time_ns())


def leave_request(subject: Subject, call: Call, caller: Caller, place: Place, verdict: Verdict) -> str | None:
    """Leaves the request for a person; why that is not possible, None where it is. Raises OSError."""
    from chrono.workspace.lineage import agents_behind

    asking = Asking(
        call.client,
        call.session or "",
        (place.root or "") if place.own else "",
        verdict.reasons[:MAX_REASONS],
        tuple((one.pid, one.start, one.name) for one in agents_behind(caller.pid)),
    )
    try:
        approvals.ask(place.home, subject, asking, time.time_ns())
    except Denied as refused:
        return refused.message
    return None

"""Owns `chrono policy trust`: a person's word that a project's own policy file may also loosen.

What would loosen is shown beforehand by `cli`; that no agent may do this is a rule. The trust itself is kept by
`policy.pin`, the audit record here says who gave it, and for which bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chrono.errors import ChronoError
from chrono.policy.model import DEFAULTS, Ignored, PolicyFile
from chrono.workspace.config import project_policy, read_policy
from chrono.workspace.savepoints import CLI_WAIT_S

if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.workspace.project import Workspace


class TrustPlan(NamedTuple):
    """The project's policy file, whether it is trusted already, and what trusting it would loosen."""

    file: PolicyFile
    trusted: bool
    loosens: tuple[Ignored, ...]


def plan_trust(ws: Workspace) -> TrustPlan | None:
    """What `trust` would do; None where the project has no policy file. Raises PolicyError."""
    from chrono.policy.layers import effective, loosenings

    found = project_policy(ws.layout, ws.home)
    if found.file is None:
        return None
    user = read_policy(ws.home.policy, ws.home.policy, "user")
    below = effective(DEFAULTS, user, None, project_trusted=False)
    return TrustPlan(found.file, found.trusted, loosenings(below, found.file))


def trust_policy(ws: Workspace, plan: TrustPlan, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> None:
    """Trusts exactly the bytes that `plan` showed.

    The record comes first: a trust without one must not exist. Raises ChronoError where the file has changed since,
    Denied, Locked, PolicyError.
    """
    from chrono.audit.record import Act, Entry
    from chrono.policy.pin import trust

    ws.require_own()
    now = project_policy(ws.layout, ws.home).file
    if now is None or now.sha256 != plan.file.sha256:
        raise ChronoError("the policy has changed since it was shown", "look at it again: chrono policy trust")
    loosens = [f"{entry.key}: {entry.value}" for entry in plan.loosens]
    act = Act(policy_sha256=now.sha256, more=(("loosens", [*loosens]),))
    ws.log.append(Entry("policy.trusted", by, act), timeout_s=timeout_s)
    trust(ws.home, now.sha256, source=ws.layout.policy, at_ns=ws.clock.now_ns())

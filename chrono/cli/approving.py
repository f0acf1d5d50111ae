"""Owns how a person answers what agents ask for: who they are, their key, what they are shown, the answer itself.

What may be approved is said by `policy.approvals`; the page in a browser is `cli.approval_page`.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from chrono.cli import shapes
from chrono.cli.render import AGENT_MARKS, Screen
from chrono.cli.text import Styled, age
from chrono.errors import Denied, UsageError
from chrono.tuples import NamedTuple

if TYPE_CHECKING:
    from chrono.layout import HomeLayout
    from chrono.policy.approvals import Grant, Member, Request
    from chrono.policy.model import Policy
    from chrono.signing import Signer

MAX_FILES = 8


class Approver(NamedTuple):
    """A person at work: `signer` None where they sign nothing."""

    home: HomeLayout
    who: Member
    signer: Signer | None


def member_at(screen: Screen, home: HomeLayout, name: str | None) -> Member:
    """Who answers: `name`, else whoever bears the account's name, else the only one there is. Raises UsageError."""
    from chrono.workspace.actors import account
    from chrono.workspace.team import members

    team = members(home)
    if not team:
        raise UsageError("nobody is in the team yet", "enrol yourself: chrono approvals enroll")
    own = account(os.getuid() if hasattr(os, "getuid") else None, screen.environ)
    for wanted in (name,) if name is not None else (own,):
        found = next((one for one in team if one.name == wanted), None)
        if found is not None:
            return found
    if name is None and len(team) == 1:
        return team[0]
    names = ", ".join(one.name for one in team)
    if name is not None:
        raise UsageError(f"{name!r} is not in the team", f"there are: {names}")
    raise UsageError("who answers?", f"say it with --as: {names}")


def approver(screen: Screen, home: HomeLayout, name: str | None, key_file: str | None, *, signs: bool) -> Approver:
    """Who answers, with their key where it is needed. Raises UsageError, KeyRefused."""
    from chrono.workspace.team import signer_of

    who = member_at(screen, home, name)
    if not signs or (who.key is None and key_file is None):
        return Approver(home, who, None)
    signer = signer_of(home, who, screen.environ.get("SSH_AUTH_SOCK"), secret(screen), key_file=key_file)
    return Approver(home, who, signer)


def secret(screen: Screen):  # type: ignore[no-untyped-def]
    """Asks for a passphrase where somebody is there to type it."""
    return lambda question: screen.secret(question) if screen.person else None


def policy_of(request: Request, home: HomeLayout) -> Policy:
    """The policy that holds where the request comes from. Raises PolicyError."""
    from chrono.layout import ProjectLayout
    from chrono.workspace.config import effective_policy

    return effective_policy(ProjectLayout(request.root) if request.root else None, home)


def answer(screen: Screen, approver: Approver, request: Request, decision: str, *, minutes: int) -> Grant:
    """Gives the answer. Raises Denied where the policy does not let this person give it."""
    from chrono.workspace import approvals
    from chrono.workspace.actors import actor

    log = approvals.log_of(request, approver.home, screen.environ)
    try:
        return approvals.decide(
            approver.home,
            log,
            actor(screen.environ),
            request,
            approver.who,
            policy_of(request, approver.home),
            approver.signer,
            time.time_ns(),
            decision=decision,
            valid_s=minutes * 60,
        )
    finally:
        log.close()


def refuse_agents(home: HomeLayout) -> None:
    """Raises Denied where an agent started this process, whatever its own environment says."""
    from chrono.workspace.approvals import pending, refuse_relatives

    refuse_relatives(pending(home, time.time_ns()), os.getpid(), AGENT_MARKS)


def show(screen: Screen, request: Request, now_ns: int) -> None:
    """All that a person needs to decide: the exact text, where, why it was stopped, what else it reads."""
    screen.line(
        Styled(request.id, "bold"),
        f"  {request.client or 'an agent'} asks for {request.tool}, {_times(request, now_ns)}",
    )
    for row in request.text.splitlines():
        screen.line("    ", Styled(row, "bold"))
    screen.line(f"  in {request.cwd}")
    for reason in request.reasons:
        screen.text(f"  - {reason}", indent=4)
    for path, digest in request.files[:MAX_FILES]:
        screen.line(f"  runs {path}  (sha256 {digest[:12]}…)")
    if len(request.files) > MAX_FILES:
        screen.line(f"  and {len(request.files) - MAX_FILES} more files")


def row(request: Request, state: str, now_ns: int) -> tuple[str, ...]:
    """One line of a list."""
    first, *more = request.text.splitlines() or [""]
    return request.id, state, age((now_ns - request.at_ns) / 1e9), request.client, first + (" …" if more else "")


def state_of(grant: Grant | None, now_ns: int) -> str:
    """ "waits", "approved" (and not used yet), "denied"."""
    if grant is None or now_ns >= grant.expires_ns:
        return "waits"
    return "approved" if grant.decision == "approve" else "denied"


def as_json(request: Request, grant: Grant | None, now_ns: int) -> dict[str, shapes.Json]:
    """A request and its answer."""
    return {
        "id": request.id,
        "state": state_of(grant, now_ns),
        "client": request.client,
        "session": request.session,
        "tool": request.tool,
        "text": request.text,
        "cwd": request.cwd,
        "project": request.root or None,
        "reasons": list(request.reasons),
        "files": [{"path": path, "sha256": digest} for path, digest in request.files],
        "digest": request.digest,
        "at": _at(request.at_ns),
        "expires": _at(request.expires_ns),
        "answer": None if grant is None else answer_json(grant),
    }


def answer_json(grant: Grant) -> dict[str, shapes.Json]:
    """An answer: who, with which key, until when."""
    return {
        "id": grant.id,
        "decision": grant.decision,
        "name": grant.name,
        "kid": grant.kid or None,
        "signed": bool(grant.signature),
        "expires": _at(grant.expires_ns),
    }


def require_person(screen: Screen, *, yes: bool) -> None:
    """Raises Denied where nobody can have read what is approved."""
    if not yes and not screen.person:
        raise Denied("nobody is there to be asked", "read it with chrono approvals list ID, then add --yes")


def _times(request: Request, now_ns: int) -> str:
    return f"{age((now_ns - request.at_ns) / 1e9)}"


def _at(at_ns: int) -> str:
    from chrono.clock import rfc3339

    return rfc3339(at_ns)

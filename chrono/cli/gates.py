"""Owns which commands an agent may not give, and which only pass a gate of the policy: one table for all verbs.

That an agent is there is told by its environment (`cli.render`); the scanner's rules say the same of command lines
that never reach this process. What a gate means is left to `workspace.gates`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from chrono.cli.options import screen_of
from chrono.cli.render import Screen
from chrono.errors import Denied
from chrono.tuples import NamedTuple


class PeopleOnly(NamedTuple):
    """A command that only people give: `what` it does, for the refusal. With `flags`: only where one of these is given;
    `unless`: not where one of these is."""

    what: str
    flags: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


PEOPLE_ONLY: Mapping[str, tuple[PeopleOnly, ...]] = {
    "approvals approve": (PeopleOnly("approve what agents ask for"),),
    "approvals deny": (PeopleOnly("answer what agents ask for"),),
    "approvals enroll": (PeopleOnly("enrol an approver's key"),),
    "approvals watch": (PeopleOnly("answer what agents ask for"),),
    "audit erase": (PeopleOnly("erase what was kept of a command"),),
    "audit prune": (PeopleOnly("prune the audit log", unless=("dry_run",)),),
    "audit reveal": (PeopleOnly("see what was taken out of a command"),),
    "audit show": (
        PeopleOnly("reset the witness", ("reset_witness",)),
        PeopleOnly("rotate the signing key", ("rotate_key",)),
        PeopleOnly("revoke a key", ("revoke_key",)),
        PeopleOnly("send the log elsewhere", ("push",)),
    ),
    "audit witness-daemon": (PeopleOnly("run the witness of another account"),),
    "git uninstall": (PeopleOnly("take out the hooks of git"),),
    "guard install": (PeopleOnly("change the hooks that guard it"),),
    "guard uninstall": (PeopleOnly("take out the hooks that guard it"),),
    "init": (PeopleOnly("adopt a strange project", ("adopt",)),),
    "policy pin": (PeopleOnly("pin a policy", unless=("dry_run",)),),
    "policy trust": (PeopleOnly("trust a policy"),),
    "policy untrust": (PeopleOnly("take the trust in a policy back"),),
    "prune": (PeopleOnly("remove savepoints", unless=("dry_run",)),),
    "run": (PeopleOnly("overrule the scanner with --force", ("force",)),),
    "service stop": (PeopleOnly("stop the service"),),
    "team add": (PeopleOnly("change the team"),),
    "team remove": (PeopleOnly("change the team"),),
    "uninstall": (PeopleOnly("uninstall chrono"),),
}
"""By "verb" or "verb sub" (product.md, "Scan and policy")."""

NEEDS: Mapping[str, str] = {"audit prune": "prune", "policy pin": "policy.pin", "prune": "prune", "run": "run.force"}
"""What a person needs the permission for, where the policy sets roles (`run` with --force, the others not to look)."""

BRINGS_FILES_BACK = ("checkout", "merge", "redo", "rollback", "undo")
"""Commands behind the policy's gates `rollback` and `mcp.rollback`, where an agent gives them."""

_ELSEWHERE = "a person runs this in a terminal of their own"
_NO_PART = ("ctx", "json", "yes")


def gated(path: str, run: Callable[..., int | None]) -> Callable[..., int | None]:
    """`run`, the function of the command `path`, behind the table; unchanged where nothing is said of it."""
    rules = PEOPLE_ONLY.get(path, ())
    if not rules and path not in BRINGS_FILES_BACK:
        return run
    permission = NEEDS.get(path)

    @functools.wraps(run)
    def checked(**given: Any) -> int | None:
        screen = screen_of(given["ctx"])
        for rule in rules:
            if _speaks_of(rule, given):
                if screen.agent is not None:
                    raise Denied(f"an agent cannot {rule.what} ({screen.agent} is set)", _ELSEWHERE)
                if permission is not None:
                    _permit(screen, permission)
        if screen.agent is not None and path in BRINGS_FILES_BACK and not given.get("dry_run"):
            _pass(screen, path, given)
        return run(**given)

    return checked


def _speaks_of(rule: PeopleOnly, given: Mapping[str, Any]) -> bool:
    if rule.flags and not any(given.get(flag) for flag in rule.flags):
        return False
    return not any(given.get(flag) for flag in rule.unless)


def _permit(screen: Screen, permission: str) -> None:
    """Raises Denied where the policy sets roles and this account has none with `permission`. Outside every project, and
    where the policy cannot be read, the verb itself says what is wrong."""
    from chrono.cli.place import workspace
    from chrono.errors import NoWorkspace, PolicyError
    from chrono.policy.roles import may
    from chrono.workspace.actors import account
    from chrono.workspace.config import effective_policy

    try:
        ws = workspace(screen)
        policy = effective_policy(ws.layout, ws.home, held=False)
    except (NoWorkspace, PolicyError):
        return
    person = account(os.getuid() if hasattr(os, "getuid") else None, screen.environ)
    if not may(policy, person, permission):
        raise Denied(f"the policy does not give {person} the permission {permission}", "look at it: chrono policy")


def _pass(screen: Screen, path: str, given: Mapping[str, Any]) -> None:
    from chrono.cli.place import readable_policy, workspace
    from chrono.workspace.actors import actor
    from chrono.workspace.gates import FILES, pass_gate

    ws = workspace(screen)
    policy = readable_policy(ws)
    if policy is not None:
        words = (path, *(word for name in sorted(given) if name not in _NO_PART for word in _words(name, given[name])))
        pass_gate(ws, policy, FILES, words, actor(screen.environ))


def _words(name: str, value: Any) -> list[str]:
    """One parameter as on a command line, so that equal commands are equal words."""
    if value is None or value is False or value == [] or value == ():
        return []
    if value is True:
        return [f"--{name.replace('_', '-')}"]
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]

"""Owns who may do what: the roles of a policy, and its gates for what chrono itself does. Pure.

Who somebody is, and how that is proved, is left to `workspace.actors` and the approvals.
"""

from __future__ import annotations

from chrono.policy.model import Policy

BUILT_IN: dict[str, tuple[str, ...]] = {
    "viewer": ("view",),
    "developer": ("view", "approve"),
    "maintainer": ("view", "approve", "policy.pin", "prune", "run.force"),
}
"""Roles that hold unless the policy defines one of the same name (product.md, "Run, approvals, MCP")."""


def may(policy: Policy, person: str, permission: str) -> bool:
    """Whether `person` has `permission`. A policy without roles gives everybody everything."""
    if not policy.roles:
        return True
    defined = {role.name: role.permissions for role in policy.roles}
    word = defined.get(person, ())
    held = [name for name in word if name in BUILT_IN or name in defined]
    if len(word) != 1 or len(held) != 1:
        return False
    return permission in (defined[held[0]] if held[0] in defined else BUILT_IN[held[0]])


def may_as(policy: Policy, person: str, role: str, permission: str) -> bool:
    """Whether `person`, whom the team knows as a `role`, has `permission`; a policy that names them overrules that."""
    defined = {entry.name: entry.permissions for entry in policy.roles}
    if person in defined and person not in BUILT_IN:
        return may(policy, person, permission)
    return permission in (defined[role] if role in defined else BUILT_IN.get(role, ()))


def gate(policy: Policy, action: str) -> str:
    """What the policy says of an action of chrono's own, such as `mcp.rollback`: "allow" where it says nothing."""
    return next((one.decision for one in policy.gates if one.action == action), "allow")

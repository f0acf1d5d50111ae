"""Owns how a person is shown what a project's policy would loosen, and is asked whether that is wanted.

What trust means is said by `policy.layers`; writing it is left to `workspace.trust`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chrono.cli.render import Screen
from chrono.cli.text import count
from chrono.errors import PolicyError

if TYPE_CHECKING:
    from chrono.policy.model import Ignored
    from chrono.workspace.project import Workspace

OWN_POLICY = "Is this your own policy, and do you want that?"


def show_loosenings(screen: Screen, loosenings: tuple[Ignored, ...]) -> None:
    """One line for each thing that the policy file would loosen."""
    screen.table([(f"line {entry.line}", entry.key, entry.value) for entry in loosenings], indent=2)


def offer_trust(screen: Screen, ws: Workspace) -> None:
    """Where the project's policy file would loosen something: shows it, and asks a person where one is there."""
    from chrono.workspace.actors import actor
    from chrono.workspace.trust import plan_trust, trust_policy

    try:
        plan = plan_trust(ws)
    except PolicyError as error:
        screen.warning(f"{error.message}; until it is fixed, everything the guard judges is blocked")
        return
    if plan is None or plan.trusted or not plan.loosens:
        return
    things = count(len(plan.loosens), "thing, which does", "things, which do")
    screen.text(f"chrono-policy.yaml would loosen {things} not count yet:")
    show_loosenings(screen, plan.loosens)
    if screen.person and screen.confirm(OWN_POLICY):
        trust_policy(ws, plan, actor(screen.environ))
        screen.line("trusted, for exactly this content")
    else:
        screen.text("if it is your own policy: chrono policy trust")

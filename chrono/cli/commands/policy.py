"""Owns `chrono policy`. What a policy says is read by `policy.load`, added up by `policy.layers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chrono.cli import shapes
from chrono.cli.options import Json, screen_of
from chrono.cli.place import here, workspace
from chrono.cli.policy_words import as_json, explain, explain_json, ignored, rows, show_since_pin, since_json
from chrono.cli.render import Screen
from chrono.cli.text import Styled, count
from chrono.cli.trusting import OWN_POLICY, show_loosenings
from chrono.errors import ChronoError

if TYPE_CHECKING:
    from chrono.policy.model import Policy
    from chrono.policy.pin import PolicyPin
    from chrono.workspace.trust import TrustPlan


def run_show(
    ctx: typer.Context,
    command: Annotated[
        str | None,
        typer.Option("--explain", metavar="CMD", help="Say which files, thresholds and rules decide about CMD."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the policy.

    Defaults, then CHRONO_HOME/policy.yaml, then the project's chrono-policy.yaml. A project file may come from a
    cloned repository: it can only tighten until you trust it.
    """
    screen = screen_of(ctx)
    if command is not None:
        _explain(screen, command, json=json)
        return
    policy = _effective(screen, held=False)
    problem, pinned = _pin_state(screen)
    if json:
        screen.value({**as_json(policy), "pinned": pinned, "pin_problem": problem})
        return
    screen.facts(rows(policy))
    if problem is not None:
        screen.warning(f"{problem}; until a person pins it again, everything the guard judges is blocked")
    elif pinned:
        screen.text(
            "pinned: a change of these files, of the rule packs or of the adapters blocks until chrono policy pin"
        )
    if policy.ignored:
        screen.warning(f"{count(len(policy.ignored), 'line')} of chrono-policy.yaml would loosen and {_does(policy)}")
        screen.text("not counted, since nobody here trusted it:")
        show_loosenings(screen, policy.ignored)
        screen.text("if it is your own policy: chrono policy trust")


def _explain(screen: Screen, command: str, *, json: bool) -> None:
    from chrono.workspace.assess import Assessor

    assessor = Assessor.open(here(), screen.environ)
    assessed = assessor.assess(command)
    if json:
        screen.value(explain_json(assessed, assessor.policy))
    else:
        explain(screen, assessed, assessor.policy)


def _does(policy: Policy) -> str:
    return "does not count" if len(policy.ignored) == 1 else "do not count"


def run_check(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="Check this file only.", show_default="the files that hold here"),
    ] = None,
    json: Json = False,
) -> None:
    """Check policy files.

    Says the line of what is wrong and leaves with exit code 3. A broken policy blocks everything the guard judges.
    """
    screen = screen_of(ctx)
    if file is not None:
        from chrono.workspace.config import read_policy

        found = read_policy(file, file, "project")
        if found is None:
            raise ChronoError(f"there is no file {file}", "without a name, those that hold here are checked")
        names = [file]
    else:
        from chrono.workspace.config import home_layout, ruleset_for

        policy = _effective(screen)
        ruleset_for(policy, home_layout(screen.environ))
        names = [layer.name for layer in policy.layers]
    if json:
        screen.value({"valid": True, "files": list(names)})
    elif names:
        for name in names:
            screen.line(Styled("valid", "green"), f"  {name}")
    else:
        screen.line("there is no policy file: the defaults hold")


def run_trust(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Trust the project's policy.

    Shows what it loosens and asks. The trust holds for exactly this content: after an edit, trust it again. Agents
    are refused.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.trust import plan_trust, trust_policy

    screen = screen_of(ctx)
    ws = workspace(screen)
    plan = plan_trust(ws)
    if plan is None:
        raise ChronoError(f"there is no {ws.layout.policy} to trust", "the defaults hold here: chrono policy show")
    if not json:
        _show_plan(screen, ws.layout.policy, plan)
    if not plan.trusted:
        if not screen.agrees(OWN_POLICY, yes=yes, hint="read what it loosens, then: chrono policy trust --yes"):
            return 1
        trust_policy(ws, plan, actor(screen.environ))
    if json:
        screen.value({"trusted": plan.file.sha256, "loosens": [ignored(entry) for entry in plan.loosens]})
    else:
        screen.line(Styled("trusted", "green"), f"  {ws.layout.policy}  (sha256 {plan.file.sha256[:12]}…)")
    return 0


def run_untrust(ctx: typer.Context, json: Json = False) -> None:
    """Take the trust in the project's policy back.

    That holds also for what the file said before, should it come back. Where the policy is pinned, the pin no longer
    fits: what the guard judges is blocked until a person pins again. Agents are refused.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.trust import untrust_policy

    screen = screen_of(ctx)
    ws = workspace(screen)
    taken = untrust_policy(ws, actor(screen.environ))
    problem, _ = _pin_state(screen)
    if json:
        screen.value({"untrusted": list(taken), "pin_problem": problem})
        return
    if not taken:
        screen.line(f"{ws.layout.policy} was not trusted")
        return
    screen.line(Styled("no longer trusted", "yellow"), f"  {ws.layout.policy}")
    if problem is not None:
        screen.warning(f"{problem}; until a person pins it again, everything the guard judges is blocked")
        screen.text("to go on without the pin: chrono policy pin --remove")


def run_schema(ctx: typer.Context, json: Json = False) -> None:
    """Print the JSON schema of the policy file.

    For editors that check and complete YAML: docs/formats of chrono holds the same text. With --json on one line.
    """
    from json import dumps

    from chrono.rulepack.policy_schema import policy_schema

    screen = screen_of(ctx)
    if json:
        screen.value(policy_schema())
        return
    for line in dumps(policy_schema(), indent=2, ensure_ascii=False).split("\n"):
        screen.line(line)


def run_pin(
    ctx: typer.Context,
    remove: Annotated[bool, typer.Option("--remove", help="End the pin.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what changed since the pin.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> int:
    """Hold this project to the policy, rule packs and adapters that hold now.

    A policy file that is edited or deleted, or a rule pack that changes, then blocks what the guard judges until a
    person pins again, as after an upgrade of chrono: what changed is shown then, rule by rule. Pinning also trusts the
    project's policy file, after showing what it loosens. Agents are refused.
    """
    from chrono.workspace.actors import actor
    from chrono.workspace.trust import pin_policy, plan_trust, since_pin, trust_policy, unpin_policy

    screen = screen_of(ctx)
    ws = workspace(screen)
    if remove:
        ended = unpin_policy(ws, actor(screen.environ))
        if json:
            screen.value({"pinned": None, "removed": ended})
        else:
            screen.line("the policy is no longer pinned" if ended else "the policy was not pinned")
        return 0
    since = since_pin(ws)
    if since is not None and not json:
        show_since_pin(screen, since)
    if dry_run:
        if json:
            screen.value({"since_pin": since_json(since)})
        elif since is None:
            screen.line("there is no pin")
        return 0
    changed = since is not None and not since.nothing
    hint = "read what changed, then: chrono policy pin --yes"
    if changed and not screen.agrees("Pin what holds now instead?", yes=yes, hint=hint):
        return 1
    plan = plan_trust(ws)
    if plan is not None and plan.loosens and not plan.trusted:
        if not json:
            _show_plan(screen, ws.layout.policy, plan)
        if not screen.agrees(OWN_POLICY, yes=yes, hint="read what it loosens, then: chrono policy pin --yes"):
            return 1
        trust_policy(ws, plan, actor(screen.environ))
    pin = pin_policy(ws, actor(screen.environ))
    if json:
        screen.value({**_pin_json(pin), "since_pin": since_json(since)})
    else:
        _tell_pin(screen, pin)
    return 0


def _pin_json(pin: PolicyPin) -> dict[str, shapes.Json]:
    return {
        "pinned": pin.sha256,
        "files": dict(pin.files),
        "packs": dict(pin.packs),
        "adapters": dict(pin.adapters),
    }


def _tell_pin(screen: Screen, pin: PolicyPin) -> None:
    files = " and ".join(f"the {layer} file" for layer, _ in pin.files) or "the defaults"
    screen.line(
        Styled("pinned", "green"),
        f"  {files}, {count(len(pin.packs), 'rule pack')}, {count(len(pin.adapters), 'adapter')}",
    )


def _pin_state(screen: Screen) -> tuple[str | None, bool]:
    """What does not fit the pin of the project around here, and whether there is one."""
    import os

    from chrono.errors import PolicyError
    from chrono.layout import find_project
    from chrono.workspace.config import effective_policy, home_layout, policy_pin, ruleset_for

    layout, home = find_project(os.path.realpath(here())), home_layout(screen.environ)
    if layout is None:
        return None, False
    try:
        if policy_pin(layout, home) is None:
            return None, False
        ruleset_for(effective_policy(layout, home), home)
    except PolicyError as error:
        return error.message, True
    return None, True


def _show_plan(screen: Screen, path: str, plan: TrustPlan) -> None:
    if plan.loosens:
        screen.text(f"{path} loosens:")
        show_loosenings(screen, plan.loosens)
    else:
        screen.text(f"{path} loosens nothing")


def _effective(screen: Screen, *, held: bool = True) -> Policy:
    import os

    from chrono.layout import find_project
    from chrono.workspace.config import effective_policy, home_layout

    return effective_policy(find_project(os.path.realpath(here())), home_layout(screen.environ), held=held)

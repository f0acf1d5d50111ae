"""Owns `chrono policy trust`, `untrust` and `pin`: a person's word that a project's own policy file may also loosen,
and that nothing else than what holds now may hold; and the record of a policy that changed.

What would loosen is shown beforehand by `cli`; that no agent may do this is a rule. The word itself is kept by
`policy.pin`, the audit record here says who gave it, and for which bytes.
"""

from __future__ import annotations

import os

from chrono.errors import ChronoError, PolicyError
from chrono.files import atomic_write, own_folder, read_own
from chrono.layout import HomeLayout
from chrono.policy.model import DEFAULTS, Ignored, PolicyFile
from chrono.tuples import NamedTuple
from chrono.workspace.config import project_policy, read_policy
from chrono.workspace.project import CLI_WAIT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from chrono.audit.record import Actor
    from chrono.canonical import Json
    from chrono.policy.pin import PolicyPin
    from chrono.rulepack.outline import RuleChanges
    from chrono.workspace.project import Workspace


class TrustPlan(NamedTuple):
    """The project's policy file, whether it is trusted already, and what trusting it would loosen."""

    file: PolicyFile
    trusted: bool
    loosens: tuple[Ignored, ...]


def plan_trust(ws: Workspace) -> TrustPlan | None:
    """What `trust` would do; None where the project has no policy file. Raises PolicyError, PluginError."""
    from chrono.policy.layers import effective, loosenings
    from chrono.workspace.config import ruleset_for

    found = project_policy(ws.layout, ws.home)
    if found.file is None:
        return None
    user = read_policy(ws.home.policy, ws.home.policy, "user")
    below = effective(DEFAULTS, user, None, project_trusted=False)
    scores = {rule.id: rule.score for rule in ruleset_for(below, ws.home).rules}
    return TrustPlan(found.file, found.trusted, loosenings(below, found.file, scores))


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


def untrust_policy(ws: Workspace, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> tuple[str, ...]:
    """Takes the trust back from the project's policy file: from what it says now, also where those bytes were trusted
    in another project, and from all it said here before, which could come back with a checkout. Returns the SHA-256 of
    each content that was trusted.

    A record for each comes first. Raises Denied, Locked.
    """
    from chrono.audit.record import Act, Entry
    from chrono.policy.pin import trusted_from, untrust

    ws.require_own()
    contents = list(trusted_from(ws.home, ws.layout.policy))
    try:
        now = project_policy(ws.layout, ws.home)
    except PolicyError:
        now = None  # broken: it blocks whatever is enforced, trusted or not
    if now is not None and now.file is not None and now.trusted and now.file.sha256 not in contents:
        contents.append(now.file.sha256)
    taken = []
    for sha256 in contents:
        act = Act(policy_sha256=sha256, more=(("trusted", False),))
        ws.log.append(Entry("policy.trusted", by, act), timeout_s=timeout_s)
        if untrust(ws.home, sha256):
            taken.append(sha256)
    return tuple(taken)


def pin_policy(ws: Workspace, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> PolicyPin:
    """Holds the project to the policy, rule packs and adapters that hold now; the project's file must be trusted, or
    loosen nothing. Until it is pinned again, a change of any of them blocks what is enforced.

    Raises PolicyError, Denied, Locked.
    """
    from chrono.agents.registry import fingerprint, names
    from chrono.audit.record import Act, Entry
    from chrono.policy.pin import PolicyPin, write_pinned_rules, write_policy_pin
    from chrono.rulepack.outline import outline
    from chrono.workspace.config import effective_policy, ruleset_for

    ws.require_own()
    policy = effective_policy(ws.layout, ws.home, held=False)
    packs = tuple(sorted((pack.name, pack.sha256) for pack in ruleset_for(policy, ws.home).packs))
    adapters = tuple((name, fingerprint(name)) for name in names())
    pin = PolicyPin(policy.sha256, tuple((layer.layer, layer.sha256) for layer in policy.layers), packs, adapters)
    held: tuple[tuple[str, Json], ...] = (
        ("adapters", dict(adapters)),
        ("files", dict(pin.files)),
        ("packs", dict(packs)),
    )
    act = Act(policy_sha256=policy.sha256, more=held)
    ws.log.append(Entry("policy.pinned", by, act), timeout_s=timeout_s)
    write_policy_pin(ws.home, ws.log.log_id, pin)
    write_pinned_rules(ws.home, ws.log.log_id, [[*one] for one in outline()])
    return pin


class SincePin(NamedTuple):
    """What differs from what a project was pinned to. `files`: (layer, "added", "changed" or "gone"); `packs` and
    `adapters` likewise, the latter empty and `rules` None where the pin did not note them."""

    files: tuple[tuple[str, str], ...]
    packs: tuple[tuple[str, str], ...]
    rules: RuleChanges | None
    adapters: tuple[tuple[str, str], ...] = ()

    @property
    def nothing(self) -> bool:
        return not (self.files or self.packs or self.adapters)


def since_pin(ws: Workspace) -> SincePin | None:
    """What changed since the pin: of the files, the packs and, rule by rule, of what the packs say. None where there is
    no pin. Raises PolicyError (a damaged pin, a broken policy), PluginError."""
    from chrono.agents.registry import fingerprint, names
    from chrono.policy.pin import read_pinned_rules, read_policy_pin
    from chrono.rulepack.discover import discover
    from chrono.rulepack.outline import compare, outline, outlined
    from chrono.workspace.config import effective_policy

    pin = read_policy_pin(ws.home, ws.log.log_id)
    if pin is None:
        return None
    sources = discover()
    layers = effective_policy(ws.layout, ws.home, held=False).layers
    noted = outlined(read_pinned_rules(ws.home, ws.log.log_id))
    return SincePin(
        _differing(dict(pin.files), {layer.layer: layer.sha256 for layer in layers}),
        _differing(dict(pin.packs), {source.name: source.sha256 for source in sources}),
        compare(noted, outline(sources)) if noted is not None else None,
        _differing(dict(pin.adapters), {name: fingerprint(name) for name in names()}) if pin.adapters else (),
    )


def _differing(before: dict[str, str], now: dict[str, str]) -> tuple[tuple[str, str], ...]:
    states = {name: "added" for name in now if name not in before}
    states |= {name: "gone" for name in before if name not in now}
    states |= {name: "changed" for name in now if name in before and now[name] != before[name]}
    return tuple(sorted(states.items()))


def unpin_policy(ws: Workspace, by: Actor, *, timeout_s: float = CLI_WAIT_S) -> bool:
    """Ends the pin; False where there was none. The record comes first. Raises Denied, Locked."""
    from chrono.audit.record import Act, Entry
    from chrono.policy.pin import remove_policy_pin

    ws.require_own()
    if not os.path.lexists(ws.home.pinned_policy(ws.log.log_id)):
        return False
    ws.log.append(Entry("policy.pinned", by, Act(more=(("pinned", False),))), timeout_s=timeout_s)
    return remove_policy_pin(ws.home, ws.log.log_id)


def newest_policy(home: HomeLayout, log_id: str) -> str:
    """The digest of the policy that this log's newest decision was made under, "" where none is known."""
    try:
        seen = read_own(home.seen_policy(log_id), 64).decode("ascii", "replace")
    except OSError:
        return ""
    return seen if len(seen) == 64 else ""


def now_under(home: HomeLayout, log_id: str, policy_sha256: str) -> None:
    """Notes the policy of the newest decision. A cache: where it is lost, one change is not told of."""
    try:
        own_folder(home.cache)
        atomic_write(home.seen_policy(log_id), policy_sha256.encode("ascii"), durable=False)
    except OSError:
        pass  # the decision itself is recorded, with the policy it was made under

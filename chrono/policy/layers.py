"""Owns how policy files add up: defaults < user file < project file, under the trust rule. Pure.

What one file says is read by `policy.load`; whether the project's is trusted by `policy.pin`.
"""

from __future__ import annotations

from collections.abc import Mapping

from chrono.policy.model import DECISIONS, Gate, Ignored, Layer, Policy, PolicyFile, Thresholds


def effective(
    defaults: Policy, user: PolicyFile | None, project: PolicyFile | None, *, project_trusted: bool
) -> Policy:
    """The policy that holds: `defaults`, then the user's file, then the project's.

    A project file may come from a cloned repository. Until it is trusted it may only raise decisions and add rules;
    what it would loosen does not count and is listed in `ignored` (design section 8). `sha256` covers the bytes of
    every file that took part and whether each was trusted.
    """
    policy = defaults
    layers = []
    if user is not None:
        policy = _apply(policy, user)
        layers.append(Layer(user.name, user.layer, user.sha256, True))
    if project is not None:
        policy = _apply(policy, project) if project_trusted else _tighten(policy, project)
        layers.append(Layer(project.name, project.layer, project.sha256, project_trusted))
    return policy._replace(layers=tuple(layers), sha256=_digest(tuple(layers)))


def _digest(layers: tuple[Layer, ...]) -> str:
    from chrono.digest import sha256

    text = "".join(f"{layer.layer} {layer.sha256} {'trusted' if layer.trusted else 'tighten'}\n" for layer in layers)
    return sha256(f"chrono-policy/v1\n{text}".encode()).hexdigest()


def _apply(policy: Policy, file: PolicyFile) -> Policy:
    """Every key of `file` counts; lists add up, single values replace."""
    thresholds = policy.thresholds
    block = thresholds.block if file.block is None else file.block
    ask = thresholds.ask if file.ask is None else file.ask
    return policy._replace(
        thresholds=Thresholds(block, min(ask, block)),
        reversible=file.reversible or policy.reversible,
        allow=policy.allow + file.allow,
        rules=policy.rules + ((file.rules,) if file.rules else ()),
        rule_decisions=policy.rule_decisions + file.rule_decisions,
        protected=policy.protected + file.protected,
        read_only=policy.read_only + file.read_only,
        network=policy.network + file.network,
        approvers=file.approvers or policy.approvers,
        roles=policy.roles + file.roles,
        gates=_gates_over(policy.gates, file.gates),
        retention=file.retention or policy.retention,
        databases=policy.databases + file.databases,
        run_on_failure=file.run_on_failure or policy.run_on_failure,
        pins=policy.pins + file.pins,
    )


def _gates_over(lower: tuple[Gate, ...], upper: tuple[Gate, ...]) -> tuple[Gate, ...]:
    merged = {gate.action: gate for gate in lower}
    merged.update({gate.action: gate for gate in upper})
    return tuple(merged.values())


def loosenings(policy: Policy, file: PolicyFile, scores: Mapping[str, int] | None = None) -> tuple[Ignored, ...]:
    """What `file` would loosen if it were laid over `policy`: shown before a person trusts it.

    `scores` by rule: to tell an `ask` that lowers what would be blocked from one that raises what would pass.
    """
    line = dict(file.lines)
    found = []
    if file.block is not None and file.block > policy.thresholds.block:
        found.append(Ignored("thresholds.block", str(file.block), line["thresholds"]))
    if file.ask is not None and file.ask > policy.thresholds.ask:
        found.append(Ignored("thresholds.approve", str(file.ask), line["thresholds"]))
    if file.reversible and DECISIONS.index(file.reversible) < DECISIONS.index(policy.reversible):
        found.append(Ignored("reversible", file.reversible, line["reversible"]))
    found.extend(Ignored("allow", entry.text, entry.line) for entry in file.allow)
    found.extend(Ignored("network.allow", entry.text, entry.line) for entry in file.network)
    found.extend(
        Ignored(f"rules.{entry.rule}", entry.decision, entry.line)
        for entry in file.rule_decisions
        if entry.decision == "allow"
        or (entry.decision == "ask" and scores and scores.get(entry.rule, 0) >= policy.thresholds.block)
    )
    found.extend(Ignored(key, _given(file, key), line[key]) for key in _OWNER_KEYS if key in line)
    found.extend(
        Ignored(f"gates.{gate.action}", gate.decision, line["gates"])
        for gate in file.gates
        if DECISIONS.index(gate.decision) < DECISIONS.index(_gate(policy, gate.action))
    )
    return tuple(found)


_OWNER_KEYS = ("approvers", "databases", "retention", "roles", "run")
"""Keys that say who may do what, or what is kept and opened: not for a stranger's file to say at all."""


def _given(file: PolicyFile, key: str) -> str:
    values = {
        "approvers": file.approvers and file.approvers.proof,
        "databases": ", ".join(entry.name for entry in file.databases),
        "retention": file.retention
        and ", ".join(f"{key} {value}" for key, value in file.retention._asdict().items() if value is not None),
        "roles": ", ".join(role.name for role in file.roles),
        "run": file.run_on_failure,
    }
    return str(values[key] or "")


def _gate(policy: Policy, action: str) -> str:
    return next((gate.decision for gate in policy.gates if gate.action == action), "allow")


def _tighten(policy: Policy, file: PolicyFile) -> Policy:
    """Only what raises a decision or adds a rule counts."""
    block = min(policy.thresholds.block, file.block if file.block is not None else 101)
    ask = min(policy.thresholds.ask, file.ask if file.ask is not None else 101)
    reversible = max(policy.reversible, file.reversible or "allow", key=DECISIONS.index)
    raised = tuple(
        gate for gate in file.gates if DECISIONS.index(gate.decision) > DECISIONS.index(_gate(policy, gate.action))
    )
    return policy._replace(
        thresholds=Thresholds(block, min(ask, block)),
        reversible=reversible,
        rules=policy.rules + ((file.rules,) if file.rules else ()),
        rule_decisions=policy.rule_decisions
        + tuple(entry._replace(floor=True) for entry in file.rule_decisions if entry.decision != "allow"),
        protected=policy.protected + file.protected,
        read_only=policy.read_only + file.read_only,
        gates=_gates_over(policy.gates, raised),
        pins=policy.pins + file.pins,
        ignored=loosenings(policy, file),
    )

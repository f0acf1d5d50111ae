"""Claims about trusting a policy: what would loosen is shown, exactly those bytes are trusted, the log says by whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import ChronoError, Denied, PolicyError
from chrono.policy.pin import is_trusted, trust, write_policy_pin
from chrono.workspace.config import effective_policy, hold_adapter, ruleset_for
from chrono.workspace.covers import covers
from chrono.workspace.project import Workspace
from chrono.workspace.trust import pin_policy, plan_trust, since_pin, trust_policy, unpin_policy, untrust_policy

from .test_savepoints import records


def test_trust_is_shown_recorded_and_holds(ws: Workspace, root: Path, by: Actor) -> None:
    assert plan_trust(ws) is None
    (root / "chrono-policy.yaml").write_text("allow: [make deploy]\ndatabases: {dev: {path: dev.db}}\n")
    plan = plan_trust(ws)
    assert plan is not None
    assert not plan.trusted
    assert [entry.key for entry in plan.loosens] == ["allow", "databases"]
    trust_policy(ws, plan, by)
    assert [entry.text for entry in ws.policy().allow] == ["make deploy"]
    record = records(ws)[-1]
    assert record.ev == "policy.trusted"
    assert record.act["policy_sha256"] == plan.file.sha256
    assert record.act["loosens"] == ["allow: make deploy", "databases: dev"]
    assert [entry.name for entry in covers((), ws.policy()).databases] == ["dev"]


def test_trust_taken_back_is_recorded_and_no_earlier_content_keeps_it(ws: Workspace, root: Path, by: Actor) -> None:
    policy, digests = root / "chrono-policy.yaml", []
    for text in ("allow: [make deploy]\n", "allow: [make release]\n"):
        policy.write_text(text)
        plan = plan_trust(ws)
        assert plan is not None
        trust_policy(ws, plan, by)
        digests.append(plan.file.sha256)
    assert ws.policy().allow
    assert untrust_policy(ws, by) == tuple(sorted(digests))
    assert [(one.ev, one.act["trusted"], one.act["policy_sha256"]) for one in records(ws)[-2:]] == [
        ("policy.trusted", False, digest) for digest in sorted(digests)
    ]
    for text in ("allow: [make release]\n", "allow: [make deploy]\n"):
        policy.write_text(text)
        assert ws.policy().allow == ()
    before = len(records(ws))
    assert untrust_policy(ws, by) == () and len(records(ws)) == before


def test_trust_of_the_same_bytes_elsewhere_goes_and_of_other_bytes_stays(ws: Workspace, root: Path, by: Actor) -> None:
    policy = root / "chrono-policy.yaml"
    policy.write_text("allow: [make deploy]\n")
    here = plan_trust(ws)
    assert here is not None
    trust(ws.home, here.file.sha256, source="/elsewhere/chrono-policy.yaml", at_ns=0)
    trust(ws.home, "0" * 64, source="/elsewhere/chrono-policy.yaml", at_ns=0)
    assert untrust_policy(ws, by) == (here.file.sha256,)
    assert is_trusted(ws.home, "0" * 64)
    trust_policy(ws, here, by)
    policy.write_text("nope: 1\n")  # broken, and the trust in what it said can go all the same
    assert untrust_policy(ws, by) == (here.file.sha256,)


def test_what_changed_after_it_was_shown_is_not_trusted(ws: Workspace, root: Path, by: Actor) -> None:
    policy = root / "chrono-policy.yaml"
    policy.write_text("allow: [make deploy]\n")
    plan = plan_trust(ws)
    assert plan is not None
    policy.write_text("allow: [make deploy, rm]\n")
    with pytest.raises(ChronoError, match="changed"):
        trust_policy(ws, plan, by)
    assert ws.policy().allow == ()


def test_a_stranger_project_cannot_be_trusted(
    ws: Workspace, root: Path, by: Actor, environ: dict[str, str], tmp_path: Path
) -> None:
    (root / "chrono-policy.yaml").write_text("allow: [make deploy]\n")
    opened = Workspace.open(str(root), {**environ, "CHRONO_HOME": str(tmp_path / "other")})
    plan = plan_trust(opened)
    assert plan is not None
    with pytest.raises(Denied):
        trust_policy(opened, plan, by)


def test_a_pin_holds_the_project_to_what_held_then(ws: Workspace, root: Path, by: Actor) -> None:
    policy = root / "chrono-policy.yaml"
    policy.write_text("thresholds: {block: 60}\n")
    pin = pin_policy(ws, by)
    assert records(ws)[-1].ev == "policy.pinned"
    assert records(ws)[-1].act["policy_sha256"] == ws.policy().sha256 == pin.sha256
    for damage, why in ((None, "is gone"), ("thresholds: {block: 61}\n", "has changed")):
        policy.unlink() if damage is None else policy.write_text(damage)
        with pytest.raises(PolicyError, match=f"chrono-policy.yaml {why}"):
            ws.policy()
        assert effective_policy(ws.layout, ws.home, held=False).thresholds.block != 60
    policy.write_text("thresholds: {block: 60}\n")
    assert ws.policy().thresholds.block == 60
    Path(ws.home.policy).write_text("allow: [make]\n")
    with pytest.raises(PolicyError, match=r"policy\.yaml was added"):
        ws.policy()
    assert unpin_policy(ws, by)
    assert records(ws)[-1].act["pinned"] is False
    assert ws.policy().allow
    assert not unpin_policy(ws, by)


def test_a_pin_holds_rule_packs_too(ws: Workspace, by: Actor) -> None:
    pin = pin_policy(ws, by)
    ruleset_for(ws.policy(), ws.home)
    name = pin.packs[0][0]
    write_policy_pin(ws.home, ws.log.log_id, pin._replace(packs=((name, "0" * 64), *pin.packs[1:])))
    with pytest.raises(PolicyError, match=f"rule pack '{name}' is pinned with this project's policy"):
        ruleset_for(ws.policy(), ws.home)


def test_a_pin_holds_adapters_too(ws: Workspace, by: Actor) -> None:
    pin = pin_policy(ws, by)
    hold_adapter(ws.policy(), "claude-code")
    others = tuple(pair for pair in pin.adapters if pair[0] != "claude-code")
    write_policy_pin(ws.home, ws.log.log_id, pin._replace(adapters=(("claude-code", "0" * 64), *others)))
    with pytest.raises(PolicyError, match="'claude-code' has changed"):
        hold_adapter(ws.policy(), "claude-code")
    since = since_pin(ws)
    assert since is not None and since.adapters == (("claude-code", "changed"),)
    write_policy_pin(ws.home, ws.log.log_id, pin._replace(adapters=(("another", "0" * 64),)))
    with pytest.raises(PolicyError, match="'claude-code' was added"):
        hold_adapter(ws.policy(), "claude-code")
    write_policy_pin(ws.home, ws.log.log_id, pin._replace(adapters=()))  # as pins were before
    hold_adapter(ws.policy(), "claude-code")
    unpin_policy(ws, by)
    hold_adapter(ws.policy(), "claude-code")


def test_a_pin_outlives_the_log_and_a_damaged_one_is_no_pass(ws: Workspace, by: Actor, root: Path) -> None:
    pin_policy(ws, by)
    (root / "chrono-policy.yaml").write_text("thresholds: {block: 60}\n")
    (root / ".chrono" / "audit.jsonl").unlink()
    with pytest.raises(PolicyError, match="pinned"):
        ws.policy()
    Path(ws.home.pinned_policy(ws.log.log_id)).write_text("{}")
    with pytest.raises(PolicyError, match="cannot be used"):
        ws.policy()

"""Claims about trusting a policy: what would loosen is shown, exactly those bytes are trusted, the log says by whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.errors import ChronoError, Denied
from chrono.workspace.covers import covers
from chrono.workspace.project import Workspace
from chrono.workspace.trust import plan_trust, trust_policy

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

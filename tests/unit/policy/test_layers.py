"""Claims about layers: a project file can only tighten until a person trusts it, and says what was ignored."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chrono.policy.layers import effective, loosenings
from chrono.policy.load import parse
from chrono.policy.model import DECISIONS, DEFAULTS, Policy, PolicyFile, Retention, Thresholds

HOSTILE = """\
thresholds: {block: 101, approve: 101}
reversible: allow
allow: ["rm -rf *"]
rules:
  - id: git.push-force
    decision: allow
approvers: listed
roles: {mallory: maintainer}
retention: {keep_auto: 0}
databases: {x: {url: "postgres://evil"}}
run: {on_failure: keep}
gates: {mcp.rollback: allow}
network: {allow: [evil.example]}
"""


def project(text: str) -> PolicyFile:
    return parse(text, "chrono-policy.yaml", layer="project", sha256="1" * 64)


def user(text: str) -> PolicyFile:
    return parse(text, "policy.yaml", layer="user", sha256="2" * 64)


def test_without_files_the_defaults_hold() -> None:
    policy = effective(DEFAULTS, None, None, project_trusted=False)
    assert policy.thresholds == Thresholds(70, 40)
    assert policy.reversible == "allow"
    assert policy.run_on_failure == "rollback"
    assert policy.approvers.proof == "signed"


def test_an_untrusted_project_loosens_nothing_and_every_attempt_is_listed() -> None:
    base = effective(DEFAULTS, user("reversible: ask\ngates: {mcp.rollback: block}"), None, project_trusted=False)
    policy = effective(
        DEFAULTS, user("reversible: ask\ngates: {mcp.rollback: block}"), project(HOSTILE), project_trusted=False
    )
    same = (
        "thresholds",
        "reversible",
        "allow",
        "rule_decisions",
        "approvers",
        "roles",
        "retention",
        "databases",
        "network",
    )
    for field in (*same, "run_on_failure", "gates"):
        assert getattr(policy, field) == getattr(base, field), field
    assert [(entry.key, entry.line) for entry in policy.ignored] == [
        ("thresholds.block", 1),
        ("thresholds.approve", 1),
        ("reversible", 2),
        ("allow", 3),
        ("network.allow", 13),
        ("rules.git.push-force", 6),
        ("approvers", 7),
        ("databases", 10),
        ("retention", 9),
        ("roles", 8),
        ("run", 11),
        ("gates.mcp.rollback", 12),
    ]


def test_a_trusted_project_loosens() -> None:
    policy = effective(DEFAULTS, None, project(HOSTILE), project_trusted=True)
    assert policy.thresholds == Thresholds(101, 101)
    assert [entry.text for entry in policy.allow] == ["rm -rf *"]
    assert policy.retention == Retention(0, None)
    assert policy.ignored == ()


def test_an_untrusted_project_tightens() -> None:
    text = """\
thresholds: {block: 50, approve: 10}
reversible: block
rules:
  - id: git.stash-drop
    decision: ask
protected: [migrations]
read_only: [prices.json]
gates: {rollback: ask}
"""
    policy = effective(DEFAULTS, None, project(text), project_trusted=False)
    assert policy.thresholds == Thresholds(50, 10)
    assert policy.reversible == "block"
    assert policy.rule_decisions[0].floor
    assert policy.protected == ("migrations",)
    assert policy.read_only == ("prices.json",)
    assert policy.gates[0].decision == "ask"
    assert policy.ignored == ()


def test_the_users_file_needs_no_trust() -> None:
    policy = effective(DEFAULTS, user("allow: [make deploy]"), None, project_trusted=False)
    assert policy.allow[0].layer == "user"
    assert policy.ignored == ()


def test_the_digest_names_bytes_and_trust() -> None:
    one = effective(DEFAULTS, None, project(HOSTILE), project_trusted=False)
    two = effective(DEFAULTS, None, project(HOSTILE), project_trusted=True)
    three = effective(DEFAULTS, None, project(HOSTILE)._replace(sha256="3" * 64), project_trusted=True)
    assert len({one.sha256, two.sha256, three.sha256, DEFAULTS.sha256}) == 4


def test_what_trust_would_loosen_can_be_shown_first() -> None:
    assert [entry.value for entry in loosenings(DEFAULTS, project("allow: [make deploy]"))] == ["make deploy"]


def test_an_ask_that_lowers_a_block_loosens_and_one_that_raises_does_not() -> None:
    file = project("rules:\n  - {id: git.push-force, decision: ask}\n  - {id: git.tag, decision: ask}\n")
    shown = loosenings(DEFAULTS, file, {"git.push-force": DEFAULTS.thresholds.block, "git.tag": 10})
    assert [(entry.key, entry.value) for entry in shown] == [("rules.git.push-force", "ask")]


def _strength(policy: Policy) -> tuple[int, int, int]:
    return policy.thresholds.block, policy.thresholds.ask, -DECISIONS.index(policy.reversible)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    block=st.integers(0, 101),
    ask=st.integers(0, 101),
    reversible=st.sampled_from(DECISIONS),
    user_block=st.integers(0, 101),
    user_reversible=st.sampled_from(DECISIONS),
)
def test_no_untrusted_project_is_weaker_than_none(
    block: int, ask: int, reversible: str, user_block: int, user_reversible: str
) -> None:
    mine = PolicyFile("u", "user", "2" * 64, block=user_block, reversible=user_reversible)
    lines = (("thresholds", 1), ("reversible", 2))
    theirs = PolicyFile("p", "project", "1" * 64, block=block, ask=ask, reversible=reversible, lines=lines)
    without = effective(DEFAULTS, mine, None, project_trusted=False)
    held = effective(DEFAULTS, mine, theirs, project_trusted=False)
    assert all(now <= before for now, before in zip(_strength(held), _strength(without), strict=True))

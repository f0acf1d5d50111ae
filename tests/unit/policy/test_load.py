"""Claims about the policy file: every key is checked, every refusal names its line and the nearest known word."""

from __future__ import annotations

import pytest

from chrono.errors import PolicyError
from chrono.policy.load import KEYS, parse
from chrono.policy.model import Approvers, Gate, PolicyFile, Retention, Role

WHOLE = """\
thresholds:
  block: 80
  approve: 30
reversible: ask
allow:
  - terraform apply plan.out
  - kubectl delete pod * --now
  - del C:\\build\\out.txt
rules:
  - id: git.branch-delete
    decision: block
  - id: own.no-prod
    title: touches production
    decision: approve
    match:
      program: deployctl
protected: [migrations, "*.pem"]
read_only: [prices.json]
network: {allow: [Ok.example., "*.ok.example"]}
approvers: {names: [sara], proof: signed}
roles:
  sara: release
  release: [approve, policy.pin]
gates:
  mcp.rollback: approve
retention: {keep_auto: 500, older_than_days: 14}
databases:
  dev: {path: dev.sqlite3}
run: {on_failure: keep}
pins:
  git: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
"""


def whole() -> PolicyFile:
    return parse(WHOLE, "chrono-policy.yaml", layer="project", sha256="ab")


def test_every_key_is_read() -> None:
    file = whole()
    assert (file.block, file.ask, file.reversible) == (80, 30, "ask")
    assert [entry.text for entry in file.allow][2] == "del C:\\build\\out.txt"
    assert file.protected == ("migrations", "*.pem")
    assert file.read_only == ("prices.json",)
    assert [entry.text for entry in file.network] == ["ok.example", "*.ok.example"]
    assert file.approvers == Approvers("signed", ("sara",))
    assert file.roles == (Role("sara", ("release",)), Role("release", ("approve", "policy.pin")))
    assert file.gates == (Gate("mcp.rollback", "ask"),)
    assert file.retention == Retention(500, 14)
    assert file.databases[0].fields == (("path", "dev.sqlite3"),)
    assert file.run_on_failure == "keep"
    assert file.pins[0].pack == "git"
    assert {key for key, _ in file.lines} == set(KEYS)


def test_a_rule_without_a_matcher_is_a_decision_and_one_with_a_matcher_stays_raw() -> None:
    file = whole()
    assert [(entry.rule, entry.decision, entry.line) for entry in file.rule_decisions] == [
        ("git.branch-delete", "block", 11),
        ("own.no-prod", "ask", 14),
    ]
    assert file.rules is not None
    assert file.rules.document.value == [
        {"id": "own.no-prod", "title": "touches production", "match": {"program": "deployctl"}, "score": 50}
    ]
    assert file.rules.document.line_of(0, "match", "program") == 16


def test_an_empty_file_says_nothing() -> None:
    assert parse("# nothing yet\n", "p", layer="user") == PolicyFile("p", "user", "")
    assert parse("allow:\n", "p", layer="user").allow == ()


@pytest.mark.parametrize(
    ("text", "line", "says", "hint"),
    [
        ("treshholds: {}", 1, "has no key 'treshholds'", "thresholds"),
        ("allow: []\nthresholds:\n  blok: 3", 3, "no key 'blok'", "block"),
        ("thresholds:\n  block: 102", 2, "from 0 to 101", None),
        ("thresholds:\n  block: true", 2, "from 0 to 101", None),
        ("thresholds:\n  block: '70'", 2, "from 0 to 101", None),
        ("thresholds:\n  block: 40\n  approve: 60", 1, "must not lie above", None),
        ("thresholds:\n  approve: 40\n  ask: 60", 3, "two words", None),
        ("reversible: alow", 1, "'alow'", "allow"),
        ("reversible: [allow]", 1, "reversible", None),
        ("allow: git push", 1, "must be a list", None),
        ("allow:\n  - git status\n  - 7", 3, "must be text", None),
        ("allow:\n  - 'git \"push'", 2, "not closed", None),
        ("allow:\n  - '* --version'", 2, "cannot be `*`", None),
        ("rules:\n  - decision: block", 2, "needs an `id`", None),
        ("rules:\n  - id: a\n    decision: deny", 3, "'deny'", None),
        ("rules:\n  - id: a", 2, "says nothing", "decision"),
        ("rules:\n  - id: a\n    decision: ask\n  - id: a\n    decision: ask", 4, "stands twice", None),
        ("protected:\n  - ../other", 2, "..", None),
        ("approvers: singed", 1, "'singed'", "signed"),
        ("roles:\n  sara: maintaner", 2, "'maintaner'", "maintainer"),
        ("roles:\n  ops: [aprove]", 2, "'aprove'", "approve"),
        ("gates:\n  mcp.rolback: ask", 2, "'mcp.rolback'", "mcp.rollback"),
        ("retention: {keep_auto: -1}", 1, "from 0", None),
        ("databases:\n  dev: {adapter: sqlite}", 2, "needs one of", None),
        ("run: {on_failure: rolback}", 1, "'rolback'", "rollback"),
        ("pins:\n  git: abc", 2, "64 hex", None),
        ("- a\n- b", 1, "must be a mapping", None),
        ("allow: [a\n", 2, "expected", None),
        ("allow: []\nallow: []", 2, "twice", None),
        ("allow: &x [a]\n", 1, "anchors", None),
    ],
)
def test_a_mistake_is_refused_with_its_line(text: str, line: int, says: str, hint: str | None) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(text, "policy.yaml", layer="user")
    assert caught.value.line == line
    assert says in caught.value.message
    assert caught.value.message.startswith(f"policy.yaml:{line}: ")
    if hint:
        assert hint in (caught.value.hint or "")
    assert caught.value.exit_code == 3

"""Claims about what agents may not do with chrono itself: one table, no command past it, and gates that people open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chrono.cli.app import VERBS
from chrono.cli.gates import BRINGS_FILES_BACK, PEOPLE_ONLY
from chrono.policy.approvals import Member
from chrono.signing import generate

REFUSED = [
    ("policy", "pin"),
    ("policy", "trust"),
    ("policy", "untrust"),
    ("guard", "install"),
    ("guard", "uninstall"),
    ("git", "uninstall"),
    ("approvals", "approve", "abcd"),
    ("approvals", "deny", "abcd"),
    ("approvals", "enroll"),
    ("approvals", "watch"),
    ("team", "add", "kim"),
    ("team", "remove", "kim"),
    ("audit", "--reset-witness"),
    ("audit", "--rotate-key"),
    ("audit", "--revoke-key", "x"),
    ("audit", "--push", "file:///x"),
    ("audit", "reveal", "0"),
    ("audit", "erase", "0"),
    ("init", "--adopt"),
    ("prune",),
    ("run", "--force", "true"),
    ("service", "stop"),
    ("uninstall",),
]


def test_every_row_names_a_command_that_there_is() -> None:
    there = {verb.name for verb in VERBS.values() if not verb.subs}
    there |= {f"{verb.name} {sub}" for verb in VERBS.values() for sub, _ in verb.subs}
    assert set(PEOPLE_ONLY) <= there and set(BRINGS_FILES_BACK) <= there
    assert {" ".join(words[:2]) for words in REFUSED if words[0] != "audit"} | {"audit show"} >= {
        path for path in PEOPLE_ONLY if " " in path and not path.startswith("audit ")
    }


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_an_agent_is_refused_before_anything_happens(project: Path, chrono: Any, words: tuple[str, ...]) -> None:
    before = (project / ".chrono" / "audit.jsonl").read_bytes()
    ran = chrono(*words, CODEX_SANDBOX="1")
    assert ran.code == 4 and "an agent cannot" in ran.err and "CODEX_SANDBOX" in ran.err, ran
    assert (project / ".chrono" / "audit.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [("prune", "--dry-run"), ("audit",), ("approvals", "list"), ("team",), ("policy",), ("init",)],
    ids=" ".join,
)
def test_an_agent_may_look(project: Path, chrono: Any, words: tuple[str, ...]) -> None:
    assert chrono(*words, CLAUDECODE="1").code == 0


@pytest.fixture
def gate(project: Path, chrono: Any) -> Path:
    """A project whose policy wants approvals for rollbacks, with something to roll back."""
    (project / "chrono-policy.yaml").write_text("gates:\n  mcp.rollback: approve\n")
    chrono("branch", "side")
    chrono("snapshot")
    (project / "a.txt").write_text("two\n")
    return project


@pytest.mark.parametrize(
    "words", [("rollback",), ("checkout", "side"), ("merge", "side"), ("undo",), ("redo",)], ids=" ".join
)
def test_a_gate_holds_for_all_that_brings_files_back(gate: Path, chrono: Any, words: tuple[str, ...]) -> None:
    ran = chrono(*words, CLAUDECODE="1")
    assert ran.code == 4 and "chrono approvals approve" in ran.err
    assert (gate / "a.txt").read_text() == "two\n"
    assert "approvals approve" not in chrono(*words).err, "a person passes"


def test_looking_passes_the_gate(gate: Path, chrono: Any) -> None:
    assert chrono("rollback", "--dry-run", CLAUDECODE="1").code == 0


def test_a_closed_gate_cannot_be_approved(gate: Path, chrono: Any) -> None:
    (gate / "chrono-policy.yaml").write_text("gates:\n  rollback: block\n")
    ran = chrono("rollback", CLAUDECODE="1")
    assert ran.code == 4 and "approvals" not in ran.err


def test_an_approved_rollback_passes_once(gate: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import time

    from chrono.policy.model import DEFAULTS
    from chrono.workspace import approvals, team
    from chrono.workspace.actors import actor
    from chrono.workspace.project import Workspace

    assert chrono("rollback", CLAUDECODE="1").code == 4
    environ = dict(os.environ)
    ws, by, key = Workspace.open(str(gate), environ), actor(environ), generate()
    sara = Member("sara", "developer", key.public)
    team.add(ws.home, ws.log, by, sara)
    (request,) = approvals.pending(ws.home, time.time_ns())
    assert request.text == "chrono rollback"
    approvals.decide(ws.home, ws.log, by, request, sara, DEFAULTS, key, time.time_ns())
    ws.close()
    assert chrono("rollback", "HEAD~0", CLAUDECODE="1").code == 4, "other words are another action"
    assert chrono("rollback", CLAUDECODE="1").code == 0
    assert (gate / "a.txt").read_text() == "one\n"
    (gate / "a.txt").write_text("three\n")
    assert chrono("rollback", CLAUDECODE="1").code == 4


@pytest.mark.parametrize("words", [("policy", "pin"), ("prune", "--yes"), ("run", "--force", "true")], ids=" ".join)
def test_a_person_needs_the_permission_where_the_policy_sets_roles(
    project: Path, chrono: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    from chrono.layout import HomeLayout

    monkeypatch.setattr("chrono.workspace.actors.account", lambda uid, environ: "sara")
    policy = Path(HomeLayout(os.environ["CHRONO_HOME"]).policy)
    policy.write_text("roles: {sara: developer}\n")
    ran = chrono(*words)
    assert ran.code == 4 and "does not give sara the permission" in ran.err, ran
    policy.write_text("roles: {sara: maintainer}\n")
    assert chrono(*words).code == 0
    policy.write_text("")
    assert chrono(*words).code == (4 if words[0] == "policy" else 0), "the pin now holds another policy"
    assert chrono("policy", "pin", "--dry-run").code == 0

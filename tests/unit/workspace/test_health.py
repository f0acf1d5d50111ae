"""Claims about `doctor`'s facts: each gap is named with what to do about it, and nothing raises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chrono.audit.record import Actor
from chrono.workspace.health import Check, checks
from chrono.workspace.project import Workspace
from chrono.workspace.savepoints import save


def found(start: Path, environ: dict[str, str], by: Actor) -> dict[str, Check]:
    listed = checks(str(start), environ, by)
    for check in listed:
        assert check.level in ("ok", "warn", "fail")
        assert bool(check.todo) or check.level != "fail", check
    return {check.what: check for check in listed}


def test_a_sound_project_has_no_gap(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    (root / "x").write_text("x")
    save(ws, "auto", "x", by)
    listed = found(root, environ, by)
    assert {check.level for check in listed.values()} == {"ok"}, listed
    assert {"install", "home", "key", "policy", "project", "recovery", "savepoints", "audit", "witness W1"} <= set(
        listed
    )


def test_outside_a_project_it_says_so(tmp_path: Path, environ: dict[str, str], by: Actor) -> None:
    listed = found(tmp_path, environ, by)
    assert listed["project"].level == "warn"
    assert "chrono init" in listed["project"].todo
    assert listed["home"].level == "warn"
    assert not (tmp_path / "state").exists()


def test_ignored_loosenings_are_reported(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    (root / "chrono-policy.yaml").write_text("allow: ['rm -rf *']\nthresholds: {block: 101}\n")
    check = found(root, environ, by)["policy"]
    assert check.level == "warn"
    assert "1 more" in check.state
    assert "chrono policy trust" in check.todo


def test_a_broken_policy_is_named_with_its_line(ws: Workspace, root: Path, environ: dict[str, str], by: Actor) -> None:
    (root / "chrono-policy.yaml").write_text("\ntresholds: {}\n")
    check = found(root, environ, by)["policy"]
    assert check.level == "fail"
    assert "chrono-policy.yaml:2" in check.state
    assert "thresholds" in check.todo


def test_a_strangers_project_is_named(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor, tmp_path: Path
) -> None:
    check = found(root, {**environ, "CHRONO_HOME": str(tmp_path / "other")}, by)["project"]
    assert check.level == "fail"
    assert "chrono init --adopt" in check.todo


@pytest.mark.parametrize(
    "lost", ["format", "repo.git/HEAD", "repo.git/packed-refs", "repo.git/refs/heads/main", "objects"]
)
def test_no_gap_is_answered_by_sending_the_person_here(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor, lost: str
) -> None:
    (root / "x").write_text("x")
    save(ws, "auto", "x", by)
    ws.close()
    if lost == "objects":
        for path in (root / ".chrono/repo.git/objects").rglob("*"):
            if path.is_file():
                path.unlink()
    else:
        (root / ".chrono" / lost).parent.mkdir(parents=True, exist_ok=True)
        (root / ".chrono" / lost).write_text("junk\n")
    gaps = [check for check in checks(str(root), environ, by) if check.level == "fail"]
    assert gaps
    for check in gaps:
        assert check.todo and "chrono doctor" not in check.todo, check


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a folder away")
def test_anothers_project_is_answered_by_what_one_can_do(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    for folder, names, files in os.walk(root / ".chrono"):
        for name in (*names, *files):
            os.chown(os.path.join(folder, name), 12345, -1)
    os.chown(root / ".chrono", 12345, -1)
    gaps = {check.what: check.todo for check in checks(str(root), environ, by) if check.level == "fail"}
    assert gaps == dict.fromkeys(("policy", "project"), "work in a copy of your own, or let its owner run the command")


def test_a_home_or_key_that_others_can_read_is_named(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    os.chmod(ws.home.root, 0o755)
    os.chmod(ws.home.audit_key, 0o644)
    listed = found(root, environ, by)
    assert listed["home"].level == "warn"
    assert listed["key"].level == "fail"


def test_settings_that_contradict_or_lead_nowhere_are_facts_not_tracebacks(
    root: Path, environ: dict[str, str], by: Actor
) -> None:
    assert found(root, {**environ, "CHRONO_HOME": "relative"}, by)["home"].level == "fail"
    both = {**environ, "CHRONO_AUDIT_REQUIRE_KEY": "1", "CHRONO_AUDIT_UNSIGNED": "1"}
    assert found(root, both, by)["key"].level == "fail"


def test_missing_files_that_keep_git_off_are_named(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    os.unlink(ws.layout.git_pointer)
    assert found(root, environ, by)["git"].level == "warn"


def test_what_a_crash_left_is_rolled_forward_and_told(
    ws: Workspace, root: Path, environ: dict[str, str], by: Actor
) -> None:
    class Killed(BaseException):
        pass

    def at_step(step: str) -> None:
        if step == "record":
            raise Killed

    (root / "x").write_text("x")
    try:
        save(ws, "auto", "x", by, at_step=at_step)
    except Killed:
        pass
    check = found(root, environ, by)["recovery"]
    assert check.level == "warn"
    assert "refs/chrono/auto/1" in check.state
    assert found(root, environ, by)["recovery"].level == "ok"

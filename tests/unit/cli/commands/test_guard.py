"""Claims about `chrono guard`, `service`, `doctor` and `uninstall` as a person sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def guarded(project: Path, chrono: Any) -> Path:
    ran = chrono("guard", "install")
    assert ran.code == 0, ran
    return project


def test_install_fires_the_hook_and_names_what_project_scope_misses(project: Path, chrono: Any) -> None:
    ran = chrono("guard", "install")
    assert ran.code == 0, ran
    assert "the client refuses it" in ran.out and "--scope user" in ran.out and "restart the client" in ran.out
    settings = json.loads((project / ".claude/settings.json").read_text())
    assert "boot.py" in settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]


def test_status_says_what_the_client_would_do(guarded: Path, chrono: Any) -> None:
    value = chrono("guard", "status", "--json").json
    assert value["guarded"] is True
    assert [fired["does"] for fired in value["scopes"][0]["fired"]] == ["runs", "stops"]


def test_without_a_hook_status_is_1(project: Path, chrono: Any) -> None:
    ran = chrono("guard", "status")
    assert ran.code == 1 and "not guarded" in ran.out


def test_uninstall_leaves_no_trace_in_the_settings(project: Path, chrono: Any) -> None:
    folder = project / ".claude"
    folder.mkdir()
    before = b'{\n   "model": "x",  "hooks": {}\n}\n'
    (folder / "settings.json").write_bytes(before)
    assert chrono("guard", "install").code == 0
    assert (folder / "settings.json").read_bytes() != before
    assert chrono("guard", "uninstall").code == 0
    assert (folder / "settings.json").read_bytes() == before


def test_the_big_uninstall_removes_every_hook(guarded: Path, chrono: Any) -> None:
    assert chrono("uninstall", CLAUDECODE="1").code == 4
    value = chrono("uninstall", "--json").json
    assert [hook["changed"] for hook in value["hooks"]] == [True]
    assert not (guarded / ".claude/settings.json").exists()
    assert (guarded / ".chrono/repo.git").is_dir()


def test_purge_deletes_the_savepoints_only_when_meant(guarded: Path, chrono: Any) -> None:
    assert chrono("uninstall", "--purge").code == 4
    assert (guarded / ".chrono").is_dir()
    assert chrono("uninstall", "--purge", "--yes").code == 0
    assert not (guarded / ".chrono").exists()
    assert chrono("init").code == 0, "who deleted it on purpose can begin again"
    assert chrono("audit", "--verify").code == 0


def test_doctor_is_content_where_all_is_well_and_names_each_gap(project: Path, chrono: Any) -> None:
    ran = chrono("doctor", "--json")
    gaps = [check for check in ran.json["checks"] if check["level"] != "ok"]
    assert ran.code == 0 and [check["what"] for check in gaps] == ["guard"]
    assert chrono("guard", "install").code == 0
    assert "nothing failed" in chrono("doctor").out
    log = project / ".chrono/audit.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"savepoint"', b'"scan"', 1))
    ran = chrono("doctor")
    assert ran.code == 1 and "FAIL" in ran.out and "chrono audit --verify" in ran.out


def test_the_service_is_off_here_and_that_is_said(project: Path, chrono: Any) -> None:
    assert chrono("service", "--json").json == {"running": []}
    assert chrono("service", "stop", "--json").json == {"stopped": []}
    assert chrono("service", "stop", CLAUDECODE="1").code == 4


def test_settings_that_the_client_does_not_read_here_guard_nothing_here(
    guarded: Path, chrono: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guarded / "src")
    ran = chrono("guard", "status")
    assert ran.code == 1 and f"start it in {guarded}" in ran.out
    assert f"only where it is started in {guarded}, not here" in chrono("doctor").out
    assert chrono("guard", "install", "--scope", "user").code == 0
    assert chrono("guard", "status").code == 0


def test_doctor_tells_what_no_hook_of_the_client_can_do(guarded: Path, chrono: Any) -> None:
    assert "a linked work tree has them only where they are committed" in chrono("doctor").out

"""Claims about `chrono init`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any


def test_a_folder_becomes_a_project_with_one_savepoint(folder: Path, chrono: Any) -> None:
    ran = chrono("init", "--json")
    assert ran.code == 0
    assert ran.json["created"] is True and ran.json["files"] == 2
    assert (folder / ".chrono/repo.git").is_dir() and (folder / ".chrono/audit.jsonl").is_file()


def test_a_second_time_changes_nothing(project: Path, chrono: Any) -> None:
    first = chrono("log", "--json").json
    ran = chrono("init", "--json")
    assert ran.code == 0 and ran.json["created"] is False
    assert chrono("log", "--json").json == first


def test_the_next_step_is_named(folder: Path, chrono: Any) -> None:
    assert "next: chrono guard install" in chrono("init").out


def test_build_folders_are_proposed_not_left_out(folder: Path, chrono: Any) -> None:
    (folder / "build").mkdir()
    (folder / "build" / "x.o").write_text("")
    ran = chrono("init", "--json")
    assert ran.json["proposals"] == ["/build/"] and ran.json["files"] == 3


def test_your_own_git_is_left_alone(folder: Path, chrono: Any) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "a.txt"], check=True)
    before = (folder / ".git/index").read_bytes(), (folder / ".git/HEAD").read_bytes()
    assert chrono("init").code == 0
    assert ((folder / ".git/index").read_bytes(), (folder / ".git/HEAD").read_bytes()) == before
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    assert ".chrono" not in status


def test_the_home_folder_is_refused(chrono: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(os.environ["HOME"])
    ran = chrono("init")
    assert ran.code == 1 and "home folder" in ran.err and "hint:" in ran.err


def test_a_policy_that_loosens_is_shown_and_not_trusted_without_a_person(folder: Path, chrono: Any) -> None:
    (folder / "chrono-policy.yaml").write_text("thresholds:\n  block: 101\n")
    ran = chrono("init")
    assert "would loosen 1 thing" in ran.out and "chrono policy trust" in ran.out
    assert chrono("policy", "--json").json["thresholds"]["block"] == 70


def test_the_next_step_is_not_one_that_was_taken(project: Path, chrono: Any) -> None:
    assert chrono("guard", "install").code == 0
    assert "next: chrono guard status" in chrono("init").out
